"""Compare a fleet of repositories made from packages of the registry with single runs of the same command.

    python -m tests.bench.cluster.packages FOLDER --jobs 2 -- fix --no-model --gate ruff

downloads the wheels below FOLDER (nothing is installed), makes two repositories of each package, and runs the fleet on
one and the command alone on the other. Exit code 1 unless each repository has the exit code and the files of its single
run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from tests.support.repo import git, make_repo

PACKAGES = (
    *("six", "toml", "tomli", "iniconfig", "pluggy", "colorama", "decorator", "inflection", "itsdangerous", "blinker"),
    *("zipp", "filelock", "platformdirs", "wcwidth", "tabulate", "termcolor", "xmltodict", "text-unidecode", "munch"),
    *("python-slugify", "semver", "jsonpointer", "retrying", "cachetools", "first", "ply", "schema", "mccabe"),
    *("pathspec", "jsonpatch"),
)
LONGEST = 3600.0


def main() -> None:
    """Make the repositories, run both, and print what differs."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--jobs", default="2")
    asked.add_argument("command", nargs="+")
    given = asked.parse_args()
    folder = given.folder.resolve()
    for kind in ("single", "fleet"):
        shutil.rmtree(folder / kind, ignore_errors=True)
    for name in PACKAGES:
        files = downloaded(folder, name)
        for kind in ("single", "fleet"):
            make_repo(folder / kind / name, files)
    listed = folder / "fleet" / "repos.txt"
    listed.write_text("\n".join(PACKAGES), "utf-8")

    began = time.monotonic()
    fleet = run(("fleet", str(listed), "--jobs", given.jobs, "--", *given.command), folder / "fleet")
    print(fleet.stdout, flush=True)
    print(f"fleet: {time.monotonic() - began:.0f} s, exit {fleet.returncode}", flush=True)
    record = (folder / "fleet" / "repos.txt.fleet" / "record.jsonl").read_text("utf-8").splitlines()
    results = {Path(one["location"]).name: one for one in map(json.loads, record) if "location" in one}
    began, equal = time.monotonic(), 0
    for name in PACKAGES:
        single = run(given.command, folder / "single" / name)
        ended = (single.returncode, written(folder / "single" / name))
        same = name in results and ended == (results[name]["code"], written(folder / "fleet" / name))
        equal += same
        found = "equal" if same else f"not as in the fleet: {results.get(name)}"
        print(f"{name}: exit {single.returncode}, {found}", flush=True)
    print(f"single runs: {time.monotonic() - began:.0f} s")
    print(f"{len(results)} results of the fleet; {equal} of {len(PACKAGES)} repositories as after a single run")
    sys.exit(equal < len(PACKAGES))


def run(argv: tuple[str, ...] | list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    command = (str(Path(sys.executable).with_name("coderefine")), *argv)
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=LONGEST, check=False)


def written(top: Path) -> str:
    """Return what the run changed in the repository."""
    return git(top, "status", "--porcelain") + git(top, "diff", "HEAD")


def downloaded(folder: Path, name: str) -> dict[str, str | bytes]:
    """Return the Python files of the package's wheel."""
    wheels = folder / "wheels" / name
    if not wheels.is_dir():
        argv = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", name)
        subprocess.run((*argv, "-d", str(wheels)), check=True)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {file: archive.read(file) for file in archive.namelist() if file.endswith(".py")}


if __name__ == "__main__":
    main()
