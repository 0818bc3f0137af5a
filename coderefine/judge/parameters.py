"""Parameters that go away: which ones, and whether the failing tests ask for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from coderefine.judge.normal import Function

MISSED = re.compile(r"([\w.]+)\(\) missing \d+ required (?:positional|keyword-only) arguments?: ([^\n]*)")
ARITY = re.compile(r"\(\) takes (\d+) positional arguments? but (\d+) (?:was|were) given")


def dropped(old: Function, new: Function) -> set[str]:
    """Names that `old` accepts and `new` does not; `*args` and `**kwargs` accept what they can."""
    was, now = old.args, new.args
    gone = {name for star, name in _catch_alls(was).items() if star not in _catch_alls(now)}
    if not now.kwarg:
        fewer = not now.vararg and len(was.posonlyargs) > len((*now.posonlyargs, *now.args))
        passed = _names(*was.args, *was.kwonlyargs, *(was.posonlyargs if fewer else ()))
        gone |= passed - _names(*now.posonlyargs, *now.args, *now.kwonlyargs)
    return {name for name in gone if name not in ("self", "cls") and not name.startswith("_")}


def _catch_alls(args: ast.arguments) -> Mapping[str, str]:
    """`*args` by `*` and `**kwargs` by `**`, where the function has them."""
    both = {"*": args.vararg, "**": args.kwarg}
    return {star: star + item.arg for star, item in both.items() if item}


def _names(*parameters: ast.arg) -> set[str]:
    return {item.arg for item in parameters}


def demanded(name: str, old: Function, new: Function, evidence: str, tests: Sequence[str]) -> bool:
    """Whether the failing tests call for the signature of `new`: they miss an argument that `old` wants and `new` does
    not, they hand over a callback that takes as many as `new`, or all their calls fit `new` and some do not fit `old`.
    """
    last = name.removesuffix(".__init__").rpartition(".")[2]
    if _misses(name, old, new, evidence) or _hands_over(old, new, evidence):
        return True
    method = bool(re.search(r"\.", name)) and not _static(old)
    calls = [call for text in tests for call in _calls(text, last)]
    fitting = all(_binds_call(call, new, method=method) for call in calls)
    return fitting and any(not _binds_call(call, old, method=method) for call in calls)


def _misses(name: str, old: Function, new: Function, evidence: str) -> bool:
    """Tell whether a call of `name` missed an argument that `old` wants and `new` does not."""
    plain = name.rpartition(".")[2]
    return any(
        called.rpartition(".")[2] == plain and not dropped(old, new).isdisjoint(re.findall(r"'(\w+)'", missing))
        for called, missing in MISSED.findall(evidence)
    )


def _hands_over(old: Function, new: Function, evidence: str) -> bool:
    """Tell whether a callback was called that takes as many arguments as `new` and was given as many as `old` takes."""
    arities = {(int(takes), int(given)) for takes, given in ARITY.findall(evidence)}
    return (len(_positional(new)), len(_positional(old))) in arities


def _positional(function: Function) -> Sequence[ast.arg]:
    return (*function.args.posonlyargs, *function.args.args)


def _static(function: Function) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "staticmethod" for node in function.decorator_list)


def _calls(text: str, name: str) -> Iterator[ast.Call]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if called == name:
                yield node


def _binds_call(call: ast.Call, function: Function, *, method: bool) -> bool:
    """Whether the arguments of `call` go with the parameters; stars are taken to fit."""
    if _starred(call):
        return True
    args = function.args
    places = [item.arg for item in _positional(function)][1 if method else 0 :]
    named = {item.arg for item in call.keywords if item.arg}
    if not _accepted(len(call.args) - len(places), named, args):
        return False
    required = places[len(call.args) : max(0, len(places) - len(args.defaults))]
    return named >= {*required, *_wanted(args)}


def _starred(call: ast.Call) -> bool:
    """Tell whether `call` passes `*` or `**`."""
    return any(isinstance(item, ast.Starred) for item in call.args) or any(item.arg is None for item in call.keywords)


def _accepted(surplus: int, named: set[str], args: ast.arguments) -> bool:
    """Tell whether `args` accept `surplus` more positional arguments than they have places for, and those `named`."""
    if surplus > 0 and not args.vararg:
        return False
    return bool(args.kwarg) or named <= _names(*args.args, *args.kwonlyargs)


def _wanted(args: ast.arguments) -> set[str]:
    """Name the keyword-only parameters without a default."""
    return {item.arg for item, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None}
