#!/usr/bin/env python3
"""Stop hook for coding agents: an agent cannot end while its uncommitted changes make anything worse.

It runs `coderefine prove --worktree`. With exit code 2 the agent continues, and reads the reason on stderr. A patch
without visible benefit, or one that cannot be judged, does not stop it. For Claude Code, in .claude/settings.json:

    {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "PATH/hooks/agents/stop.py", "timeout": 600}]}]}}
"""

import json
import subprocess
import sys


def main() -> int:
    """Return 2 if the uncommitted changes made anything worse, 0 if not, 1 if they could not be judged."""
    changed = subprocess.run(("git", "status", "--porcelain"), capture_output=True, check=False).stdout
    if not changed:
        return 0
    argv = ("coderefine", "prove", "--worktree", "--format", "json")
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not (proof := json.loads(done.stdout)["proof"]):
        print(f"coderefine could not judge the changes: {done.stderr}", file=sys.stderr)
        return 1
    if not proof["worse"]:
        return 0
    print(f"Your changes make the project worse: {proof['reason']}", file=sys.stderr)
    print("Repair that, or take the change back. `coderefine prove` prints the details.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
