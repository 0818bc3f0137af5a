"""Edits of calls: number, order and values of arguments and keywords."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from coderefine.proposers.search import emit
from coderefine.proposers.search.ingredients import parameter_names
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Replacement
from coderefine.proposers.search.value_kinds import dotted, fits
from coderefine.source import last_name

KEYWORDS = {
    "sorted": ("reverse=True", "key=len", "key=str.lower", "key=lambda item: item[1]", "key=lambda item: item[0]"),
    "sort": ("reverse=True", "key=len", "key=str.lower", "key=lambda item: item[1]", "key=lambda item: item[0]"),
    "max": ("default=0", "default=None", "key=len", "key=lambda item: item[1]"),
    "min": ("default=0", "default=None", "key=len", "key=lambda item: item[1]"),
    "enumerate": ("start=1", "1"),
    "int": ("16", "2", "10"),
    "round": ("2", "1"),
    "sum": ("[]", "0"),
    "dumps": ("indent=2", "sort_keys=True", "ensure_ascii=False"),
    "open": ('encoding="utf-8"', '"w"', '"a"'),
    "split": ("1", "maxsplit=1"),
    "rsplit": ("1",),
    "get": ("0", '""', "[]", "{}", "False"),
    "pop": ("0", "None", "-1"),
    "next": ("None",),
    "getattr": ("None",),
    "product": ("repeat=2",),
    "popitem": ("last=False",),
    "replace": ("1",),
    "setdefault": ("[]", "{}", "0"),
    "zip": ("strict=True",),
    "print": ('end=""',),
    "encode": ('"utf-8"',),
    "timedelta": ("days=1",),
    "deque": ("maxlen=1",),
    "range": ("1",),
    "field": ("default_factory=list",),
    "findall": ("re.IGNORECASE",),
    "compile": ("re.IGNORECASE", "re.MULTILINE", "re.DOTALL"),
    "mkdir": ("parents=True", "exist_ok=True"),
    "splitlines": ("True",),
    "defaultdict": ("int", "list"),
}
"""Common arguments of well-known callables."""


def _spans(site: Site, node: ast.Call) -> list[tuple[int, int]]:
    items = sorted([*node.args, *node.keywords], key=site.module.start)
    return [(site.module.start(item), site.module.end(item)) for item in items]


def argument_order(site: Site) -> Iterator[Edit]:
    """Swap two arguments of a call."""
    for node in site.exprs:
        if isinstance(node, ast.Call):
            yield from emit.exchanges(site.module, itertools.combinations(node.args, 2))


def argument_removed(site: Site) -> Iterator[Edit]:
    """Remove an argument or keyword from a call."""
    for node in site.exprs:
        spans = _spans(site, node) if isinstance(node, ast.Call) else []
        for index, (start, end) in enumerate(spans):
            if index + 1 < len(spans):
                yield Edit((Replacement(start, spans[index + 1][0], ""),), 1.0)
            else:
                begin = spans[index - 1][1] if index else start
                yield Edit((Replacement(begin, end, ""),), 1.0)


def argument_added(site: Site) -> Iterator[Edit]:
    """Add an argument: one of KEYWORDS, one from another call or the signature of the function, or a value in scope."""
    for node in site.exprs:
        if not isinstance(node, ast.Call):
            continue
        name = last_name(node.func)
        given = {keyword.arg for keyword in node.keywords}
        for text, weight in _additions(site, node, name).items():
            head = text.split("=")[0] if "=" in text.split("(")[0].split('"')[0] else ""
            if head not in given or not head:
                yield from _appended(site, node, text, weight)
        yield from _inserted(site, node, name)


def _inserted(site: Site, node: ast.Call, name: str) -> Iterator[Edit]:
    """Yield edits that insert an argument before another: `f(a, c)` becomes `f(a, b, c)` if f has parameters a, b, c.

    The argument is a variable with the parameter's name, or a variable or constant that another call passes there. It
    is inserted only before an argument with the name of the next parameter.
    """
    called = [dotted(argument).rsplit(".", 1)[-1] for argument in node.args]
    for arguments in site.world.signatures.get(name, []):
        names = [one.arg for one in (*arguments.posonlyargs, *arguments.args) if one.arg not in ("self", "cls")]
        for index, (passed, parameter, following) in enumerate(zip(called, names, names[1:], strict=False)):
            if passed == following != parameter and parameter not in called:
                at = site.module.start(node.args[index])
                named = dict.fromkeys(_called_so(site, parameter), 4.0)
                for text, weight in {**_passed_elsewhere(site, node, name, index), **named}.items():
                    yield Edit((Replacement(at, at, f"{text}, "),), weight)


def _passed_elsewhere(site: Site, node: ast.Call, name: str, index: int) -> dict[str, float]:
    """Return the variables and constants that longer calls of the function `name` pass at `index`, with weights."""
    others = (other for other in site.module.index.calls.get(name, ()) if len(other.args) > len(node.args))
    found = (other.args[index] for other in others)
    known = set(site.paths)
    return {site.code(one): 3.0 for one in found if isinstance(one, ast.Constant) or dotted(one) in known}


def _additions(site: Site, node: ast.Call, name: str) -> dict[str, float]:
    options: dict[str, float] = dict.fromkeys(KEYWORDS.get(name, ()), 1.5)
    for other in site.module.index.calls.get(name, ()):
        if other is not node and name:
            for keyword in other.keywords:
                if keyword.arg:
                    options[site.code(keyword)] = 3.0
            if len(other.args) > len(node.args):
                options.setdefault(site.code(other.args[-1]), 2.0)
    for arguments in site.world.signatures.get(name, []):
        options |= _from_signature(site, node, arguments)
    options |= dict.fromkeys(_forwarded(site, node), 3.0)
    for path in site.paths:
        options.setdefault(path, 0.6)
    for text in _elements(site):
        options.setdefault(text, 0.5)
    return options


def _forwarded(site: Site, node: ast.Call) -> Iterator[str]:
    """Yield `*args` and `**kwargs`, if they are parameters of this function that the call does not forward."""
    given = {site.code(item) for item in (*node.args, *node.keywords)}
    own = site.local.function.args if site.local.function else None
    for stars, parameter in (("*", own.vararg), ("**", own.kwarg)) if own else ():
        if parameter and (text := f"{stars}{parameter.arg}") not in given:
            yield text


def _elements(site: Site) -> list[str]:
    """Return the items and attributes that this function reads: `row[0]`, `item.name`."""
    pieces = (
        piece.text
        for piece in site.module.index.expressions
        if isinstance(piece.node, ast.Subscript | ast.Attribute)
        and piece.function is site.local.function
        and piece.names <= site.known
    )
    return [text for text in dict.fromkeys(pieces) if len(text) <= 30][:20]


def _from_signature(site: Site, node: ast.Call, arguments: ast.arguments) -> dict[str, float]:
    names = parameter_names(arguments)
    found: dict[str, float] = {}
    known = set(site.paths) | {path.split(".", 1)[1] for path in site.paths if "." in path}
    for name in names[len(node.args) :]:
        for path in site.paths:
            if path.rsplit(".", 1)[-1] == name:
                found[f"{name}={path}"] = 3.0
                found[path] = 3.0
        if name not in known:
            for value in ("True", "False", "None", "0", "1"):
                found[f"{name}={value}"] = 0.6
    return found


def _appended(site: Site, node: ast.Call, text: str, weight: float) -> Iterator[Edit]:
    spans = _spans(site, node)
    if not spans:
        at = site.module.end(node) - 1
        yield Edit((Replacement(at, at, text),), weight)
        return
    positional = "=" not in text and not text.startswith("**")
    if any(isinstance(argument, ast.GeneratorExp) for argument in node.args):
        yield from _behind_generator(site, node, text, weight)
    elif positional and node.keywords:
        at = spans[len(node.args)][0]
        yield Edit((Replacement(at, at, f"{text}, "),), weight)
    else:
        at = spans[-1][1]
        yield Edit((Replacement(at, at, f", {text}"),), weight)
        if positional:
            yield Edit((Replacement(spans[0][0], spans[0][0], f"{text}, "),), weight * 0.5)


def _behind_generator(site: Site, node: ast.Call, text: str, weight: float) -> Iterator[Edit]:
    argument, inner = node.args[0], site.code(node.args[0])
    if len(node.args) == 1 and not inner.startswith("(("):
        both = f"({inner if inner.startswith('(') else f'({inner})'}, {text})"
        yield Edit((Replacement(site.module.start(argument), site.module.end(argument), both),), weight)


def argument_value(site: Site) -> Iterator[Edit]:
    """Replace an argument by a variable with the parameter's name, or rename a keyword."""
    for node in site.exprs:
        if isinstance(node, ast.Call):
            for arguments in site.world.signatures.get(last_name(node.func), []):
                names = parameter_names(arguments)
                yield from _of_parameters(site, node, names)
                yield from _renamed(site, node, names)
            yield from _of_keywords(site, node)


def _of_parameters(site: Site, node: ast.Call, names: list[str]) -> Iterator[Edit]:
    for argument, parameter in zip(node.args, names, strict=False):
        for path in _called_so(site, parameter):
            yield from site.swap(argument, path, 2.0)


def _of_keywords(site: Site, node: ast.Call) -> Iterator[Edit]:
    for keyword in node.keywords:
        for path in _called_so(site, keyword.arg) if keyword.arg else ():
            if fits(site.kinds.of(keyword.value), site.kinds.name(path)):
                yield from site.swap(keyword.value, path, 2.0)


def _called_so(site: Site, name: str) -> list[str]:
    """Return the variables named `name` and the attributes `….name` in scope."""
    return [path for path in site.paths if path.rsplit(".", 1)[-1] == name]


def _renamed(site: Site, node: ast.Call, names: list[str]) -> Iterator[Edit]:
    given = {keyword.arg for keyword in node.keywords}
    for keyword in node.keywords:
        start = site.module.start(keyword)
        for name in names:
            if keyword.arg and name not in given:
                yield Edit((Replacement(start, start + len(keyword.arg), name),), 1.0)
