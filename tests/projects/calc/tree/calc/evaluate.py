"""Tokens to a number, by recursive descent."""

from calc.tokens import tokens


def evaluate(text):
    """The value of `text`; raises ValueError when it is no expression."""
    reader = _Reader(tokens(text))
    value = reader.sum()
    if reader.rest:
        raise ValueError(f"unexpected {reader.rest[0]!r}")
    return value


class _Reader:
    def __init__(self, found):
        self.rest = found

    def taken(self, allowed):
        """The next token if it is one of `allowed`, else None."""
        if self.rest and isinstance(self.rest[0], str) and self.rest[0] in allowed:
            return self.rest.pop(0)
        return None

    def sum(self):
        value = self.product()
        if self.taken("+"):
            return value + self.sum()
        if self.taken("-"):
            return value - self.sum()
        return value

    def product(self):
        value = self.atom()
        while sign := self.taken("*/"):
            other = self.atom()
            value = value * other if sign == "*" else value / other
        return value

    def atom(self):
        if self.taken("-"):
            return -self.atom()
        if self.taken("("):
            value = self.sum()
            if not self.taken(")"):
                raise ValueError("a bracket is missing")
            return value
        if not self.rest or isinstance(self.rest[0], str):
            raise ValueError("a number is missing")
        return self.rest.pop(0)
