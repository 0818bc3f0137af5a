"""Which kind of view is taken, and the note when a better one is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from coderefine.core import Patch
from coderefine.errors import WorkspaceError
from coderefine.project import locate
from coderefine.workspace import describe, open_views


@pytest.fixture(params=["no util-linux", "mounts refused", "entry refused"])
def refusal(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Systems that refuse overlays, each in its own way, made with the programs on PATH."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "cat", "git", "unshare", "nsenter", "setpriv"):
        found = shutil.which(name)
        assert found
        (tools / name).symlink_to(found)
    broken = {"no util-linux": "setpriv", "mounts refused": "unshare", "entry refused": "nsenter"}[request.param]
    (tools / broken).unlink()
    if broken != "setpriv":
        (tools / broken).write_text("#!/bin/sh\necho 'Operation not permitted' >&2; exit 1\n", "utf-8")
        (tools / broken).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    return {"setpriv": "no namespaces here: setpriv", "unshare": "not permitted", "nsenter": "cannot enter"}[broken]


def test_auto_takes_the_overlay_where_it_works(top: Path, overlay_works: bool) -> None:
    with open_views(locate([], top)) as views:
        for _ in range(2):
            with views.open(Patch({"untracked.py": b"p"})) as view:
                assert view.run(("cat", "untracked.py")).text == "p"
                assert view.isolation.startswith("overlay" if overlay_works else "copy")


def test_auto_falls_back_to_a_copy_and_keeps_the_reason(top: Path, refusal: str) -> None:
    with open_views(locate([], top)) as views:
        for _ in range(2):
            with views.open(Patch({"untracked.py": b"p"})) as view:
                assert view.run(("cat", "untracked.py")).text == "p"
                assert view.isolation.startswith("copy (")
                assert refusal in view.isolation


def test_a_fall_back_is_always_reported(top: Path, refusal: str) -> None:
    notes: list[str] = []
    with open_views(locate([], top), note=notes.append) as views:
        for _ in range(2):
            with views.open():
                pass
    (line,) = notes
    assert line.startswith("private views are copies at another path: ")
    assert refusal in line


def test_another_kind_is_taken_once_and_reported(top: Path, overlay_works: bool) -> None:
    if not overlay_works:
        pytest.skip("no overlay to begin with")
    notes: list[str] = []
    with open_views(locate([], top), note=notes.append) as views:
        with views.open() as view:
            assert view.isolation.startswith("overlay")
        assert views.instead("other code was loaded")
        with views.open(Patch({"untracked.py": b"p"})) as view:
            assert view.isolation.startswith("copy")
            assert view.patch.files
            assert view.run(("cat", "untracked.py")).text == "p"
        assert not views.instead("again")
    assert notes == ["private views are copies at another path: no overlay: other code was loaded"]


@pytest.mark.parametrize("kind", ["overlay", "copy"])
def test_a_requested_kind_is_kept(top: Path, kind: str, overlay_works: bool) -> None:
    if kind == "overlay" and not overlay_works:
        pytest.skip("no overlay here")
    with open_views(locate([], top), kind=kind) as views:
        with views.open():
            pass
        assert not views.instead("other code was loaded")


def test_where_only_overlays_are_refused_a_copy_is_confined(top: Path, tmp_path: Path, overlay_works: bool) -> None:
    """A tree with a folder of another user cannot be overlaid by an ordinary user, but can be copied."""
    if not overlay_works or os.getuid() == 0:
        pytest.skip("root overlays everything")
    sticky = next((group for group in os.getgroups() if group != os.getgid()), None)
    if sticky is None:
        pytest.skip("this user has one group only")
    os.chown(top / "src", -1, sticky)
    isolation = describe(locate([], top))
    assert (isolation.kind, isolation.network_off) == ("copy", True)


def test_doctor_receives_the_missing_features(top: Path, refusal: str) -> None:
    isolation = describe(locate([], top))
    assert (isolation.kind, isolation.network_off, isolation.pid_namespace) == ("copy", False, False)
    assert refusal in isolation.missing[0]
    assert len(isolation.missing) == 5


def test_a_requested_overlay_is_never_replaced(top: Path, refusal: str) -> None:
    with open_views(locate([], top), kind="overlay") as views:  # noqa: SIM117
        with pytest.raises(WorkspaceError, match=refusal), views.open():
            pass


def test_doctor_is_content(top: Path, overlay_works: bool) -> None:
    isolation = describe(locate([], top))
    assert (isolation.missing == ()) is overlay_works
    assert isolation.network_off is overlay_works


def test_an_unknown_kind_is_refused(top: Path) -> None:
    with (
        pytest.raises(WorkspaceError, match="must be one of auto, overlay, copy"),
        open_views(locate([], top), kind="mirror"),
    ):
        pass


def test_a_patch_that_cannot_be_written_is_not_taken_for_a_refusal(top: Path, overlay_works: bool) -> None:
    with open_views(locate([], top)) as views:
        with pytest.raises(WorkspaceError, match="not a path inside"), views.open(Patch({"../x": b""})):
            pass
        with views.open() as view:
            assert view.isolation.startswith("overlay" if overlay_works else "copy")


def test_no_space_for_a_view_is_reported_in_one_line(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(top.parent / "missing"))
    with pytest.raises(WorkspaceError, match="no temporary folder"), open_views(locate([], top), kind="copy"):
        pass
