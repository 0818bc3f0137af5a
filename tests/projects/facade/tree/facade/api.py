"""What others may use; `price` is used by shops, not here."""

import os

from facade.core import price, vat


def receipt(net, percent):
    return f"{net} + {vat(net, percent)} VAT"
