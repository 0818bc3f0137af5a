# ruff: noqa: E501 (rows of a report, programs in strings)
"""Are two versions of a module equal in behaviour? Both are run on the calls the tests make and on variations of them.

`agree` for the hand-written programs, whose tests can be read as scripts; `same_in_package` for a file of a package,
whose calls are recorded while its own suite runs (replaying.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

DRIVER = """
import copy, importlib, itertools, json, random, signal, sys, types
sys.path.insert(0, "."); sys.setrecursionlimit(2000)
name = sys.argv[1]
module = importlib.import_module(name)
calls = json.load(open("calls.json"))
def show(value, depth=0):
    if depth > 4: return "..."
    if isinstance(value, types.GeneratorType) or hasattr(value, "__next__"):
        return ["gen", *(show(item, depth + 1) for item in itertools.islice(value, 50))]
    if isinstance(value, dict): return ["dict", *sorted((repr(show(k)), show(v, depth + 1)) for k, v in value.items())]
    if isinstance(value, (list, tuple)): return [type(value).__name__, *(show(item, depth + 1) for item in value)]
    if isinstance(value, (set, frozenset)): return ["set", *sorted(repr(show(item, depth + 1)) for item in value)]
    if type(value).__module__ == name: return [type(value).__name__, show({k: v for k, v in vars(value).items()}, depth + 1) if hasattr(value, "__dict__") else ""]
    return repr(value)[:300]
def alarm(*_): raise TimeoutError
signal.signal(signal.SIGALRM, alarm)
out = []
for script in calls:
    space = {name: module, **{k: v for k, v in vars(module).items() if not k.startswith("__")}}
    said = []
    for line in script:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        try:
            value = eval(line, space) if not line.startswith("it = ") else exec(line, space)
            said.append(show(value))
        except BaseException as error:
            said.append([type(error).__name__])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    out.append(said)
json.dump(out, open("out.json", "w"), default=str)
"""

GATHER = """
import ast, json, random, sys
name = sys.argv[1]
tree = ast.parse(open("tests.txt").read()); right = ast.parse(open("right.txt").read())
public = {n.name for n in right.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
classes = {n.name: [m.name for m in n.body if isinstance(m, ast.FunctionDef)] for n in right.body if isinstance(n, ast.ClassDef)}
dice = random.Random(7)
consts = {ast.Constant: 1}
values = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and not isinstance(n.value, bool)]
tables = {t.id: n.value for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
cases = [dict(zip(names, row)) for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func).endswith("parametrize")
         for names in [[p.strip() for p in ast.literal_eval(n.args[0]).split(",")] if isinstance(n.args[0], ast.Constant) else []] if isinstance(n.args[1], ast.List)
         for row in [e.elts if isinstance(e, ast.Tuple) else [e] for e in n.args[1].elts]]
class Fill(ast.NodeTransformer):
    def __init__(self, table): self.table = table
    def visit_Name(self, node): return self.table.get(node.id, node) if isinstance(node.ctx, ast.Load) else node
class Vary(ast.NodeTransformer):
    def visit_Constant(self, node):
        v = node.value
        if dice.random() > 0.5: return node
        if type(v) is int: return ast.Constant(dice.choice([v + 1, v - 1, 0, 1, 2, v * 2, 7, 100]))
        if type(v) is float: return ast.Constant(dice.choice([v + 1, v - 0.5, 0.0, v * 2, v / 3]))
        if type(v) is bool: return ast.Constant(not v)
        if type(v) is str:
            same = [w for w in values if type(w) is str]
            return ast.Constant(dice.choice([v, v[::-1], v + v, v.upper(), " " + v + " ", "", v[:-1], v[1:], *same]))
        return node
    def visit_List(self, node):
        self.generic_visit(node)
        if node.elts and dice.random() < 0.4:
            k = dice.choice(["dup", "rev", "drop", "shuffle", "empty"])
            e = node.elts
            node.elts = {"dup": e + e[:1], "rev": e[::-1], "drop": e[1:], "shuffle": dice.sample(e, len(e)), "empty": []}[k]
        return node
