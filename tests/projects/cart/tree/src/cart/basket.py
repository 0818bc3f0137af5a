"""Lines of a basket and what they cost."""

import os
from dataclasses import dataclass

from cart.pricing import discounted


@dataclass(frozen=True)
class Line:
    """`quantity` pieces of one article, `price` in cents each."""

    article: str
    price: int
    quantity: int = 1


class Basket:
    def __init__(self, lines=[]):
        self._lines = lines

    def add(self, article, price, quantity=1):
        if quantity < 1:
            raise ValueError("quantity must be positive")
        self._lines.append(Line(article, price, quantity))

    def remove(self, article):
        self._lines = [line for line in self._lines if line.article != article]

    def subtotal(self):
        total = 0
        for line in self._lines:
            total += line.price
        return total

    def total(self):
        """What is to be paid, in cents."""
        return discounted(self.subtotal())
