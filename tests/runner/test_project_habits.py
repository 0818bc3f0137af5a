"""What projects and their plug-ins do must neither slow down the judging of candidates nor change verdicts."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

from coderefine.config import Config
from coderefine.core import Ask, Status
from coderefine.project import interpreter, locate
from coderefine.runner.cold import run_tests
from coderefine.runner.pool import Candidate, Judged, Plan, open_pool
from coderefine.workspace import open_views
from tests.support.repo import make_repo, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")


class Judge(Protocol):
    def __call__(self, files: Mapping[str, str], old: str, new: str, fastest: str = ...) -> Judged: ...


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Return a function that judges `m.py` with `old` replaced by `new`, in a project with test_m.py::test_f.

    Modules in the folder "installed" can be imported as if they were installed.
    """
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "installed"))

    def run(files: Mapping[str, str], old: str, new: str, fastest: str = "hot") -> Judged:
        write(tmp_path, {path: text for path, text in files.items() if path.startswith("installed/")})
        own = {path: text for path, text in files.items() if not path.startswith("installed/")}
        top = make_repo(tmp_path / "project", {"pytest.ini": "[pytest]\n", **own})
        place, config = locate([top], top), Config(python=sys.executable)
        python = interpreter(place, config, os.environ)
        with open_views(place) as views, open_pool(views, place, python, config, workers=1) as pool:
            candidate = Candidate(1, {"m.py": files["m.py"].replace(old, new).encode()})
            (judged,) = pool.judge([candidate], Plan(("test_m.py::test_f",), fastest=fastest))
        return judged

    return run


TEST = "import m\n\n\ndef test_f():\n    assert m.f(1) == 2\n"
M = "def f(n):\n    return n - 1\n"


def test_an_invalid_escape_sequence_elsewhere_in_the_module_does_not_make_candidates_slow(judge: Judge) -> None:
    judged = judge({"m.py": f'import re\n\nDIGITS = re.compile("\\d+")\n\n\n{M}', "test_m.py": TEST}, "n - 1", "n + 1")
    assert (judged.plausible, judged.slow) == (True, "")


def test_a_candidate_that_causes_a_new_warning_is_imported_anew(judge: Judge) -> None:
    """A project that turns warnings into errors cannot import such a candidate."""
    judged = judge({"m.py": M, "test_m.py": TEST}, "n - 1", 'n + 1 if "\\d" else 0')
    assert judged.slow.startswith("does not compile cleanly")


def test_a_thread_that_a_plug_in_starts_at_configuration_does_not_make_candidates_slow(judge: Judge) -> None:
    """pytest-rerunfailures together with pytest-xdist: a server thread waits from the configuration on."""
    plug = "import threading\n\n\ndef pytest_configure():\n"
    plug += "    threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    files = {"installed/plug.py": plug, "pytest.ini": "[pytest]\naddopts = -p plug\n", "m.py": M, "test_m.py": TEST}
    judged = judge(files, "n - 1", "n + 1")
    assert (judged.plausible, judged.slow) == (True, "")


def test_a_thread_of_a_plug_in_does_not_make_pytest_start_anew_for_each_candidate(judge: Judge) -> None:
    plug = "import os, threading\n\n\ndef pytest_configure():\n    os.environ['CONFIGURED'] = str(os.getpid())\n"
    plug += "    threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    test = f"import os\n{TEST}    assert int(os.environ['CONFIGURED']) != os.getpid()\n"
    files = {"installed/plug.py": plug, "pytest.ini": "[pytest]\naddopts = -p plug\n", "m.py": M, "test_m.py": test}
    judged = judge(files, "n - 1", "n + 1", "warm")
    assert (judged.plausible, judged.speed) == (True, "warm"), judged.reason


def test_a_thread_that_the_project_starts_at_import_still_makes_candidates_slow(judge: Judge) -> None:
    starts = "import threading\n\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n\n\n"
    judged = judge({"m.py": starts + M, "test_m.py": TEST}, "n - 1", "n + 1")
    assert (judged.plausible, judged.slow) == (True, "threads are alive after the import")


