"""Code that bends a test run from the side, in tests and in product code.

- `compare`: the signs that are new since the base. `signs`, `hooks`: those that any Python file can bear.
- `tests`: signs in tests and conftests. `product`, `peeking`, `equality`: signs in product code.
- `replaced`: what either puts in the place of something in a module.
- `shadows`: files that stand in front of the runner or of what tests import. `ground`: what the base's tests are like.
"""
