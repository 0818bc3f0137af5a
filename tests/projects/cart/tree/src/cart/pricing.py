"""The one discount there is."""

DISCOUNT_FROM = 10_000
DISCOUNT_PERCENT = 10


def discounted(total):
    """`total` in cents, less ten percent from 100.00 on."""
    if total > DISCOUNT_FROM:
        return total - total * DISCOUNT_PERCENT // 100
    return total
