"""Rewritings that rename a local variable. Names that other code may see are never renamed."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterator, Sequence

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import LOOSE, Code, Edits, Unsure, expect, fresh, names, sure, uses
from coderefine.proposers.rewritings.docstrings import VERBS
from coderefine.source import Comprehension, bindings, first_line

SEES_NAMES = frozenset({"locals", "vars", "eval", "exec", "dir", "globals"})
"""Functions that show or use local variables by name."""
BY_VALUE = (("len(", "length"), ("[", "items"), ("list(", "items"), ("sorted(", "items"), ("sum(", "total"))
"""(beginning of a value, name for a variable with this value)."""
PARTICIPLES = {
    "strip": "stripped",
    "rstrip": "stripped",
    "lstrip": "stripped",
    "lower": "lower",
    "upper": "upper",
    "decode": "decoded",
    "encode": "encoded",
    "replace": "replaced",
    "split": "split",
    "format": "formatted",
    "join": "joined",
}
"""Names for the result of a call, by function."""
LINES = {"splitlines": "lines", "readlines": "lines", "readline": "line", "split": "parts", "partition": "parts"}
"""Names for the result of a call, by method."""
IRREGULAR = frozenset("build find get make put read run send set show split stop take tell write".split())
"""Verbs without a participle in -ed."""
USUAL_WIDTH = 79
METHOD = re.compile(r"[^()]*\.(\w+)\(")
Binder = ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | Comprehension
Loop = ast.For | ast.AsyncFor | ast.While
Place = ast.FunctionDef | ast.AsyncFunctionDef | Comprehension


def rename_ambiguous(code: Code, at: Diagnostic) -> Edits:
    """E741: `l`, `O`, `I` → a descriptive name: `for l in lines` → `for line in lines`."""
    found = code.find(at, ast.Name)
    return renamed(code, _binding_place(code, found), found.id, _telling_name(code, found))


def lower_name(code: Code, at: Diagnostic) -> Edits:
    """N806: `MaxItems` → `max_items`, a local variable; not an alias that may be a class (`Kind = types.Kind`)."""
    found = code.find(at, ast.Name)
    constant = found.id.isupper() and len(found.id) > 2
    sure(constant or getattr(getattr(code.parents[found], "value", None), "attr", "") != found.id)
    parted = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3_\2\4", found.id)
    return renamed(code, code.function(found), found.id, parted.lower())


def unshadow_builtin(code: Code, at: Diagnostic) -> Edits:
    """A001: rename a local variable, or a variable of a comprehension, that hides a builtin: `id` → `id_`."""
    found = code.find(at, ast.Name)
    place = code.function(found) if isinstance(code.parents[found], ast.NamedExpr) else _binding_place(code, found)
    return renamed(code, place, found.id, f"{found.id}_")


def keep_loop_variable(code: Code, at: Diagnostic) -> Edits:
    """PLW2901: `for line in lines: line = line.strip()` → another name for the second value.

    `if old: line = convert(line)` → `converted_line = convert(line) if old else line`; later uses get the new name.
    If this may be wrong: `for original_line in lines: line = original_line`.
    """
    found = code.find(at, ast.Name)
    try:
        return _with_second_name(code, found)
    except Unsure:
        return _with_first_name(code, found)


def _with_first_name(code: Code, found: ast.Name) -> Edits:
    """Rename the variable in the header of the loop, and assign it to the old name at the beginning of the body."""
    loops = (one for one in code.ancestors(found) if isinstance(one, Loop))
    loop = expect(next((one for one in loops if uses(getattr(one, "target", one), found.id)), None), ast.For)
    targets, first = uses(loop.target, found.id), loop.body[0]
    below = code.line_of(code.start(first)) > code.line_of(code.end(loop.iter))
    sure(below, len(targets) == 1, isinstance(targets[0].ctx, ast.Store), not _sees_names(code.function(loop)))
    new = fresh(f"original_{found.id}", names(code.function(loop)))
    start = code.line_start(first_line(first))
    return (*code.replace(targets[0], new), code.edit(start, start, f"{code.indent(first)}{found.id} = {new}\n"))


def _with_second_name(code: Code, found: ast.Name) -> Edits:
    statement = code.parent(found, ast.Assign)
    loop = expect(next((one for one in code.ancestors(statement) if isinstance(one, Loop)), None), ast.For)
    sure(len(statement.targets) == 1, uses(loop.target, found.id))
    _check_seen_here(code, loop, found.id)
    called = re.match(r"(?:.*\.)?(\w+)\(", code.code(statement.value))
    new = fresh(f"{_participle(called[1] if called else '')}_{found.id}", names(code.function(loop)))
    later = [one for one in uses(loop, found.id) if code.start(one) > code.end(statement)]
    if {*later} == {*_uses_below(code, statement, found.id)}:
        return _replaced(code, [found, *later], new, loop)
    choice = code.parent(statement, ast.If)
    below = {*_uses_below(code, choice, found.id)}
    sure({*later} == {*_uses_below(code, statement, found.id), *below}, code.alone(choice))
    if {*later} == below and (made := _chosen(code, choice, statement, new)):
        return (*code.replace(choice, made), *_replaced(code, later, new, loop))
    start = code.line_start(choice.lineno)
    copied = code.edit(start, start, f"{code.indent(choice)}{new} = {found.id}\n")
    return (copied, *_replaced(code, [found, *later], new, loop))


def _chosen(code: Code, choice: ast.If, statement: ast.Assign, new: str) -> str:
    """Return the assignment to `new`, with a conditional expression, that replaces `choice`.

    Return "" if this assignment does not fit in one row, or would need parentheses, or if `choice` has comments, an
    `else`, or other statements.
    """
    old, value, test = (code.code(one) for one in (statement.targets[0], statement.value, choice.test))
    made = f"{new} = {value} if {test} else {old}"
    complex_ = isinstance(statement.value, LOOSE) or isinstance(choice.test, ast.Lambda | ast.IfExp | ast.NamedExpr)
    fits = "\n" not in made and len(code.indent(choice) + made) <= (code.width or USUAL_WIDTH)
    commented = code.commented(code.start(choice), code.end(choice))
    return made if fits and not commented and not complex_ and len(choice.body) == 1 and not choice.orelse else ""


def _uses_below(code: Code, statement: ast.stmt, name: str) -> list[ast.Name]:
    """Return the occurrences of `name` in the statements after `statement` in its block."""
    block = code.siblings(statement)
    return [one for node in block[block.index(statement) + 1 :] for one in uses(node, name)]


def _check_seen_here(code: Code, loop: ast.For, name: str) -> None:
    """Raise Unsure if other code than the body of `loop` may see the value of the loop's variable `name`.

    Functions, lambdas and classes in the body, and the `else` of the loop, are such other code.
    """
    function, inside = code.function(loop), set(ast.walk(loop))
    _check_bound_here(function, name)
    # Other loops may have a variable of this name, too.
    loops = [one for one in ast.walk(function) if isinstance(one, ast.For) and uses(one.target, name)]
    sure({*uses(function, name)} <= inside.union(*(uses(one, name) for one in loops)))
    makers = (node for node in inside if isinstance(node, Binder) and not isinstance(node, Comprehension))
    sure(not any(uses(node, name) for node in (*makers, *loop.orelse)), not _sees_names(function))


def _sees_names(place: Place) -> bool:
    """Return whether `place` may read its variables by name (`vars()`); a variable named `vars` does not count."""
    own = _own_nodes(place)
    bound = {one.id for one in own if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    given = {one.arg for one in own if isinstance(one, ast.arg)}
    return any(uses(place, name) for name in SEES_NAMES - bound - given)


def _own_nodes(place: Place) -> list[ast.AST]:
    """Return the nodes of `place` that are not in another scope inside it."""
    inside = {one for node in _scopes_in(place) for one in ast.walk(node)}
    return [node for node in ast.walk(place) if node not in inside]


def _scopes_in(place: Place) -> Iterator[ast.AST]:
    """Yield the functions, lambdas, classes and comprehensions inside `place`."""
    yield from (node for node in ast.walk(place) if isinstance(node, Binder) and node is not place)


def _participle(verb: str) -> str:
    """Return what a value is called after a call of `verb`: `converted` for `convert`; `new` if that is not certain."""
    if verb in PARTICIPLES or verb not in VERBS or verb in IRREGULAR:
        return PARTICIPLES.get(verb, "new")
    return f"{verb}d" if verb.endswith("e") else f"{verb[:-1]}ied" if verb.endswith("fy") else f"{verb}ed"


def _binding_place(code: Code, name: ast.Name) -> Place:
    """Return the innermost function or comprehension around `name`.

    Raises Unsure if there is none, or if a lambda or class is nearer.
    """
    found = next((node for node in code.ancestors(name) if isinstance(node, Binder)), None)
    if not isinstance(found, Place):
        raise Unsure
    return found


def _telling_name(code: Code, name: ast.Name) -> str:
    """Return a name for a variable, derived from the value that it is set to."""
    parent = code.parents[name]
    source = getattr(parent, "iter", None)
    if source is not None:
        many = code.code(source).rpartition(".")[2]
        return many[:-1] if re.fullmatch(r"[a-z_]{2,}[a-rt-z]s", many) else "item"
    value = code.code(getattr(parent, "value", None) or name)
    called = METHOD.match(value)
    usual = {**PARTICIPLES, **LINES}.get(called[1] if called else "", "value")
    return next((known for begin, known in BY_VALUE if value.startswith(begin)), usual)


def renamed(code: Code, place: Place, old: str, new: str) -> Edits:
    """Rename the variable `old` to `new`, or to `new_` if `new` is a builtin or a keyword.

    Raises Unsure if other code may see or bind `old`, or if the new name is already used, or is no identifier.
    """
    new = f"{new}_" if hasattr(builtins, new) or keyword.iskeyword(new) else new
    sure(new not in names(place))  # avoid names like `size_2`
    sure(new.isidentifier(), not _sees_names(place))
    _check_bound_here(place, old)
    return _replaced(code, uses(place, old), new, place)


def _replaced(code: Code, found: Sequence[ast.Name], new: str, place: ast.AST) -> Edits:
    """Replace `found`, occurrences of the same name, by `new`. `place`: the code around all of them."""
    old, places = found[0].id, sorted({code.start(one) for one in found})
    # In an f-string, Python before 3.12 may not know the positions; f"{name=}" shows the name.
    sure(len(places) == len(found), all(code.text.startswith(old, at) for at in places))
    sure(not re.search(rf"\{{\s*{re.escape(old)}\s*=\s*[:!}}]", code.code(place)))
    return tuple(code.edit(at, at + len(old), new) for at in places)


def _check_bound_here(place: Place, name: str) -> None:
    """Raise Unsure if `name` is bound in a scope inside `place`, or other than by an assignment or a loop."""
    sure(not any(_binds(node, name) for node in ast.walk(place)))
    sure(all(isinstance(one.ctx, ast.Load) for node in _scopes_in(place) for one in uses(node, name)))
    if isinstance(place, Comprehension):
        sure(not uses(place.generators[0].iter, name))


def _binds(node: ast.AST, name: str) -> bool:
    """Return whether `node` binds `name` other than by an assignment, or declares it global or nonlocal."""
    return not isinstance(node, ast.Name | ast.keyword | ast.Attribute) and name in bindings(node)
