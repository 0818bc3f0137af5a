"""A project installed into an environment of its own, in each way that a project is installed editable."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import seal
from tests.support.cases import few
from tests.support.repo import make_repo

CORE = "def f():\n    return 'original'\n"
PATCHED = b"def f():\n    return 'patched'\n"
TEST = "import shelf.core\n\n\ndef test_f():\n    assert shelf.core.f() == 'patched'\n"
SETUPTOOLS = '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
HATCHLING = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
PROJECT = '[project]\nname = "shelf"\nversion = "1"\n'


@dataclass(frozen=True)
class Install:
    """`path`: where the package `shelf` lies. `build`: pyproject.toml for pip; `hand`: what is done without pip.

    `pythonpath`: the folder of the tree that the user's PYTHONPATH names. `settings`: of pip's build.
    """

    name: str
    path: str
    build: str = ""
    settings: tuple[str, ...] = ()
    hand: Callable[[Path, Path], None] = lambda top, site: None
    pythonpath: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name

    @property
    def core(self) -> str:
        return f"{self.path}/core.py"


def _line(text: str) -> Callable[[Path, Path], None]:
    def write(top: Path, site: Path) -> None:
        (site / "shelf.pth").write_text(text.replace("TOP", str(top)) + "\n", "utf-8")

    return write


def _conftest(top: Path, site: Path) -> None:
    (top / "conftest.py").write_text(f"import sys\n\nsys.path.insert(0, {str(top / 'python')!r})\n", "utf-8")


PACKAGES = '[tool.setuptools]\npackages = ["shelf"]\n'
PYTHON = PACKAGES + 'package-dir = {"" = "python"}\n'
FIRST = "sys.path.insert(0, 'TOP/python')"
WHEEL = "[tool.hatch.build.targets.wheel]\n"
INSTALLS = (
    Install("path in a .pth", "python/shelf", hand=_line("TOP/python")),
    Install("import line that puts a path first", "python/shelf", hand=_line(f"import sys; {FIRST}")),
    Install("PYTHONPATH", "python/shelf", pythonpath="python"),
    Install("absolute path in conftest.py", "python/shelf", hand=_conftest),
    Install(
        "relative path in conftest.py",
        "python/shelf",
        files={
            "conftest.py": "import pathlib, sys\n\nsys.path.insert(0, str(pathlib.Path(__file__).parent / 'python'))\n"
        },
    ),
    Install("setuptools, src", "src/shelf", SETUPTOOLS + PROJECT),
    Install("setuptools, another folder", "python/shelf", SETUPTOOLS + PROJECT + PYTHON),
    Install(
        "setuptools, finder",
        "lib/impl",
        SETUPTOOLS + PROJECT + PACKAGES + 'package-dir = {"shelf" = "lib/impl"}\n',
    ),
    Install(
        "setuptools, strict",
        "src/shelf",
        SETUPTOOLS + PROJECT,
        ("editable_mode=strict",),
    ),
    Install("setuptools, compat", "python/shelf", SETUPTOOLS + PROJECT + PYTHON, ("editable_mode=compat",)),
    Install("hatchling, path", "python/shelf", HATCHLING + PROJECT + WHEEL + 'packages = ["python/shelf"]\n'),
    Install(
        "hatchling, finder",
        "python/shelf",
        HATCHLING + PROJECT + WHEEL + 'packages = ["python/shelf"]\n[tool.hatch.build]\ndev-mode-exact = true\n',
    ),
)


FEW = few(
    INSTALLS,
    "import line that puts a path first",
    "setuptools, finder",
)
"""Those whose mechanism another has are thorough: pip takes a second for each."""


@dataclass(frozen=True)
class Installed:
    """The repository and the interpreter in whose environment the package is."""

    top: Path
    python: Path


@pytest.fixture(params=FEW, scope="session")
def install(request: pytest.FixtureRequest) -> Install:
    """Each way in turn."""
    found: Install = request.param
    return found


@pytest.fixture(scope="session")
def project(install: Install, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """A project installed so; its tests leave it as it is."""
    with pytest.MonkeyPatch.context() as patch:
        seal(tmp_path_factory.mktemp("home"), patch)
        return installed(install, tmp_path_factory.mktemp("installed"))


def installed(install: Install, folder: Path) -> Installed:
    """A new repository and environment below `folder`, with `install` carried out by pip or by hand."""
    files = {f"{install.path}/__init__.py": "", install.core: CORE, "tests/test_shelf.py": TEST, **install.files}
    top = make_repo(folder / "shelf", {**files, **({"pyproject.toml": install.build} if install.build else {})})
    venv.create(folder / "env", with_pip=False)
    (site,) = (folder / "env").glob("lib/python3*/site-packages")
    (site / "tools.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    python = folder / "env/bin/python"
    install.hand(top, site)
    if install.build:
        settings = [word for one in install.settings for word in ("--config-settings", one)]
        pip = (sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "-q", "install")
        quiet = ("--no-build-isolation", "--no-deps", "--no-index", *settings, "-e", str(top))
        subprocess.run((*pip, *quiet), cwd=folder, check=True, capture_output=True)
    return Installed(top, python)
