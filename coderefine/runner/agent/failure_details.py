"""Describe why a test failed, from the live exception: frames, locals, assertion, similar names."""

from __future__ import annotations

import builtins
import difflib
import inspect
import itertools
import linecache
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .short_repr import Describer, cut

FRAMES = 12
"""Maximum number of the project's frames; for a deep recursion, see `_without_recursion`."""
LOCALS = 10
"""Maximum number of locals of a frame, in the order of their binding."""
TEXT = 2000
"""Maximum number of characters of an assertion's explanation."""
OUTPUT = 1500
"""Maximum number of characters of a captured stream."""
DEEP = 20_000
"""Maximum number of traceback frames that are visited."""
CAUSES = 4

FrameRecord = tuple[str, int, str, dict[str, str], tuple[int, ...]]
"""Path, line, function, locals, and the result of `_span`."""
FailureRecord = dict[str, Any]

_ADVICE = ("", "Use -v to get more diff", "Use -vv to get more diff", "Use -v to get diff", "Use -vv to see full diff")
"""Lines of pytest's explanation that only recommend options."""

_MACHINERY = tuple(
    os.sep + name + os.sep for name in ("_pytest", "pluggy", "unittest", "pytest_asyncio", "_coderefine_agent")
)


class TraceLink(NamedTuple):
    """An entry of a traceback: the frame, its line, and the byte offset of the current instruction."""

    frame: Any
    line: int
    at: int


class ProjectPaths:
    """Location of the project; converts absolute paths to repo-relative ones.

    `top`: root of the repository as this process sees it; all paths in records are relative to it.
    """

    def __init__(self, top: str, root: str) -> None:
        self.top = top
        self.root = root
        self._known: dict[str, str] = {}

    def relative(self, path: str) -> str:
        """Return `path` relative to `top` with forward slashes; the absolute path if it is outside."""
        known = self._known.get(path)
        if known is None:
            full = os.path.normpath(os.path.join(self.root, path))
            inside = full.startswith(self.top + os.sep)
            known = self._known[path] = full[len(self.top) + 1 :].replace(os.sep, "/") if inside else full
        return known

    def ours(self, path: str) -> bool:
        """Return whether `path` is a file of the project and not of a virtual environment inside it."""
        relative = self.relative(path)
        return not os.path.isabs(relative) and "site-packages" not in relative and not path.startswith("<")


def failure(paths: ProjectPaths, error: BaseException, sections: list[tuple[str, str]], *, rich: bool) -> FailureRecord:
    """Describe `error` and the captured output `sections` as a record for core.Failure."""
    describe = Describer()
    error = _original(error)
    frames = list(_frames(paths, error, describe, rich=rich))
    text = describe.text(error)
    names = (misspelt(link, _innermost(paths, link)) for link in (error, *_previous(error)))
    wrong, nearest = next(filter(any, names), ("", []))
    return {
        "wrong": wrong,
        "nearest": nearest,
        "attributes": next(filter(None, map(attributes, (error, *_previous(error)))), []),
        "message": headline(paths, error, text, frames, describe),
        "exception": type(error).__name__,
        "assertion": cut(
            "\n".join([_explanation(paths, error, text, frames), *_causes(paths, error, describe)]).strip(), TEXT
        ),
        "frames": frames,
        "output": output(sections) if rich else "",
    }


def output(sections: list[tuple[str, str]]) -> str:
    """Join the captured output with its headings; long streams are reduced to head and tail."""
    parts = [f"{name}:\n{cut(text.rstrip(), OUTPUT)}" for name, text in sections if text.strip()]
    return cut("\n".join(parts), 2 * OUTPUT)


def headline(
    paths: ProjectPaths, error: BaseException, text: str, frames: list[FrameRecord], describe: Describer
) -> str:
    """Return one line with the relevant values: `assert 3 == 4`, `KeyError: 'x'`."""
    special = _special(error, describe)
    if special:
        return cut(special, 300)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if isinstance(error, AssertionError):
        return cut(_asserted(lines) if lines else "AssertionError: " + _source(paths, frames), 300)
    return cut(f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__, 300)


def _asserted(lines: list[str]) -> str:
    """Return the message of an assertion, with the comparison in parentheses."""
    compared = next((line for line in lines if line.startswith("assert ")), "")
    message = lines[0] if lines[0].startswith("assert ") else "AssertionError: " + lines[0]
    return message if compared in ("", lines[0]) else f"{message} ({compared})"


def _special(error: BaseException, describe: Describer) -> str:
    """Describe an exception whose own text is not useful, recognised by the name of its class; "" for any other."""
    name = type(error).__name__
    if name == "FixtureLookupError":
        return f"fixture {getattr(error, 'argname', '?')!r} not found"
    if name == "DocTestFailure":
        example = getattr(error, "example", None)
        wanted, got = getattr(example, "want", ""), getattr(error, "got", "")
        return "{}: expected {}, got {}".format(
            str(getattr(example, "source", "")).strip(), describe(wanted.strip()), describe(got.strip())
        )
    return ""


