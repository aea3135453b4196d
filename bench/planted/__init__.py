"""Bugs planted in finished work: see `bench/planted.py`."""