import copy
def expand(expr):
    filled = [expr]
    wanted = {n.id for n in ast.walk(expr) if isinstance(n, ast.Name)}
    if any(set(c) & wanted for c in cases): filled = [Fill({**tables, **c}).visit(copy.deepcopy(expr)) for c in cases if set(c) & wanted]
    else: filled = [Fill(tables).visit(copy.deepcopy(expr))]
    return filled
scripts = []
for test in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name.startswith("test")]:
    steps = []
    local = {}
    for stmt in ast.walk(test):
        if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 and isinstance(stmt.targets[0], ast.Name):
            steps.append((stmt.lineno, "it", stmt.targets[0].id, stmt.value))
        elif isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call): steps.append((stmt.lineno, "do", "", stmt.value))
        elif isinstance(stmt, ast.Assert):
            for n in ast.walk(stmt.test):
                if isinstance(n, ast.Compare): steps.append((stmt.lineno, "do", "", n.left)); break
            else: steps.append((stmt.lineno, "do", "", stmt.test))
    steps.sort(key=lambda s: s[0])
    for round_ in range(24):
        alternatives = [expand(v) for _, _, _, v in steps]
        width = max([len(a) for a in alternatives] or [1])
        for index in range(width if round_ < 8 else 1):
            script = []
            for (line, kind, target, _), options in zip(steps, alternatives):
                e = copy.deepcopy(options[(index if round_ < 8 else dice.randrange(len(options))) % len(options)])
                if round_: e = Vary().visit(e)
                text = ast.unparse(ast.fix_missing_locations(e))
                script.append(text if kind == "do" else f"it = {target} = {text}")
            if script: scripts.append(script)
json.dump(scripts, open("calls.json", "w"))
"""


def agree(name: str, right: str, patched: str, tests: str) -> bool:
    """Whether all recorded and varied calls end alike (values, yielded items, exception types, states of objects)."""
    return outputs(name, right, tests, right) == outputs(name, patched, tests, right)


def outputs(name: str, text: str, tests: str, right: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for file, content in (
            (f"{name}.py", text),
            ("tests.txt", tests),
            ("right.txt", right),
            ("gather.py", GATHER),
            ("drive.py", DRIVER),
        ):
            (here / file).write_text(content)
        subprocess.run([sys.executable, "gather.py", name], cwd=here, check=True, timeout=60)
        ended = subprocess.run(
            [sys.executable, "drive.py", name], cwd=here, timeout=300, capture_output=True, check=False
        )
        if ended.returncode:
            return ended.stderr.decode()[-500:]
        return json.loads((here / "out.json").read_text())


LEAST = 10
"""Calls that must have run through the changed functions before silence counts as agreement."""


@dataclass(frozen=True)
class Likeness:
    """`compared` calls went through the changed functions, `differ` of them were answered otherwise."""

    compared: int
    differ: int
    why: str = ""
    example: str = ""

    @property
    def equal(self) -> bool:
        """Where too few inputs could be made, nothing is known: not equal."""
        return self.compared >= LEAST and not self.differ


def same_in_package(
    top: Path,
    path: str,
    original: str,
    patched: str,
    *,
    timeout: float = 240.0,
    python: str | Path = sys.executable,
) -> Likeness:
    """Compare two texts of `path`, a file of the package at `top` (which holds the original), on its suite's calls.

    `python` has pytest and what the package needs.
    """
    with tempfile.TemporaryDirectory() as folder:
        out, job = Path(folder) / "out.json", Path(folder) / "job.json"
        told = {"path": str(top / path), "original": original, "patched": patched, "out": str(out)}
        job.write_text(json.dumps(told), "utf-8")
        command = ["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-p", "replaying"]
        env = {**os.environ, "REPLAYING": str(job), "PYTHONPATH": str(Path(__file__).parent)}
        try:
            subprocess.run([python, *command], cwd=top, env=env, timeout=timeout, capture_output=True, check=False)
            return Likeness(**json.loads(out.read_text("utf-8")))
        except (subprocess.TimeoutExpired, OSError, ValueError):
            return Likeness(0, 0, "the comparison did not end")
