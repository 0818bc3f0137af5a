"""Each rewriting of the registry: what it makes of code that ruff remarks on, and where it refuses."""

from __future__ import annotations

import re

import pytest

from coderefine.config import Config
from coderefine.lint import Diagnostic, Linter, apply
from coderefine.project import locate
from coderefine.proposers.rewritings.code import Code, Unsure
from coderefine.proposers.rewritings.registry import RULES, UNSAFE_FIXES
from coderefine.workspace import open_views
from tests.support.repo import make_repo

Table = dict[str, list[tuple[str, "str | None"]]]

LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen end"
WORDS = ", ".join(f"'{word}'" for word in LONG.split()[:10])
WIDE = f"\n\nx = '{'x' * 50}'\n"
"""A line as long as others may become."""

SHORTER: list[tuple[str, str | None]] = [
    (
        f'class Cart:\n    """The :class:`Cart` base class adds\n    {"x" * 20}.\n    """\n{WIDE}',
        f'class Cart:\n    """This base class adds {"x" * 20}.\n    """\n{WIDE}',
    ),
    (
        'class Table:\n    """The ``Table`` is a list of rows of\n    all of them.\n    """\n',
        'class Table:\n    """A list of rows of all of them.\n    """\n',
    ),
    (
        'class MyError(E):\n    """MyError is raised when all rows\n    are old.\n    """\n',
        'class MyError(E):\n    """Raised when all rows are old.\n    """\n',
    ),
    (
        'def find():\n    """``find()`` returns the first of\n    the rows.\n    """\n',
        'def find():\n    """Return the first of the rows.\n    """\n',
    ),
    ('class Table:\n    """The Tables is a list of rows of all\n    of them.\n    """\n', None),
    (
        f'def f():\n    """Return the :class:`Abc <b.c.Abc>` of the\n    row of it.\n    """\n{WIDE}',
        f'def f():\n    """Return the :class:`~b.c.Abc` of the row of it.\n    """\n{WIDE}',
    ),
    ('def f():\n    """Return the :func:`A <b.c.A>` of all of\n    the rows.\n    """\n', None),
    ('def f():\n    """Return the :class:`B <b.c.A>` of all of\n    the rows.\n    """\n', None),
    (
        'def f():\n    """Get a key from all of the rows, suitable\n    for caches.\n    """\n',
        'def f():\n    """Get a key from all of the rows.\n\n    The result is suitable for caches.\n    """\n',
    ),
    (
        'def f():\n    """Return a row of the names, in reverse\n    order.\n    """\n',
        'def f():\n    """Return a row of the names.\n\n    The result is in reverse order.\n    """\n',
    ),
    ('def f():\n    """Print a row of all names, in the reverse\n    order.\n    """\n', None),
    (
        'def f():\n    """Add items of all the rows without\n    changing them.\n    """\n',
        'def f():\n    """Add items of all the rows.\n\n    This is done without changing them.\n    """\n',
    ),
    ('class A:\n    """The items of all of the rows without\n    changing them.\n    """\n', None),
    (
        'class A:\n    """Same as the other class, except stores\n    a date.\n    """\n',
        'class A:\n    """Same as the other class.\n\n    However, it stores a date.\n    """\n',
    ),
    ('class A:\n    """The rows of the other class, except stores\n    of it.\n    """\n', None),
    (
        'def f():\n    """Write the file with rows in order to\n    show it.\n    """\n',
        'def f():\n    """Write the file with rows.\n\n    The purpose is to show it.\n    """\n',
    ),
    (
        'def f():\n    """Add all of the names here, i.e., those\n    of it.\n    """\n',
        'def f():\n    """Add all of the names here.\n\n    That is, those of it.\n    """\n',
    ),
    (
        'class A:\n    """This class provides :class:`B` which\n    is small.\n    """\n',
        'class A:\n    """This class provides :class:`B`.\n\n    It is small.\n    """\n',
    ),
]
"""Summaries that do not fit in a line: a name, a reference or a clause can be left out, or be a sentence of its own."""
IMPERATIVE: list[tuple[str, str | None]] = [
    ('def f():\n    """Strips values from it."""\n', 'def f():\n    """Strip values from it."""\n'),
    ('def f():\n    """Filters out empty rows."""\n', 'def f():\n    """Filter out empty rows."""\n'),
    ('def f():\n    """Filters applied to it."""\n', None),
    (
        'def same():\n    """``same()`` returns the names of it."""\n',
        'def same():\n    """Return the names of it."""\n',
    ),
    (
        'def f():\n    """The :func:`f` (or g) function is used to add the rows."""\n',
        'def f():\n    """Add the rows."""\n',
    ),
    ('def f():\n    """The g function is used to add the rows."""\n', None),
    ('def f():\n    """The f function gets a row and returns it."""\n', None),
    ('def f():\n    """Factory method that returns a row."""\n', 'def f():\n    """Return a row."""\n'),
    ('def f():\n    """A utility function used for adding it."""\n', 'def f():\n    """Add it."""\n'),
    (
        'def f():\n    """Reads the rows, and returns which are left."""\n',
        'def f():\n    """Read the rows, and return which are left."""\n',
    ),
]
"""Docstrings of functions: words that are verbs by what follows them, the function's own name, and kinds of things."""

DOCUMENTED = f'def f():\n    """{{}}\n    """\n{WIDE}'
PARTED = (
    (
        "Merge the cookies of one with another\n    (it may be any() list of some kind).",
        "Merge the cookies of one with another.\n\n    It may be any() list of some kind.",
    ),
    (
        "Get the header of the cache (`HTTP section 14.9\n    <http://a.b/c#d>`_)",
        "Get the header of the cache.\n\n    See `HTTP section 14.9 <http://a.b/c#d>`_.",
    ),
    (
        "Parse until the given line, but might\n    just parse some more.",
        "Parse until the given line.\n\n    It might just parse some more.",
    ),
    (
        "Check for a valid version number and\n    returns the number of it.",
        "Check for a valid version number.\n\n    Return the number of it.",
    ),
    (
        "Quickly looks at the parents of it and\n    returns the first one that matches.",
        "Quickly looks at the parents of it.\n\n    Returns the first one that matches.",
    ),
    (
        "Given a line, returns a `Name` or\n    `None` if there is no name in the line.",
        "Given a line, returns a `Name`.\n\n    Returns `None` if there is no name in the line.",
    ),
    (
        "Returns a new :class:`A` object, representing\n    the end of the given time.",
        "Returns a new :class:`A` object.\n\n    It represents the end of the given time.",
    ),
    (
        "Returns an iterator of rows, describing\n    all that was given.",
        "Returns an iterator of rows.\n\n    They describe all that was given.",
    ),
    ("Return the name of the number, formatted\n    according to the given locale.", None),
    ("Return the exit status of it, indicating\n    whether it was found.", None),
    ("Send an event to all of the clients, representing\n    the end of the job.", None),
    ("Return the number of the items, indicating\n    how many there are.", None),
    ("Read the whole long header, followed by\n    the body of the message.", None),
    ("Both of the arguments are optional, but must\n    be of one length.", None),
    ("Keys are not sorted by default, but can be\n    sorted by it.", None),
    ("Load the whole configuration (this is slow)\n    and all plugins (if there are any).", None),
    ("Yield the rows the query finds and returns\n    the number of them.", None),
    ("Return the list of all the rows of it\n    NOTE: this is slow.", None),
    ("Find the user with the given name\n    None if there is no such user.", None),
    ("Parse the response of the server\n    HTTP errors are raised as others.", None),
    (
        "Apply the given patch to the tree and return\n    the result of it.",
        "Apply the given patch to the tree.\n\n    Return the result of it.",
    ),
    (
        "Return a readable text, formatted according\n    to the given locale.",
        "Return a readable text.\n\n    It is formatted according to the given locale.",
    ),
    (
        "Input of the request (wsgi.input).\n    Setting this resets the length.",
        "Input of the request (wsgi.input).\n\n    Setting this resets the length.",
    ),
    (
        "Return the rows of parse.py. It returns\n    None if there are no rows.",
        "Return the rows of parse.py.\n\n    It returns None if there are no rows.",
    ),
)
"""Summaries of more than one row, and what is made of them."""

