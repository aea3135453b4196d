"""A list of goals and what to do about them next: pure, like everything in the core."""