def _original(error: BaseException) -> BaseException:
    """Return the original exception inside the wrappers of pytest and doctest."""
    name = type(error).__name__
    if name == "MultipleDoctestFailures" and getattr(error, "failures", None):
        return _original(error.failures[0])  # type: ignore[attr-defined]
    if name == "UnexpectedException" and hasattr(error, "exc_info"):
        return _original(error.exc_info[1])
    if name == "CollectError" and error.__cause__ is not None:
        return _original(error.__cause__)
    if name == "ConftestImportFailure":
        return _original(error.cause if hasattr(error, "cause") else error.excinfo[1])  # type: ignore[attr-defined]
    return error


def _explanation(paths: ProjectPaths, error: BaseException, text: str, frames: list[FrameRecord]) -> str:
    if isinstance(error, AssertionError):
        lines = (line for line in text.splitlines() if line.strip() not in _ADVICE)
        return "\n".join(lines).strip() or _source(paths, frames)
    inner = getattr(error, "exceptions", None)
    if isinstance(inner, (tuple, list)):
        return "\n".join(f"- {type(item).__name__}: {item}" for item in inner[:CAUSES])
    return text if "\n" in text.strip() else ""


def _causes(paths: ProjectPaths, error: BaseException, describe: Describer) -> Iterator[str]:
    """Yield one line for each exception in the chain (cause or context) of `error`."""
    for link in _previous(error):
        frames = list(_frames(paths, link, describe, rich=False))
        where = f" ({frames[-1][0]}:{frames[-1][1]})" if frames else ""
        yield f"after {type(link).__name__}: {cut(describe.text(link), 200)}{where}"


def _previous(error: BaseException) -> Iterator[BaseException]:
    """Yield the cause or context of `error`, then that of this exception, and so on: at most CAUSES exceptions."""
    seen = {id(error)}
    while len(seen) <= CAUSES:
        link = error.__cause__
        if link is None and not error.__suppress_context__:
            link = error.__context__
        if link is None or id(link) in seen:
            return
        seen.add(id(link))
        yield link
        error = link


def _innermost(paths: ProjectPaths, error: BaseException) -> Any:
    """Return the innermost frame of the project in which `error` was raised; None if there is none."""
    frames = [place.frame for place in _walk(error) if paths.ours(place.frame.f_code.co_filename)]
    return frames[-1] if frames else None


def _frames(paths: ProjectPaths, error: BaseException, describe: Describer, *, rich: bool) -> Iterator[FrameRecord]:
    """Yield the frames of the project, and the innermost frame if the exception was raised in a library."""
    ours, foreign = _places(paths, error)
    for place in ours + foreign:
        code = place.frame.f_code
        values = _locals(place.frame, describe) if rich and place not in foreign else {}
        yield (paths.relative(code.co_filename), place.line, code.co_name, values, _span(code, place.at))
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        yield (paths.relative(error.filename), error.lineno, "<source>", {}, ())


def _places(paths: ProjectPaths, error: BaseException) -> tuple[list[TraceLink], list[TraceLink]]:
    """Return the project's frames, with deep recursions shortened; and the innermost frame if it is in a library."""
    walked = [place for place in _walk(error) if not _hidden(place.frame)]
    ours = [place for place in walked if paths.ours(place.frame.f_code.co_filename)]
    last = [place for place in walked[-1:] if place not in ours and not _machinery(place.frame.f_code.co_filename)]
    return _without_recursion(ours), [] if isinstance(error, SyntaxError) else last


