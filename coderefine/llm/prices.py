"""What a request costs, from the price list that genai-prices carries."""

from __future__ import annotations

import warnings

OPENAI = "https://api.openai.com/v1"


def price(model: str, base_url: str | None, prompt: int, completion: int, cached: int = 0) -> float | None:
    """Dollars for `prompt` tokens (of which `cached` came from the provider's cache) and `completion` tokens.

    None when the list does not know the server or the model: the name alone proves nothing, since a local
    server may use any name.
    """
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=prompt, output_tokens=completion, cache_read_tokens=min(cached, prompt))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = calc_price(usage, model, provider_api_url=base_url or OPENAI)
    except (LookupError, ValueError):
        return None
    return float(found.total_price)
