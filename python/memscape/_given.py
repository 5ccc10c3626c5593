"""What is given, looked at before it crosses the border."""

from __future__ import annotations

from memscape._memscape import MemscapeError


def text(name: str, value: object) -> str:
    """A text, or an error that names the argument."""
    if isinstance(value, str):
        return value
    raise MemscapeError(f"`{name}` is {value!r}; give a text")
