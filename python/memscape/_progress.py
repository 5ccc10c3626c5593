"""A progress bar for terminals and notebooks that needs no other package."""

from __future__ import annotations

import sys
import time
from typing import Any

#: What is shorter needs no bar, in seconds.
PATIENCE_S = 1.0
WIDTH = 40


class Progress:
    """Draws a bar with the time that is left once a second has passed, and wipes it off at the end."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = time.monotonic()
        self._display: Any = None
        self._drawn = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._display is not None:
            self._display.update({"text/plain": ""}, raw=True)
        elif self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __call__(self, done: int, total: int) -> None:
        """Shows that ``done`` of ``total`` are done; a ``total`` of 0 is one that nobody knows."""
        took = time.monotonic() - self._began
        if took < PATIENCE_S:
            return
        left = f", {took * (total - done) / done:.0f} s left" if done else f", {took:.0f} s so far"
        text = f"{self._what}: {done:,} of {total:,}{left}" if total else self._what + left
        if in_notebook():
            from IPython.display import display

            bar = f'<progress value="{done}" max="{total}"></progress>' if total else "<progress></progress>"
            bundle = {"text/plain": text, "text/html": f"{text} {bar}"}
            if self._display is None:
                self._display = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
            else:
                self._display.update(bundle, raw=True)
        elif sys.stderr.isatty():
            bar = "#" * (WIDTH * done // total) if total else ""
            print(f"\r\x1b[K[{bar:<{WIDTH}}] {text}", end="", file=sys.stderr, flush=True)
            self._drawn = True


def in_notebook() -> bool:
    """Tells a Jupyter kernel from a terminal, without importing IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return hasattr(shell, "kernel")
