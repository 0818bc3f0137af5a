"""The public interface of a module: names that other code may import, and the parameters of its functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from coderefine.core import Finding
from coderefine.judge.change import Change, bound, positional, statements
from coderefine.judge.name_resolution import text
from coderefine.source import Function, arguments, last_name

TOP = re.compile(r"^(?:async\s+def|def|class)\s+([A-Za-z]\w*)", re.MULTILINE)
RENAMES = re.compile(r"F401|F811|N8\d\d|A00\d|ARG\d+")
"""ruff: unused import, redefinition, naming, shadowed builtin, unused argument."""
PRIVATE = re.compile(r"(^|\.)_(?!_(init|call|new)__)")
MISSED = re.compile(r"([\w.]+)\(\) missing \d+ required (?:positional|keyword-only) arguments?: ([^\n]*)")
ARITY = re.compile(r"\(\) takes (\d+) positional arguments? but (\d+) (?:was|were) given")


def removed(change: Change, findings: Sequence[Finding], tests: Sequence[str]) -> Iterator[str]:
    """Yield a reason for each public name that `change` removes.

    Names are left out if a finding on the file requests the removal, or if a failing test asserts that the module or
    class does not have the name. `tests`: source texts of the failing tests.
    """
    if not change.python or change.new is None or change.before is None:
        return
    allowed = _named(change.path, findings)
    for name in sorted(_public(change, change.new)):
        if not _unwanted(name, change.path, allowed, tests):
            yield f"removes {name} from {change.path}"
    if change.old is not None:
        was, now = _exported(change.old), _exported(change.new)
        for name in sorted(filter(None, was - now)) if None not in now else ():
            if not _unwanted(name, change.path, allowed, tests):
                yield f"removes {name!r} from __all__ in {change.path}"


def _named(path: str, findings: Sequence[Finding]) -> frozenset[str]:
    """Return the names quoted in findings on `path` that request a removal or renaming (rules RENAMES, or "unused").

    A finding *inside* a function, or about its length, is no reason to delete the function.
    """
    quoted: set[str] = set()
    for finding in findings:
        if finding.path == path and (RENAMES.match(finding.rule) or "unused" in finding.message.lower()):
            for name in re.findall(r"[`'\"]([\w.]+)[`'\"]", finding.message):
                quoted |= {name, name.rpartition(".")[2]}
    return frozenset(quoted)


def _unwanted(name: str, path: str, allowed: frozenset[str], tests: Sequence[str]) -> bool:
    """Return whether `name` is `allowed`, or a test asserts that its class, or else its module, does not have it."""
    if not allowed.isdisjoint((name, _last(name))):
        return True
    owner = name.rpartition(".")[0] or _last(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    return any(_last(name) == absent and owner in owners for source in tests for absent, owners in _absent(source))


def _absent(source: str) -> Iterator[tuple[str, set[str]]]:
    """Yield each name of which a test asserts that an object does not have it: `assert not hasattr(x, "name")`.

    With it comes what `_owners` returns for the object.
    """
    found = list(_nodes(source))
    for node in found:
        match node:
            case ast.Assert(test=ast.UnaryOp(op=ast.Not(), operand=asked)):
                pass
            case ast.Call(func=ast.Attribute(attr="assertFalse"), args=[asked, *_]):
                pass
            case _:
                continue
        match asked:
            case ast.Call(func=ast.Name(id="hasattr"), args=[owner, ast.Constant(value=str(name))]):
                yield name, _owners(owner, found)


def _owners(node: ast.expr, found: Sequence[ast.AST]) -> set[str]:
    """Return the names of the module that `node` may be, or of its class. `found`: all nodes of the file."""
    values = (item.value for item in found if isinstance(item, ast.Assign) and last_name(node) in bound(item))
    names = {last_name(item.func if isinstance(item, ast.Call) else item) for item in (node, *values)}
    return names | {_last(item.name) for item in found if isinstance(item, ast.alias) and item.asname in names}


def _public(change: Change, new: ast.Module) -> set[str]:
    """Return the removed public names; if the old text does not parse, find them line by line."""
    now = set(_all_bound(new))
    if change.old is None:
        return set(TOP.findall(change.old_text or "")) - now
    package = change.path.endswith("__init__.py")
    was = {name for node in statements(change.old) for name in _offered(node, package=package)} - {"*"}
    return {name for name in was - now if not re.search(r"(^|\.)_", name) and not _inherited(name, new)}


def _all_bound(tree: ast.Module) -> Iterator[str]:
    """Yield all names that a module binds, including imports, and as `Class.name` those that its classes bind."""
    for node in statements(tree):
        yield from bound(node)
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{name}" for item in statements(node) for name in bound(item))


def _offered(node: ast.stmt, *, package: bool) -> Iterator[str]:
    """Yield the functions, classes, methods and constants that `node` defines; in a package also relative imports."""
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
        yield from _methods(node)
    elif isinstance(node, ast.ImportFrom):
        yield from bound(node) if package and node.level else ()
    elif not isinstance(node, ast.Import | ast.For | ast.AsyncFor | ast.Delete):
        yield from (name for name in bound(node) if name[:1].isupper())


def _methods(node: ast.stmt) -> Mapping[str, Function]:
    """Return the methods of a class by `Class.name`; empty for other statements."""
    if not isinstance(node, ast.ClassDef):
        return {}
    return {f"{node.name}.{item.name}": item for item in node.body if isinstance(item, Function)}


def _inherited(name: str, tree: ast.Module) -> bool:
    """Return whether method `Class.name` is now inherited from a base class in this file."""
    owner, _, method = name.rpartition(".")
    classes = {node.name: node for node in statements(tree) if isinstance(node, ast.ClassDef)}
    bases = classes[owner].bases if owner in classes else []
    known = (classes[base.id] for base in bases if isinstance(base, ast.Name) and base.id in classes)
    return any(method in bound(item) for base in known for item in base.body)


def _exported(tree: ast.Module) -> set[str | None]:
    """Return the strings in `__all__`, and None if a part of it is computed, and so cannot be evaluated."""
    assigned = (node for node in statements(tree) if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign))
    values = [node.value for node in assigned if "__all__" in bound(node)]
    unknown = [ast.Pass()]
    return {text(item) for value in values for item in getattr(value, "elts", unknown)}


def narrowed(change: Change, findings: Sequence[Finding], tests: Sequence[str]) -> Iterator[str]:
    """Yield a reason for each parameter of a public function that can no longer be passed.

    Parameters are left out if a finding or a failing test demands the change. `tests`: source texts of the failing
    tests.
    """
    if change.old is None or change.new is None:
        return
    allowed = _named(change.path, findings)
    evidence = " ".join(f"{finding.message} {finding.evidence}" for finding in findings if finding.critic == "pytest")
    was, now = _public_functions(change.old), _public_functions(change.new)
    for name, old in was.items():
        new = now.get(name, old)
        dropped = sorted(_dropped(old, new) - allowed)
        if dropped and not _renamed(old, new, evidence) and not _demanded(name, old, new, evidence, tests):
            yield from (f"{name} in {change.path} no longer takes {parameter!r}" for parameter in dropped)


def _public_functions(tree: ast.Module) -> Mapping[str, Function]:
    found: dict[str, Function] = {}
    for node in statements(tree):
        found.update({node.name: node} if isinstance(node, Function) else _methods(node))
    return {name: node for name, node in found.items() if not PRIVATE.search(name)}


def _dropped(old: Function, new: Function) -> set[str]:
    """Return the parameters that `old` accepts and `new` does not, taking `*args` and `**kwargs` into account."""
    was, now = old.args, new.args
    stars = ((was.vararg, now.vararg, "*"), (was.kwarg, now.kwarg, "**"))
    gone = {star + before.arg for before, after, star in stars if before and not after}
    if not now.kwarg:
        fewer = not now.vararg and len(was.posonlyargs) > len((*now.posonlyargs, *now.args))
        passed = _names(*was.args, *was.kwonlyargs, *(was.posonlyargs if fewer else ()))
        gone |= passed - _names(*arguments(new))
    return {name for name in gone if name not in ("self", "cls") and not name.startswith("_")}


def _names(*parameters: ast.arg) -> set[str]:
    return {item.arg for item in parameters}


def _renamed(old: Function, new: Function, evidence: str) -> bool:
    """Return whether `new` has at least as many parameters as `old`, and a failing test needs a new parameter name.

    Such a test passes a keyword argument that only `new` accepts. `evidence`: the output of the failing tests.
    """
    as_many = len(arguments(old)) <= len(arguments(new))
    return as_many and any(f"unexpected keyword argument '{name}'" in evidence for name in _dropped(new, old))


def _demanded(name: str, old: Function, new: Function, evidence: str, tests: Sequence[str]) -> bool:
    """Return whether the failing tests need the signature of `new`.

    They do in three cases: a call failed because of a missing argument that `new` no longer accepts; a callback was
    called with as many arguments as `new` takes, while `old` takes another number; or all calls in the tests fit `new`,
    and some do not fit `old`. `evidence`: the output of the failing tests.
    """
    arities = (str(len(positional(new))), str(len(positional(old))))
    if _missed(name, old, new, evidence) or arities in ARITY.findall(evidence):
        return True
    method = "." in name and "staticmethod" not in [getattr(node, "id", "") for node in old.decorator_list]
    calls = [call for source in tests for call in _calls(source, _last(name.removesuffix(".__init__")))]
    fits_old, fits_new = (all(_fits(call, one, method=method) for call in calls) for one in (old, new))
    return fits_new and not fits_old


def _missed(name: str, old: Function, new: Function, evidence: str) -> bool:
    """Return whether a call of `name` failed because of a missing argument that `new` no longer accepts.

    `evidence`: the output of the failing tests.
    """
    return any(
        _last(called) == _last(name) and not _dropped(old, new).isdisjoint(re.findall(r"'(\w+)'", names))
        for called, names in MISSED.findall(evidence)
    )


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _nodes(source: str) -> Iterator[ast.AST]:
    try:
        yield from ast.walk(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError):
        return


def _calls(source: str, name: str) -> Iterator[ast.Call]:
    for node in _nodes(source):
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if called == name:
                yield node


def _fits(call: ast.Call, function: Function, *, method: bool) -> bool:
    """Return whether the arguments of `call` match the parameters of `function`; a call with `*` or `**` always does.

    `method`: whether the first parameter (`self`) is not among the arguments.
    """
    named = {item.arg for item in call.keywords}
    if None in named or any(isinstance(item, ast.Starred) for item in call.args):
        return True
    args, given = function.args, len(call.args)
    places = positional(function)[int(method) :]
    too_many = given > len(places) and not args.vararg
    unknown = set() if args.kwarg else named - _names(*args.args, *args.kwonlyargs)
    required = {*places[given : max(0, len(places) - len(args.defaults))], *_required_names(args)}
    return not too_many and not unknown and named >= required


def _required_names(args: ast.arguments) -> set[str]:
    """Return the keyword-only parameters without a default."""
    return {item.arg for item, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None}
