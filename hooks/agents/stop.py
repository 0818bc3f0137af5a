#!/usr/bin/env python3
"""Stop hook for coding agents: no end on a tree that the uncommitted changes made worse.

It runs `coderefine prove --worktree`. Exit code 2 makes the agent go on, and it reads on stderr what is worse; a patch
that nothing shows to help, and one that cannot be judged, do not hold it. For Claude Code, in .claude/settings.json:

    {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "PATH/hooks/agents/stop.py", "timeout": 600}]}]}}
"""

import json
import subprocess
import sys


def main() -> int:
    """Return 2 if the uncommitted changes made anything worse, 0 if not, 1 if that could not be found out."""
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
    print("Repair that, or take the change back. `coderefine prove` says more.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
