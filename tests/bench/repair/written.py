# ruff: noqa: E501 (rows of a report, programs in strings)
"""Repair rate on the hand-written faults.

python -m tests.bench.repair.written development|held_out|held_out2 [NAME...]
python -m tests.bench.repair.written --check development|held_out|held_out2     only: right ones green, faulty ones red
"""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.repair.cases import Written, load
from tests.bench.repair.differential import agree
from tests.bench.repair.engine import Ended, repair


def run(case: Written) -> tuple[Ended, str]:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / case.name
        top.mkdir()
        for name, text in case.files.items():
            (top / name).write_text(text)
        subprocess.run(["git", "init", "-q"], cwd=top, check=True)
        ended = repair(top)
        if ended.patch is None:
            return ended, "none"
        if not ended.plausible:
            return ended, "partial"
        text = (ended.patch.files.get(f"{case.name}.py") or b"").decode()
        if ast.dump(ast.parse(text)) == ast.dump(ast.parse(case.right)):
            return ended, "identical"
        return ended, "equal" if agree(case.name, case.right, text, case.tests) else "different"


def checked(half: str) -> bool:
    """Whether every right program passes its tests and every faulty one fails some; says which do not."""
    wrong = [case.name for case in load(half) if _exit(case, case.right) != 0 or _exit(case, case.faulty) != 1]
    print(f"{half}: {len(load(half))} programs, {len(wrong)} not as they should be: {' '.join(wrong)}")
    return not wrong


def _exit(case: Written, text: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {**case.files, f"{case.name}.py": text}.items():
            (Path(folder) / name).write_text(content)
        command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
        return subprocess.run(command, cwd=folder, timeout=60, capture_output=True, check=False).returncode


def main() -> None:
    if sys.argv[1] == "--check":
        sys.exit(not checked(sys.argv[2]))
    half, names = sys.argv[1], sys.argv[2:]
    results = []
    for case in load(half):
        if names and case.name not in names:
            continue
        ended, verdict = run(case)
        results.append((case, ended, verdict))
        summary = ended.patch.summary if ended.patch else f"failing {len(ended.failing)} {ended.note}"
        print(
            f"{case.name:18} {verdict:10} {ended.seconds:5.1f} s {ended.tried:5} tried  {len(ended.others)} others  {summary}",
            flush=True,
        )
    total = len(results)
    plausible = sum(ended.plausible for _, ended, _ in results)
    correct = sum(verdict in ("identical", "equal") for _, _, verdict in results)
    times = sorted(ended.seconds for _, ended, _ in results if ended.patch)
    print(
        f"{half}: {total} faults, plausible {plausible} ({plausible / total:.0%}), correct first {correct} ({correct / total:.0%}), median {statistics.median(times):.1f} s, p90 {times[int(len(times) * 0.9)]:.1f} s"
    )


if __name__ == "__main__":
    main()
