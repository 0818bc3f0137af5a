"""Count which ruff findings without a safe fix are most frequent in popular packages: which rules deserve a rewriting.

    python -m tests.bench.lint.count FOLDER

downloads the packages below FOLDER (wheels, without dependencies; nothing is installed) and prints a table. How many
findings the rewritings of the registry would change is counted, too; nothing is proved here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections import Counter, defaultdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import Code, Unsure
from coderefine.proposers.rewritings.registry import RULES
from coderefine.source import decode

PACKAGES = (
    *("requests", "click", "flask", "jinja2", "werkzeug", "rich", "httpx", "attrs", "tornado", "starlette", "fastapi"),
    *("urllib3", "networkx", "scrapy", "celery", "pygments", "beautifulsoup4", "paramiko", "marshmallow", "tqdm"),
)
SHOWN = 140
Entry = dict[str, Any]


def downloaded(folder: Path) -> None:
    """Download and unpack the packages, each into a folder of its name."""
    for name in PACKAGES:
        if (folder / name).exists():
            continue
        argv = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", name)
        subprocess.run((*argv, "-d", str(folder / "wheels" / name)), check=True)
        for wheel in (folder / "wheels" / name).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder / name)


@lru_cache(maxsize=1)
def parsed(path: str) -> Code | None:
    source = decode(Path(path).read_bytes())
    return Code.of(source.text) if source else None


def rewritten(entry: Entry) -> bool:
    """Return whether the registry has a rewriting that does not refuse this finding."""
    rewriting, code = RULES.get(entry["code"]), parsed(entry["filename"])
    if rewriting is None or code is None:
        return False
    first, end = entry["location"], entry["end_location"]
    at = Diagnostic(entry["filename"], entry["code"], entry["message"], first["row"], end["row"], first["column"])
    try:
        return bool(rewriting(code, at))
    except Unsure:
        return False


def main(folder: Path) -> None:
    """Print rule, findings without a safe fix, of these with an unsafe one, rewritten, packages, and ruff's name."""
    downloaded(folder)
    argv = ("ruff", "check", "--isolated", "--select", "ALL", "--exit-zero", "--no-cache", "--output-format", "json")
    counts: Counter[str] = Counter()
    unsafe: Counter[str] = Counter()
    made: Counter[str] = Counter()
    found: dict[str, set[str]] = defaultdict(set)
    names: dict[str, str] = {}
    for name in PACKAGES:
        report = subprocess.run((*argv, str(folder / name)), capture_output=True, check=True).stdout
        for one in json.loads(report):
            fix = one["fix"]
            if one["code"] is None or (fix and fix["applicability"] == "safe"):
                continue
            counts[one["code"]] += 1
            unsafe[one["code"]] += bool(fix)
            made[one["code"]] += rewritten(one)
            found[one["code"]].add(name)
            names[one["code"]] = one["message"][:70]
    for rule, count in counts.most_common(SHOWN):
        print(f"{rule:8} {count:6} {unsafe[rule]:6} {made[rule]:6} {len(found[rule]):3}  {names[rule]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
