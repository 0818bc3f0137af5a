"""A model that rewrites the program of a gate, in place of the code that this gate complains about."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.cases import every
from tests.support.command import GREEN, TESTS, block, coderefine
from tests.support.llm_server import LlmServer
from tests.support.repo import make_repo

SCRIPT = "import sys\n\nprint('order.py:1: says nothing of taxes')\nsys.exit(1)\n"
COMMANDS = (
    ("python", "-m", "tools.check"),
    ("env", "python", "tools/check.py"),
    ("python", "-X", "dev", "tools/check.py"),
    ("bash", "-c", "cd tools && python check.py"),
)


@pytest.mark.parametrize("run", every(5, map(list, COMMANDS)), ids=" ".join)
def test_a_patch_that_rewrites_the_program_of_a_gate_is_refused(tmp_path: Path, run: Sequence[str]) -> None:
    settings = f'[[tool.coderefine.commands]]\nname = "own"\nrun = {json.dumps(run)}\n'
    lint = f"#!/usr/bin/env python3\n{SCRIPT}"
    files = {"order.py": GREEN, "test_order.py": TESTS, "tools/check.py": SCRIPT, "lint": lint}
    top = make_repo(tmp_path / "order", {**files, "pyproject.toml": settings})
    (top / "lint").chmod(0o755)
    path = "lint" if run[0] == "./lint" else "tools/check.py"
    fault, silent = SCRIPT.splitlines()[2], "print('all is well', file=sys.stderr)"
    replies = [block(path, f"{fault}\nsys.exit(1)", silent), ""]
    with LlmServer(replies) as server:
        model = ("--no-search", "--model", "scripted", "--base-url", server.url, "--max-requests", "2")
        result = coderefine("fix", *model, cwd=top)
    assert result.code == 1, result
    assert (top / path).read_text() == files[path]
    assert f"{path} is named by the command of the gate 'own': no patch may change it" in server.requests[1].prompt
