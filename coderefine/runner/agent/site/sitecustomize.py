"""Record a Python program that a test starts (see follow_programs in ../test_coverage.py).

`site` imports this file when the program starts. If the environment has another `sitecustomize`, it is imported too.
"""

import contextlib
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _here]
if "CODEREFINE_FOLLOW" in os.environ:
    _package = type(sys)("_coderefine_agent")
    _package.__path__ = [os.path.dirname(_here)]
    sys.modules[_package.__name__] = _package
    with contextlib.suppress(Exception):  # the program must run as it would have without us
        __import__("_coderefine_agent.test_coverage", fromlist=["record_program"]).record_program()
_paths = os.environ.pop("CODEREFINE_PYTHONPATH", None)
if _paths is not None:  # a test chose the whole environment, and may check it
    for _name in ("CODEREFINE_FOLLOW", "CODEREFINE_TOP", "PYTHONPATH"):
        os.environ.pop(_name, None)
    if _paths:
        os.environ["PYTHONPATH"] = _paths
_this = sys.modules.pop("sitecustomize")
try:
    __import__("sitecustomize")
except ImportError:
    sys.modules["sitecustomize"] = _this  # Python prints an error where an imported module is missing
