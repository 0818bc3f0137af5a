"""What a call over MCP costs beside the command line, and how many characters an agent pays for a failing check.

    python -m tests.bench.prove.mcp FOLDER [--pairs N]

FOLDER is a repository whose check fails. Each pair is `coderefine check` as a command and as a call of a running
server, in turn, so that both meet the same load.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.support.mcp_clients import stdio


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=5)
    given = parser.parse_args()
    command = (sys.executable, "-m", "coderefine", "check")
    over: list[float] = []
    with stdio(given.folder) as agent:
        agent.call("check")
        for _ in range(given.pairs):
            began = time.monotonic()
            subprocess.run(command, cwd=given.folder, capture_output=True, check=False)
            alone, began = time.monotonic() - began, time.monotonic()
            said = agent.call("check")
            over.append(time.monotonic() - began - alone)
            print(
                f"command {alone:.3f} s, call {alone + over[-1]:.3f} s, overhead {1000 * over[-1]:+.0f} ms", flush=True
            )
    (text,) = (getattr(part, "text", "") for part in said.content)
    print(f"median overhead {1000 * statistics.median(over):+.0f} ms over {given.pairs} pairs (goal 50)")
    whole = said.model_dump_json(by_alias=True, exclude_none=True)
    print(f"{len(text)} characters of text, {len(whole)} of the whole result (goal 1500)")


if __name__ == "__main__":
    main()
