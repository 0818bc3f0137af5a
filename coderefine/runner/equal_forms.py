"""Write code that behaves alike in the same form: names of loop variables, handlers of all exceptions, formatting.

Only forms whose equality follows from the rules of Python are handled, so that no test is needed to show it:

1. `for first in rows: second = first` → `for second in rows:`, if `first` is used nowhere else.
2. In a loop over `first`: `second = f(first)` → `first = f(first)`, and later `first` in place of `second`, if no code
   that may run later in the same iteration uses `first`, and no code outside of the loop can see its last value.
3. `except BaseException:` → `except:`.
4. `raise A() from error` → `raise A()`, in the handler of `error`, for projects that do not read causes: the handled
   exception is the context of both, and tracebacks show it. The standard library reads `__cause__` in one place:
   `contextlib` looks for RuntimeErrors with a StopIteration as cause.
5. `"%s" % x` → `"%s" % (x,)`, if `x` is surely no tuple, and what `percent_format.py` says about values in f-strings.

The first two only change how long the value of `first` is kept: at most until the next iteration, or the end of the
function.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from coderefine.runner.agent.code_diff import SEES_NAMES
from coderefine.runner.percent_format import Formatting
from coderefine.source import Comprehension, Function, bindings, bound_names, last_name, syntax

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)
PLAIN = (ast.Name, ast.Tuple, ast.List, ast.Starred, ast.expr_context)
LOOPS = (ast.For, ast.AsyncFor)
READS_CAUSES = re.compile(r"__cause__|__context__|__suppress_context__")
"""Code that may read causes. Tests may contain such code; the rest of the project must not."""
CATCHES_STOP = frozenset({"StopIteration", "StopAsyncIteration", "Exception", "BaseException"})


@lru_cache(maxsize=4)
def uniform(text: str) -> str:
    """Return the code of a file with the forms 1 to 3 and 5 written alike (see above), without comments and layout.

    Raises SyntaxError or ValueError if `text` cannot be parsed.
    """
    tree = ast.parse(text)
    bound = {name for node in ast.walk(tree) for name in bound_names(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and "BaseException" not in bound:
            _catch_all(node)
        elif isinstance(node, Function):
            _use_one_name(node)
        if isinstance(node, ast.Module | Function):
            formatting = Formatting.of(node, bound)
            for one in ast.walk(node):
                formatting.write_alike(one)
    return ast.unparse(tree)


def _catch_all(node: ast.Try) -> None:
    for handler in node.handlers[-1:]:
        if handler.name is None and isinstance(handler.type, ast.Name) and handler.type.id == "BaseException":
            handler.type = None


def _use_one_name(function: ast.AST) -> None:
    """Apply the forms 1 and 2 to all loops in `function`: use one name for each variable that has two."""
    loops = [one for one in ast.walk(function) if isinstance(one, LOOPS)]
    if loops and SEES_NAMES.isdisjoint(map(last_name, ast.walk(function))):
        for loop in loops:
            if all(isinstance(node, PLAIN) for node in ast.walk(loop.target)):
                _remove_copy(function, loop)
                _remove_second_names(function, loop)


def _remove_second_names(function: ast.AST, loop: ast.For | ast.AsyncFor) -> None:
    own = {one.id for one in _names([loop.target])}
    for statement, here, later in list(_assignments(loop.body, ())):
        second, fixed = statement.targets[0], _fixed(function)
        read = {one.id for one in _names([statement.value])}
        if isinstance(second, ast.Name) and second.id not in own | fixed and _is_only_here(function, second, here):
            lasts = (one for one in sorted(own & read - fixed) if _is_last_use(function, loop, one, [*here, *later]))
            _rename(function, second.id, next(lasts, second.id))


def _assignments(
    block: Sequence[ast.stmt], later: Sequence[ast.stmt]
) -> Iterator[tuple[ast.Assign, Sequence[ast.stmt], Sequence[ast.stmt]]]:
    """Yield each assignment to one target in `block`, or in an `if` or `with` in it, with the statements that follow.

    These are given in two parts: the statements after the assignment in its own block, and the statements that run
    after this block. `later`: the statements that run after `block`.
    """
    for number, statement in enumerate(block):
        here = block[number + 1 :]
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            yield statement, here, later
        elif isinstance(statement, ast.If | ast.With):
            for inner in (statement.body, getattr(statement, "orelse", [])):
                yield from _assignments(inner, [*here, *later])


def _names(nodes: Iterable[ast.AST]) -> list[ast.Name]:
    return [one for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)]


def _fixed(function: ast.AST) -> set[str]:
    """Return the names that must not be changed.

    They are bound by more than assignments and loops, or deleted, or used in a scope inside the function.
    """
    return {name for node in ast.walk(function) for name in _fixed_by(node, function)}


def _fixed_by(node: ast.AST, function: ast.AST) -> Iterator[str]:
    if node is not function and isinstance(node, SCOPES):
        yield from _all_names(bindings, node)
    elif isinstance(node, Comprehension):
        yield from _all_names(bound_names, node)
    elif isinstance(node, ast.Name):
        yield from [node.id] if isinstance(node.ctx, ast.Del) else ()
    elif not isinstance(node, ast.keyword | ast.Attribute):
        yield from bindings(node)


def _all_names(of: Callable[[ast.AST], Iterable[str]], node: ast.AST) -> Iterator[str]:
    yield from (name for one in ast.walk(node) for name in of(one))


def _remove_copy(function: ast.AST, loop: ast.For | ast.AsyncFor) -> None:
    """Apply form 1: if the loop's first statement copies a variable that is used nowhere else, loop over the copy."""
    match loop.body[0]:
        case ast.Assign(targets=[ast.Name(id=second)], value=ast.Name(id=first)) if len(loop.body) > 1:
            named, everywhere = {one.id: one for one in _names([loop.target])}, [one.id for one in _names([function])]
            alone = first in named and second not in named and everywhere.count(first) == 2
            if alone and _fixed(function).isdisjoint({first, second}):
                named[first].id = second
                del loop.body[0]


