"""What is said beside an answer: warnings that point at the user's own line."""

from __future__ import annotations

import sys
import warnings


def remark(text: str) -> None:
    """Warns of ``text`` where the first code outside of this package called it."""
    level, frame = 2, sys._getframe(1)
    package = __name__.partition(".")[0] + "."
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)
