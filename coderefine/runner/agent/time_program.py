"""Run a program and print how long it took: `python time_program.py PROGRAM ARG…`, the report on stdout.

Timed from inside the view, so that the way into it is not counted. What the program says on stdout is dropped.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import List


def main(argv: List[str]) -> int:
    """`wall` and `cpu` in seconds: `cpu` is user and system time of the program and the children it waited for.

    Their sum is exact on Linux, while the kernel divides it between the two by sampling (proc(5)).
    """
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    began = time.perf_counter()
    child = os.posix_spawnp(argv[0], argv, os.environ, file_actions=quiet)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - began
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    print(json.dumps({"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "code": code}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
