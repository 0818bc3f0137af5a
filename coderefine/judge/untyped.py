"""Detect patches that hide code from the type checker: annotations that vanish, Any, code under TYPE_CHECKING.

A type checker does not look into functions without annotations, and accepts everything where a type is Any. To remove
an annotation is therefore no repair, whichever gates there are: the checker may run in CI only. An annotation may
become another type; a parameter or function may be removed together with its annotations.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from coderefine.core import Finding
from coderefine.judge.change import Change, FileVersion, nodes, statements
from coderefine.judge.fixed_answers import LEAVING
from coderefine.judge.name_resolution import Bindings, bindings, dotted
from coderefine.judge.violations import Violation
from coderefine.source import Function, arguments, definitions, last_name

Types = Mapping[str, ast.expr]
"""The annotations of a function by parameter; that of its result by RESULT."""

RESULT = "its result"
ANYTHING = frozenset(("typing.Any", "typing_extensions.Any", "_typeshed.Incomplete", "Any"))
UNIONS = frozenset(("Optional", "Union"))
CHECKING = frozenset(("TYPE_CHECKING", "MYPY", "PY2", "PY3"))
"""Names whose values a type checker assumes, whatever values they have when the code runs."""
UNDEFINED = re.compile(r"not defined|undefined|cannot import|no module|no attribute", re.IGNORECASE)
OTHER_CRITICS = frozenset(("pytest", "ruff", "radon", "asked", "review"))
"""Critics that check no types; each other one is a command gate, which may be a type checker."""


def hidden_code(side: FileVersion) -> Iterator[Violation]:
    """Yield conditions under which the type checker does not read code that runs."""
    if side.tree is None:
        return
    plain = {id(one) for node in nodes(side.tree) for one in _plain_tests(node)}
    for node in nodes(side.tree):
        stored = isinstance(getattr(node, "ctx", None), ast.Store)
        if last_name(node) in CHECKING and isinstance(node, ast.expr) and id(node) not in plain and not stored:
            yield Violation(f"hides code from the type checker ({last_name(node)})", node.lineno)


def _plain_tests(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the condition of an `if` whose `else` is missing, or only imports or assigns.

    If the condition is an `or`, also yield its operands. Yield nothing if the body of the `if` ends with `return`,
    `raise`, `continue` or `break`: then the type checker may skip all statements after the `if`.
    """
    if isinstance(node, ast.If) and _only_imports(node.orelse) and not isinstance(node.body[-1], LEAVING):
        yield node.test
        if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.Or):
            yield from node.test.values


def _only_imports(body: Sequence[ast.stmt]) -> bool:
    """Return whether `body` only imports or assigns names, as the `else` of `if TYPE_CHECKING` usually does."""
    return all(isinstance(one, ast.Import | ast.ImportFrom | ast.Assign | ast.Pass) for one in body)


