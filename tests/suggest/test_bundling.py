"""Which pieces of a proved patch are suggested inline: those that leave every test green when accepted alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coderefine.publishers.hosts.bundle import Bundle, checked_file, read
from coderefine.publishers.hosts.comments import summary
from tests.support.cases import few
from tests.support.command import FAULT, GREEN, ORDER, TESTS, coderefine
from tests.support.repo import git, make_repo, write

APART = GREEN + "".join(f"\n\ndef filler_{n}():\n    return {n}\n" for n in range(9))
SECOND = "\n\ndef half(total):\n    return total {} 2\n"
PRICES = TESTS.replace("import discount, price", "import discount, half, price") + (
    "\n\ndef test_half():\n    assert half(4) == 2\n    assert half(5) == 2.5\n"
)


def suggested(top: Path, out: Path, change: dict[str, str | bytes], *args: str) -> Bundle:
    """What `coderefine suggest` hands over for a pull request of `change`."""
    make_repo(top, {"pyproject.toml": '[project]\nname = "x"\n', ".gitattributes": "* -text\n"})
    write(top, change)
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "topic")
    result = coderefine("suggest", "--base", "HEAD^", "--no-model", "--no-post", "--out", str(out), *args, cwd=top)
    assert result.code in (0, 1), result.err
    return read(out)


def green(top: Path) -> bool:
    argv = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(argv, cwd=top, capture_output=True, env=env, check=False).returncode == 0


def accepted(top: Path, bundle: Bundle) -> list[bool]:
    """Whether the tests are green after each suggestion alone."""
    found = []
    for one in bundle.suggestions:
        path = top / one.path
        text = path.read_text()
        lines = text.split("\n")
        assert tuple(lines[one.first - 1 : one.last]) == one.old
        path.write_text("\n".join((*lines[: one.first - 1], *one.new, *lines[one.last :])))
        found.append(green(top))
        path.write_text(text)
    return found


CASES: dict[str, tuple[dict[str, str | bytes], list[tuple[int, int]]]] = {
    "one fault": ({"order.py": ORDER, "test_order.py": TESTS}, [(6, 6)]),
    "a fault, and style that others remark on": (
        {"order.py": f"import os\n\n{ORDER}", "test_order.py": TESTS},
        [(8, 8)],
    ),
    "two faults far apart: neither alone leaves the tests green": (
        {"order.py": APART.replace(">= 100", "> 100") + SECOND.format("*"), "test_order.py": PRICES},
        [],
    ),
    "two faults close together: both as one": (
        {"order.py": ORDER + SECOND.format("*"), "test_order.py": PRICES},
        [(6, 15)],
    ),
    "nothing wrong": ({"order.py": GREEN, "test_order.py": TESTS}, []),
}


@pytest.mark.parametrize(
    "name",
    few(CASES, "nothing wrong"),
)
def test_suggestions_leave_all_tests_green(name: str, tmp_path: Path) -> None:
    change, places = CASES[name]
    bundle = suggested(tmp_path / "r", tmp_path / "out", change)
    assert [(one.first, one.last) for one in bundle.suggestions] == places
    assert all(accepted(tmp_path / "r", bundle))
    patch = tmp_path / "out" / "coderefine.patch"
    assert patch.exists() == bool(bundle.patch) == (name != "nothing wrong")
    if bundle.patch:
        assert not green(tmp_path / "r")
        git(tmp_path / "r", "am", "-q", str(patch))
        assert green(tmp_path / "r")


@pytest.mark.thorough
def test_a_line_with_a_form_feed_can_be_a_suggestion(tmp_path: Path) -> None:
    change: dict[str, str | bytes] = {"order.py": ORDER.replace("    return", "\f    return"), "test_order.py": TESTS}
    (suggestion,) = suggested(tmp_path / "r", tmp_path / "out", change).suggestions
    assert suggestion.new[0].startswith("\f    return")


@pytest.mark.thorough
def test_crlf_is_for_the_whole_patch_which_git_takes(tmp_path: Path) -> None:
    change: dict[str, str | bytes] = {"order.py": ORDER.replace("\n", "\r\n").encode(), "test_order.py": TESTS}
    bundle = suggested(tmp_path / "r", tmp_path / "out", change)
    assert bundle.suggestions == ()
    assert "gh run download && git apply" in summary(
        bundle, "gh pr checkout 1", fetch="gh run download && git apply x.patch"
    )
    assert checked_file(tmp_path / "out", bundle.patch) == "", "git apply does not read quoted-printable"
    git(tmp_path / "r", "am", "-q", "--keep-cr", str(tmp_path / "out" / "coderefine.patch"))
    assert green(tmp_path / "r")
    assert FAULT.replace("> 100", ">= 100").encode() + b"\r\n" in (tmp_path / "r" / "order.py").read_bytes()
