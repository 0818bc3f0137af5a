"""Let Python programs in a copied view import the copy, even if the project is installed with the original's path.

`site` imports this file when a program starts, after the .pth files of the environment (see ../environment.py).
Standard library only, Python 3.9 and newer. If the environment has another `sitecustomize`, it is imported too.
"""

import contextlib
import os
import sys
from typing import Any

ORIGIN, COPY = "CODEREFINE_ORIGIN", "CODEREFINE_COPY"


def moved(path: object) -> object:
    """Return the path in the copy that corresponds to `path`.

    Return `path` itself if it is outside the original, or if the copy has no such path (virtual environments).
    """
    if not isinstance(path, str) or not path:
        return path
    real = os.path.realpath(path)
    below = real[len(_origin) :]
    if not real.startswith(_origin) or below[:1] not in ("", os.sep):
        return path
    found = _copy + below
    return found if os.path.lexists(found) else path


def hook(entry: str) -> Any:
    """Return a finder for the copy of the folder `entry`. Raises ImportError if `entry` has no copy.

    This function is in `sys.path_hooks`, so that it is also called for folders that are added to `sys.path` later.
    After an ImportError, Python asks the next hook.
    """
    there = moved(entry)
    if there == entry or not isinstance(there, str):
        raise ImportError(entry)
    for other in sys.path_hooks:
        if other is not hook:
            with contextlib.suppress(ImportError):
                return other(there)
    raise ImportError(entry)


def redirect(finder: object) -> None:
    """Correct the paths in editable installs' finders (setuptools, editables, scikit-build-core, meson-python)."""
    owner = finder if isinstance(finder, type) else type(finder)
    module = sys.modules.get(owner.__module__)
    if getattr(getattr(module, "__spec__", None), "origin", None) in (None, "built-in", "frozen"):
        return
    for holder in {id(one): one for one in (finder, owner, module)}.values():
        for attribute, table in list(getattr(holder, "__dict__", {}).items()):
            if isinstance(table, dict) and not attribute.startswith("__"):
                for name, target in list(table.items()):
                    with contextlib.suppress(TypeError):
                        table[name] = _corrected(target)


def _corrected(target: object) -> object:
    if isinstance(target, list):
        return [moved(one) for one in target]
    return moved(target)


_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _here]
_origin, _copy = os.environ.get(ORIGIN, ""), os.environ.get(COPY, "")
if _origin and _copy:
    with contextlib.suppress(Exception):  # the program must start in any case; imported files are checked elsewhere
        for _finder in list(sys.meta_path):
            redirect(_finder)
        sys.path[:] = [str(moved(path)) for path in sys.path]
        sys.path_hooks.insert(0, hook)
        sys.path_importer_cache.clear()
sys.modules.pop("sitecustomize", None)
with contextlib.suppress(ImportError):
    __import__("sitecustomize")
