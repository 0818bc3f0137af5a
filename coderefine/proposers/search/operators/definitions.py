"""Edits of definitions and exceptions: defaults, decorators, parameters, raised and caught types, await."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from coderefine.proposers.search import emit
from coderefine.proposers.search.ingredients import EXCEPTIONS
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import DEFINITIONS, Edit, Function, Replacement, has_docstring
from coderefine.proposers.search.value_kinds import names_of
from coderefine.source import all_arguments, first_line

TELLING = 3.0
"""Bonus of the decorator that is missing on a method without `self`."""
SHARED = 4.0
"""Boost of a default that all calls share (a list, dict or set): this is hardly ever intended."""
COPIERS = {ast.Dict: "dict", ast.Set: "set"}
RELATED = (
    ("KeyError", "IndexError", "LookupError"),
    (
        "ValueError",
        "TypeError",
        "KeyError",
        "IndexError",
        "AttributeError",
        "RuntimeError",
        "ZeroDivisionError",
        "NotImplementedError",
        "StopIteration",
        "OverflowError",
    ),
    ("OSError", "FileNotFoundError", "FileExistsError", "PermissionError", "IsADirectoryError", "NotADirectoryError"),
    ("UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError", "ValueError"),
    ("ArithmeticError", "ZeroDivisionError", "OverflowError"),
    ("ImportError", "ModuleNotFoundError"),
    ("StopIteration", "StopAsyncIteration"),
    ("TimeoutError", "ConnectionError"),
    ("AssertionError", "ValueError", "Exception"),
    ("NameError", "AttributeError"),
)
"""Groups of exceptions that are often confused with each other."""


def mutable_default(site: Site) -> Iterator[Edit]:
    """Replace a mutable default (list, dict, set, call) by None and create it inside the function, or copy it there."""
    node = site.stmt
    if not isinstance(node, Function):
        return
    body = node.body[1:] if has_docstring(node) and len(node.body) > 1 else node.body
    pairs = list(zip(reversed([*node.args.posonlyargs, *node.args.args]), reversed(node.args.defaults), strict=False))
    pairs += [
        (argument, default)
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if default
    ]
    for argument, default in pairs:
        if isinstance(default, ast.List | ast.Dict | ast.Set | ast.Call):
            name = argument.arg
            fresh = f"if {name} is None:\n{site.module.step}{name} = {site.code(default)}"
            for into in emit.insertion(site.module, body[0], fresh):
                parts = (*emit.expression(site.module, default, "None").parts, *into.parts)
                yield Edit(parts, 3.0, 0.0 if isinstance(default, ast.Call) else SHARED)
                copied = f"{name} = {COPIERS.get(type(default), 'list')}({name})"
                yield from emit.insertion(site.module, body[0], copied, weight=0.7)


def defaults(site: Site) -> Iterator[Edit]:
    """Add or remove the default of a parameter."""
    node = site.stmt
    if not isinstance(node, Function):
        return
    plain = [*node.args.posonlyargs, *node.args.args]
    without = plain[: len(plain) - len(node.args.defaults)]
    if without and without[-1].arg not in ("self", "cls"):
        at = site.module.end(without[-1])
        for value in ("None", "0", "1", "False", "True", '""', "()"):
            yield Edit((Replacement(at, at, f"={value}" if without[-1].annotation is None else f" = {value}"),), 1.0)
    for argument, default in zip(reversed(plain), reversed(node.args.defaults), strict=False):
        yield Edit((Replacement(site.module.end(argument), site.module.end(default), ""),), 0.5)
        break


def parameters(site: Site) -> Iterator[Edit]:
    """Add a missing `self`, or swap two neighbouring parameters."""
    node = site.stmt
    if not isinstance(node, Function):
        return
    module = site.module
    plain = [*node.args.posonlyargs, *node.args.args]
    open_at = module.text.find("(", module.start(node)) + 1
    if isinstance(module.parents.get(node), ast.ClassDef) and (not plain or plain[0].arg not in ("self", "cls")):
        yield Edit((Replacement(open_at, open_at, "self, " if list(all_arguments(node.args)) else "self"),), 3.0)
    free = [argument for argument in plain if argument.arg not in ("self", "cls") and argument.annotation is None]
    for one, two in itertools.pairwise(free):
        yield Edit(
            (
                Replacement(module.start(one), module.end(one), two.arg),
                Replacement(module.start(two), module.end(two), one.arg),
            ),
            0.7,
        )


def decorators(site: Site) -> Iterator[Edit]:
    """Add a decorator (property, staticmethod, classmethod, or one of the file); replace or remove a decorator."""
    node, module = site.stmt, site.module
    if not isinstance(node, DEFINITIONS) or not module.alone(node):
        return
    has = {module.code(decorator) for decorator in node.decorator_list}
    used = module.index.decorators.get(type(node), set())
    method = isinstance(module.parents.get(node), ast.ClassDef) and isinstance(node, Function)
    usual, suggested = ({"property", "staticmethod", "classmethod"} if method else set()), _suggested(node)
    for name in sorted((used | usual) - has):
        at = module.line_start(first_line(node))
        weight, boost = (1.5, TELLING if name == suggested else 0.0) if name in usual else (1.0, 0.0)
        yield Edit((Replacement(at, at, f"{module.indent(node)}@{name}\n"),), weight, boost)
        for decorator in node.decorator_list:
            yield Edit((Replacement(module.start(decorator), module.end(decorator), name),), 0.5)
    yield from _undecorated(site, node.decorator_list)


def _undecorated(site: Site, decorators: list[ast.expr]) -> Iterator[Edit]:
    for decorator in decorators:
        if decorator.lineno == decorator.end_lineno:
            start, end = site.module.line_start(decorator.lineno), site.module.line_end(decorator.lineno)
            yield Edit((Replacement(start, end, ""),), 1.0)


def _suggested(node: ast.stmt) -> str:
    """Return the decorator that a method's first parameter suggests; "" for none."""
    if not isinstance(node, Function) or node.decorator_list:
        return ""
    first = next((argument.arg for argument in all_arguments(node.args)), "")
    return {"self": "", "cls": "classmethod"}.get(first, "staticmethod")


