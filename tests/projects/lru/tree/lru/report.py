"""A word for how well a cache does."""


def grade(hits, misses, size=None, strict=False):
    total = hits + misses
    if total == 0:
        return "unused"
    rate = hits / total
    if strict and size is not None and size < 10:
        return "too small"
    if rate > 0.99:
        word = "perfect"
    elif rate > 0.9:
        word = "excellent"
    elif rate > 0.75:
        word = "good"
    elif rate > 0.5:
        word = "fair"
    elif rate > 0.25:
        word = "poor"
    else:
        word = "useless"
    if strict and word in ("good", "fair") and total > 1000:
        word += " (strict)"
    if size is None or size > 1:
        return word
    return f"{word} (one entry)"
