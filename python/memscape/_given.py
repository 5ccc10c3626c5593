"""What is given, held against the annotations before it crosses the border."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from numbers import Integral, Real
from os import PathLike
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from memscape._memscape import MemscapeError

I8 = Annotated[int, range(-(2**7), 2**7)]
U32 = Annotated[int, range(2**32)]
#: What an `int` may be that is not annotated otherwise.
COUNT = range(2**63 + 1)
#: Longer ones are not quoted.
LONGEST = 100


def check(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Holds arguments against a function's annotations, or raises an error that names the first that does not fit.

    An `int` is a whole number from 0. Iterators are left as they are.
    """
    for name, kind in _kinds(function):
        misfit = _misfit(name, given[name], kind)
        if misfit:
            path, value, expected = misfit
            raise MemscapeError(f"`{path}` is {_quoted(value)}; give {_words(expected)[0]}")


def listed(given: str | Iterable[str]) -> list[str]:
    """One text or several."""
    return [given] if isinstance(given, str) else list(given)


@cache
def _kinds(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    names = dict(vars(sys.modules[function.__module__]))
    written = {name: it for name, it in function.__annotations__.items() if name != "return"}
    if any("polars." in it for it in written.values()):
        import polars

        names["polars"] = polars
    kinds = [(name, eval(it, names)) for name, it in written.items()]
    # A protocol is asked where it is used.
    return [(name, it) for name, it in kinds if it is not Any and not _protocol(it)]


def _protocol(kind: Any) -> bool:
    return any(getattr(it, "_is_protocol", False) for it in (kind, *get_args(kind)))


_Misfit = tuple[str, Any, Any]


def _misfit(path: str, value: Any, kind: Any) -> _Misfit | None:
    """The innermost part of a value that is not of its kind, by path, with that kind."""
    if get_origin(kind) in (Union, UnionType):
        misfits = []
        for it in get_args(kind):
            misfit = _misfit(path, value, it)
            if misfit is None:
                return None
            misfits.append(misfit)
        return max(misfits, key=lambda it: len(it[0])) if any(it[0] != path for it in misfits) else (path, value, kind)
    if not _is(value, kind):
        return path, value, kind
    return next(filter(None, (_misfit(path + at, it, inner) for at, it, inner in _parts(value, kind))), None)


def _is(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind, whatever it is made of."""
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if kind is Any:
        return True
    if kind is int or origin is Annotated:
        whole = arguments[1] if arguments else COUNT
        return isinstance(value, Integral) and not isinstance(value, bool) and whole.start <= value < whole.stop
    if kind is float:
        return isinstance(value, Real)
    if kind is bool:
        # NumPy's has another name.
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
        # NumPy's arrays are sequences that do not say so.
        like = Iterable if origin is Iterable else Collection
        return isinstance(value, like) and not isinstance(value, (str, Mapping))
    return isinstance(value, origin)


def _parts(value: Any, kind: Any) -> Iterator[tuple[str, Any, Any]]:
    """What a value is made of: where it stands, what it is and of what kind it should be."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Mapping and arguments[1] is not Any:
        yield from ((f"[{key!r}]", it, arguments[1]) for key, it in value.items())
    elif origin is tuple:
        yield from ((f"[{index}]", it, kind) for index, (it, kind) in enumerate(zip(value, arguments, strict=True)))
    elif origin in (Iterable, Sequence) and isinstance(value, Collection):
        items: Iterable[tuple[int, Any]] = enumerate(value)
        if arguments[0] is float:
            # One of each type tells, and there may be millions.
            items = dict(zip(map(type, value), items, strict=True)).values()
        yield from ((f"[{index}]", it, arguments[0]) for index, it in items)


def _quoted(value: Any) -> str:
    with suppress(Exception):
        text = repr(value)
        if len(text) <= LONGEST and "\n" not in text:
            return text
    return f"a `{type(value).__name__}`"


_PLAIN = {
    Any: ("anything", "values"),
    str: ("a text", "texts"),
    float: ("a number", "numbers"),
    bool: ("True or False", "truth values"),
    bytes: ("bytes", "bytes"),
    PathLike: ("a path", "paths"),
    Mapping: ("a dict", "dicts"),
}


def _words(kind: Any) -> tuple[str, str]:
    """What to give, one and several."""
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if origin in (Union, UnionType):
        one, several = zip(*(_words(it) for it in arguments if it is not NoneType), strict=True)
        return _or(one), _or(several)
    if kind is int or origin is Annotated:
        whole = arguments[1] if arguments else COUNT
        last = whole[-1] if whole != COUNT else "2^63"
        return f"a whole number from {whole[0]} to {last}", f"whole numbers from {whole[0]} to {last}"
    if origin is Literal:
        return (_or([f'"{it}"' for it in arguments]),) * 2
    if origin is tuple:
        of = f"tuple of {len(arguments)} {_words(arguments[0])[1]}"
        return f"a {of}", of.replace("tuple", "tuples", 1)
    if origin in (Iterable, Sequence):
        of = _words(arguments[0])[1]
        return f"a list of {of}", f"lists of {of}"
    if origin is Mapping and arguments[1] is not Any:
        of = _words(arguments[1])[1]
        return f"a dict of {of}", f"dicts of {of}"
    return _PLAIN.get(origin) or (f"a {origin.__name__}", f"{origin.__name__}s")


def _or(words: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
