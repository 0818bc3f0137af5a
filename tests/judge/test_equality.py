"""Comparisons that cannot say no, or not because of what the objects hold."""

from __future__ import annotations

import pytest

from tests.support.cases import few
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
        ("\n\nclass Slug(UserString):\n    def __eq__(self, o):\n        return len(self.data) == len(o)\n", "own way"),
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


BASKET = HEAD + "    def __contains__(self, thing):\n        return thing in self.cents\n"
UNASKED = (
    "bool(thing and self.cents)",
    "thing is not None",
    "True if thing else False",
    "thing != '' and len(self.cents)",
)
ASKED = (
    "self.cents <= thing <= self.currency",
    "isinstance(thing, str)",
    "self.find(*thing)",
    "any(one == thing for one in self.cents)",
    "(thing, 1) in self.cents",
    "thing.id in self.cents",
    "thing is not None and thing in self.cents",
    "-thing in self.cents",
    "self[thing]",
    "0 <= thing < self.cents",
    "0 <= thing <= 255",
    "thing >= 0",
)


@pytest.mark.parametrize("how", few(UNASKED, UNASKED[0]))
def test_a_membership_that_does_not_look_at_the_object_is_refused(how: str) -> None:
    new = BASKET.replace("thing in self.cents", how)
    refused(Deed(how, BASKET, new, "makes every Money answer __contains__ alike"))
    check = new.replace("Money:", "Money(type):").replace("__contains__", "__instancecheck__")
    refused(Deed(how, "", check, "makes every Money answer __instancecheck__ alike"))


@pytest.mark.parametrize("how", few(ASKED, ASKED[0], "thing >= 0"))
def test_a_membership_that_looks_at_the_object_is_allowed(how: str) -> None:
    new = BASKET.replace("thing in self.cents", how)
    passed(Deed(how, BASKET, new))
    passed(Deed(how, "", new.replace("Money:", "Money(type):").replace("__contains__", "__instancecheck__")))


STUBS = (
    "(Protocol):\n    def __contains__(self, thing: object) -> bool: ...",
    "(Protocol[T]):\n    def __contains__(self, thing):\n        'Return whether this holds `thing`.'\n        pass",
    "(ABC):\n    @abstractmethod\n    def __contains__(self, thing):\n        'Return whether this holds `thing`.'",
    ":\n    def __contains__(self, thing):\n        raise NotImplementedError",
    ":\n    def __contains__(self, thing):\n        'Raise an error.'\n        raise TypeError('no membership')",
)


@pytest.mark.parametrize("stub", few(STUBS, STUBS[0], STUBS[3]))
def test_a_membership_without_an_answer_is_allowed(stub: str) -> None:
    passed(Deed("stub", "", f"class Basket{stub}\n"))


def test_a_membership_that_answers_nothing_is_refused() -> None:
    for body in ("...", "self.cents", "if not self.cents:\n            raise KeyError"):
        new = f"{HEAD}    def __contains__(self, thing):\n        {body}\n"
        refused(Deed("nothing", BASKET, new, "makes every Money answer __contains__ alike"))


HOLLOW = (
    "abs(self.cents - o.cents) < 100",
    "self.cents // 10 == o.cents // 10",
    "self.cents * 0 == o.cents * 0",
    "type(self.cents) is type(o.cents) and self.cents <= o.cents",
    "bool(self.cents) == bool(o.cents)",
    "(not self.cents) == (not o.cents)",
    "(self.cents == 0) == (o.cents == 0)",
    "round(self.cents, -1) == round(o.cents, -1)",
    "len(self.cents) == len(o.cents)",
    "self.cents[0] == o.cents[0]",
    "self.currency.lower() == o.currency.lower()",
    "same(self.cents, o.cents)",
    "abs(self.cents - o.cents) < 100 * self.scale",
    "abs(self.cents - o.cents) < self.cents",
    "abs(self.cents - o.cents) < (not 0)",
    "-100 < self.cents - o.cents < 1e-9",
    "self.cents - o.cents == 1",
    "self.cents - self.cents == 0",
    "self.cents[:1] == o.cents[:1]",
    "round(self.cents, 1) == round(o.cents, 1)",
    "all(self.cents[k] == o.cents[k] for k in [0])",
    "all(self.cents[k] == o.cents[k] for k in range(1))",
    "self is o",
    "(self.cents is None) is (o.cents is None)",
)
COMPLETE = (
    "abs(self.cents - o.cents) < 1e-9",
    "isclose(self.cents, o.cents)",
    "self.cents.lower() == o.cents.lower()",
    "self.cents * RATES[self.currency] == o.cents * RATES[o.currency]",
    "self.cents * o.currency == o.cents * self.currency",
    "(self.cents or 0) == (o.cents or 0)",
    "self.cents == getattr(o, 'cents', o)",
    "all(getattr(self, name) == getattr(o, name) for name in ('cents', 'currency'))",
    "vars(self) == vars(o)",
    "super().__eq__(o)",
    "abs(self.cents - o.cents) < 1e-9 * max(abs(self.cents), abs(o.cents))",
    "abs(self.cents - o.cents) <= EPS",
    "abs(self.cents - o.cents) < self.tol",
    "abs(self.cents - o.cents) < 0.005",
    "np.abs(self.cents - o.cents) < 1e-9",
    "-1e-9 < self.cents - o.cents < 1e-9",
    "-EPS <= self.cents - o.cents <= EPS",
    "self.cents - o.cents == 0",
    "self.cents[:] == o.cents[:]",
    "round(self.cents, 9) == round(o.cents, 9)",
    "all(self.cents[k] == o.cents[k] for k in KEYS)",
    "all(self.cents[k] == o.cents[k] for k in range(len(self.cents)))",
    "self.cents is o.cents",
)
SAME = "\n\ndef same(one, other):\n    return (one is None) == (other is None)\n"


