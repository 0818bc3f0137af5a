"""The folders that a call may touch."""

from __future__ import annotations

from pathlib import Path

import pytest

from coderefine.errors import UsageError
from coderefine.mcp.folders import allowed, find_patch, place


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    for name in ("one/inner", "two"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "module.py").touch()
    (tmp_path / "one" / "out").symlink_to(tmp_path / "two")
    return tmp_path.resolve()


def test_both_sides_have_to_allow_a_folder(open_folder: Path) -> None:
    one, inner, two = open_folder / "one", open_folder / "one/inner", open_folder / "two"
    assert allowed((), [one.as_uri(), two.as_uri()]) == (one, two)
    assert allowed((one,), None) == (one,)
    assert allowed((one,), [inner.as_uri()]) == (inner,)
    assert allowed((inner,), [one.as_uri(), two.as_uri()]) == (inner,)
    assert allowed((), None) == (Path.cwd(),)


@pytest.mark.parametrize("uris", [[], ["https://example.com/one"], ["file:///nowhere"], ["nonsense"]])
def test_a_client_that_shares_no_folder_may_touch_none(uris: list[str]) -> None:
    with pytest.raises(UsageError, match="shares no folder"):
        allowed((), uris)


def test_paths_are_found_in_any_open_folder(open_folder: Path) -> None:
    one, two = open_folder / "one", open_folder / "two"
    assert place((one,), ()) == (str(one), [str(one)])
    assert place((one, two), ("module.py",)) == (str(two), [str(two / "module.py")])
    assert place((one, two), ("inner", str(two))) == (str(one), [str(one / "inner"), str(two)])
    assert place((one, two), ("out/module.py",)) == (str(two), [str(two / "module.py")])


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../two", "outside"),
        ("out/module.py", "outside"),
        ("/etc", "outside"),
        ("inner/../../two/module.py", "outside"),
        ("missing.py", "does not exist"),
        ("a\0b", "cannot be read"),
    ],
)
def test_a_path_that_leads_out_is_refused(open_folder: Path, path: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        place((open_folder / "one",), (path,))


def test_several_open_folders_need_a_path(open_folder: Path) -> None:
    """`prove` asked for `paths`, an argument that it does not have."""
    both = (open_folder / "one", open_folder / "two")
    with pytest.raises(UsageError, match="give `paths`"):
        place(both, ())
    with pytest.raises(UsageError, match="give `folder`"):
        find_patch(both, "", "HEAD")
