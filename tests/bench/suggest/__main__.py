"""The bot on thirty pull requests: `python -m tests.bench.suggest [NAME...]`. Prints a line for each, and the sums.

Of each: every suggestion is accepted alone, then the whole patch is applied; the tests must be green each time. The
same head is posted again, then one suggestion (or the patch) is pushed and the bot runs once more.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.bench.suggest.pulls import Script, scripts
from tests.support.command import Said, coderefine
from tests.support.github_fake import Fake, served
from tests.support.repo import git, make_repo, write


@dataclass
class Line:
    """What was seen of one pull request."""

    name: str
    patched: bool = False
    suggestions: int = 0
    green: int = 0
    whole: bool = False
    requests: int = 0
    repeated: int = 0
    stale: int = 0
    refused: int = 0


def measure(script: Script, folder: Path) -> Line:
    top = make_repo(folder / "r", script.base)
    base = git(top, "rev-parse", "HEAD")
    git(top, "checkout", "-q", "-b", "topic")
    write(top, {path: data for path, data in script.change.items() if data is not None})
    for path, data in script.change.items():
        if data is None:
            (top / path).unlink()
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "topic")
    with served(Fake(top, base)) as fake:
        return _measured(script.name, fake, folder)


def _measured(name: str, fake: Fake, folder: Path) -> Line:
    line, out = Line(name), folder / "out"
    _bot(fake, "--no-post", "--out", str(out))
    _bot(fake, "--from", str(out))
    line.requests = len(fake.log)
    patch = out / "coderefine.patch"
    line.patched, line.suggestions = patch.exists(), len(fake.comments)
    for comment in list(fake.comments):
        fake.accept(comment)
        line.green += _green(fake.top)
        git(fake.top, "checkout", "-q", ".")
    writes = len(fake.writes)
    _bot(fake, "--from", str(out))
    line.repeated = len(fake.writes) - writes
    if line.patched:
        git(fake.top, "am", "-q", str(patch))
        line.whole = _green(fake.top)
        _bot(fake, "--no-post", "--out", str(out))
        _bot(fake, "--from", str(out))
    line.stale = len(fake.comments) + len(fake.notes)
    line.refused = sum(status == 422 for _, _, status in fake.log)
    return line


def _bot(fake: Fake, *args: str) -> Said:
    env = {"GITHUB_TOKEN": "t", "GITHUB_API_URL": fake.url, "GITHUB_WRITE_PACE": "0"}
    base = () if "--from" in args else ("--base", fake.base, "--no-model")
    said = coderefine("suggest", *base, "--repo", "o/r", "--pull", "1", *args, cwd=fake.top, env=env)
    if said.code not in (0, 1):
        print(said.err, file=sys.stderr)
    return said


def _green(top: Path) -> bool:
    run = subprocess.run(
        (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        cwd=top,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return run.returncode == 0


def main(names: list[str]) -> None:
    lines = []
    for script in scripts():
        if names and script.name not in names:
            continue
        with tempfile.TemporaryDirectory(prefix="bench-suggest-") as folder:
            lines.append(measure(script, Path(folder)))
        print(lines[-1], flush=True)
    print(
        f"{len(lines)} pull requests, {sum(one.patched for one in lines)} patched, "
        f"whole patch green {sum(one.whole for one in lines)}/{sum(one.patched for one in lines)}; "
        f"suggestions {sum(one.suggestions for one in lines)}, green alone {sum(one.green for one in lines)}; "
        f"second run wrote {sum(one.repeated for one in lines)}; stale after push {sum(one.stale for one in lines)}; "
        f"requests {min(one.requests for one in lines)}-{max(one.requests for one in lines)} a pull request, "
        f"422: {sum(one.refused for one in lines)}"
    )


if __name__ == "__main__":
    os.environ.update({"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "GIT_CONFIG_NOSYSTEM": "1"})
    main(sys.argv[1:])