def _errors(site: Site, name: str, present: set[str]) -> dict[str, float]:
    """Return exceptions that may replace or accompany the exception `name`, with weights, without those `present`."""
    found = {other: 2.0 for group in RELATED if name in group for other in group}
    found |= {other: 2.0 for other in site.raised if other in EXCEPTIONS}
    found |= dict.fromkeys(site.module.index.errors, 3.0)
    found |= {other: 2.0 for other in site.local.globals if other.endswith(("Error", "Exception"))}
    found.setdefault("Exception", 0.5)
    found.setdefault("ValueError", 1.0)
    return {other: weight for other, weight in found.items() if other not in present}


UNCAUGHT = 6.0
"""Weight of the exception with which a failing test ended, in a handler that did not catch it."""


def exception_type(site: Site) -> Iterator[Edit]:
    """Raise or catch another exception type, or catch an additional one."""
    node = site.stmt
    if isinstance(node, ast.Raise) and node.exc is not None:
        target = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if isinstance(target, ast.Name):
            for name, weight in _errors(site, target.id, {target.id}).items():
                yield from site.swap(target, name, weight)
    elif isinstance(node, ast.Try):
        for handler in node.handlers:
            yield from _caught(site, handler)


def _caught(site: Site, handler: ast.ExceptHandler) -> Iterator[Edit]:
    if handler.type is None:
        return
    targets = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    caught = {site.code(target) for target in targets}
    for target in targets:
        for name, weight in _errors(site, target.id, caught).items() if isinstance(target, ast.Name) else ():
            yield from site.swap(target, name, UNCAUGHT if name in site.raised else weight)
    inner = site.code(handler.type).removeprefix("(").removesuffix(")")
    first = next(names_of(handler.type), "")
    for name, weight in _errors(site, first, caught).items():
        yield Edit(
            (Replacement(site.module.start(handler.type), site.module.end(handler.type), f"({inner}, {name})"),), weight
        )


def protected_by_try(site: Site) -> Iterator[Edit]:
    """Put a statement into a `try` that catches an exception which a failing test raised or mentioned."""
    node, module = site.stmt, site.module
    if not site.raised or site.local.function is None or not module.alone(node) or isinstance(node, DEFINITIONS):
        return
    lead, step = module.indent(node), site.module.step
    start, end = emit.lines_of(module, node)
    ways = (
        ["pass", "return None", "return False", "return", "raise ValueError"]
        + (["continue", "break"] if site.loop else [])
        + ["return []", "return 0"]
    )
    for name in sorted(site.raised & set(EXCEPTIONS) - {"AssertionError"}):
        for way in ways:
            body = emit.reindented(module, node, lead + step)
            yield Edit((Replacement(start, end, f"{lead}try:\n{body}{lead}except {name}:\n{lead}{step}{way}\n"),), 1.0)


def awaited(site: Site) -> Iterator[Edit]:
    """Add or remove `await`, or add `async` before `for`, `with` or `def`."""
    node, module = site.stmt, site.module
    if isinstance(site.local.function, ast.AsyncFunctionDef):
        for expr in site.exprs:
            if isinstance(expr, ast.Call) and not isinstance(module.parents.get(expr), ast.Await):
                yield from site.swap(expr, f"await {site.code(expr)}", 1.0)
            elif isinstance(expr, ast.Await):
                yield from site.swap(expr, site.code(expr.value), 1.0)
        if isinstance(node, ast.For | ast.With):
            yield Edit((Replacement(module.start(node), module.start(node), "async "),), 1.0)
    if isinstance(node, ast.FunctionDef):
        yield Edit((Replacement(module.start(node), module.start(node), "async "),), 0.3)


def comprehension_kind(site: Site) -> Iterator[Edit]:
    """Change the type of a comprehension, or swap the key and value of a dictionary comprehension.

    Also swap neighbouring elements of a list, tuple or set.
    """
    for node in site.exprs:
        match node:
            case ast.ListComp() | ast.SetComp():
                inner = site.code(node)[1:-1]
                for text in (f"[{inner}]", f"{{{inner}}}", f"({inner})"):
                    yield from site.swap(node, text, 1.0)
            case ast.List() | ast.Tuple() | ast.Set():
                yield from emit.exchanges(site.module, itertools.pairwise(node.elts))
            case ast.DictComp():
                yield emit.exchanged(site.module, node.key, node.value, 1.0)