def loosened(changed: Sequence[Change], findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a reason for each annotation of a kept parameter or result that vanishes or becomes Any.

    An annotation may vanish if a finding says that a name in it is not defined. Where a finding of a type checker is
    to be repaired, new functions must be annotated if all old ones are, and nothing new may be Any.
    """
    moved = {name: node for one in changed for name, node in _added(one)}
    for change in changed:
        if change.old is not None and change.new is not None:
            excused = _undefined(change.path, findings)
            asked = any(one.path == change.path and one.critic not in OTHER_CRITICS for one in findings)
            found = (
                *_less(change.old, change.new, moved, excused),
                *(_unread(change.old, change.new) if asked else ()),
            )
            yield from (f"{what}, which hides it from the type checker: {change.path}" for what in found)


def _less(old: ast.Module, new: ast.Module, moved: Mapping[str, Function], excused: frozenset[str]) -> Iterator[str]:
    """Yield a text for each annotation that vanishes or becomes Any, unless it contains one of the words `excused`.

    `moved`: the functions that the patch adds to any file, by their plain names.
    """
    names = bindings(new)
    for name, one, other in _pairs(old, new, moved):
        now = types_of(other) if isinstance(other, Function) else {}
        for part, before, after in _changed(one, now, other):
            if excused.isdisjoint(re.findall(r"\w+", ast.unparse(before))) and _looser(before, after, names):
                how = "removes the annotation of" if after is None else "makes Any of the annotation of"
                yield f"{how} {part} in {name}"


def types_of(function: Function) -> Types:
    """Return the annotations of `function`; the result of `__init__` is None in any case, and is left out."""
    found = {item.arg: item.annotation for item in _parameters(function) if item.annotation}
    if function.returns and function.name != "__init__":
        found[RESULT] = function.returns
    return found


def _parameters(function: Function | ast.Lambda) -> list[ast.arg]:
    return [*arguments(function), *filter(None, (function.args.vararg, function.args.kwarg))]


def _changed(old: Function, now: Types, new: Function | ast.Lambda) -> Iterator[tuple[str, ast.expr, ast.expr | None]]:
    """Yield (name, old annotation, new annotation or None) for each annotated parameter that is kept, and the result.

    A parameter that is gone may have been renamed: it is compared with the first new parameter, the next one with the
    second, and so on.
    """
    before_names = {item.arg for item in _parameters(old)}
    there = [item.arg for item in _parameters(new)]
    fresh = [name for name in there if name not in before_names]
    for part, before in types_of(old).items():
        if part == RESULT or part in there:
            yield part, before, now.get(part)
        elif fresh:
            yield part, before, now.get(fresh.pop(0))


def _pairs(
    old: ast.Module, new: ast.Module, moved: Mapping[str, Function]
) -> Iterator[tuple[str, Function, Function | ast.Lambda]]:
    """Yield (name, old function, new function) for each function that is kept, moved, or replaced by a lambda.

    If several functions have one name (overloads, getter and setter), they are paired in their order. If their number
    changes, only the last old and the last new function are paired. A function to which the patch adds overloads is
    left out, because its types are now those of the overloads. `moved`: the functions that the patch adds to any file,
    by their plain names.
    """
    was, now = _functions(old), _functions(new)
    lambdas = _lambdas(new)
    for name, before in was.items():
        other = moved.get(name.rpartition(".")[2]) or lambdas.get(name)
        after: Sequence[Function | ast.Lambda] = now.get(name) or ([other] if other else [])
        if len(after) <= len(before) or not any(map(_is_overload, after)):
            last = slice(None) if len(before) == len(after) else slice(-1, None)
            yield from ((name, *pair) for pair in zip(before[last], after[last], strict=False))


def _lambdas(tree: ast.Module) -> dict[str, ast.Lambda]:
    """Return the lambdas that a module assigns to names."""
    found = (one for one in statements(tree) if isinstance(one, ast.Assign))
    return {last_name(one.targets[0]): one.value for one in found if isinstance(one.value, ast.Lambda)}


def _is_overload(function: Function | ast.Lambda) -> bool:
    return isinstance(function, Function) and "overload" in map(last_name, function.decorator_list)


def _functions(tree: ast.Module) -> Mapping[str, list[Function]]:
    found: dict[str, list[Function]] = {}
    for name, node in definitions(tree):
        if isinstance(node, Function):
            found.setdefault(name, []).append(node)
    return found


def _added(change: Change) -> Iterator[tuple[str, Function]]:
    """Yield the functions that are new in a file, by their plain names."""
    was = _functions(change.old) if change.old else {}
    for name, found in (_functions(change.new) if change.new else {}).items():
        if name not in was:
            yield name.rpartition(".")[2], found[-1]


def _looser(before: ast.expr | None, after: ast.expr | None, names: Bindings) -> bool:
    """Return whether `after` is missing, or has Any where `before` has a type."""
    if before is None:
        return False
    if after is None:
        return True
    before, after = _parsed(before), _parsed(after)
    if any(_is_any(one, names) for one in _members(after)):
        return not any(_is_any(one, names) for one in _members(before))
    if isinstance(before, ast.Subscript) and isinstance(after, ast.Subscript):
        pairs = zip(_items(before.slice), _items(after.slice), strict=False)
        return any(_looser(*pair, names) for pair in pairs)
    return False


def _parsed(annotation: ast.expr) -> ast.expr:
    """Return the type that an annotation in quotes contains, or else `annotation`."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return ast.parse(annotation.value.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            pass
    return annotation


def _members(annotation: ast.expr) -> Iterator[ast.expr]:
    """Yield the members of a union, or the type itself."""
    annotation = _parsed(annotation)
    if isinstance(annotation, ast.BinOp):
        yield from (*_members(annotation.left), *_members(annotation.right))
    elif isinstance(annotation, ast.Subscript) and last_name(annotation.value) in UNIONS:
        yield from (one for item in _items(annotation.slice) for one in _members(item))
    else:
        yield annotation


def _items(key: ast.expr) -> Sequence[ast.expr]:
    return key.elts if isinstance(key, ast.Tuple | ast.List) else [key]


def _is_any(annotation: ast.expr, names: Bindings) -> bool:
    return dotted(annotation, names) in ANYTHING


def _undefined(path: str, findings: Sequence[Finding]) -> frozenset[str]:
    """Return all words of messages that say that a name is not defined: of findings on `path`, and of failing tests."""
    texts = (one.message for one in findings if one.path == path or one.critic == "pytest")
    return frozenset(word for text in texts if UNDEFINED.search(text) for word in re.findall(r"\w+", text))


def _unread(old: ast.Module, new: ast.Module) -> Iterator[str]:
    """Yield new functions without annotations in a file where all old ones have some, and new values that are Any."""
    was, now = _functions(old), _functions(new)
    if was and all(map(_annotated, chain.from_iterable(was.values()))):
        bare = (name for name, found in now.items() if not _annotated(found[-1]))
        yield from (f"adds {name} without annotations" for name in bare if name not in was)
    if _casts(new) > _casts(old):
        yield "makes a value Any"


def _annotated(function: Function) -> bool:
    return bool(function.returns or types_of(function))


def _casts(tree: ast.Module) -> int:
    """Return how many values become Any: by `cast(Any, …)`, or because their variable has the annotation Any."""
    names = bindings(tree)
    found = 0
    for node in nodes(tree):
        match node:
            case ast.Call(args=[kind, _]) if last_name(node.func) == "cast":
                found += _is_any(_parsed(kind), names)
            case ast.AnnAssign(annotation=kind):
                found += _is_any(_parsed(kind), names)
    return found
