"""Learns better planning prompts from the runs of a project; bough loads what it leaves in `.bough/optimised.json`."""
