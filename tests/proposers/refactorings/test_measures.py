"""What is counted in a function, against ruff's own numbers."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

from coderefine.proposers.refactorings.measures import COUNTED
from coderefine.proposers.refactorings.trees import Unit

LIMITS = ("mccabe.max-complexity", "pylint.max-returns", "pylint.max-branches", "pylint.max-statements")
CODE = """
def loops(a):
    for x in a:
        if x:
            break
    else:
        if a:
            return
    while a:
        continue
    else:
        a = 1; b = 2
    async def inner():
        async for x in a:
            async with x: pass
        return 2


def branches(a):
    if a:
        return 1
    elif b:
        return 2
    else:
        if c:
            raise a
    if a:
        pass
    else:
        pass


def failures(a):
    try:
        a()
    except A:
        a = lambda: 1 if a else 2
    except B:
        with a: del a
    else:
        assert a
    finally:
        a()
    try:
        pass
    finally:
        return [b for b in a if b]


def cases(a):
    match a:
        case 1:
            if a and b: pass
        case 2 if a:
            pass
    match a:
        case 3:
            pass
        case _:
            return


def definitions(a):
    def inner():
        if a:
            return 1
    class Kind:
        x = 1
        def method(self):
            if self:
                return 2
    return inner
"""


def numbers(path: Path) -> dict[int, dict[str, int]]:
    """Return what ruff counts in each function, by its line, for each rule."""
    ruff = str(Path(sys.executable).with_name("ruff"))
    options = ("--isolated", "--no-cache", "--ignore-noqa", "--output-format=json", f"--select={','.join(COUNTED)}")
    limits = [part for name in LIMITS for part in ("--config", f"lint.{name}=0")]
    done = subprocess.run([ruff, "check", *options, *limits, str(path)], capture_output=True, text=True, check=False)
    found: dict[int, dict[str, int]] = {}
    for one in json.loads(done.stdout):
        (value,) = re.findall(r"\((\d+) > 0\)", one["message"])
        found.setdefault(one["location"]["row"], {})[one["code"]] = int(value)
    return found


def test_the_numbers_are_those_of_ruff(tmp_path: Path) -> None:
    """PLR0911 and PLR0915 were left; C901 was measured by radon, which also counts `and`, `or` and comprehensions."""
    path = tmp_path / "code.py"
    path.write_text(CODE)
    wanted = numbers(path)
    for function in ast.parse(CODE).body:
        assert isinstance(function, ast.FunctionDef)
        unit = Unit(ast.get_source_segment(CODE, function) or "")
        found = {rule: unit.size(rule) for rule in COUNTED if unit.size(rule)}
        assert found == wanted[function.lineno], function.name
