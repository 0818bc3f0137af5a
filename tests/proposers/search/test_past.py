"""What earlier commits say of a repair."""

from __future__ import annotations

from pathlib import Path

import pytest

from coderefine.proposers.search.emit import apply
from coderefine.proposers.search.ingredients import FunctionContext, ProjectContext
from coderefine.proposers.search.operators.statements import earlier
from coderefine.proposers.search.past import UNCOMMITTED, PastChange, changes, former, qualified_name, written
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Module
from tests.support.repo import git, make_repo, write

FIRST = """def fee(total):
    # Small sums cost more.
    if total < 10:
        return 2
    return 1


def due(total):
    return total + fee(total)
"""
FAULTY = FIRST.replace("total < 10", "total <= 10").replace("    # Small sums cost more.\n", "")


def module(text: str) -> Module:
    found = Module.of("fee.py", text.encode())
    assert found is not None
    return found


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository whose second commit brought a fault."""
    top = make_repo(tmp_path / "p", {"fee.py": FIRST})
    git(top, "commit", "-q", "--amend", "--no-edit", "--date", "2020-01-01T00:00:00Z")
    write(top, {"fee.py": FAULTY})
    git(top, "commit", "-qam", "Simplify")
    return top


def past(top: Path) -> tuple[PastChange, ...]:
    return changes(top, "fee.py", (top / "fee.py").read_bytes())


def remark(top: Path, old: str, new: str, text: str = FAULTY) -> str:
    """What the history of `top` says of `new` in place of `old`."""
    assert old in text
    return former(module(text), text.replace(old, new).encode(), past(top))


def test_a_line_that_is_as_before_a_commit_names_the_commit(top: Path) -> None:
    assert remark(top, "total <= 10", "total < 10") == f"as before {git(top, 'rev-parse', '--short', 'HEAD').strip()}"


@pytest.mark.parametrize(
    ("old", "new"),
    [("<= 10", "< 11"), ("return 2", "return 1"), ("    return 1\n", ""), ("total <= 10", "not (total < 10)")],
    ids=["other text", "other line", "since the first commit", "more than it was"],
)
def test_lines_that_never_existed_have_no_past(top: Path, old: str, new: str) -> None:
    assert remark(top, old, new) == ""


def test_a_line_that_is_as_in_head_undoes_uncommitted_work(top: Path) -> None:
    edited = FAULTY.replace("total + fee", "total - fee")
    write(top, {"fee.py": edited})
    assert remark(top, "total - fee", "total + fee", edited) == UNCOMMITTED


def test_staged_content_counts_and_not_that_of_the_tree(top: Path) -> None:
    """The tree is as in HEAD; the hook judges what is staged."""
    staged = FAULTY.replace("total + fee", "total - fee")
    found = changes(top, "fee.py", staged.encode())
    assert former(module(staged), FAULTY.encode(), found) == UNCOMMITTED


def test_of_two_lines_one_that_undoes_uncommitted_work_decides(top: Path) -> None:
    edited = FAULTY.replace("total + fee", "total - fee")
    write(top, {"fee.py": edited})
    both = edited.replace("total - fee", "total + fee").replace("total <= 10", "total < 10")
    assert former(module(edited), both.encode(), past(top)) == UNCOMMITTED


def test_every_changed_line_must_be_as_it_was(top: Path) -> None:
    text = FAULTY.replace("<= 10", "< 10").replace("return 1", "return 3")
    assert former(module(FAULTY), text.encode(), past(top)) == ""


def test_a_removed_line_comes_from_a_commit_that_only_added_it(top: Path) -> None:
    more = FAULTY.replace("    return total + ", "    total = round(total)\n    return total + ")
    write(top, {"fee.py": more})
    git(top, "commit", "-qam", "Round")
    assert remark(top, "    total = round(total)\n", "", more).startswith("as before ")


def test_a_shallow_clone_knows_only_what_it_has(top: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth=1", top.as_uri(), "shallow")
    assert [change.gone for change in past(tmp_path / "shallow")] == [()]
    assert remark(tmp_path / "shallow", "<= 10", "< 10") == ""


def test_a_partial_clone_fetches_nothing(top: Path, tmp_path: Path) -> None:
    git(top, "config", "uploadpack.allowFilter", "true")
    git(top, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", top.as_uri(), "partial")
    packs = tmp_path / "partial/.git/objects/pack"
    before = sorted(path.name for path in packs.iterdir())
    assert remark(tmp_path / "partial", "<= 10", "< 10") == ""
    assert sorted(path.name for path in packs.iterdir()) == before


def test_a_program_that_shows_diffs_is_not_run(top: Path, tmp_path: Path) -> None:
    git(top, "config", "diff.external", f"touch {tmp_path}/ran; true")
    git(top, "config", "diff.show.textconv", f"touch {tmp_path}/ran; cat")
    write(top, {".gitattributes": "*.py diff=show\n"})
    assert remark(top, "<= 10", "< 10").startswith("as before ")
    assert not (tmp_path / "ran").exists()


def test_a_change_of_several_lines_is_undone_as_a_whole(top: Path) -> None:
    more = FAULTY.replace("    return total + fee(total)", "    more = fee(total)\n    return more")
    write(top, {"fee.py": more})
    git(top, "commit", "-qam", "Name it")
    write(top, {"fee.py": more.replace("    return 1\n", "")})
    found = module("# A comment.\n" + more)
    world = ProjectContext({"fee.py": found}, changes={"fee.py": past(top)})
    made: dict[int, str] = {}
    for stmt in found.statements:
        site = Site(FunctionContext(found, found.function(stmt), world), stmt)
        made.update((stmt.lineno, apply(found.text, edit)) for edit in earlier(site))
    assert made == {
        3: found.text.replace("    if total <= 10", "    # Small sums cost more.\n    if total < 10"),
        9: "# A comment.\n" + FAULTY,
    }


def test_without_history_there_is_no_past(tmp_path: Path) -> None:
    assert changes(tmp_path, "fee.py", b"") == ()


def test_the_newest_line_of_a_function_tells_when_it_was_written(top: Path) -> None:
    data = FAULTY.encode()
    first, due = written(top, "fee.py", data, "fee"), written(top, "fee.py", data, "due")
    assert first is not None
    assert due == 1577836800 < first
    for path, text in (("fee.py", data.replace(b"return 1", b"return 3")), ("other.py", data)):
        now = written(top, path, text, "fee")
        assert now is not None
        assert now >= first, "not committed"
    assert written(top.parent, "fee.py", data, "fee") is None, "no repository"
    assert written(top, "fee.py", data, "free") is None, "no such function"


def test_of_functions_with_the_same_name_the_class_decides(top: Path) -> None:
    """A new test counted as old, because another class had an old test of the same name."""
    old = "class TestOld:\n    def test_fee(self):\n        pass\n"
    new = old + "\n\nclass TestNew:\n    def test_fee(self):\n        pass\n"
    write(top, {"test_fee.py": old})
    git(top, "add", "-A")
    git(top, "commit", "-qm", "Test", "--date", "2020-01-01T00:00:00Z")
    names = ("test_fee.py::TestOld::test_fee[1]", "test_fee.py::TestNew::test_fee")
    ages = [written(top, "test_fee.py", new.encode(), qualified_name(name)) for name in names]
    assert ages[0] == 1577836800
    assert ages[1] is not None
    assert ages[1] > 1577836800
