"""Lets `python -m bough_optimise` do what `bough-optimise` does."""

from bough_optimise.command import main

main()
