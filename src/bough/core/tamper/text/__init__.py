"""Tests of other languages than Python, and Python that is no tree, compared as text.

- `languages`: how tests, skips and assertions are written. `compare`: both sides, test by test.
- `asserted`: one assertion, and what is weaker in the one that took its place.
- `imports`: what JavaScript tests load. `beside`: product code that bends a test run."""