CASES: Table = {
    "A001": [
        ("def f(x):\n    id = x.id\n    return id\n", "def f(x):\n    id_ = x.id\n    return id_\n"),
        (
            "def f(x):\n    id = x.id\n    return id\n\n\ndef g(id_):\n    return id_\n",
            "def f(x):\n    id_ = x.id\n    return id_\n\n\ndef g(id_):\n    return id_\n",
        ),
        ("x = [id.x for id in y]\n", "x = [id_.x for id_ in y]\n"),
        ("def f(y):\n    return [id := x for x in y], id\n", None),
        ("x = [id(z) for id in y for z in id(w)]\n", "x = [id_(z) for id_ in y for z in id_(w)]\n"),
        ("x = [id.x for id in id(y)]\n", None),
        ("id = 1\n", None),
        ("def f():\n    global id\n    id = 1\n", None),
        ("def f():\n    id = 1\n    return locals()\n", None),
        ("def f():\n    vars = g()\n    return vars\n", "def f():\n    vars_ = g()\n    return vars_\n"),
        ("def f(vars):\n    id = 1\n    return vars()\n", "def f(vars):\n    id_ = 1\n    return vars()\n"),
        ("def f(x):\n    id = 1\n    return [vars for vars in x], vars()\n", None),
        ("def f(x):\n    id = 1\n    def g(vars):\n        return vars\n    return vars()\n", None),
    ],
    "B023": [
        (
            "def f(xs):\n    for x in xs:\n        yield lambda: x\n",
            "def f(xs):\n    for x in xs:\n        yield lambda x=x: x\n",
        ),
        (
            "def f(xs):\n    for x in xs:\n        yield lambda y: x + y\n",
            "def f(xs):\n    for x in xs:\n        yield lambda y, x=x: x + y\n",
        ),
        ("def f(xs):\n    for x in xs:\n        yield lambda *y: x + y\n", None),
        ("def f(xs):\n    for x in xs:\n        def g():\n            return x\n        yield g\n", None),
    ],
    "B904": [
        (
            "try:\n    f()\nexcept (A, B):  # why\n    raise C(\n        1  # one\n    )\n",
            "try:\n    f()\nexcept (A, B) as error:  # why\n    raise C(\n        1  # one\n    ) from error\n",
        ),
        (
            "def f():\n    try:\n        f()\n    except A as e:\n        raise B\n",
            "def f():\n    try:\n        f()\n    except A as e:\n        raise B from e\n",
        ),
        (
            "try:\n    f()\nexcept A as exc:\n    error = exc\nexcept B:\n    raise C\n",
            "try:\n    f()\nexcept A as exc:\n    error = exc\nexcept B as err:\n    raise C from err\n",
        ),
        (
            "try:\n    f()\nexcept:\n    raise A\n",
            "try:\n    f()\nexcept BaseException as error:\n    raise A from error\n",
        ),
        ("BaseException = A\ntry:\n    f()\nexcept:\n    raise A\n", None),
        ("try:\n    f()\nexcept A as e:\n    e = 1\n    raise B\n", None),
    ],
    "C416": [
        ("def f(a):\n    return [b for b in a.c()]\n", "def f(a):\n    return list(a.c())\n"),
        ("def f(a):\n    return {b for b in a}\n", "def f(a):\n    return set(a)\n"),
        ("def f(a):\n    return {b: c for b, c in a}\n", None),
    ],
    "D205": [
        (
            'def f():\n    """Return one.\n    It is small.\n    """\n    return 1\n',
            'def f():\n    """Return one.\n\n    It is small.\n    """\n    return 1\n',
        ),
        (
            "def f():\n    r'''\n    Is it one?\n    It is.\n    '''\n",
            "def f():\n    r'''\n    Is it one?\n\n    It is.\n    '''\n",
        ),
        (
            f'def f():\n    """Return one\n    or two.\n    """\n{WIDE}',
            f'def f():\n    """Return one or two.\n    """\n{WIDE}',
        ),
        (
            f'def f():\n    """Return one. It is a number\n    and small."""\n{WIDE}',
            f'def f():\n    """Return one.\n\n    It is a number and small."""\n{WIDE}',
        ),
        (
            'def f(x):\n    """\n    Return one\n    :param x: none\n    """\n',
            'def f(x):\n    """\n    Return one\n\n    :param x: none\n    """\n',
        ),
        (
            f'def f():\n    """Return `a.b`. This is a\n    number:\n\n    - one\n    """\n{WIDE}',
            f'def f():\n    """Return `a.b`.\n\n    This is a number:\n\n    - one\n    """\n{WIDE}',
        ),
        ('def f():\n    """Return one of them, where there are\n    some.\n    """\n', None),
        (
            f'def f():\n    """Return a :class:`A` or\n    :class:`B`.\n    """\n{WIDE}',
            f'def f():\n    """Return a :class:`A` or :class:`B`.\n    """\n{WIDE}',
        ),
        (
            'def f():\n    """Add one to all of them, setting the name\n    that each has: """\n',
            'def f():\n    """Add one to all of them.\n\n    Set the name that each has:"""\n',
        ),
        (
            'def f():\n    """Takes the first of all texts and returns\n    the rest.\n    """\n',
            'def f():\n    """Takes the first of all texts.\n\n    Returns the rest.\n    """\n',
        ),
        (
            'class A:\n    """The class has all of the texts, allowing\n    the use of one.\n    """\n',
            'class A:\n    """The class has all of the texts.\n\n    This allows the use of one.\n    """\n',
        ),
        (
            'class A:\n    """A class for all of the texts; numbers\n    are elsewhere\n    """\n',
            'class A:\n    """A class for all of the texts.\n\n    Numbers are elsewhere.\n    """\n',
        ),
        ('class A:\n    """A class for texts; for names; for\n    numbers of all kinds.\n    """\n', None),
        ('def f():\n    """Return a list with all of the texts, containing\n    the names.\n    """\n', None),
        ('def f():\n    """Turn them all into one single thing, merged\n    the right way.\n    """\n', None),
        ('def f():\n    """Return a function that takes a text and returns\n    the other.\n    """\n', None),
        ('def f():\n    """Allow others to take a given text and return\n    the other.\n    """\n', None),
        (
            f'def f():\n    """Return one of this\n    Kind.\n    """\n{WIDE}',
            f'def f():\n    """Return one of this Kind.\n    """\n{WIDE}',
        ),
        (f'def f():\n    """Return one\n    Others are left.\n    """\n{WIDE}', None),
        (f'def f():\n    """Return one, i.e. A\n    number. No other.\n    """\n{WIDE}', None),
        (f'def f():\n    """Return (one. Or\n    two).\n    """\n{WIDE}', None),
        (f'def f():\n    """\n    >>> f()\n    1\n    """\n{WIDE}', None),
        (f'def f():\n    """Title\n    ~~~~~\n    """\n{WIDE}', None),
        (f'def f():\n    """Decorates it.\n    wraps func, e.g. of it\n    """\n{WIDE}', None),
        (f'def f():\n    """\n    Draw it. It has\n     colours\n    """\n{WIDE}', None),
        (f'def f():\n    """f(x,\n      y)\n    Return one.\n    """\n{WIDE}', None),
        (
            'def f():\n    """Return a new list of numbers which will\n    hold them.\n    """\n',
            None,
        ),
        (
            'def f():\n    """Return a new list of numbers, and one which\n    trims it.\n    """\n',
            None,
        ),
        (
            'def f():\n    """Return a new wonderful list which lazily\n    filters them.\n    """\n',
            'def f():\n    """Return a new wonderful list.\n\n    It lazily filters them.\n    """\n',
        ),
        (
            'def f():\n    """Get the first element which matches the\n    key.\n    """\n',
            None,
        ),
        (
            'def f():\n    """Break the text into several units, which\n    can be parsed.\n    """\n',
            'def f():\n    """Break the text into several units.\n\n    They can be parsed.\n    """\n',
        ),
        (
            'def f():\n    """Escape the marker on each line, so that\n    text stays text.\n    """\n',
            'def f():\n    """Escape the marker on each line.\n\n    This way, text stays text.\n    """\n',
        ),
        (
            'def f():\n    """Remove dashes that pad the numbers (for\n    all)\n    """\n',
            'def f():\n    """Remove dashes that pad the numbers.\n\n    (For all.)\n    """\n',
        ),
        (
            'def f():\n    """Return the number that is the first, or\n    None if there is none.\n    """\n',
            'def f():\n    """Return the number that is the first.\n\n    Return None if there is none.\n    """\n',
        ),
        (
            'class A:\n    """Same as the other class, stores a number\n    of it.\n    """\n',
            'class A:\n    """Same as the other class.\n\n    It stores a number of it.\n    """\n',
        ),
        (
            'def f():\n    """Hold the list of all of them, keeping\n    data as numbers.\n    """\n',
            'def f():\n    """Hold the list of all of them.\n\n    Keep data as numbers.\n    """\n',
        ),
        ('def f():\n    """Show all of the data, turning it into\n    text and printing that.\n    """\n', None),
        *((DOCUMENTED.format(text), made and DOCUMENTED.format(made)) for text, made in PARTED),
        (
            'def f():\n    """Remove numbers from the text by converting\n    them.\n    """\n',
            'def f():\n    """Remove numbers from the text.\n\n    This is done by converting them.\n    """\n',
        ),
        (
            'def f():\n    """Try to find the names of all of it using\n    numbers.\n    """\n',
            'def f():\n    """Try to find the names of all of it.\n\n    This uses numbers.\n    """\n',
        ),
        ('def f():\n    """Return the objects represented entirely using\n    numbers.\n    """\n', None),
        (
            'def f():\n    """Name a part of the text, much like names\n    do.\n    """\n',
            'def f():\n    """Name a part of the text.\n\n    This is much like names do.\n    """\n',
        ),
        (
            f'def f():\n    """Add a new line to all lines\n    This method adds it.\n    """\n{WIDE}',
            f'def f():\n    """Add a new line to all lines.\n\n    This method adds it.\n    """\n{WIDE}',
        ),
        ('def f():\n    """Add a line of the text after that which the\n    This class has\n    """\n', None),
        (
            'def f():\n    """Return one of them, where there are\n    some."""\n' + f"x = '{'x' * 43}'\n",
            'def f():\n    """Return one of them, where there are some.\n    """\n' + f"x = '{'x' * 43}'\n",
        ),
        (f'def f():\n    """Return \\\n    one.\n    """\n{WIDE}', None),
        *SHORTER,
    ],
    "D401": [
        *IMPERATIVE,
        (
            'def f():\n    """Returns one."""\n    return 1\n',
            'def f():\n    """Return one."""\n    return 1\n',
        ),
        ("def f():\n    r'''Tries it.'''\n", "def f():\n    r'''Try it.'''\n"),
        ('def f():\n    """Maps the keys."""\n', 'def f():\n    """Map the keys."""\n'),
        ('def f():\n    """Decorator to wrap a call."""\n', 'def f():\n    """Wrap a call."""\n'),
        ('def f():\n    """Function to blame."""\n', None),
        ('def f():\n    """Maps of the keys."""\n', None),
        ('def f():\n    """Removing it."""\n', None),
        ('def f():\n    """returns one."""\n', 'def f():\n    """Return one."""\n'),
        ('def f():\n    """Helper for pulling a key."""\n', 'def f():\n    """Pull a key."""\n'),
        ('def f():\n    """This method returns one."""\n', 'def f():\n    """Return one."""\n'),
        (
            'def f():\n    """A convenience function which gets and returns it."""\n',
            None,
        ),
        (
            'def f():\n    """The name of all."""\n    return 1\n',
            'def f():\n    """Return the name of all."""\n    return 1\n',
        ),
        (
            'def f():\n    """Number of names."""\n    return 1\n',
            'def f():\n    """Return the number of names."""\n    return 1\n',
        ),
        ('def f():\n    """The name of all."""\n', None),
        ('def f():\n    """The name is set."""\n    return 1\n', None),
        ('def f():\n    """A decorator for calls."""\n    return 1\n', None),
        ('def f():\n    """An extension of calls."""\n    return 1\n', None),
        ('def f():\n    """The inverse of calls, this adds names."""\n    return 1\n', None),
        ('def f():\n    """The names."""\n    yield 1\n    return 1\n', None),
        (
            'def f():\n    """Takes a name, changes it and returns the text."""\n',
            'def f():\n    """Take a name, change it and return the text."""\n',
        ),
        ('def f():\n    """Returns a function that takes one and returns the other."""\n', None),
        ('def f():\n    """Returns: The name, if any."""\n', 'def f():\n    """Return the name, if any."""\n'),
        ('def f():\n    """Returns: True if it is."""\n', 'def f():\n    """Return True if it is."""\n'),
        ('def f():\n    """Returns: Nothing."""\n', None),
        ('def f():\n    """Takes a text and cleverly puts it there."""\n', None),
        ('def f():\n    """Callback to call it."""\n', 'def f():\n    """Call it."""\n'),
        ('def f():\n    """Helper for change events."""\n', None),
        ('def f():\n    """A ruff plugin to call it."""\n', 'def f():\n    """Call it."""\n'),
        ('def f():\n    """Populates `a.b`."""\n', 'def f():\n    """Populate `a.b`."""\n'),
        ('def f():\n    """A method for lazily yielding it."""\n', 'def f():\n    """Lazily yield it."""\n'),
        ('def f():\n    """Generator yielding numbers."""\n', 'def f():\n    """Yield numbers."""\n'),
        ('def f():\n    """This returns a name."""\n', 'def f():\n    """Return a name."""\n'),
        ('def f():\n    """Useful for comparing two."""\n', 'def f():\n    """Compare two."""\n'),
        ('def f():\n    """Wrapper for `g`."""\n', 'def f():\n    """Wrap `g`."""\n'),
        ('def f():\n    """A wrapper around `g` which is small."""\n', None),
        ('def f():\n    """Setup and return it."""\n', 'def f():\n    """Set up and return it."""\n'),
        ('def f():\n    """Setup of names."""\n', None),
        (
            'def f(x):\n    """True, if x is."""\n    if x:\n        return 1\n    else:\n        return 0\n',
            'def f(x):\n    """Return True if x is."""\n    if x:\n        return 1\n    else:\n        return 0\n',
        ),
        ('def f():\n    """Returns keys and values."""\n', 'def f():\n    """Return keys and values."""\n'),
        (
            'def f():\n    """Returns the names and then returns ``None``."""\n',
            'def f():\n    """Return the names and then return ``None``."""\n',
        ),
    ],
    "E501": [
        (
            f"    # - {LONG}\nx = 1\n",
            "    # - one two three four five six seven eight nine ten eleven twelve thirteen fourteen\n"
            "    #   fifteen end\nx = 1\n",
        ),
        (f"x = 1  # {LONG}\n", None),
        (f"# {'x' * 90} b\n", None),
        (
            f'def f():\n  """Return.\n\n  {LONG}\n  of it.\n\n  - more\n  """\n',
            'def f():\n  """Return.\n\n'
            "  one two three four five six seven eight nine ten eleven twelve thirteen fourteen\n"
            '  fifteen end of it.\n\n  - more\n  """\n',
        ),
        (f'def f():\n  """Return.\n\n      {LONG}\n  """\n', None),
        (f'def f():\n  """Return.\n\n  - {LONG}\n  """\n', None),
        (f'def f():\n  """Return.\n\n  {LONG.replace(" seven", "   seven")}\n  """\n', None),
        (f'TEXT = """\n{LONG}\n"""\n', None),
        (
            f'def f():\n  """Return.\n\n  :param x: {LONG}\n      of it.\n  :param y: more\n  """\n',
            'def f():\n  """Return.\n\n'
            "  :param x: one two three four five six seven eight nine ten eleven twelve thirteen\n"
            '      fourteen fifteen end of it.\n  :param y: more\n  """\n',
        ),
        (
            f'def f():\n  """Return.\n\n  Args:\n    x: {LONG}\n    y: more\n  """\n',
            'def f():\n  """Return.\n\n  Args:\n'
            "    x: one two three four five six seven eight nine ten eleven twelve thirteen fourteen\n"
            '        fifteen end\n    y: more\n  """\n',
        ),
        (
            f'def f():\n  """Return.\n\n  .. note::\n    {LONG}\n  """\n',
            'def f():\n  """Return.\n\n  .. note::\n'
            "    one two three four five six seven eight nine ten eleven twelve thirteen fourteen\n"
            '    fifteen end\n  """\n',
        ),
        (
            f'def f():\n  """Return.\n\n  {LONG[:-12]} `one or two`.\n  """\n',
            'def f():\n  """Return.\n\n'
            "  one two three four five six seven eight nine ten eleven twelve thirteen fourteen\n"
            '  `one or two`.\n  """\n',
        ),
        (f'def f():\n  """Return.\n\n  >>> f()\n  {LONG}\n  """\n', None),
        (f'def f():\n  """Return.\n\n  ```\n  {LONG}\n  ```\n  """\n', None),
        (f'def f():\n  """Return.\n\n  .. code::\n      {LONG}\n  """\n', None),
        (
            f'def f():\n  """Return one of them. O{LONG[1:70]}"""\n',
            f'def f():\n  """Return one of them.\n\n  O{LONG[1:70]}\n  """\n',
        ),
        (
            f"def f(x):\n  return '{LONG} ' + x\n",
            "def f(x):\n  return (\n"
            "    'one two three four five six seven eight nine ten eleven twelve thirteen fourteen '\n"
            "    'fifteen end '\n  ) + x\n",
        ),
        (
            f'def f(x):\n  g(f"{LONG} {{x + 1}}")\n',
            "def f(x):\n  g(\n"
            '    "one two three four five six seven eight nine ten eleven twelve thirteen "\n'
            '    f"fourteen fifteen end {x + 1}"\n  )\n',
        ),
        (
            f"def f(x):\n  g(\n    '{LONG}',\n    x)\n",
            "def f(x):\n  g(\n"
            "    'one two three four five six seven eight nine ten eleven twelve thirteen fourteen '\n"
            "    'fifteen end',\n    x)\n",
        ),
        (
            f"def f(x):\n  g(\n    f'{{x}} '\n    '{LONG}',\n    x)\n",
            "def f(x):\n  g(\n    f'{x} '\n"
            "    'one two three four five six seven eight nine ten eleven twelve thirteen fourteen '\n"
            "    'fifteen end',\n    x)\n",
        ),
        (f"def f(x):\n  g(\n    x\n    + '''a\n    '{LONG}',\n''')\n", None),
        (f"x = 'a \\\n    {LONG}'\n", None),
        (f"def f(x):\n  g(\n    '{LONG[:50]} '  # in French '{LONG[:20]}'\n    'and',\n    x)\n", None),
        (f"def f(x):\n  return {{\n    'key': f'{{x}} {LONG}'\n    ' more',\n  }}\n", None),
        (f'x = \'{LONG} {{"a": {{"b": 1}}}} end\'\n', None),
        (f"x = '{'y' * 90}'\n", None),
        (f'def f():\n  """Return.\n\n  {LONG}\n  Of it\n  """\n', None),
        (
            f"X = [\n  'a', 'b',\n  {WORDS}, 'the end',\n  {WORDS}, 'the end', 'c'\n]\n",
            f"X = [\n  'a', 'b',\n  {WORDS},\n  'the end', {WORDS[:-7]},\n  'ten', 'the end', 'c'\n]\n",
        ),
        (f"X = [\n  'a', 'b',\n  {WORDS}, 'the end',  # comment\n]\n", None),
        (f"X = [\n  'a',\n  {WORDS}, 'the end',\n]\n", None),
    ],
    "E701": [
        ("if a: b = 1\n", "if a:\n    b = 1\n"),
        ("class A: pass\n", "class A:\n    pass\n"),
        ("if a:\n\tif b: c()  # d\n", "if a:\n\tif b:\n\t\tc()  # d\n"),
        ("try: f()\nexcept A:\n    g()\n", "try:\n    f()\nexcept A:\n    g()\n"),
        ("if a:\n    b()\nelif c: d()\n", "if a:\n    b()\nelif c:\n    d()\n"),
    ],
    "E702": [
        ("if a:\n    b = 1; c = 2\n", "if a:\n    b = 1\n    c = 2\n"),
        ("a = ';'; b = 2  # c\n", "a = ';'\nb = 2  # c\n"),
        ("if a: b = 1; c = 2\n", None),
    ],
    "E711": [
        ("def f(a: str | None):\n    return a == None\n", "def f(a: str | None):\n    return a is None\n"),
        ("def f(a: int):\n    return a != None\n", "def f(a: int):\n    return a is not None\n"),
        ("def f(a):\n    return a == None\n", None),
        ("def f(a: Column):\n    return a == None\n", None),
    ],
    "E712": [
        ("def f(a: bool):\n    return 1 if a == True else 2\n", "def f(a: bool):\n    return 1 if a else 2\n"),
        ("def f(a):\n    return 1 if a == True else 2\n", None),
        ("def f(a: bool = None):\n    return 1 if a == False else 2\n", None),
        ("def f(a: bool):\n    a = g(a)\n    return 1 if a == True else 2\n", None),
    ],
    "E721": [
        ("x = type(a) == type(b)\n", "x = type(a) is type(b)\n"),
        ("x = (type(a)) != (int)\n", "x = (type(a)) is not (int)\n"),
    ],
    "E722": [
        ("try:\n    f()\nexcept:\n    g()\n", "try:\n    f()\nexcept BaseException:\n    g()\n"),
        ("BaseException = 1\ntry:\n    f()\nexcept:\n    g()\n", None),
    ],
    "E741": [
        (
            "def f(lines):\n    for l in lines:\n        g(l)\n",
            "def f(lines):\n    for line in lines:\n        g(line)\n",
        ),
        ("x = [l for l in rows if l]\n", "x = [row for row in rows if row]\n"),
        ("def f(x):\n    l = len(x)\n    return l\n", "def f(x):\n    length = len(x)\n    return length\n"),
        (
            "def f(x):\n    l = ' '.join(x)\n    return l\n",
            "def f(x):\n    joined = ' '.join(x)\n    return joined\n",
        ),
        ("def f(x):\n    I = g(x)\n    return h(I=I)\n", "def f(x):\n    value = g(x)\n    return h(I=value)\n"),
        ("l = 1\n", None),
        ("def f(x):\n    l = x\n    return lambda l: l\n", None),
        ('def f(x):\n    l = x\n    return f"{l=}"\n', None),
        ("def f(l):\n    for l in l:\n        g(l)\n", None),
    ],
    "F841": [
        (
            "def f():\n    try:\n        g()\n    except A as error:\n        h()\n",
            "def f():\n    try:\n        g()\n    except A:\n        h()\n",
        ),
        ("def f(a):\n    b = -1\n    return a\n", "def f(a):\n    return a\n"),
        ("def f():\n    lock = acquire()\n    return g()\n", None),
        ("def f(a):\n    b = a.b\n    return a\n", None),
        (
            "def f():\n    try:\n        a = unicode\n    except NameError:\n        return False\n    return True\n",
            None,
        ),
        ("def f():\n    with g() as a:\n        h()\n", None),
    ],
    "G001": [
        ('import logging\nlogging.info("a {}%".format(b))\n', 'import logging\nlogging.info("a %s%%", b)\n'),
        ('import logging\nlogging.info("a {0}".format(b))\n', None),
        ('import logging\nlogging.info("a {x}".format(x=b))\n', None),
    ],
    "G002": [
        ('import logging\nlogging.info("a %s" % (b,))\n', 'import logging\nlogging.info("a %s", b)\n'),
        ('import logging\nlogging.info("a %s" % b)\n', None),
    ],
    "G004": [
        (
            'import logging\nlogging.info(f"a {b!r} {c.d}% {e[0]}")\n',
            'import logging\nlogging.info("a %r %s%% %s", b, c.d, e[0])\n',
        ),
        ('import logging\nlogging.info(f"a {b:>8}")\n', None),
        ('import logging\nlogging.info(f"a {b}", c)\n', None),
    ],
    "N806": [
        (
            "def f(x):\n    MaxItems = 3\n    return [MaxItems for _ in x]\n",
            "def f(x):\n    max_items = 3\n    return [max_items for _ in x]\n",
        ),
        ("def f(x):\n    Max = 3\n    return Max\n", "def f(x):\n    max_ = 3\n    return max_\n"),
        ("def f(n):\n    N = 3\n    return N + n\n", None),
        ("def f(x):\n    Format = x.Format\n    return Format\n", None),
        ("def f(x):\n    DAYS = x.DAYS\n    return DAYS\n", "def f(x):\n    days = x.DAYS\n    return days\n"),
        ("def f(x):\n    Max = 3\n    def g():\n        nonlocal Max\n        Max = 4\n", None),
    ],
    "PERF401": [
        (
            "def f(xs):\n    ys = []\n    for x in xs:\n        if x or not xs:\n"
            "            ys.append(x + 1)\n    return ys\n",
            "def f(xs):\n    ys = [x + 1 for x in xs if (x or not xs)]\n    return ys\n",
        ),
        (
            "def f(xs):\n    ys = []\n    g(ys)\n    for a in xs:\n        ys.append(a + 1)\n    return ys\n",
            "def f(xs):\n    ys = []\n    g(ys)\n    ys.extend(a + 1 for a in xs)\n    return ys\n",
        ),
        ("def f(xs):\n    ys = []\n    for x in xs:\n        # why\n        ys.append(x + 1)\n", None),
        (
            "class A(B):\n    def f(self, xs):\n        ys = []\n        for x in xs:\n"
            "            ys.append(super().f(x))\n        return ys\n",
            None,
        ),
        ("ys = []\nfor x in xs:\n    ys.append(x + 1)\n", None),
        (
            "def f(xs):\n    try:\n        ys = []\n        for x in xs:\n            ys.append(int(x))\n"
            "    except A:\n        ys.append(-1)\n    return ys\n",
            "def f(xs):\n    try:\n        ys = []\n        ys.extend(int(x) for x in xs)\n"
            "    except A:\n        ys.append(-1)\n    return ys\n",
        ),
        (
            "def f(xs):\n    try:\n        ys = []\n        for x in xs:\n            ys.append(int(x))\n"
            "    except A:\n        return g()\n    return ys\n",
            "def f(xs):\n    try:\n        ys = [int(x) for x in xs]\n"
            "    except A:\n        return g()\n    return ys\n",
        ),
        (
            "def f(xs):\n    def g(z):\n        return z in ys\n\n    ys = []\n    for x in xs:\n"
            "        if not g(x):\n            ys.append(x + 1)\n    return ys\n",
            "def f(xs):\n    def g(z):\n        return z in ys\n\n    ys = []\n"
            "    ys.extend(x + 1 for x in xs if not g(x))\n    return ys\n",
        ),
    ],
    "PERF402": [
        (
            "def f(xs):\n    ys = []\n    for x in xs:\n        ys.append(x)\n    return ys\n",
            "def f(xs):\n    ys = list(xs)\n    return ys\n",
        ),
    ],
    "PIE810": [
        (
            "def f(a: str):\n    return a.startswith('b') or a.startswith('c')\n",
            "def f(a: str):\n    return a.startswith(('b', 'c'))\n",
        ),
        (
            "def f(a):\n    b = str(a)\n    return a or b.endswith('b') or b.endswith('c')\n",
            "def f(a):\n    b = str(a)\n    return a or b.endswith(('b', 'c'))\n",
        ),
        ("def f(a):\n    return a.startswith('b') or a.startswith('c')\n", None),
        ("def f(a: str, b):\n    return a.startswith(b) or a.startswith('c')\n", None),
    ],
    "PLC0206": [
        (
            "def f(d: dict):\n    for k in d:\n        g(k, d[k])\n",
            "def f(d: dict):\n    for k, value in d.items():\n        g(k, value)\n",
        ),
        (
            "d = {}\nfor k in d.keys():\n    g(d[k])\n",
            "d = {}\nfor k, value in d.items():\n    g(value)\n",
        ),
        ("def f(d: dict):\n    for k in d:\n        g(d[k])\n        d.pop(k)\n", None),
    ],
    "PLR1714": [
        ("def f(a):\n    return a == 'r' or a == 'w'\n", "def f(a):\n    return a in ('r', 'w')\n"),
        ("def f(a, b):\n    return a.c == 1 or a.c == b.c\n", None),
        ("def f(a):\n    return (a == 1  # one\n        or a == 2)\n", None),
        ("def f(a):\n    return a == 1 or a == 2 or a in {3}\n", "def f(a):\n    return a in (1, 2) or a in {3}\n"),
        ("def f(a):\n    return (a == 1\n        or a == 2 or a)\n", "def f(a):\n    return (a in (1, 2) or a)\n"),
    ],
    "PLW2901": [
        (
            "def f(xs):\n    for x in xs:\n        x = x.strip()  # why\n        if x:\n            g(x)\n",
            "def f(xs):\n    for x in xs:\n        stripped_x = x.strip()  # why\n        if stripped_x:\n"
            "            g(stripped_x)\n",
        ),
        (
            "def f(xs):\n    for y, x in xs:\n        if y in xs:\n            x = convert(x)\n        yield y, x\n",
            "def f(xs):\n    for y, x in xs:\n        converted_x = convert(x) if y in xs else x\n"
            "        yield y, converted_x\n",
        ),
        (
            "def f(xs):\n    for x in xs:\n        if x:  # why\n"
            "            x = g(x)\n            h(x)\n        yield x\n",
            "def f(xs):\n    for x in xs:\n        new_x = x\n        if x:  # why\n            new_x = g(x)\n"
            "            h(new_x)\n        yield new_x\n",
        ),
        (
            "def f(xs):\n    for x in xs:\n        if x:\n            x = g(x)\n        else:\n            yield x\n",
            "def f(xs):\n    for original_x in xs:\n        x = original_x\n        if x:\n            x = g(x)\n"
            "        else:\n            yield x\n",
        ),
        (
            "def f(xs):\n    for x in xs:\n        if x:\n"
            "            x = x[1:]\n            x = g(x)\n            h(x)\n",
            "def f(xs):\n    for x in xs:\n        if x:\n            new_x = x[1:]\n            new_x = g(new_x)\n"
            "            h(new_x)\n",
        ),
        (
            "def f(xs):\n    for x in xs:\n        for y in x:\n"
            "            h(x)\n            x = y\n            h(x)\n",
            "def f(xs):\n    for original_x in xs:\n        x = original_x\n        for y in x:\n"
            "            h(x)\n            x = y\n            h(x)\n",
        ),
        (
            "def f(xs):\n    for x in xs:\n        x = g(x)\n        h(x)\n    for x in xs:\n        h(x)\n",
            "def f(xs):\n    for x in xs:\n        new_x = g(x)\n        h(new_x)\n    for x in xs:\n        h(x)\n",
        ),
        (
            "def f(xs):\n    for x in xs:\n        x = x.strip()\n    return x\n",
            "def f(xs):\n    for original_x in xs:\n        x = original_x\n        x = x.strip()\n    return x\n",
        ),
        (
            "def f(xs):\n    for _, x in xs:\n        # why\n        x += 1\n        yield lambda: x\n",
            "def f(xs):\n    for _, original_x in xs:\n        # why\n        x = original_x\n        x += 1\n"
            "        yield lambda: x\n",
        ),
        ("def f(xs):\n    for x in xs: x = g(x); h(x); h(x, lambda: x)\n", None),
        ("for x in range(3):\n    x += 1\n", None),
        ("def f(x):\n    for x.a in x:\n        x.a = 1\n", None),
        ("def f(xs):\n    for x in xs:\n        x = x.strip()\n    return locals()\n", None),
    ],
    "RET504": [
        ("def f():\n    a = g()\n    return a\n", "def f():\n    return g()\n"),
        ("def f():\n    a = 1\n    with g():\n        a = h()\n    return a\n", None),
        ("def f():\n    a = g()\n    return a  # why\n", None),
    ],
    "RUF012": [
        (
            "import os\n\n\nclass A:\n    b = {}\n    c = []\n",
            "import os\nfrom typing import ClassVar\n\n\nclass A:\n    b: ClassVar[dict] = {}\n    c = []\n",
        ),
        (
            "from typing import Any\n\n\nclass A:\n    b: list[Any] = []\n",
            "from typing import Any, ClassVar\n\n\nclass A:\n    b: ClassVar[list[Any]] = []\n",
        ),
        (
            '"""Doc."""\n\n\nclass A:\n    b = {1}\n',
            '"""Doc."""\nfrom typing import ClassVar\n\n\nclass A:\n    b: ClassVar = {1}\n',
        ),
        ("class A:\n    b = []\n\n    def f(self):\n        self.b = []\n", None),
        (
            "class A:\n    b = set()\n\n    def f(cls):\n        cls.b = A.b = {1}\n",
            "from typing import ClassVar\nclass A:\n    b: ClassVar = set()\n\n"
            "    def f(cls):\n        cls.b = A.b = {1}\n",
        ),
        (
            "class A:\n    list = []\n",
            "from typing import ClassVar\nclass A:\n    list: ClassVar = []\n",
        ),
        ("ClassVar = 1\n\n\nclass A:\n    b = []\n", None),
        (
            "import abc\n\n\nclass A(abc.ABC, dict[str, int]):\n    pass\n\n\nclass B(A):\n    c = {1}\n",
            "import abc\nfrom typing import ClassVar\n\n\nclass A(abc.ABC, dict[str, int]):\n    pass\n\n\n"
            "class B(A):\n    c: ClassVar = {1}\n",
        ),
        ("from .model import Model\n\n\nclass A(Model):\n    b = {1}\n", None),
        ("import model\n\n\nclass A(metaclass=model.Meta):\n    pass\n\n\nclass B(A):\n    c = {1}\n", None),
    ],
    "SIM102": [
        (
            "if a or b:\n    if c:\n        # why\n        d()\n\n        e()\n",
            "if (a or b) and c:\n    # why\n    d()\n\n    e()\n",
        ),
        ("if x:\n    y()\nelif a:\n    if b:\n        d()\n", "if x:\n    y()\nelif a and b:\n    d()\n"),
        (
            "if a:\n\n    # why\n  # not\n    if b:\n        d()\n",
            "if a and b:\n    # why\n    # not\n    d()\n",
        ),
        (
            f"if {'a' * 40}:\n    if {'b' * 40}:\n        d()\n",
            f"if (\n    {'a' * 40}\n    and {'b' * 40}\n):\n    d()\n",
        ),
        ("if a:  # why\n    if b:\n        d()\n", None),
        ("if a:\n    if b:  # why\n        d()\n", None),
        ('if a:\n    if b:\n        d("""\n  x""")\n', None),
    ],
    "SIM103": [
        (
            "def f(a):\n    if a == 1 and a:\n        return False\n    return True\n",
            "def f(a):\n    return not (a == 1 and a)\n",
        ),
        (
            "def f(a):\n    if a:\n        return 1\n    elif a < 2:\n        return True\n    else:\n"
            "        return False\n",
            "def f(a):\n    if a:\n        return 1\n    return bool(a < 2)\n",
        ),
        (
            "def f(a):\n    if not isinstance(a, str):\n        return False\n    return True\n",
            "def f(a):\n    return isinstance(a, str)\n",
        ),
        (
            "def f(a):\n    if a in f():\n        return False\n    return True\n",
            "def f(a):\n    return a not in f()\n",
        ),
        ("def f(a):\n    if a < f:\n        return False\n    return True\n", "def f(a):\n    return not (a < f)\n"),
        ("def f(a):\n    if a is f:\n        return True\n    return False\n", "def f(a):\n    return a is f\n"),
        ("def f(a, bool):\n    if a:\n        return True\n    return False\n", None),
        ("def f(a):\n    if a:\n        return True  # why\n    return False\n", None),
    ],
    "SIM117": [
        (
            "with a() as b:\n    with c(b), d as e:\n        f()\n    # end\n",
            "with a() as b, c(b), d as e:\n    f()\n    # end\n",
        ),
        ("with a():\n    # why\n    with b():\n        f()\n", None),
    ],
    "SIM210": [
        ("x = True if a in b else False\n", "x = a in b\n"),
        ("x = True if a == b else False\n", "x = bool(a == b)\n"),
        ("def bool(a):\n    return True if a else False\n", None),
    ],
    "TD004": [
        ("# TODO(me) fix it\n", "# TODO(me): fix it\n"),
        ("x = 1  # FIXME fix it\n", "x = 1  # FIXME: fix it\n"),
        ("# TODO\n", "# TODO:\n"),
    ],
    "TD007": [("# TODO:fix it\n", "# TODO: fix it\n")],
    "TRY201": [
        (
            "def f():\n    try:\n        g()\n    except A as e:\n        h(e)\n        raise e\n",
            "def f():\n    try:\n        g()\n    except A as e:\n        h(e)\n        raise\n",
        ),
        ("def f():\n    try:\n        g()\n    except A as e:\n        e = h(e)\n        raise e\n", None),
        (
            "def f():\n    try:\n        g()\n    except A as e:\n        def h():\n            raise e\n"
            "        return h\n",
            None,
        ),
    ],
    "TRY203": [
        (
            "def f():\n    try:\n        # why\n        return g()\n    except A:\n        raise\n",
            "def f():\n    # why\n    return g()\n",
        ),
        ("def f():\n    try:\n        return g()\n    except A:\n        # why\n        raise\n", None),
    ],
    "TRY300": [
        ("def f():\n    try:\n        g()\n        return unicode\n    except NameError:\n        return str\n", None),
        (
            "A = 1\n\n\ndef f():\n    try:\n        g()\n        return A\n    except KeyError:\n        return 1\n",
            "A = 1\n\n\ndef f():\n    try:\n        g()\n    except KeyError:\n        return 1\n"
            "    else:\n        return A\n",
        ),
        (
            "def f():\n    try:\n        x = g()\n        return x  # it\n    except A:\n"
            "        return 1\n    finally:\n        h()\n",
            "def f():\n    try:\n        x = g()\n    except A:\n        return 1\n"
            "    else:\n        return x  # it\n    finally:\n        h()\n",
        ),
        (
            "def f():\n    try:\n        x = g()\n        # why\n        return x\n    except A:\n        return 1\n",
            None,
        ),
        (
            "def f():\n    try:\n        x = g()\n        return x\n        # why\n    except A:\n        return 1\n",
            None,
        ),
        (
            "def f(a):\n    try:\n        g()\n        return -1, a\n    except A:\n        return 1\n",
            "def f(a):\n    try:\n        g()\n    except A:\n        return 1\n    else:\n        return -1, a\n",
        ),
        (
            "def f(xs):\n    try:\n        for x in xs:\n            y = g(x)\n        return y\n"
            "    except A:\n        return 1\n",
            None,
        ),
        ("def f(a):\n    try:\n        x = g()\n        return x < a\n    except A:\n        return 1\n", None),
        ("def f(a):\n    try:\n        x = g()\n        return not x\n    except A:\n        return 1\n", None),
    ],
    "UP031": [
        ("def f(a):\n    return '<%s>' % (a,)\n", "def f(a):\n    return f'<{a!s}>'\n"),
        ("def f(a: str):\n    return '<%s>' % a\n", "def f(a: str):\n    return f'<{a!s}>'\n"),
        ("def f(a):\n    return '<%s>' % a\n", None),
        ("def f(a):\n    return '<%s>' % self.a\n", None),
        (
            "def f(a):\n    b, *c = a.split(',')\n    if c:\n        raise A('<%s>' % a)\n",
            "def f(a):\n    b, *c = a.split(',')\n    if c:\n        raise A(f'<{a!s}>')\n",
        ),
        (
            "def f(a):\n    if a.find('b') < 0 and a:\n        b = 1\n    return '<%s>' % a\n",
            "def f(a):\n    if a.find('b') < 0 and a:\n        b = 1\n    return f'<{a!s}>'\n",
        ),
        ("def f(a):\n    b = a.index('b')\n    return '<%s>' % a\n", None),
        ("def f(a):\n    b = a.split\n    return '<%s>' % a\n", None),
        ("def f(a, b):\n    c = b or a.split()\n    return '<%s>' % a\n", None),
        ("def f(a, b):\n    if b:\n        a.split()\n    return '<%s>' % a\n", None),
        ("def f(a):\n    b = a.split()\n    a = g(a)\n    return '<%s>' % a\n", None),
        ("def f(a):\n    b = [a.split() for _ in b]\n    return '<%s>' % a\n", None),
        ("def f(a):\n    return '<%s>' % a, a.split()\n", None),
        ("def f():\n    a.split()\n    return '<%s>' % a\n", None),
        ("def f(*a):\n    return '<%s>' % (*a,)\n", None),
        ("def f(a):\n    return '%s <%.2f>' % (a, a)\n", None),
        ("def f(a):\n    return '%d' % (a,)\n", None),
        ("def f(a):\n    return '%05d' % len(a)\n", None),
        ("def f(a):\n    return '%(a)s' % {'a': a}\n", None),
        ("def f(a):\n    return '%*s' % (a, a)\n", None),
        ("def f(a):\n    return '%d of %s' % (len(a), a)\n", "def f(a):\n    return f'{len(a)} of {a!s}'\n"),
        ("def len(a):\n    return '%d of %s' % (len(a), a)\n", None),
        ("from a import *\nx = '%d' % len(a)\n", None),
        (
            "def f(a):\n    return '{%5s|%-10s|%.3s|%r|%a} 5%%' % (a, a, a, a, a)\n",
            "def f(a):\n    return f'{{{a!s:>5}|{a!s:10}|{a!s:.3}|{a!r}|{a!a}}} 5%'\n",
        ),
        ("def f(a):\n    return '%s' % repr(a)\n", "def f(a):\n    return f'{a!r}'\n"),
        ("def f(a):\n    return '%5s' % (str(a),)\n", "def f(a):\n    return f'{a!s:>5}'\n"),
        ("def f(a):\n    return u'%s' % type(a).__name__\n", "def f(a):\n    return f'{type(a).__name__}'\n"),
        (
            "def f(self):\n    return '%s()' % self.__class__.__name__\n",
            "def f(self):\n    return f'{self.__class__.__name__}()'\n",
        ),
        ("def f(a):\n    return r'\\%s' % (a,)\n", "def f(a):\n    return fr'\\{a!s}'\n"),
        ("def f(a):\n    return '<%s>' % (a['b'],)\n", "def f(a):\n    return f\"<{a['b']!s}>\"\n"),
        ("def f(a):\n    return '<%s>' % (a['b\"'],)\n", None),
        ("def f(a):\n    return '<%s>' % ('\\n'.join(a),)\n", None),
        ("def f(a):\n    return '<%s>' % ({1: a},)\n", None),
        ("def f(a):\n    return '\\N{EN DASH}%s' % (a,)\n", None),
        ("def f(a):\n    return '\\x25%s' % (a, a)\n", None),
        ("def f(a):\n    return '<%s>' % (a,  # why\n        )\n", None),
        (f"def f(a):\n    return '%s %s' % (a.{'b' * 50}, a.{'c' * 50})\n", None),
        (
            "def f(a):\n    return ('{a} 1%% %s '\n            '{b} 2%%' % (a,))\n",
            "def f(a):\n    return (f'{{a}} 1% {a!s} '\n            '{b} 2%')\n",
        ),
        (
            "def f(a):\n    try:\n        return a()\n    except A as e:\n        raise B('no %s' % e)\n",
            "def f(a):\n    try:\n        return a()\n    except A as e:\n        raise B(f'no {e!s}')\n",
        ),
        ("def f(e):\n    try:\n        return e()\n    except A as e:\n        raise B('no %s' % e)\n", None),
        (
            "def f():\n    def g():\n        try:\n            h()\n        except A as e:\n            pass\n"
            "    return '%s' % e\n",
            None,
        ),
        (
            "def f(a):\n    for i in range(3):\n        b = ', '.join(a)\n    return '%d' % i + '%s' % (b,)\n",
            "def f(a):\n    for i in range(3):\n        b = ', '.join(a)\n    return f'{i}' + '%s' % (b,)\n",
        ),
        (
            "def f(a):\n    b = len(a)\n    b = [a]\n    return '%s' % b\n",
            "def f(a):\n    b = len(a)\n    b = [a]\n    return f'{b!s}'\n",
        ),
        ("def f(a):\n    b = len(a)\n    b += a\n    return '%s' % b\n", None),
        ("def f(a):\n    global b\n    b = len(a)\n    return '%s' % b\n", None),
        ("b = 1\nc = '%s' % b\n", None),
    ],
    "W291": [
        ('def f():\n    """One. \n    """\n', 'def f():\n    """One.\n    """\n'),
        ('A = """one \n"""\n', None),
    ],
    "W293": [
        ('def f():\n    """One.\n    \n    """\n', 'def f():\n    """One.\n\n    """\n'),
        ('A = """one\n \n"""\n', None),
    ],
    "W505": [
        (
            f"# {LONG}\n",
            "# one two three four five six seven eight nine ten eleven twelve thirteen fourteen\n# fifteen end\n",
        )
    ],
}
ALL = [(rule, number) for rule, cases in CASES.items() for number in range(len(cases))]


