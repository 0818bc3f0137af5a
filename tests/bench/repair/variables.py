"""Which properties tell the variable that is read from the others in scope: the factors of operators/names.py.

    python -m tests.bench.repair.variables                      # the packages installed beside coderefine
    python -m tests.bench.repair.variables PATH [PATH ...]

For up to 8 local variables read in each function, prints for each property how often the right variable has it, how
often another variable in scope has it, and the ratio of the two.
"""

from __future__ import annotations

import ast
import random
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from coderefine.proposers.search.operators.names import DISTANCES
from coderefine.proposers.search.syntax import Function

MOST_FILES, MOST_READS = 600, 8


def main() -> None:
    random.seed(1)
    roots = [Path(path) for path in sys.argv[1:]] or [Path(sysconfig.get_paths()["purelib"])]
    files = [path for root in roots for path in sorted(root.rglob("*.py")) if "test" not in path.name]
    right: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for path in random.sample(files, min(MOST_FILES, len(files))):
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, ValueError):
            continue
        for function in ast.walk(tree):
            if isinstance(function, Function):
                for name, chosen, scope in reads(function, parameters_of(tree)):
                    right.update(["all", *chosen[name]])
                    for other in scope:
                        others.update(dict.fromkeys(["all", *chosen[other]], 1 / len(scope)))
    print(f"{right['all']} variables read; share of the right ones, of the others, ratio")
    for key in sorted(right.keys() | others.keys()):
        shares = [found[key] / found["all"] for found in (right, others)]
        print(f"{key:20} {shares[0]:6.3f} {shares[1]:6.3f} {shares[0] / max(shares[1], 1e-3):6.2f}")


def parameters_of(tree: ast.Module) -> dict[str, list[str]]:
    """Return the names of the positional parameters of the functions of a module, without `self`."""
    found = {node.name: [one.arg for one in node.args.args] for node in ast.walk(tree) if isinstance(node, Function)}
    return {name: names[1:] if names[:1] in (["self"], ["cls"]) else names for name, names in found.items()}


def reads(function: ast.AST, signatures: dict[str, list[str]]) -> Iterator[tuple[str, dict[str, list[str]], list[str]]]:
    """Yield a variable that is read, the properties of all in scope by name, and the names of the others."""
    parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}  # type: ignore[attr-defined]
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    bound = parameters | {node.id for node in names if isinstance(node.ctx, ast.Store)}
    loads = [node for node in names if isinstance(node.ctx, ast.Load) and node.id in bound - {"self", "cls"}]
    for node in random.sample(loads, min(MOST_READS, len(loads))):
        up: ast.AST = node
        while not isinstance(up, ast.stmt):
            up = parents[up]
        stmt, looped = up, set[str]()
        while up is not function and not looped:
            up = parents[up]
            if isinstance(up, ast.For):
                looped = {name.id for name in ast.walk(up.target) if isinstance(name, ast.Name)}
        before = {one.id for one in names if isinstance(one.ctx, ast.Store) and one.lineno <= node.lineno}
        scope = sorted((parameters | before) - {"self", "cls", node.id})
        rest = [one for one in names if one is not node]
        inside = {id(one) for one in ast.walk(stmt)} if not hasattr(stmt, "body") else set()
        if scope:
            found = {}
            for name in (node.id, *scope):
                mine = [one for one in rest if one.id == name]
                lines = [one.lineno for one in mine if one.lineno < stmt.lineno]
                found[name] = ["read here"] if any(id(one) in inside for one in mine) else []
                found[name] += ["innermost loop"] if name in looped else []
                found[name] += [_distance(stmt.lineno - max(lines))] if lines else []
                found[name] += ["unbound"] if not lines and name not in parameters else []
                found[name] += _purposes(node, name, parents, signatures)
            yield node.id, found, scope


def _purposes(node: ast.AST, name: str, parents: dict[ast.AST, ast.AST], signatures: dict[str, list[str]]) -> list[str]:
    """Return the kind of place that gives the value of `node` a name, and how `name` is like that name."""
    match parents[node]:
        case ast.keyword(arg=str(wanted)):
            kind = "keyword"
        case ast.Assign(targets=[ast.Name(id=wanted) | ast.Attribute(attr=wanted)]):
            kind = "target"
        case (
            ast.For(target=ast.Name(id=one), iter=iterated) | ast.comprehension(target=ast.Name(id=one), iter=iterated)
        ) if node is iterated:
            kind, wanted = "loop", one + "s"
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=args) if node in args:
            names = dict(zip(map(id, args), signatures.get(called, ()), strict=False))
            kind, wanted = "parameter", names.get(id(node), "")
            if not wanted:
                return []
        case _:
            return []
    parts, others = set(wanted.lower().strip("_").split("_")), set(name.lower().strip("_").split("_"))
    like = "same" if parts == others else "shares a word" if parts & others else "unlike"
    return [f"{kind}: any", f"{kind}: {like}"]


def _distance(lines: int) -> str:
    return next((f"distance <= {most:2}" for most in DISTANCES if lines <= most), f"distance > {DISTANCES[-1]}")


if __name__ == "__main__":
    main()