def _span(code: Any, at: int) -> tuple[int, ...]:
    """Return (line, column, last line, end column) of the expression at byte offset `at`; () before Python 3.11."""
    if at < 0 or not hasattr(code, "co_positions"):
        return ()
    line, end, column, last = next(itertools.islice(code.co_positions(), at // 2, None), (None,) * 4)
    found = (line, column, end, last)
    return () if None in found else found  # type: ignore[return-value]


def _without_recursion(frames: list[TraceLink]) -> list[TraceLink]:
    """Return at most FRAMES of `frames`: if there are more, the three innermost, and each line of the others once."""
    if len(frames) <= FRAMES:
        return frames
    places = {(place.frame.f_code, place.line): place for place in reversed(frames[:-3])}
    return list(reversed(list(places.values())))[: FRAMES - 3] + frames[-3:]


def _walk(error: BaseException) -> Iterator[TraceLink]:
    link = error.__traceback__
    for _ in range(DEEP):
        if link is None:
            return
        yield TraceLink(link.tb_frame, link.tb_lineno or link.tb_frame.f_lineno or 0, link.tb_lasti)
        link = link.tb_next


def _machinery(path: str) -> bool:
    return path.startswith("<") or any(part in path for part in _MACHINERY)


def _hidden(frame: Any) -> bool:
    return "__tracebackhide__" in frame.f_code.co_varnames and bool(frame.f_locals.get("__tracebackhide__"))


def _locals(frame: Any, describe: Describer) -> dict[str, str]:
    """Return at most LOCALS local variables of the frame as text; none for a frame of module level.

    Modules, classes, functions, pytest's own objects, and names that begin with `__`, `@` or `.` are left out.
    """
    if frame.f_code.co_name == "<module>":
        return {}
    shown: dict[str, str] = {}
    for name, value in list(frame.f_locals.items()):
        if len(shown) == LOCALS:
            break
        if not name.startswith(("@", "__", ".")) and not _dull(value):
            shown[name] = describe(value)
    return shown


def _dull(value: Any) -> bool:
    kind = type(value)
    if issubclass(kind, type) or str(getattr(kind, "__module__", "")).startswith("_pytest."):
        return True
    return kind.__name__ in ("module", "function", "builtin_function_or_method", "method", "ABCMeta")


def _source(paths: ProjectPaths, frames: list[FrameRecord]) -> str:
    """Return the source line of the innermost frame."""
    if not frames:
        return ""
    return linecache.getline(os.path.join(paths.top, frames[-1][0]), frames[-1][1]).strip()


# -- names that may have been meant -----------------------------------------------------------------------


MOST = 3
"""Maximum number of similar names."""
ALIKE = 0.7
"""Minimum similarity (difflib) of a similar name."""
MOST_ATTRIBUTES = 100
LONGEST = 60
KEYWORD = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'")
IMPORT = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")


def misspelt(error: BaseException, frame: Any) -> tuple[str, list[str]]:
    """Return the name that was not found and the most similar existing ones, which may have been meant.

    Return ("", []) for any other failure, or if there is no similar name. Runs no code of the project except `__dir__`,
    and never raises.
    """
    try:
        wrong, names = _looked_up(error, frame)
        near = difflib.get_close_matches(wrong, sorted({*names} - {wrong}), MOST, ALIKE) if wrong else []
    except Exception:  # a __dir__ or __eq__ of the project may raise anything; then nothing is known
        return "", []
    return (wrong, near) if near else ("", [])


def attributes(error: BaseException) -> list[str]:
    """Return the names of at most MOST_ATTRIBUTES attributes of the object on which an attribute was not found.

    Private names are left out unless the missing name is private. Return [] for any other failure. Runs no code of the
    project except `__dir__`, and never raises.
    """
    try:
        return _attributes(error)[:MOST_ATTRIBUTES] if isinstance(error, AttributeError) else []
    except Exception:
        return []


def _attributes(error: AttributeError) -> list[str]:
    name = getattr(error, "name", None) or ""
    if getattr(error, "obj", None) is None:
        return []
    return [one for one in dir(error.obj) if name.startswith("_") or not one.startswith("_")]


def _looked_up(error: BaseException, frame: Any) -> tuple[str, Iterable[str]]:
    """Return the name that was looked up, and the names that exist in the same object, module or scope.

    Return ("", []) if no name was looked up.
    """
    name = getattr(error, "name", None)
    if isinstance(error, AttributeError) and name:
        return name, _attributes(error)
    if isinstance(error, ImportError):
        found = IMPORT.search(str(error))
        return (found.group(1), dir(sys.modules[found.group(2)])) if found else ("", [])
    return _looked_up_in(frame, error, name) if frame is not None else ("", [])


def _looked_up_in(frame: Any, error: BaseException, name: str | None) -> tuple[str, Iterable[str]]:
    """Do the same as `_looked_up`, for errors where the existing names are found in `frame`."""
    if isinstance(error, NameError) and name:
        return name, [*frame.f_locals, *frame.f_globals, *dir(builtins)]
    if isinstance(error, KeyError) and error.args and type(error.args[0]) is str:
        return error.args[0][:LONGEST], _keys(frame, error.args[0])
    found = KEYWORD.search(str(error)) if isinstance(error, TypeError) else None
    return (found.group(2), _parameters(frame, found.group(1))) if found else ("", [])


def _keys(frame: Any, wrong: str) -> list[str]:
    """Return the str keys of dictionaries that lack the key `wrong`; one of these keys may have been meant.

    The dictionaries are locals of the frame, and attributes of its locals.
    """
    held = list(frame.f_locals.values())
    held += [value for one in held[:10] for value in getattr(one, "__dict__", {}).values()]
    mappings = [value for value in held if isinstance(value, dict) and wrong not in value]
    return [key for mapping in mappings for key in list(mapping)[:200] if type(key) is str]


def _parameters(frame: Any, name: str) -> list[str]:
    """Return the parameters of the callables called `name`: values in the frame's scopes, and methods of its locals."""
    name = name.rpartition(".")[2]
    spaces = [frame.f_locals, frame.f_globals]
    found = [space[name] for space in spaces if name in space]
    found += [getattr(type(value), name) for value in list(frame.f_locals.values()) if hasattr(type(value), name)]
    return [one for function in found if callable(function) for one in inspect.signature(function).parameters]
