"""What all tests of this folder have in common."""

from tests.homes import empty_home

__all__ = ["empty_home"]
