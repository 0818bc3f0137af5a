"""Tests that do not end: found early, confirmed beside the other tests, and never mistaken for slow ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import coderefine
from tests.support.repo import make_repo

LOOP = """\
def bisect(values, wanted):
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle {operator} 1
        else:
            high = middle
    return low
"""
FOUND = """\
import pytest

from seq import bisect


@pytest.mark.parametrize("wanted", [1, 3, 5])
def test_found(wanted):
    assert bisect([1, 3, 5], wanted) == [1, 3, 5].index(wanted)


def test_empty():
    assert bisect([], 2) == 0
"""
SLOW = """\
from work import busy


def test_quick():
    assert busy(0) == 1


def test_slow():
    assert busy(4.5) == 1


def test_again():
    assert busy(0) == 1
"""


@pytest.mark.thorough
def test_a_loop_that_never_ends_is_repaired(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "p", {"seq.py": LOOP.format(operator="-"), "test_seq.py": FOUND})
    done = coderefine("fix", "--no-model", "--search-time", "90", "--format", "json", cwd=top)
    assert (top / "seq.py").read_text() == LOOP.format(operator="+"), done.err
    assert json.loads(done.out)["clean"]


@pytest.mark.thorough
def test_a_slow_test_that_ends_is_no_finding_and_nothing_is_repaired_for_it(tmp_path: Path) -> None:
    busy = "import time\n\n\ndef busy(seconds):\n    until = time.process_time() + seconds\n"
    busy += "    while time.process_time() < until:\n        pass\n    return 1\n"
    top = make_repo(tmp_path / "p", {"work.py": busy, "test_work.py": SLOW})
    done = coderefine("fix", "--no-model", "--format", "json", cwd=top)
    report = json.loads(done.out)
    assert (top / "work.py").read_text() == busy
    assert report["clean"], done.err
    assert report["baseline"]["tests"] == {"passed": 3}
    assert done.code == 0