@pytest.fixture(scope="module")
def remarks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Diagnostic]]:
    """What ruff says about the texts, by path: `RULE/NUMBER.py`."""
    files = {f"{rule}/{number}.py": CASES[rule][number][0] for rule, number in ALL}
    settings = '[tool.ruff]\nline-length = 88\nlint.pycodestyle.max-doc-length = 84\nlint.select = ["ALL"]\n'
    top = make_repo(tmp_path_factory.mktemp("rules") / "repo", {"pyproject.toml": settings, **files})
    place = locate([top], top)
    found: dict[str, list[Diagnostic]] = {path: [] for path in files}
    with open_views(place, kind="copy") as views, views.open() as view:
        for one in Linter.of(place, None, Config()).remarks(view):
            found[one.path].append(one)
    return found


@pytest.mark.parametrize(("rule", "number"), ALL, ids=[f"{rule}-{number}" for rule, number in ALL])
def test_rewriting(remarks: dict[str, list[Diagnostic]], rule: str, number: int) -> None:
    before, after = CASES[rule][number]
    code = Code.of(before)
    assert code is not None
    asked = [one for one in remarks[f"{rule}/{number}.py"] if one.rule == rule]
    assert asked, "ruff has no such finding here"
    if after is None:
        with pytest.raises(Unsure):
            RULES[rule](code, asked[0])
    else:
        assert apply(before, RULES[rule](code, asked[0])) == after


