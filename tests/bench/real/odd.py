"""Count odd places (proposers/search/conventions.py) in the projects, and the slips that make a place odd.

    python -m tests.bench.real.odd                  # the development half, with all slips that were found so far
    python -m tests.bench.real.odd --only boltons --shown       # list the places and slips of a part

It runs no test, and uses the projects and slips that `python -m tests.bench.real` has prepared. `less` counts slips
after which fewer places are odd: for these, the evidence speaks for the wrong code.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator

from coderefine.proposers.search.conventions import odd_by_kind
from coderefine.proposers.search.ingredients import ProjectContext
from coderefine.proposers.search.syntax import Function, Module
from tests.bench.real.projects import Project, chosen
from tests.bench.real.slips import Slip, found_so_far


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("development", "held-out"), default="development")
    parser.add_argument("--only", default="", help="projects whose names contain one of these words, with commas")
    parser.add_argument("--shown", action="store_true", help="list the odd places and the slips")
    given = parser.parse_args()
    total: Counter[str] = Counter()
    for project in chosen(given.only, given.half):
        if project.pristine.is_dir():
            total += counted(project, shown=given.shown)
    print(", ".join(f"{name} {number}" for name, number in sorted(total.items())))


def counted(project: Project, *, shown: bool) -> Counter[str]:
    """Count the functions, the odd places, and the slips that make more or fewer places odd."""
    world = ProjectContext(dict(modules(project)))
    functions = [(path, one) for path, module in world.modules.items() for one in functions_of(module)]
    total = Counter(functions=len(functions))
    for path, function in functions:
        for kind, nodes in odd_by_kind(function, world, function).items():
            total[kind] += len(nodes)
            for node in nodes if shown else ():
                print(f"{project.name} {path}:{getattr(node, 'lineno', 0)} {kind}: {ast.unparse(node)[:80]}")
    for slip in found_so_far(project):
        change = changed(slip, world)
        total[f"slips {change}"] += 1
        if shown and change in ("more", "less"):
            print(f"{change}: {slip.shown}")
    return total


def modules(project: Project) -> Iterator[tuple[str, Module]]:
    for file in sorted(project.pristine.rglob("*.py")):
        path = file.relative_to(project.pristine)
        if not any("test" in part.lower() or part in (".venv", "docs") for part in path.parts):
            module = Module.of(path.as_posix(), file.read_bytes())
            if module is not None:
                yield path.as_posix(), module


def functions_of(module: Module) -> list[Function]:
    return [stmt for stmt in module.statements if isinstance(stmt, Function)]


def changed(slip: Slip, world: ProjectContext) -> str:
    """Return whether the slip makes "more" or "less" odd, the "same" number, or is "elsewhere": in no function."""
    fault = slip.fault
    module = world.modules.get(fault.path)
    if module is None:
        return "elsewhere"
    text = module.text[: fault.start] + fault.new + module.text[fault.start + len(fault.old) :]
    faulty = Module.of(fault.path, text.encode())
    places = [one.function(one.by_line[fault.line]) for one in (module, faulty) if one and fault.line in one.by_line]
    match places:
        case [
            ast.FunctionDef() | ast.AsyncFunctionDef() as before,
            ast.FunctionDef() | ast.AsyncFunctionDef() as after,
        ]:
            was, now = (sum(map(len, odd_by_kind(one, world, before).values())) for one in (before, after))
            return "more" if now > was else "less" if now < was else "same"
    return "elsewhere"


if __name__ == "__main__":
    main()
