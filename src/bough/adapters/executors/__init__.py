"""Executors that run tasks elsewhere."""
