"""Which models take images, by their names. A model that rejects one gets no more; see dialect.py."""

from __future__ import annotations

import re

SEES = re.compile(
    r"claude-(3|[a-z]+-[3-9]|[4-9])|gemini|gpt-4o|gpt-4\.|gpt-4-turbo|gpt-[5-9]|chatgpt|\bo[134]\b(?!-mini)|\bo4-mini"
    r"|grok-[4-9]|pixtral|llava|vision|-vl\b|qwen[\d.]*-?vl|llama-?4|gemma-?3(?!n?[:-]1b)|mistral-(small|medium)-(3|latest)"
    r"|minicpm-v|internvl|moondream|kimi-(vl|k2\.5)|glm-[\d.]+v"
)


def takes_images(model: str) -> bool:
    return bool(SEES.search(model.lower().rpartition("/")[2].replace("_", "-")))
