"""Kill `coderefine fix` at N random instants: `python -m tests.bench.kill.run [N] [--seed S] [--hooks]`.

With `--hooks` every run is `--commit`, and the repository has slow hooks of which one formats the patched file.
After every kill the tree, the index, HEAD, branches and stash must be what they were, or what the run was about to
make of them; nobody may be left running; `resume` must finish without asking twice for an answer it has.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.bench.kill.kills import DELIVERIES, HOOKS_TAKE, Fate, Kill, killed, undisturbed


def instants(number: int, seconds: float, dice: random.Random) -> list[Kill]:
    """Two thirds anywhere in the run, one third inside publishing; the ways to deliver take turns."""
    found = []
    for turn in range(number):
        publishing = turn % 3 == 2
        after = dice.uniform(0, 0.12) if publishing else dice.uniform(0, seconds * 1.05)
        found.append(Kill(after, publishing, DELIVERIES[turn // 3 % len(DELIVERIES)]))
    return found


def instants_with_hooks(number: int, seconds: float, dice: random.Random) -> list[Kill]:
    """One third anywhere in a run with `--commit`, two thirds while it commits, which is mostly its hooks."""
    found = []
    for turn in range(number):
        publishing = turn % 3 != 0
        after = dice.uniform(0, HOOKS_TAKE * 1.1) if publishing else dice.uniform(0, seconds * 1.05)
        found.append(Kill(after, publishing, ("--commit",), hooks=True))
    return found


def report(fates: list[Fate], seconds: float) -> str:
    stages = Counter(fate.stage for fate in fates)
    total = len(fates)
    lines = [f"killed at {total} instants in {seconds:.0f} s"]
    lines += [f"  {count:4}  {stage}" for stage, count in sorted(stages.items())]
    whole = sum(fate.written and not fate.identical for fate in fates)
    lines += [
        f"as before            {sum(fate.identical for fate in fates)}/{total}",
        f"wholly written       {whole}/{total}",
        f"half written         {sum(not fate.identical and not fate.written for fate in fates)}/{total}",
        f"finished by resume   {sum(fate.resumed for fate in fates)}/{total}",
        f"requests paid twice  {sum(fate.repeated for fate in fates)}",
        f"faults               {sum(bool(fate.faults) for fate in fates)}",
    ]
    return "\n".join([*lines, *(str(fate) for fate in fates if fate.faults)])


def sealed(home: Path) -> None:
    """No configuration of the user's, no keys."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "VIRTUAL_ENV", "XDG_CONFIG_HOME"):
        os.environ.pop(name, None)
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = A\n\temail = a@example.com\n[commit]\n\tgpgSign = false\n")
    os.environ |= {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", nargs="?", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hooks", action="store_true", help="only --commit, with slow hooks that format")
    parser.add_argument("--budget", type=float, default=1e9, help="seconds after which no new kill is started")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        sealed(folder / "home")
        chosen, delivery = (instants_with_hooks, ("--commit",)) if given.hooks else (instants, ())
        seconds, _ = undisturbed(folder / "whole", delivery, hooks=given.hooks)
        print(f"an undisturbed run takes {seconds:.1f} s", flush=True)
        fates: list[Fate] = []
        began = time.monotonic()
        for kill in chosen(given.number, seconds, random.Random(given.seed)):
            if time.monotonic() - began > given.budget:
                break
            fates.append(killed(folder / str(len(fates)), kill))
            if fates[-1].faults:
                print(fates[-1], flush=True)
        print(report(fates, time.monotonic() - began))
    return 1 if any(fate.faults for fate in fates) else 0


if __name__ == "__main__":
    sys.exit(main())
