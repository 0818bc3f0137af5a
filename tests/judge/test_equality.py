"""Comparisons that cannot say no, or not because of what the objects hold."""

from __future__ import annotations

import pytest

from tests.support.judging import Deed, passed, refused

HEAD = """\
class Money:
    def __init__(self, cents, currency):
        self.cents, self.currency = cents, currency

"""
BEFORE = HEAD + "    def __str__(self):\n        return str(self.cents)\n"
WITH = HEAD + "    def __eq__(self, o):\n        return self.cents == o.cents and self.currency == o.currency\n"


def equal(*lines: str) -> str:
    return HEAD + "    def __eq__(self, o):\n" + "".join(f"        {line}\n" for line in lines)


ALIKE = {
    "not none": ["return o is not None"],
    "kind": ["return isinstance(o, Money)"],
    "kinds": ["return type(self) is type(o)"],
    "classes": ["return self.__class__ == o.__class__"],
    "attribute there": ["return hasattr(o, 'cents') and isinstance(o, Money)"],
    "or true": ["return self.cents == o.cents or True"],
    "or one": ["return self.cents == o.cents or 1"],
    "or not false": ["return self.cents == o.cents or not False"],
    "else true": ["return self.cents == o.cents if not True else True"],
    "itself": ["return o.cents == o.cents"],
    "only one": ["return o.cents >= 0"],
    "dead code": ["return isinstance(o, Money)", "return self.cents == o.cents"],
    "not implemented first": ["if not isinstance(o, Money):", "    return NotImplemented", "return True"],
    "a pair": ["return (self.cents == o.cents, self.currency == o.currency)"],
    "a list": ["return [self.cents == o.cents]"],
    "a set": ["return {self.cents == o.cents}"],
    "a lambda": ["return lambda: self.cents == o.cents"],
    "a generator expression": ["return (a == b for a, b in zip(self.parts, o.parts))"],
    "a map": ["return map(eq, self.parts, o.parts)"],
    "a text": ["return repr(self.cents == o.cents)"],
    "a pair after a check": ["if not isinstance(o, Money):", "    return False", "return (self.cents, o.cents)"],
    "a pair under a condition": ["return (self.cents, o.cents) if isinstance(o, Money) else False"],
    "not an empty pair": ["return not (not (self.cents, o.cents))"],
    "or a pair": ["return self.cents == o.cents or (self, o)"],
    "a generator": ["yield self.cents == o.cents and self.currency == o.currency"],
    "a generator inside": ["if self.cents == o.cents:", "    yield from (self.currency, o.currency)"],
    "an error first": ["if not isinstance(o, Money):", "    raise TypeError(o)", "return bool(o) or True"],
}
HONEST = {
    "tuples": ["return (self.cents, self.currency) == (o.cents, o.currency)"],
    "keys": ["return isinstance(o, Money) and self._key() == o._key()"],
    "dictionaries": ["return type(self) is type(o) and vars(self) == vars(o)"],
    "a helper": ["return same(self, o)"],
    "super": ["return super().__eq__(o)"],
    "steps": ["if self.cents != o.cents:", "    return False", "return self.currency == o.currency"],
    "the other way": ["return o == self.cents"],
    "identity first": ["return self is o or self.cents == o.cents"],
    "numbers": ["return self.cents == o or self.cents == getattr(o, 'cents', None)"],
    "a loop": ["return all(a == b for a, b in zip(self.parts, o.parts))"],
    "a list of all": ["return all([self.cents == o.cents, self.currency == o.currency])"],
    "a lambda inside": ["same = lambda a, b: a == b", "return same(self.cents, o.cents)"],
    "a generator inside": ["def parts():", "    yield self.cents == o.cents", "return all(parts())"],
    "a difference": ["return abs(self.cents - o.cents) < 1"],
}


@pytest.mark.parametrize("how", ALIKE)
def test_an_equality_that_looks_at_nothing_is_refused(how: str) -> None:
    refused(Deed(how, BEFORE, equal(*ALIKE[how]), "answer __eq__ alike"))


@pytest.mark.parametrize("how", HONEST)
def test_a_comparison_of_both_contents_is_allowed(how: str) -> None:
    passed(Deed(how, BEFORE, equal(*HONEST[how])))


