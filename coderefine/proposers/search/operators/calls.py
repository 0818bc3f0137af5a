"""Calls: their arguments and keywords, and calls wrapped around a value or taken off it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from coderefine.proposers.search import emit
from coderefine.proposers.search.ingredients import all_arguments
from coderefine.proposers.search.kinds import dotted, fits
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Replacement

KEYWORDS = {
    "sorted": ("reverse=True", "key=len", "key=str.lower", "key=lambda item: item[1]", "key=lambda item: item[0]"), "sort": ("reverse=True", "key=len", "key=str.lower", "key=lambda item: item[1]", "key=lambda item: item[0]"),
    "max": ("default=0", "default=None", "key=len", "key=lambda item: item[1]"), "min": ("default=0", "default=None", "key=len", "key=lambda item: item[1]"),
    "enumerate": ("start=1", "1"), "int": ("16", "2", "10"), "round": ("2", "1"), "sum": ("[]", "0"), "dumps": ("indent=2", "sort_keys=True", "ensure_ascii=False"),
    "open": ('encoding="utf-8"', '"w"', '"a"'), "split": ("1", "maxsplit=1"), "rsplit": ("1",), "get": ("0", '""', "[]", "{}", "False"), "pop": ("0", "None", "-1"), "next": ("None",), "getattr": ("None",),
    "product": ("repeat=2",), "strftime": (), "wraps": (), "popitem": ("last=False",), "replace": ("1",), "setdefault": ("[]", "{}", "0"), "zip": ("strict=True",), "print": ('end=""',), "encode": ('"utf-8"',), "timedelta": ("days=1",),
    "deque": ("maxlen=1",), "join": (), "range": ("1",), "field": ("default_factory=list",), "findall": ("re.IGNORECASE",), "compile": ("re.IGNORECASE", "re.MULTILINE", "re.DOTALL"), "mkdir": ("parents=True", "exist_ok=True"), "from_iterable": (), "splitlines": ("True",), "defaultdict": ("int", "list"), "dict": (), "pow": (),
}  # fmt: skip
"""Arguments that well-known callables are often given."""

WRAPS: dict[str, tuple[tuple[str, float], ...]] = {
    "int": (("str({})", 2), ("abs({})", 1.5), ("range({})", 1), ("float({})", 0.6), ("chr({})", 1), ("max(0, {})", 0.8), ("bool({})", 0.3), ("[{}]", 0.3), ("round({})", 0.2), ("reversed(range({}))", 0.1)),
    "float": (("int({})", 2), ("round({})", 1.5), ("round({}, 2)", 1), ("abs({})", 1.2), ("str({})", 0.6), ("max(0, {})", 0.6), ("math.floor({})", 0.4), ("math.ceil({})", 0.4)),
    "str": (("{}.strip()", 2), ("{}.lower()", 2), ("int({})", 2), ("len({})", 1.5), ("{}.upper()", 1), ("{}.split()", 1), ("list({})", 0.6), ("float({})", 1), ("reversed({})", 0.5), ("{}.rstrip()", 0.8), ("{}.lstrip()", 0.6), ("sorted({})", 0.5), ("ord({})", 1), ("repr({})", 0.4), ("{}.encode()", 0.2), ("set({})", 0.5), ('"".join({})', 0.3), ("{}.title()", 0.3), ("{}.capitalize()", 0.4), ("{}.casefold()", 0.3), ('{}.rstrip("\\n")', 0.2), ("{}.splitlines()", 0.4), ("[{}]", 0.3), ('"".join(sorted({}))', 0.6)),
    "list": (("len({})", 2), ("sorted({})", 2), ("list({})", 1.5), ("set({})", 1.5), ("sum({})", 1), ("reversed({})", 1), ("tuple({})", 1.2), ("max({})", 0.7), ("min({})", 0.7), ("enumerate({})", 1), ("range(len({}))", 0.6), ("{}.copy()", 1), ('"".join({})', 1), ('" ".join({})', 0.5), ("{}[::-1]", 0.5), ("any({})", 0.4), ("all({})", 0.4), ("deepcopy({})", 0.1), ("[{}]", 0.3), ("iter({})", 0.2), ("sorted(set({}))", 0.3), ("str({})", 0.3)),
    "tuple": (("len({})", 1), ("list({})", 1.5), ("sorted({})", 1), ("set({})", 0.7), ("sum({})", 0.7), ("max({})", 0.5), ("min({})", 0.5), ("[{}]", 0.3)),
    "set": (("sorted({})", 2), ("list({})", 2), ("len({})", 1.5), ("frozenset({})", 0.7), ("set({})", 1), ("{}.copy()", 0.5), ("tuple({})", 0.5)),
    "dict": (("{}.items()", 2), ("{}.values()", 2), ("list({})", 1), ("len({})", 1), ("dict({})", 1.5), ("{}.copy()", 1.5), ("sorted({})", 1.2), ("{}.keys()", 0.5), ("list({}.items())", 0.6), ("list({}.values())", 0.4), ("sorted({}.items())", 0.5)),
    "iter": (("list({})", 2.5), ("sorted({})", 1.5), ("tuple({})", 1), ("set({})", 1), ("sum({})", 1), ("dict({})", 0.7), ("any({})", 0.7), ("all({})", 0.7), ("max({})", 0.6), ("min({})", 0.6), ("enumerate({})", 0.6), ("reversed({})", 0.6), ('"".join({})', 0.8), ('", ".join({})', 0.3), ("iter({})", 0.3), ("next({})", 0.3), ("len(list({}))", 0.3), ("len({})", 0.3)),
    "bool": (("int({})", 1), ("bool({})", 0.5), ("str({})", 0.5)), "bytes": (("{}.decode()", 2), ("len({})", 1), ("bytes({})", 0.5), ("bytearray({})", 0.3)),
    "": (("len({})", 1.2), ("str({})", 1.2), ("int({})", 1), ("list({})", 1.2), ("abs({})", 0.8), ("sorted({})", 0.9), ("float({})", 0.6), ("set({})", 0.6), ("range({})", 0.8), ("{}.strip()", 0.7), ("{}.lower()", 0.7), ("{}.upper()", 0.3), ("tuple({})", 0.7), ("round({})", 0.4), ("bool({})", 0.4), ("reversed({})", 0.5), ("sum({})", 0.4), ("enumerate({})", 0.4), ("{}.copy()", 0.6), ("{}.items()", 0.5), ("{}.values()", 0.4), ("chr({})", 0.3), ("ord({})", 0.4), ("dict({})", 0.4), ("max(0, {})", 0.2), ("repr({})", 0.4), ("any({})", 0.3), ("all({})", 0.3), ("max({})", 0.3), ("min({})", 0.3), ("{}()", 0.5), ("range(len({}))", 0.3), ("type({})", 0.2), ("iter({})", 0.2), ("frozenset({})", 0.2), ("next({})", 0.2), ("id({})", 0.05), ("[{}]", 0.3), ("{}[::-1]", 0.2), ('"".join({})', 0.3)),
}  # fmt: skip
"""What is wrapped around a value of each kind, with how often; {} is the value."""


def wrap(site: Site) -> Iterator[Edit]:
    """A missing wrapper: a conversion, a measure, a cleaning call around a value, chosen by its kind."""
    for node in site.exprs:
        if isinstance(node, ast.Compare | ast.BoolOp | ast.Lambda | ast.Starred) or _callee(site, node) or _inside_chain(site, node):
            continue
        kind = site.kinds.of(node)
        plain = not isinstance(node, ast.Constant)
        for shape, weight in WRAPS.get(kind, WRAPS[""]):
            if not plain and shape not in ("str({})", "int({})", "float({})", "set({})", "list({})", "tuple({})"):
                continue
            inner = site.code(node) if "({})" in shape or "[{}]" in shape else site.tight(node)
            if isinstance(node, ast.GeneratorExp) and "({})" in shape:
                inner = inner.removeprefix("(").removesuffix(")")
            yield from _shaped(site, node, shape, inner, weight * (1.0 if plain else 0.2))


def _shaped(site: Site, node: ast.expr, shape: str, inner: str, weight: float) -> Iterator[Edit]:
    call = site.module.parents.get(node)
    if isinstance(node, ast.GeneratorExp) and isinstance(call, ast.Call) and len(call.args) == 1:
        # the only argument borrows the call's parentheses: keep those, and put the wrapper inside them
        text = f"({shape.format(inner)})"
        yield Edit((Replacement(site.module.start(node), site.module.end(node), text),), weight)
    else:
        yield from site.swap(node, shape.format(inner), weight)


def _callee(site: Site, node: ast.AST) -> bool:
    parent = site.module.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _inside_chain(site: Site, node: ast.AST) -> bool:
    """Names of modules and classes before a dot are not values to wrap."""
    parent = site.module.parents.get(node)
    return isinstance(parent, ast.Attribute) and (dotted(node) in site.local.globals or dotted(node) in ("self", "cls"))


def own_wrap(site: Site) -> Iterator[Edit]:
    """A value passed through a one-argument function or method of this project."""
    here = [name for name, known in site.world.signatures.items() if name in site.local.globals and any(_takes(a, 1) for a in known)]
    mine = [name for name in site.local.methods if site.local.receiver and any(_takes(a, 2) for a in site.world.signatures[name])]
    used = {name for name in site.module.index.one_argument if name.split(".")[0] in site.local.globals}
    for node in site.exprs:
        if _callee(site, node) or _inside_chain(site, node) or isinstance(node, ast.Constant | ast.Compare | ast.BoolOp):
            continue
        for name in (*here, *sorted(used)):
            if site.local.function is None or name != site.local.function.name:
                yield from site.swap(node, f"{name}({site.code(node)})", 1.0)
        for name in mine:
            if not name.startswith("__"):
                yield from site.swap(node, f"{site.local.receiver}.{name}({site.code(node)})", 0.7)


def _takes(arguments: ast.arguments, count: int) -> bool:
    total = len(arguments.posonlyargs) + len(arguments.args)
    return total >= count and total - len(arguments.defaults) <= count


def unwrap(site: Site) -> Iterator[Edit]:
    """A call taken off its argument or its receiver."""
    for node in site.exprs:
        if not isinstance(node, ast.Call):
            continue
        if node.args and not isinstance(node.args[0], ast.Starred):
            yield from site.swap(node, site.code(node.args[0]), 1.0 if len(node.args) == 1 else 0.4)
            if len(node.args) > 1 and not isinstance(node.args[-1], ast.Starred):
                yield from site.swap(node, site.code(node.args[-1]), 0.4)
        if isinstance(node.func, ast.Attribute) and dotted(node.func.value) not in ("self", "cls", *site.local.globals):
            yield from site.swap(node, site.code(node.func.value), 1.0 if not node.args else 0.5)
        if not node.args and not node.keywords:
            yield from site.swap(node, site.code(node.func), 0.5)


def _spans(site: Site, node: ast.Call) -> list[tuple[int, int]]:
    items = sorted([*node.args, *node.keywords], key=site.module.start)
    return [(site.module.start(item), site.module.end(item)) for item in items]


def argument_order(site: Site) -> Iterator[Edit]:
    """Two arguments of a call exchanged."""
    for node in site.exprs:
        if isinstance(node, ast.Call) and len(node.args) >= 2:
            for index, one in enumerate(node.args):
                for two in node.args[index + 1 :]:
                    if not isinstance(one, ast.Starred) and not isinstance(two, ast.Starred) and site.code(one) != site.code(two):
                        yield Edit((emit.expression(site.module, one, site.code(two)).parts[0], emit.expression(site.module, two, site.code(one)).parts[0]))


def argument_removed(site: Site) -> Iterator[Edit]:
    """An argument or keyword taken out of a call."""
    for node in site.exprs:
        spans = _spans(site, node) if isinstance(node, ast.Call) else []
        for index, (start, end) in enumerate(spans):
            if index + 1 < len(spans):
                yield Edit((Replacement(start, spans[index + 1][0], ""),), 1.0)
            else:
                begin = spans[index - 1][1] if index else start
                yield Edit((Replacement(begin, end, ""),), 1.0)


def argument_added(site: Site) -> Iterator[Edit]:
    """A missing argument or keyword: one the function takes, or one that such calls are often given."""
    for node in site.exprs:
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func).rsplit(".", 1)[-1] or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
        given = {keyword.arg for keyword in node.keywords}
        for text, weight in _additions(site, node, name).items():
            head = text.split("=")[0] if "=" in text.split("(")[0].split('"')[0] else ""
            if head not in given or not head:
                yield from _appended(site, node, text, weight)


def _additions(site: Site, node: ast.Call, name: str) -> dict[str, float]:
    options: dict[str, float] = {text: 1.5 for text in KEYWORDS.get(name, ())}
    for other in site.module.index.calls[name] if name in site.module.index.calls else ():
        if other is not node and name:
            for keyword in other.keywords:
                if keyword.arg:
                    options[site.code(keyword)] = 3.0
            if len(other.args) > len(node.args):
                options.setdefault(site.code(other.args[-1]), 2.0)
    for arguments in site.world.signatures.get(name, []):
        options |= _from_signature(site, node, arguments)
    for path in site.paths:
        options.setdefault(path, 0.6)
    return options


def _from_signature(site: Site, node: ast.Call, arguments: ast.arguments) -> dict[str, float]:
    names = [argument.arg for argument in all_arguments(arguments) if argument.arg not in ("self", "cls")]
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
    keyword_first = bool(node.keywords) and "=" not in text
    if any(isinstance(argument, ast.GeneratorExp) for argument in node.args):
        argument = node.args[0]
        if len(node.args) == 1 and not site.code(argument).startswith("(("):
            inner = site.code(argument)
            bare = inner if inner.startswith("(") else f"({inner})"
            yield Edit((Replacement(site.module.start(argument), site.module.end(argument), f"({bare}, {text})"),), weight)
        return
    if keyword_first:
        at = spans[len(node.args)][0]
        yield Edit((Replacement(at, at, f"{text}, "),), weight)
    else:
        at = spans[-1][1]
        yield Edit((Replacement(at, at, f", {text}"),), weight)
        if "=" not in text:
            yield Edit((Replacement(spans[0][0], spans[0][0], f"{text}, "),), weight * 0.5)


def argument_value(site: Site) -> Iterator[Edit]:
    """An argument replaced by a variable of the parameter's own name, or a keyword given another name."""
    for node in site.exprs:
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func).rsplit(".", 1)[-1]
        for arguments in site.world.signatures.get(name, []):
            names = [argument.arg for argument in all_arguments(arguments) if argument.arg not in ("self", "cls")]
            for argument, parameter in zip(node.args, names, strict=False):
                for path in site.paths:
                    if path.rsplit(".", 1)[-1] == parameter:
                        yield from site.swap(argument, path, 2.0)
            yield from _renamed(site, node, names)
        for keyword in node.keywords:
            for path in site.paths:
                if keyword.arg and path.rsplit(".", 1)[-1] == keyword.arg and fits(site.kinds.of(keyword.value), site.kinds.name(path)):
                    yield from site.swap(keyword.value, path, 2.0)


def _renamed(site: Site, node: ast.Call, names: list[str]) -> Iterator[Edit]:
    given = {keyword.arg for keyword in node.keywords}
    for keyword in node.keywords:
        start = site.module.start(keyword)
        for name in names:
            if keyword.arg and name not in given:
                yield Edit((Replacement(start, start + len(keyword.arg), name),), 1.0)