@pytest.mark.parametrize(
    ("rule", "width", "made"),
    [
        ("PERF401", 40, "    ys = [\n        x + 1 for x in xs if (x or not xs)\n    ]\n"),
        pytest.param("SIM102", 15, "if (\n    (a or b)\n    and c\n):\n", marks=pytest.mark.thorough),
    ],
)
def test_the_line_length_of_the_project_is_kept(
    remarks: dict[str, list[Diagnostic]], rule: str, width: int, made: str
) -> None:
    """A project with 79 columns got lines of 88, and one with 120 got statements divided at 88."""
    before, _ = CASES[rule][0]
    code = Code.of(before, width)
    assert code is not None
    asked = next(one for one in remarks[f"{rule}/0.py"] if one.rule == rule)
    assert made in (apply(before, RULES[rule](code, asked)) or "")


def test_every_rule_has_a_table() -> None:
    assert list(RULES) == sorted(RULES)
    assert set(CASES) == set(RULES)
    assert all(any(after for _, after in cases) for cases in CASES.values())
    assert UNSAFE_FIXES.isdisjoint(RULES)


def test_tables_keep_their_words() -> None:
    """A rewriting loses no comment."""
    for cases in CASES.values():
        for before, after in cases:
            for line in before.splitlines():
                comment = re.split(r"\W", line.partition("#")[2].strip())[0]
                assert after is None or comment in after
