"""The hook's first 20 ms: says "clean" when that is certain, and leaves everything else to the whole engine.

Nothing here imports what is slow to import (re, enum, dataclasses, pathlib, subprocess, click): a clean commit would
pay for it each time. What cannot be decided cheaply is not decided here.
"""
