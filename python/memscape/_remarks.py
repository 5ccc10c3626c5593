"""What is said beside an answer: warnings that point at the user's own line."""

from __future__ import annotations

import sys
import warnings


class IncompleteWarning(UserWarning):
    """An interrupt (Ctrl-C) has ended a call before its end: what it returns is what was done until then.

    Where no one looks at warnings, such as in a script that goes on, make it an error.

    Examples
    --------
    >>> import warnings
    >>> import memscape as ms
    >>> warnings.simplefilter("error", ms.IncompleteWarning)
    """


def remark(text: str, category: type[UserWarning] = UserWarning) -> None:
    """Warns of ``text`` where the first code outside of this package called it."""
    level, frame = 2, sys._getframe(1)
    package = __name__.partition(".")[0] + "."
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def incomplete(done: str) -> None:
    """Warns that a call was interrupted, and of what is done."""
    remark(f"interrupted: {done}", IncompleteWarning)
