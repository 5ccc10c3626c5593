"""The papers' figures and tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memscape import _memscape

if TYPE_CHECKING:
    import os

    import polars


class Figure:
    """A drawn figure, shown inline by notebooks.

    Comes from :meth:`Experiment.plot`.
    """

    def __init__(self, inner: _memscape.Figure) -> None:
        self._inner = inner

    def svg(self) -> str:
        """Returns the figure as SVG."""
        return self._inner.svg()

    def png(self) -> bytes:
        """Returns the figure as PNG."""
        return self._inner.png()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the figure to a file.

        Parameters
        ----------
        path
            Its ending, ``.svg`` or ``.png``, chooses the format.

        Raises
        ------
        ValueError
            If it ends otherwise.
        """
        path = Path(path)
        match path.suffix.lower():
            case ".svg":
                path.write_text(self.svg(), encoding="utf-8")
            case ".png":
                path.write_bytes(self.png())
            case other:
                raise ValueError(f"cannot write a figure as `{other}`; let the name end in .svg or .png")

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return "<memscape.Figure; save it with .save(path)>"


class Experiment:
    """One figure or table of a paper.

    Comes from :func:`experiment` and :func:`experiments`.

    Attributes
    ----------
    id : str
        Paper and figure, such as ``"pimnast.fig10"``.
    title : str
        What it shows.
    """

    def __init__(self, inner: _memscape.Experiment) -> None:
        self._inner = inner
        self.id = inner.id
        self.title = inner.title

    def table(self, parameters: Mapping[str, Any] | None = None) -> polars.DataFrame:
        """Computes the numbers behind the figure.

        Parameters
        ----------
        parameters
            What to change against the paper, as for :func:`run`. What the
            experiment itself varies stays as it is.

        Raises
        ------
        MemscapeError
            If a parameter does not exist, or a point has no answer.
        """
        return self._inner.table(dict(parameters or {}))

    def plot(self, table: Any = None) -> Figure:
        """Draws the figure.

        Parameters
        ----------
        table
            What to draw instead of :meth:`table`, with the same columns: a
            ``polars.DataFrame`` or any other Arrow table.

        Raises
        ------
        MemscapeError
            If a column is missing.
        """
        return Figure(self._inner.plot(table))

    def __repr__(self) -> str:
        return f"{self.id}: {self.title}"


def experiments() -> list[Experiment]:
    """Lists every figure and table that can be redrawn.

    Examples
    --------
    >>> import memscape as ms
    >>> "pimnast.fig10" in [it.id for it in ms.experiments()]
    True
    """
    return [Experiment(it) for it in _memscape.experiments()]


def experiment(id: str) -> Experiment:
    """Finds one figure or table of a paper.

    Parameters
    ----------
    id
        Paper and figure, such as ``"pimnast.fig10"``.

    Raises
    ------
    MemscapeError
        If there is no such experiment.

    Examples
    --------
    >>> import memscape as ms
    >>> ms.experiment("pimnast.fig10").plot().svg().startswith("<svg")
    True
    """
    return Experiment(_memscape.experiment(id))
