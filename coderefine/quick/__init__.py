"""The fast path of the hook (20 ms): report "clean" if that is certain, else let the full engine decide.

No module here imports slow modules (re, enum, dataclasses, pathlib, subprocess, click), because this would delay every
clean commit.
"""
