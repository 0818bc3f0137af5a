"""An environment built on the workers from a lock file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.support.dask import open_cluster
from tests.support.repo import make_repo, write

pytestmark = pytest.mark.thorough

NEEDED = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
PROJECT = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "src/shop.py": "def total(prices):\n    return sum(prices)\n",
    "tests/test_shop.py": "from importlib.metadata import version\n\nimport shop\n\n\n"
    "def test_total():\n    assert shop.total([2, 3]) == 5\n    assert version('shop') == '0.1'\n",
}


def wheel(folder: Path, name: str) -> str:
    """Make a wheel of an installed package in `folder`, and return the line of a lock file for it."""
    found = distribution(name)
    with zipfile.ZipFile(folder / f"{name}-{found.version}-py3-none-any.whl", "w") as archive:
        for file in found.files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                archive.write(file.locate(), str(file))
    return f"{name}=={found.version}\n"


def installed(folder: Path, lock: Path, top: Path) -> Path:
    """Make an environment with the packages of `lock`, and with a link to the project at `top`, as `pip install -e`."""
    subprocess.run((sys.executable, "-m", "venv", str(folder)), check=True)
    python = folder / "bin" / "python"
    subprocess.run((str(python), "-m", "pip", "install", "-q", "-r", str(lock)), check=True)
    (packages,) = folder.glob("lib/*/site-packages")
    url = json.dumps({"dir_info": {"editable": True}, "url": top.as_uri()})
    metadata = {"METADATA": "Metadata-Version: 2.1\nName: shop\nVersion: 0.1\n", "direct_url.json": url}
    write(packages / "shop-0.1.dist-info", metadata)
    (packages / "shop.pth").write_text(str(top / "src"))
    return python


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_an_environment_is_built_from_a_lock_file_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installer: str
) -> None:
    if installer == "uv" and not shutil.which("uv"):
        pytest.skip("uv is not installed")
    if installer == "pip":
        folders = os.environ["PATH"].split(os.pathsep)
        monkeypatch.setenv("PATH", os.pathsep.join(one for one in folders if not (Path(one) / "uv").exists()))
    top = make_repo(tmp_path / "shop", PROJECT)
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    lock = tmp_path / "lock.txt"
    text = f"--no-index\n--find-links {wheels}\n" + "".join(wheel(wheels, name) for name in NEEDED)
    lock.write_text(text)
    python = installed(tmp_path / "home", lock, top)
    with open_cluster(tmp_path / "dask", ("one",)) as dask:
        own = ("--python", str(python), "--cluster-install", str(lock))
        said = dask.check(top, *own)
        assert said.code == 0, said
        assert "1 test ran on the cluster" in said.out + said.err
        (built,) = dask.folder.glob("one/coderefine/cluster/environments/*/complete")
        since = built.stat().st_mtime_ns

        write(top, {"src/shop.py": "def total(prices):\n    return sum(prices) + 1\n"})
        wrong = dask.check(top, *own, "--format", "json")
        assert [one["rule"] for one in json.loads(wrong.out)["checks"][0]["findings"]] == ["failed"]
        assert built.stat().st_mtime_ns == since

        lock.write_text(text.replace("iniconfig==", "iniconfig==99."))
        refused = dask.check(top, *own)
        assert refused.code == 2
        assert re.search(r"lock\.txt does not work there: (uv|python): .*iniconfig==99", refused.err)
