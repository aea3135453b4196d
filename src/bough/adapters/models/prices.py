"""The cost of a call, from a price table that comes with a library: nothing is downloaded.

The library is loaded at the first answer that can have a price at all."""

from collections.abc import Callable
from contextlib import suppress

from bough.core.messages import Usage

Price = Callable[[Usage, str], float | None]
"""Returns the cost of a call, by its usage and the name of the answering model."""

PRICED = {
    "anthropic": "anthropic",
    "bedrock": "aws",
    "deepseek": "deepseek",
    "gemini": "google",
    "google": "google",
    "groq": "groq",
    "mistral": "mistral",
    "openai": "openai",
    "openai-responses": "openai",
    "openrouter": "openrouter",
    "vertex": "google",
    "xai": "x-ai",
}
"""Maps bough's name of a provider to the price table's. A provider that is not here has no known price."""


def compute_price(provider: str, model: str, usage: Usage) -> float | None:
    """Return the price of a call in US dollars, or None if the price or the usage is unknown."""
    known = PRICED.get(provider)
    if known is None or not (usage.input or usage.output):
        return None
    import genai_prices

    used = genai_prices.Usage(
        # The library would reject the counts of a server that counts cached tokens separately.
        input_tokens=max(usage.input, usage.cache_read + usage.cache_write),
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
    )
    try:
        return float(genai_prices.calc_price(used, model, provider_id=known).total_price)
    except (LookupError, ValueError):
        return None


Window = Callable[[], int]
"""The context window in tokens; 0: unknown."""


def find_window(provider: str, model: str, otherwise: int = 0) -> int:
    """Return the context window of a provider's own model from the table, or `otherwise` if the table has none."""
    if provider not in PRICED:
        return otherwise
    import genai_prices

    with suppress(LookupError, ValueError):
        table = genai_prices.calc_price(genai_prices.Usage(), model, provider_id=PRICED[provider])
        return table.model.context_window or otherwise
    return otherwise
