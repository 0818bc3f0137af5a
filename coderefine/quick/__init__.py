"""The fast path of the hook (20 ms): decides "clean" if that is certain, and leaves other cases to the full engine.

Nothing here imports what is slow to import (re, enum, dataclasses, pathlib, subprocess, click): a clean commit would
pay for it each time. What cannot be decided cheaply is not decided here.
"""
