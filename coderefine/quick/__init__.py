"""The fast path of the hook (20 ms): report "clean" if that is certain, else let the full engine decide.

Nothing here imports slow modules (re, enum, dataclasses, pathlib, subprocess, click), because every clean commit would
take that time.
"""