def _is_last_use(function: ast.AST, loop: ast.For | ast.AsyncFor, first: str, following: Sequence[ast.stmt]) -> bool:
    """Return whether `loop`, or another loop over `first`, contains every use of `first` in `function`.

    A loop over `first` has `first` in its target; only its target and body count, not its `else`. Loops inside or
    around `loop` do not count. Return False, too, if `first` is used in `following`, the statements after an assignment
    in `loop`.
    """
    others = (one for one in ast.walk(function) if isinstance(one, LOOPS) and not _overlap(one, loop))
    inside = {node for one in (loop, *others) for node in _inside(one, first)}
    used = {one for one in _names([function]) if one.id == first}
    return used <= inside and used.isdisjoint(_names(following))


def _overlap(one: ast.AST, other: ast.AST) -> bool:
    return other in ast.walk(one) or one in ast.walk(other)


def _inside(loop: ast.For | ast.AsyncFor, name: str) -> list[ast.AST]:
    """Return the nodes of the target and the body of a loop; an empty list if its target does not contain `name`."""
    own = any(one.id == name for one in _names([loop.target]))
    return [node for part in (loop.target, *loop.body) for node in ast.walk(part)] if own else []


def _is_only_here(function: ast.AST, second: ast.Name, here: Sequence[ast.stmt]) -> bool:
    """Return whether `second` is assigned once, and then only read, in the statements `here` after the assignment."""
    read = {one for one in _names(here) if isinstance(one.ctx, ast.Load)}
    return all(one is second or one in read for one in _names([function]) if one.id == second.id)


def _rename(function: ast.AST, old: str, new: str) -> None:
    for one in _names([function]):
        one.id = new if one.id == old else one.id


def without_causes(before: str, after: str) -> tuple[str, str] | None:
    """Return both versions of a file without causes (`raise A() from error`) that name the handled exception.

    Names of exceptions that are then unused are removed, too. Return None if both versions have the same number of such
    causes, or if one version cannot be parsed.
    """
    trees = syntax(before), syntax(after)
    if trees[0] is None or trees[1] is None or _removed(trees[0]) == _removed(trees[1]):
        return None
    return ast.unparse(trees[0]), ast.unparse(trees[1])


def _removed(tree: ast.Module) -> int:
    """Remove causes that name the handled exception, then unused names of exceptions; return the number of causes."""
    found = list(_causes(tree, None))
    for statement in found:
        statement.cause = None
    for function in (node for node in ast.walk(tree) if isinstance(node, Function)):
        _remove_unused_names(function)
    return len(found)


def _causes(node: ast.AST, handler: ast.ExceptHandler | None) -> Iterator[ast.Raise]:
    """Yield each `raise` of a new exception in `node` whose cause is the exception of the innermost handler."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise) and handler is not None and _names_handled(child, handler):
            yield child
        if isinstance(child, ast.ExceptHandler):
            yield from _causes(child, child)
        elif type(child).__name__ != "TryStar":  # `except*` handles only a part of the exception
            yield from _causes(child, None if isinstance(child, Function | ast.Lambda | ast.ClassDef) else handler)


def _names_handled(statement: ast.Raise, handler: ast.ExceptHandler) -> bool:
    name = getattr(statement.cause, "id", None)
    if name is None or name != handler.name or not _is_new(statement.exc) or _may_wrap_stop(statement.exc, handler):
        return False
    same = [node for node in ast.walk(handler) if node is not handler and name in bound_names(node)]
    return not same


def _is_new(raised: ast.expr | None) -> bool:
    """Return whether an exception is made where it is raised, so that it has no cause yet: `A()`, or a class."""
    return isinstance(raised, ast.Call) or last_name(raised)[:1].isupper()


def _may_wrap_stop(raised: ast.expr | None, handler: ast.ExceptHandler) -> bool:
    """Return whether a RuntimeError may be raised while a StopIteration is handled."""
    made = raised.func if isinstance(raised, ast.Call) else raised
    kind = getattr(builtins, getattr(made, "id", ""), None)
    other = isinstance(kind, type) and issubclass(kind, BaseException) and not issubclass(kind, RuntimeError)
    caught = {getattr(node, "id", "") for node in ast.walk(handler.type)} if handler.type else CATCHES_STOP
    return not other and not CATCHES_STOP.isdisjoint(caught)


def _remove_unused_names(function: Function) -> None:
    """Remove `as NAME` from the handlers in `function` where NAME occurs nowhere else in the function."""
    nodes = list(ast.walk(function))
    others = [node for node in nodes if not isinstance(node, ast.ExceptHandler)]
    used = {name for node in others for name in (*bound_names(node), last_name(node))}
    if SEES_NAMES.isdisjoint(used):
        for handler in (node for node in nodes if isinstance(node, ast.ExceptHandler)):
            handler.name = handler.name if handler.name in used else None
