"""Word lists by which good and bad names are distinguished, and functions that find words for names in code."""

from __future__ import annotations

import ast
import re

from coderefine.proposers.refactorings.flow import called

VERBS = frozenset(
    """add adjust align analyse analyze append apply assign attach bind block break build cache calculate call cancel
    capture change check choose clean clear click close coalesce collapse collect combine compare compile complete
    compose compress compute configure connect consume convert copy count create cut deactivate debug decide decode
    define delete deserialize detach detect determine disable discard derive display divide draw drop dump edit emit
    enable encode enforce enqueue ensure enter escape evaluate execute exit expand export expose extend extract
    fetch fill filter find finish fix flush fold force format forward freeze generate get group guess handle hide
    highlight import include increment indent infer init initialize inject insert inspect install invoke iter
    iterate join lex limit load lock log look lookup make mark mask match measure merge minify move normalise
    normalize notify open overwrite pad paint parse patch peek pick pop populate prefix prepare print process
    propagate prune pull push put query quit quote raise read rebuild record redirect reduce refresh register
    reindent release reload remove rename render reorder repeat replace report request reset resize resolve restore
    retry reverse rewrite rotate round run sanitize save scan schedule search select send serialize setup shift show
    simplify skip sort spawn split start stop store stringify strip subscribe subtract suspend swap switch sync
    tokenise tokenize trace track transform translate traverse trim truncate turn unescape unpack unquote unwrap
    update upload use validate verify visit wait walk warm warn wrap write yield zip""".split()
)
GENERIC = frozenset(
    """a b c d e f g h i j k l m n o p q r s t u v w x y z res ret rv result results value val out output data tmp temp
    item obj args kwargs flag found done self cls other key it el elem arg ok cur
    bool bytes dict float int len list none set str tuple type""".split()
)
WEAK = frozenset(
    """chunk chunks content contents entry entries field fields implicit info line lines part parts row rows
    text texts""".split()
)
"""Words that say too little alone: a name with one of them needs a further word."""
ASKING = frozenset("is has have needs can should was are".split())
"""First words of names of truth values, such as `is_empty`."""
HAVING = frozenset(("has", "have", "needs"))
"""Those words of ASKING that a noun follows, as in `has_header`."""
SAME = frozenset("items keys values split splitlines lower upper casefold strip lstrip rstrip copy".split())
"""Methods of built-in types whose result can have the same name as the object."""
AROUND = frozenset("chain dict enumerate groupby islice len list range reversed set sorted tuple zip".split())
"""Functions whose result can have the same name as their first argument."""
FILLERS = frozenset("to from is has do does make on str string text func function helper impl internal inner".split())
"""Words of a function's name that do not say what it is about."""
SKIPPED = frozenset("the a an all any each every this that these those its their our if we".split())
STOPPED = frozenset(
    """and or for of in on to with from by as is are so because when where but
    which into at not were was had have has be been it them now here then before after make sure only""".split()
)


def split(name: str) -> list[str]:
    """Split a name in snake case or camel case into lower-case words."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return [word.lower() for word in split.split("_") if word]


def plural(words: list[str]) -> list[str]:
    """Return `words` with the last one in the plural; it is taken to be in the plural if it ends with `s`."""
    *others, last = words
    if last.endswith("s"):
        return words
    many = (
        f"{last[:-1]}ies"
        if re.search("[^aeiou]y$", last)
        else f"{last}{'es' * bool(re.search('(ch|sh|x|z)$', last)) or 's'}"
    )
    return [*others, many]


def last_word(node: ast.AST) -> str:
    """Return the name that stands for an expression: `c` for `a.b.c`, `sorted(c)` or `c.items()`; "" if none."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return "" if name.startswith("__") else name
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in SAME:
            return last_word(inner)
        case ast.Call(func=ast.Name(id=function) | ast.Attribute(attr=function), args=[one, *_]) if function in AROUND:
            return last_word(one)
        case (
            ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_])
            | ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str(name)))
        ) if name.isidentifier():
            return name
        case ast.Call():
            return called(node)
        case ast.Tuple(elts=[*_, last]):
            return last_word(last)
        case ast.Subscript(value=inner) | ast.Starred(value=inner):
            return last_word(inner)
    return ""


def condition_words(test: ast.expr) -> list[str]:
    """Return the words for what a condition tests, [] if there are none.

    For `not name` and `name is None`, these are `missing` and the words of the name.
    """
    match test:
        case ast.Call():
            return _asked(test)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, op, right)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name() | ast.Attribute() as inner):
            words = condition_words(inner)
            return ["missing", *words] if words else []
        case ast.UnaryOp():
            return []
        case ast.BoolOp(values=[first, *_]):
            return condition_words(first)
        case ast.NamedExpr(target=target):
            return split(target.id)
    return _without_question(split(last_word(test)), getattr(test, "value", None))


def _without_question(words: list[str], subject: ast.AST | None) -> list[str]:
    """Return `words` without the question: `header` for `has_header`, `empty cart` for `cart.is_empty`.

    `subject`: the object that is asked about. Words before the question are preferred: `list` for `list_is_empty`.
    Words without a question are returned as they are.
    """
    at = next((place for place, word in enumerate(words) if word in ASKING), None)
    if at is None:
        return words
    about = split(last_word(subject)) if subject is not None else []
    if words[at] in HAVING:
        return words[:at] or words[1:]
    return words[:at] or (words[1:] + about if about and not GENERIC.issuperset(about) else [])


def _asked(test: ast.Call) -> list[str]:
    """Return the words for a call that is a condition."""
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[one, kind]):
            return _of_kind(one, kind)
        case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=str(name))]):
            return split(name)
        case ast.Call(func=ast.Attribute(attr="get" | "group"), args=[ast.Constant(value=str(name)), *_]) if name:
            return split(name) if name.isidentifier() else []
        case ast.Call(func=ast.Attribute(value=inner, attr="startswith" | "endswith" | "get" | "match")):
            return split(last_word(inner))
        case ast.Call(func=ast.Name(id="len" | "any" | "all" | "sum" | "min" | "max" | "int" | "str"), args=[one, *_]):
            return split(last_word(one))
    words = split(called(test))
    subject = [*test.args, getattr(test.func, "value", None)][0]
    return _without_question(words, subject) if ASKING.issuperset(words[:1]) else []


def _of_kind(one: ast.expr, kind: ast.expr) -> list[str]:
    """Return the words for the type `kind`; if these say little, such as `str`, also those for the object `one`."""
    words = split(last_word(kind.elts[0] if isinstance(kind, ast.Tuple) and kind.elts else kind))
    return [*words, *split(last_word(one))] if GENERIC.issuperset(words) else words


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr) -> list[str]:
    """Return the words for a comparison.

    For `x is None` and `x == None`, these are `missing` and the words for `x`. For `==` or `is` before a name or a
    text, these are the words of this right operand. For `TEXT in x`, these are the words of the text. For other
    comparisons, these are the words for the left operand.
    """
    equal = isinstance(op, ast.Eq | ast.Is)
    match right:
        case ast.Constant(value=None) if equal:
            return ["missing", *condition_words(left)]
        case ast.Constant(value=str(name)) if equal and name.isidentifier():
            return split(name)
        case ast.Name() | ast.Attribute() if equal:
            return split(last_word(right))
    if isinstance(op, ast.In) and isinstance(left, ast.Constant) and str(left.value).isidentifier():
        return split(str(left.value))
    return condition_words(left)
