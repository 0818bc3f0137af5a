"""Types that the journal records in addition to those of core, and their conversion to JSON and back.

`encode` and `decode` follow the type annotations; bytes are stored elsewhere, under a key.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from coderefine.core import Check, Cost, Evidence, Finding, Offer, Proof, Stop
from coderefine.errors import JournalError

Json = Any
"""A value that `json.dumps` accepts."""

Fetch = Callable[[str], bytes]
Decoder = Callable[[Json, Fetch], Any]
T = TypeVar("T")

OMITTED = frozenset({(Check, "coverage"), (Check, "steps"), (Check, "compiled")})
"""Large fields that can be computed again; they are not stored, and decoded as their default."""


@dataclass(frozen=True, slots=True)
class Meta:
    """How a run was started. `config`: plain JSON; `head`: the commit or None; `created`: Unix time."""

    argv: tuple[str, ...] = ()
    config: Mapping[str, object] = field(default_factory=dict)
    head: str | None = None
    scope: tuple[str, ...] = (".",)
    top: str = ""
    created: float = 0.0
    version: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    """The Outcome of a run without its attempts, which are recorded elsewhere and referred to by number."""

    best: int
    baseline: int
    stop: Stop
    why: str = ""
    evidence: Evidence = Evidence()
    remaining: tuple[Finding, ...] = ()
    cost: Cost = Cost()
    suite_runs: float | None = None
    first_candidate: float | None = None
    offers: tuple[Offer, ...] = ()
    proof: Proof | None = None


SHARED = tuple(item.name for item in fields(Ending) if item.name not in {"best", "baseline"})
"""Fields of an Ending that an Outcome has, too."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of one file of the working tree.

    `before`, `after`: contents (None: no file). `mode`: the mode of a new file.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class IndexChange:
    """A change of one index entry; `before` and `after` are `MODE BLOB`, or None for no entry."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Publication:
    """A change of the repository that was written, or that is recorded before it is written.

    `how`: files, commit, branch or undo. `head`: HEAD's commit before the publication. `ref`: the branch that moved
    (None: detached HEAD). `commit`, `tree`: the new target of the branch. `temps`: temporary files in the folders of
    the files that they replace. `folders`: folders created for new files. `lock`: the SHA-256 of the new index, which
    is first written as index.lock.
    """

    how: str
    top: str
    changes: tuple[FileChange, ...] = ()
    head: str | None = None
    ref: str | None = None
    commit: str | None = None
    tree: str | None = None
    staged: tuple[IndexChange, ...] = ()
    temps: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    lock: str | None = None


def encode(value: object, keep: Callable[[bytes], str]) -> Json:
    """Return `value` as JSON; `keep` stores bytes elsewhere and returns the key that replaces them."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, bytes):
        return keep(value)
    if is_dataclass(value):
        return {name: encode(getattr(value, name), keep) for name in _recorded(cast("Hashable", type(value)))}
    return _encode_many(value, keep)


def _encode_many(value: object, keep: Callable[[bytes], str]) -> Json:
    if isinstance(value, Mapping):
        return {str(name): encode(item, keep) for name, item in value.items()}
    if isinstance(value, set | frozenset):
        return [encode(item, keep) for item in sorted(value)]
    if isinstance(value, tuple | list):
        return [encode(item, keep) for item in value]
    raise JournalError(f"a {type(value).__name__} cannot be recorded")


def decode(kind: type[T], value: Json, fetch: Fetch) -> T:
    """Return the object of type `kind` that `encode` converted to `value`.

    Raises JournalError if `value` is invalid.
    """
    try:
        return cast("T", _decoder(cast("Hashable", kind))(value, fetch))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise JournalError(f"the record of a {kind.__name__} is damaged or from another version: {error}") from error


@cache
def _decoder(kind: Any) -> Decoder:
    """Return a function that decodes a `kind`; cached by type, because a run has thousands of cases."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        inner = _decoder(next(part for part in get_args(kind) if part is not types.NoneType))
        return lambda value, fetch: None if value is None else inner(value, fetch)
    if origin is tuple:
        return _tuple(get_args(kind))
    if origin is not None:
        return _collection(origin, _decoder(get_args(kind)[-1]))
    return _single(kind)


def _single(kind: Any) -> Decoder:
    if kind is bytes:
        return lambda value, fetch: fetch(value)
    if isinstance(kind, type) and is_dataclass(kind):
        return _noun(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return lambda value, _: kind(value)
    return _plain(kind)


def _noun(kind: Any) -> Decoder:
    readers: dict[str, Decoder] = {name: _decoder(hint) for name, hint in get_type_hints(kind).items()}

    def read(value: Json, fetch: Fetch) -> Any:
        return kind(**{name: readers[name](item, fetch) for name, item in value.items() if name in readers})

    return read


def _tuple(kinds: tuple[Any, ...]) -> Decoder:
    if kinds[-1] is Ellipsis:
        every = _decoder(kinds[0])
        return lambda value, fetch: tuple([every(item, fetch) for item in value])
    each = [_decoder(kind) for kind in kinds]
    return lambda value, fetch: tuple([read(item, fetch) for read, item in zip(each, value, strict=True)])


def _collection(origin: Any, inner: Decoder) -> Decoder:
    if origin is frozenset:
        return lambda value, fetch: frozenset(inner(item, fetch) for item in value)
    return lambda value, fetch: {name: inner(item, fetch) for name, item in value.items()}


def _plain(kind: Any) -> Decoder:
    if kind is object:
        return lambda value, _: value
    allowed = (int, float) if kind is float else kind

    def read(value: Json, _: Fetch) -> Any:
        if not isinstance(value, allowed):
            raise TypeError(f"{value!r} is not a {kind.__name__}")
        return value

    return read


@cache
def _recorded(kind: Any) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind) if (kind, item.name) not in OMITTED)
