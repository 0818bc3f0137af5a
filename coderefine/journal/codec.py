"""Frozen nouns as JSON and back, driven by their own type annotations."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from coderefine.core import Check
from coderefine.errors import JournalError

Json = Any
"""What `json.dumps` takes: the one place where a shape is not known."""

T = TypeVar("T")

OMITTED = frozenset({(Check, "coverage")})
"""Fields that are large and can be had again; they come back as their default."""


def encode(value: object, keep: Callable[[bytes], str]) -> Json:
    """`value` as JSON; `keep` stores bytes elsewhere and returns the key that stands for them."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return keep(value)
    if is_dataclass(value):
        names = (item.name for item in fields(value) if (type(value), item.name) not in OMITTED)
        return {name: encode(getattr(value, name), keep) for name in names}
    if isinstance(value, Mapping):
        return {str(name): encode(item, keep) for name, item in value.items()}
    if isinstance(value, set | frozenset):
        return [encode(item, keep) for item in sorted(value)]
    if isinstance(value, tuple | list):
        return [encode(item, keep) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise JournalError(f"a {type(value).__name__} cannot be recorded")


def decode(kind: type[T], value: Json, fetch: Callable[[str], bytes]) -> T:
    """The noun of type `kind` that `encode` made `value` from. Raises JournalError when it does not fit."""
    try:
        return _decode(kind, value, fetch)  # type: ignore[no-any-return]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise JournalError(f"the record of a {kind.__name__} is damaged or from another version: {error}") from error


def _decode(kind: Any, value: Json, fetch: Callable[[str], bytes]) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        inner = [part for part in get_args(kind) if part is not types.NoneType]
        return None if value is None else _decode(inner[0], value, fetch)
    if origin is not None:
        return _container(origin, get_args(kind), value, fetch)
    if kind is bytes:
        return fetch(value)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{name: _decode(hints[name], item, fetch) for name, item in value.items() if name in hints})
    return _plain(kind, value)


def _container(origin: Any, kinds: tuple[Any, ...], value: Json, fetch: Callable[[str], bytes]) -> Any:
    if origin is tuple:
        inner = kinds[:1] * len(value) if kinds[-1] is Ellipsis else kinds
        return tuple(_decode(kind, item, fetch) for kind, item in zip(inner, value, strict=True))
    if origin is frozenset:
        return frozenset(_decode(kinds[0], item, fetch) for item in value)
    return {name: _decode(kinds[1], item, fetch) for name, item in value.items()}


def _plain(kind: Any, value: Json) -> Any:
    if kind in (Any, object):
        return value
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    allowed = (int, float) if kind is float else kind
    if not isinstance(value, allowed):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
