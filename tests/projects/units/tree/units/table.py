"""Lengths in metres."""

FACTORS = {"m": 1.0, "km": 1000.0, "in": 0.0254}


def metres(amount: float, unit: str) -> float:
    """Raises KeyError for a unit nobody knows."""
    if unit not in FACTORS:
        raise KeyError(unit)
    return amount * FACTORS.get(unit)
