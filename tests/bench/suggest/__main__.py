"""The bot on thirty pull requests: `python -m tests.bench.suggest [NAME or its end...]`; a line for each, and the sums.

Of each: every suggestion is accepted alone, then the whole patch is applied; the tests must be green each time. The bot
proves and posts a second time on the same head; then one suggestion (or, where there is none, the whole patch) is
pushed, and it proves and posts once more: what it then leaves must be what it would say on that head, nothing older.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.suggest.pulls import Script, scripts
from tests.support.command import coderefine
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
    again: int = 0
    repeated: int = 0
    stale: int = 0
    refused: int = 0
    seconds: float = 0.0


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
    _bot(fake, line, "--out", str(out))
    line.requests = len(fake.log)
    patch = out / "coderefine.patch"
    line.patched, line.suggestions = patch.exists(), len(fake.comments)
    writes = len(fake.writes)
    _bot(fake, line)
    line.again, line.repeated = len(fake.log) - line.requests, len(fake.writes) - writes
    if line.patched:
        git(fake.top, "am", "-q", "--keep-cr", str(patch))
        line.whole = _green(fake.top)
        git(fake.top, "reset", "-q", "--hard", "HEAD^")
    for comment in list(fake.comments):
        fake.accept(comment)
        line.green += _green(fake.top)
        git(fake.top, "checkout", "-q", ".")
    if line.patched:
        _push(fake, patch)
        _bot(fake, line)
    line.stale = sum(fake.head[:10] not in note["body"] for note in fake.notes)
    line.stale += sum(one["line"] is None or not _fits(fake, one) for one in fake.current_comments())
    line.refused = sum(status == 422 for _, _, status in fake.log)
    return line


def _push(fake: Fake, patch: Path) -> None:
    """Somebody accepts the first suggestion; where there is none, the whole patch."""
    if not fake.comments:
        git(fake.top, "am", "-q", "--keep-cr", str(patch))
        return
    fake.accept(fake.comments[0])
    git(fake.top, "commit", "-q", "-a", "-m", "accept")


def _fits(fake: Fake, comment: dict[str, Any]) -> bool:
    """Whether accepting it would still change the tree."""
    path = fake.top / str(comment["path"])
    before = path.read_bytes()
    fake.accept(comment)
    after = path.read_bytes()
    path.write_bytes(before)
    return after != before


def _bot(fake: Fake, line: Line, *args: str) -> None:
    env = {"GITHUB_TOKEN": "t", "GITHUB_API_URL": fake.url, "GITHUB_WRITE_PACE": "0"}
    words = ("--base", fake.base, "--no-model", "--repo", "o/r", "--pull", "1", *args)
    began = time.monotonic()
    said = coderefine("suggest", *words, cwd=fake.top, env=env)
    line.seconds += time.monotonic() - began
    if said.code not in (0, 1):
        sys.exit(f"the bot ended with {said.code} on {line.name}: {said.err}")


def _green(top: Path) -> bool:
    run = subprocess.run(
        (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        cwd=top,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return run.returncode == 0


def _one(script: Script) -> Line:
    with tempfile.TemporaryDirectory(prefix="bench-suggest-") as folder:
        return measure(script, Path(folder))


def main(names: list[str]) -> None:
    began = time.monotonic()
    chosen = [one for one in scripts() if not names or any(one.name.endswith(name) for name in names)]
    lines = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for line in pool.map(_one, chosen):
            lines.append(line)
            print(line, flush=True)
    if not lines:
        sys.exit(f"no pull request is called {' or '.join(names)}")
    print(
        f"{len(lines)} pull requests, {sum(one.patched for one in lines)} patched, "
        f"whole patch green {sum(one.whole for one in lines)}/{sum(one.patched for one in lines)}; "
        f"suggestions {sum(one.suggestions for one in lines)}, green alone {sum(one.green for one in lines)}; "
        f"second run wrote {sum(one.repeated for one in lines)}; stale after push {sum(one.stale for one in lines)}; "
        f"requests {min(one.requests for one in lines)}-{max(one.requests for one in lines)} the first time, "
        f"{min(one.again for one in lines)}-{max(one.again for one in lines)} the second; "
        f"422: {sum(one.refused for one in lines)}; "
        f"three runs of the bot {sum(one.seconds for one in lines) / len(lines):.1f} s a pull request, "
        f"all {time.monotonic() - began:.0f} s"
    )


if __name__ == "__main__":
    os.environ.update({"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "GIT_CONFIG_NOSYSTEM": "1"})
    main(sys.argv[1:])