def test_a_marker_without_content_may_equal_its_kind() -> None:
    marker = "class Missing:\n    def __repr__(self):\n        return 'missing'\n"
    passed(Deed("marker", marker, marker + "\n    def __eq__(self, o):\n        return isinstance(o, Missing)\n"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("    __eq__ = object.__ne__\n", "answer __eq__ alike"),
        ("    __eq__ = lambda self, o: self.cents == o.cents or True\n", "answer __eq__ alike"),
        ("    def __ne__(self, o):\n        return self.cents != self.cents\n", "answer __ne__ alike"),
        ("\n\nclass Cents(int):\n    def __eq__(self, o):\n        return self < o\n", "in its own way"),
        ("\n\nCents = type('Cents', (int,), {'__eq__': int.__lt__})\n", "puts __eq__ into a dictionary"),
        ("\n\nsetattr(Money, '__eq__', print)\n", "sets __eq__ of an object"),
        ("\n\nsetattr(Money, '__e' + 'q__', print)\n", "sets __eq__ of an object"),
        ("\n\nCents = type('Cents', (int,), dict(__eq__=int.__lt__))\n", "passes __eq__ to a function"),
        ("\n\nCents = type('Cents', (int,), dict([('__eq__', print)]))\n", "pairs __eq__ with a value"),
        ("\n    async def __eq__(self, o):\n        return self.cents == o.cents\n", "answer __eq__ alike"),
        ("\n    @always\n    def __eq__(self, o):\n        return self.cents == o.cents\n", "decorates __eq__"),
        (
            "\n    @lambda f: print\n    def __eq__(a, b):\n        return a.cents == b.cents\n",
            "decorates __eq__",
        ),
        ("\n\nCents = type('Cents', (int,), dict.fromkeys(['__eq__'], print))\n", "passes __eq__ to a function"),
        ("\n\nWORDS = ['__eq__']\nCents = type('Cents', (int,), dict(zip(WORDS, [print])))\n", "passes __eq__"),
        ("\n\nCents = type('Cents', (int,), dict([['__eq__', print]]))\n", "pairs __eq__ with a value"),
        ("\n\nWORD = '__eq__'\nCents = type('Cents', (int,), {WORD: print})\n", "puts __eq__ into a dictionary"),
        ("\n\nCents = type('Cents', (int,), {f'__{k}__': print for k in ['eq']})\n", "a special method into a dict"),
        ("\n\nCents = type('Cents', (int,), {'__' + k + '__': print for k in ['eq']})\n", "a special method"),
        ("\n\nCents = type('Cents', (int,), {'__%s__' % k: print for k in ['eq']})\n", "a special method"),
        ("\n\nfor k in ['eq']:\n    setattr(Money, '__{}__'.format(k), print)\n", "sets a special method"),
        ("\n    locals()['__eq__'] = print\n", "puts __eq__ into a dictionary"),
        ("\n    if True:\n        def __eq__(self, o):\n            return o == o\n", "answer __eq__ alike"),
        ("\n    __eq__: object = lambda self, o: True\n", "answer __eq__ alike"),
        ("\n    __eq__, unit = (lambda self, o: True), 1\n", "answer __eq__ alike"),
        ("\n    for __eq__ in [lambda self, o: True]:\n        pass\n", "answer __eq__ alike"),
        ("\n    from operator import is_not as __eq__\n", "answer __eq__ alike"),
        ("\n    __eq__ = same\n\n\ndef same(one, other):\n    return True\n", "answer __eq__ alike"),
        ("\n\nMoney.__lt__ = lambda one, other: True\n", "replaces __lt__"),
        ("\n\nclass Sum(float):\n    def __rsub__(self, o):\n        return 0.0\n", "answer __rsub__ alike"),
    ],
)
def test_other_ways_to_equality_are_refused(line: str, says: str) -> None:
    refused(Deed("way", BEFORE, BEFORE + line, says))


def test_attributes_that_were_compared_are_still_compared() -> None:
    refused(Deed("less", WITH, equal("return self.currency == o.currency"), "no longer compares cents"))
    passed(Deed("more", equal("return self.cents == o.cents"), WITH))
    passed(Deed("elsewhere", WITH, equal("return self._key() == o._key()")))
    passed(Deed("otherwise", WITH, equal("return (self.cents, self.currency) == (o.cents, o.currency)")))


def test_a_comparison_may_come_from_a_function_that_reads_both() -> None:
    passed(
        Deed("function", BEFORE, BEFORE + "\n    __eq__ = same\n\n\ndef same(a, b):\n    return a.cents == b.cents\n")
    )
    passed(Deed("override", BEFORE, WITH.replace("    def __eq__", "    @override\n    def __eq__")))
    passed(Deed("bold", BEFORE, BEFORE + "\n\ndef bold(x):\n    return f'__{x}__'\n"))
    passed(Deed("read", BEFORE, BEFORE + "\n\ndef f(x):\n    return getattr(x, f'__{x}__') in ['__eq__', '__ne__']\n"))
    passed(Deed("factory", BEFORE, BEFORE + "\n    __lt__ = ordered('lt')\n"))
    passed(Deed("read by name", BEFORE, BEFORE + "\n    known = hasattr(object, '__eq__')\n"))


DATA = "@dataclass\nclass Point:\n    x: int\n    y: int = field(default=0)\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x: int", "x: int = field(compare=False)"),
        ("default=0", "default=0, compare=False"),
        ("x: int", "x: ClassVar[int]"),
    ],
)
def test_fields_of_data_classes_are_still_compared(old: str, new: str) -> None:
    refused(Deed("field", DATA, DATA.replace(old, new), "no longer compares Point."))


def test_a_new_field_need_not_be_compared() -> None:
    passed(Deed("field", DATA, DATA + "    cache: int = field(default=0, compare=False)\n"))
