"""What is given, held against the annotations before it crosses the border."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from memscape._memscape import MemscapeError

T = TypeVar("T")
I8 = Annotated[int, range(-(2**7), 2**7)]
U32 = Annotated[int, range(2**32)]
COUNT_FROM_1 = Annotated[int, range(1, 2**64)]
#: What an `int` may be that is not annotated so.
COUNT = range(2**64)
#: Items of an iterator that has no length.
MOST_ITEMS = 1_000_000
#: What is longer is not quoted.
LONGEST = 100

_NOUNS = {
    str: ("a text", "texts"),
    float: ("a number", "numbers"),
    bool: ("True or False", "truth values"),
    bytes: ("bytes", "bytes"),
    PathLike: ("a path", "paths"),
    Mapping: ("a dict", "dicts"),
}
_MADE_OF = {tuple: "tuple", Iterable: "list", Sequence: "list", Mapping: "dict"}


def check(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Holds arguments against a function's annotations, or raises an error that names the first that does not fit.

    Items of iterators, which can be looked at but once, are not looked at.
    """
    for name, kind in _kinds(function):
        if misfit := _misfit(name, given[name], kind):
            path, value, kind = misfit
            raise MemscapeError(f"`{path}` is {_quoted(value)}; give {_nouns(kind)[0]}")


def listed(given: str | Iterable[str]) -> list[str]:
    """One text or several, as several."""
    return [given] if isinstance(given, str) else ended(given)


def ended(given: Iterable[T]) -> list[T]:
    """All items, if there is an end of them."""
    items = list(given if isinstance(given, Collection) else islice(given, MOST_ITEMS + 1))
    if len(items) > MOST_ITEMS and not isinstance(given, Collection):
        raise MemscapeError(f"an iterator gives more than {MOST_ITEMS} items; give a list, which has an end")
    return items


def floats(given: Iterable[float]) -> list[float]:
    """All numbers as Python's; an iterator's, too, which could not be looked at before."""
    items = ended(given)
    try:
        if all(issubclass(it, Real) for it in set(map(type, items))):
            return list(map(float, items))
    except OverflowError:
        pass
    wrong = next(it for it in items if not isinstance(it, Real) or abs(it) > sys.float_info.max)
    raise MemscapeError(f"{_quoted(wrong)} is no number that 64 bits hold; give {_nouns(float)[0]}")


def read_plain(path: str | PathLike[str], most: int) -> bytes:
    """The bytes of a plain file, of which there are at most so many."""
    file = Path(path)
    if file.exists() and not file.is_file():
        raise MemscapeError(f"{file} is no plain file")
    with file.open("rb") as stream:
        if (size := file.stat().st_size) > most:
            raise MemscapeError(f"{file} has {size} bytes; at most {most} are read")
        return stream.read(most)


@cache
def _kinds(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    written = {name: it for name, it in function.__annotations__.items() if name != "return"}
    names = dict(vars(sys.modules[function.__module__]))
    if any("polars." in it for it in written.values()):
        import polars

        names["polars"] = polars
    kinds = {name: eval(it, names) for name, it in written.items()}
    return [(name, kind) for name, kind in kinds.items() if kind is not Any]


def _misfit(path: str, value: Any, kind: Any) -> tuple[str, Any, Any] | None:
    """The innermost part of a value that is not of its kind: where it stands, what it is, and that kind."""
    if get_origin(kind) in (Union, UnionType):
        misfits = [_misfit(path, value, it) for it in get_args(kind)]
        inner = (it for it in misfits if it and it[0] != path)
        return None if None in misfits else next(inner, (path, value, kind))
    if not _is(value, kind):
        return path, value, kind
    return next(filter(None, (_misfit(path + place, it, inner) for place, it, inner in _parts(value, kind))), None)


def _is(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind, whatever its parts are."""
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if kind is Any or getattr(kind, "_is_protocol", False):
        # Whoever uses a protocol asks for it.
        return True
    if kind is int or origin is Annotated:
        numbers = _range(kind)
        # Ranges go through all of their numbers for an integer of NumPy's.
        return isinstance(value, Integral) and not isinstance(value, bool) and int(value) in numbers
    if kind is float:
        return isinstance(value, Real)
    if kind is bool:
        # NumPy's too.
        return type(value).__name__ in ("bool", "bool_")
    if kind is bytes:
        with suppress(TypeError):
            return memoryview(value).format == "B"
        return False
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if origin is tuple:
        return isinstance(value, (tuple, list)) and len(value) == len(arguments)
    if origin in (Iterable, Sequence):
        # NumPy's arrays are sequences that do not say so, and those of no dimension only say so.
        with suppress(TypeError):
            iter(value)
            indexed = isinstance(value, Collection) and hasattr(value, "__getitem__")
            return not isinstance(value, (str, Mapping)) and (indexed or origin is Iterable)
        return False
    return isinstance(value, origin)


def _range(kind: Any) -> range:
    return COUNT if kind is int else get_args(kind)[1]


def _parts(value: Any, kind: Any) -> Iterator[tuple[str, Any, Any]]:
    """What a value is made of: where each part stands, what it is, and of what kind it must be."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Mapping:
        yield from ((f"[{key!r}]", it, arguments[1]) for key, it in value.items() if arguments[1] is not Any)
    elif origin in _MADE_OF and isinstance(value, Collection):
        items: Iterable[tuple[int, Any]] = enumerate(value)
        if arguments[0] is float:
            # One of each type tells, and there may be millions.
            items = dict(zip(map(type, value), items, strict=True)).values()
        yield from ((f"[{index}]", it, arguments[0]) for index, it in items)


def _quoted(value: Any) -> str:
    # Of what others wrote, or of an integer without end.
    with suppress(Exception):
        text = repr(value)
        if len(text) <= LONGEST and text.isprintable():
            return text
    return f"a `{type(value).__name__}`"


def _nouns(kind: Any) -> tuple[str, str]:
    """What a kind is called, one of it and several."""
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if origin in (Union, UnionType):
        one, several = zip(*(_nouns(it) for it in arguments if it is not NoneType), strict=True)
        return _or(one), _or(several)
    if kind is int or origin is Annotated:
        first, last = _range(kind)[0], _range(kind)[-1]
        ends = f"from {first} to {last if last < 2**32 else '2^64 - 1'}"
        return f"a whole number {ends}", f"whole numbers {ends}"
    if origin is Literal:
        return (_or([f'"{it}"' for it in arguments]),) * 2
    if origin in _MADE_OF and arguments[-1] is not Any:
        number = f"{len(arguments)} " if origin is tuple else ""
        name, parts = _MADE_OF[origin], number + _nouns(arguments[-1])[1]
        return f"a {name} of {parts}", f"{name}s of {parts}"
    return _NOUNS.get(origin) or (f"a {origin.__name__}", f"{origin.__name__}s")


def _or(words: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