@pytest.mark.parametrize("how", few(HOLLOW, *HOLLOW[:2]))
def test_an_equality_hollowed_out_is_refused(how: str) -> None:
    hollow = equal(f"return {how} and self.currency == o.currency") + SAME
    refused(Deed(how, WITH, hollow, "no longer compares cents in Money.__eq__"))


def test_a_large_tolerance_is_refused_whatever_its_name() -> None:
    for start, limit in (("EPS = 100\n", "EPS"), ("", "self.TOL")):
        new = equal(f"return abs(self.cents - o.cents) < {limit} and self.currency == o.currency", "", "TOL = 100")
        new = start + new.replace("        TOL", "    TOL")
        refused(Deed(limit, WITH, new, "no longer compares cents in Money.__eq__"))


def test_an_equality_of_lengths_is_refused() -> None:
    old, new = equal("return tuple(self) == tuple(o)"), equal("return len(tuple(self)) == len(tuple(o))")
    refused(Deed("lengths", old, new, "no longer compares its objects in Money.__eq__"))


@pytest.mark.parametrize("how", few(COMPLETE, *COMPLETE[:2], COMPLETE[-11], COMPLETE[-6]))
def test_an_equality_that_still_compares_all_is_allowed(how: str) -> None:
    passed(Deed(how, WITH, equal(f"return {how} and self.currency == o.currency")))


def test_an_equality_through_local_names_is_allowed() -> None:
    lines = ["mine = self.cents", "theirs = o.cents if isinstance(o, Money) else o", "return mine == theirs"]
    passed(Deed("names", equal("return self.cents == o.cents"), equal(*lines)))


def test_an_order_that_becomes_a_difference_is_refused() -> None:
    old = HEAD + "    def __lt__(self, o):\n        return self.cents < o.cents\n"
    refused(Deed("order", old, old.replace("cents < o", "cents != o"), "no longer compares cents in Money.__lt__"))
    passed(Deed("order", old, old.replace("self.cents < o.cents", "int(self.cents) < int(o.cents)")))


NO_FIELD = {
    "InitVar": "@dataclass\nclass Money:\n    cents: InitVar[int]\n    note: InitVar[str] = ''\n",
    "a marker": "@dataclass\nclass Money:\n    _: KW_ONLY\n    cents: InitVar[int]\n",
    "not compared": "@dataclass\nclass Money:\n    price: int = field(compare=False)\n",
    "no field": f"@dataclass(repr=False)\n{BEFORE}",
}


@pytest.mark.parametrize("how", few(NO_FIELD, "InitVar"))
def test_a_data_class_that_compares_no_field_is_refused(how: str) -> None:
    refused(Deed(how, BEFORE, NO_FIELD[how], "makes every Money answer __eq__ alike"))


def test_a_data_class_instead_of_an_equality_compares_the_same_attributes() -> None:
    less = "@dataclass\nclass Money:\n    cents: InitVar[int]\n    currency: str = ''\n"
    refused(Deed("less", WITH, less, "no longer compares Money.cents"))
    passed(Deed("all", WITH, less.replace("InitVar[int]", "int")))
    passed(Deed("marker", "", "@dataclass\nclass Ping:\n    kind: ClassVar[str] = 'ping'\n"))
    passed(Deed("identity", BEFORE, f"@dataclass(eq=False)\n{BEFORE}"))


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
