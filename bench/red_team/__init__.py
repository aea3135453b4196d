"""Attempts of a red team that knows only the documentation: each tries to take something that no one gave it."""
