"""What a call over MCP costs beside the command line: seconds and characters.

    python -m tests.bench.agents.run FOLDER [CALLS]

FOLDER: a project in git whose check fails. Both ways take turns, so that what else the machine does meets both.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from coderefine.mcp.results import DEFAULT
from tests.support.mcp_clients import Agent, stdio

COMMAND = (sys.executable, "-m", "coderefine")


def main(folder: Path, calls: int) -> None:
    """Measure, and print a table."""
    with stdio(folder) as agent:
        tools = agent.ask(agent.client.list_tools)
        print(f"tools/list       {len(tools.model_dump_json(by_alias=True, exclude_none=True)):>7,} characters, once")
        for most in (DEFAULT, 20_000):
            answer = agent.call("check", max_chars=most)
            found = answer.structured_content or {}
            size = len(answer.model_dump_json(by_alias=True, exclude_none=True))
            shown, more = len(found["findings"]), found.get("more", 0)
            print(f"check, {most:>6,}    {size:>7,} characters: {shown} of {shown + more} findings; {found['summary']}")
        said = len(subprocess.run((*COMMAND, "check", folder), capture_output=True, check=False).stdout)
        print(f"command line     {said:>7,} characters")
        for name, arguments in (("check", ("check", str(folder))), ("show", ("show",))):
            compare(agent, name, arguments, folder, calls)


def compare(agent: Agent, tool: str, arguments: tuple[str, ...], folder: Path, calls: int) -> None:
    """Print the medians of a tool and of its command."""
    called, run = [], []
    for _ in range(calls):
        began = time.perf_counter()
        agent.call(tool)
        middle = time.perf_counter()
        subprocess.run((*COMMAND, *arguments), cwd=folder, capture_output=True, check=False)
        called.append(middle - began)
        run.append(time.perf_counter() - middle)
    extra = median(one - other for one, other in zip(called, run, strict=True))
    print(
        f"{tool:<16} {calls} calls: median {median(called) * 1000:,.0f} ms, command {median(run) * 1000:,.0f} ms; ",
        end="",
    )
    print(f"median difference {extra * 1000:+,.0f} ms")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
