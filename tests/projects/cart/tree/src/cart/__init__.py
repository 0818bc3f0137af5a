"""A shopping basket."""

from cart.basket import Basket, Line

__all__ = ["Basket", "Line"]