def test_old_effects_of_functions_that_ran_at_import_do_not_count_although_coverage_is_measured(judge: Judge) -> None:
    """pytest-enabler starts coverage itself: up to Python 3.11, its trace function replaced ours."""
    plug = "import sys\n\n\ndef pytest_load_initial_conftests():\n    sys.settrace(lambda *_: None)\n"
    made = f"{M}\n\nVALUE = f(1)\n"
    test = "import m\n\n\ndef test_f():\n    assert m.VALUE == 2\n"
    files = {"installed/plug.py": plug, "pytest.ini": "[pytest]\naddopts = -p plug\n", "m.py": made, "test_m.py": test}
    judged = judge(files, "n - 1", "n + 1")
    assert (judged.plausible, judged.speed) == (True, "warm"), judged.reason


FINDER = """\
import importlib.machinery, importlib.util, os, sys


class SourceFileLoader(importlib.machinery.SourceFileLoader):
    def set_data(self, path, data, *, _mode=None):
        pass

{more}
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "m":
            return importlib.util.spec_from_file_location(name, FILE, loader=SourceFileLoader(name, FILE))


FILE = os.path.abspath("m.py")
sys.meta_path.insert(0, Finder())
"""
"""A finder like that of an editable install by meson-python; `more`: further methods of its loader."""
OTHER = """\
    def source_to_code(self, data, path, *, _optimize=-1):
        return super().source_to_code(data.replace(b"1", b"2"), path)

"""


@pytest.mark.parametrize(
    ("more", "slow"), [("", ""), (OTHER, "m.py was not imported in the usual way")], ids=["usual", "changes the source"]
)
def test_an_editable_install_by_meson_python_does_not_make_candidates_slow(judge: Judge, more: str, slow: str) -> None:
    files = {"conftest.py": FINDER.replace("{more}", more), "m.py": M, "test_m.py": TEST.replace("== 2", "> 1")}
    judged = judge(files, "n - 1", "n + 1")
    assert (judged.plausible, judged.slow) == (True, slow), judged.reason


def test_a_module_that_the_program_has_made_does_not_make_the_candidates_of_its_file_slow(judge: Judge) -> None:
    """bottle: the file of the made module bottle.ext is bottle.py, so all 209 candidates were slow."""
    made = "import sys, types\n\next = types.ModuleType('m.ext')\n"
    made += "ext.__file__ = __file__\nsys.modules[ext.__name__] = ext\n"
    judged = judge({"m.py": f"{made}\n\n{M}", "test_m.py": TEST}, "n - 1", "n + 1")
    assert (judged.plausible, judged.slow) == (True, "")


def test_a_file_that_a_test_replaces_is_not_lost_for_the_next_candidate(tmp_path: Path) -> None:
    """A file moved over another one counted as new, and was removed when the candidate's files were restored."""
    test = "import os\nfrom pathlib import Path\n\nimport m\n\nSTATE = Path(__file__).with_name('state.json')\n\n\n"
    test += "def test_f():\n    assert STATE.read_text()\n    new = STATE.with_name('new')\n"
    test += "    new.write_text('1')\n    os.replace(new, STATE)\n    assert m.f(1) == 2\n"
    top = make_repo(tmp_path / "project", {"pytest.ini": "[pytest]\n", "m.py": M, "test_m.py": test, "state.json": "0"})
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, os.environ)
    with open_views(place) as views, open_pool(views, place, python, config, workers=1) as pool:
        wrong, right = (
            Candidate(number, {"m.py": M.replace("1", text).encode()}) for number, text in ((1, "2"), (2, "-1"))
        )
        plan = Plan(("test_m.py::test_f",))
        judged = [one for candidate in (wrong, right) for one in pool.judge([candidate], plan)]
    assert [one.plausible for one in judged] == [False, True], judged


def test_programs_of_the_projects_environment_are_found_although_it_is_not_activated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """glom: its tests start `glom`; run by pre-commit or pipx, they failed, though they passed for the user."""
    monkeypatch.setenv("PATH", os.defpath)
    folder = Path(sys.executable).parent
    (folder / "ruff").stat()
    test = (
        "import os, shutil\n\n\ndef test_found():\n"
        f"    assert shutil.which('ruff') == {str(folder / 'ruff')!r}\n"
        f"    assert os.environ['PATH'].endswith({os.pathsep + os.defpath!r})\n"
    )
    top = make_repo(tmp_path / "project", {"test_m.py": test})
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, os.environ)
    with open_views(place) as views:
        with views.open() as view:
            check = run_tests(view, place, python, config, Ask(timeout=60))
        with open_pool(views, place, python, config, workers=1) as pool:
            forked = pool.baseline()
    assert {case.status for case in check.cases.values()} == {Status.PASSED}, check
    assert set(forked.values()) == {Status.PASSED}
