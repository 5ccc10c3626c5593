"""The papers' figures and tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memscape import _memscape
from memscape._given import check

if TYPE_CHECKING:
    import polars


#: Where a figure is shown: printed, on a slide (nearly twice as large), or on a dark page.
Style = Literal["paper", "slides", "dark"]


@dataclass(frozen=True, repr=False)
class Figure:
    """A drawn figure, shown inline by notebooks.

    Comes from :func:`plot` and :meth:`Experiment.plot`.
    """

    _inner: _memscape.Figure

    def svg(self) -> str:
        """Returns the figure as SVG."""
        return self._inner.svg()

    def png(self) -> bytes:
        """Returns the figure as PNG."""
        return self._inner.png()

    def pdf(self) -> bytes:
        """Returns the figure as PDF, for LaTeX: text as text, the font in it."""
        return self._inner.pdf()

    def alt_text(self) -> str:
        """Tells in sentences what the figure shows, for those who cannot see it."""
        return self._inner.alt_text()

    def styled(self, style: Style) -> Figure:
        """Returns the same figure for paper, slides or a dark page.

        Parameters
        ----------
        style
            ``"paper"``; ``"slides"``, on which a wide figure is 13.33 inches and 1920 dots wide;
            ``"dark"``, as large as on paper.

        Raises
        ------
        MemscapeError
            If there is no such style.

        Examples
        --------
        >>> import memscape as ms
        >>> figure = ms.experiment("pimnast.table1").plot()
        >>> "#1B1B1F" in figure.styled("dark").svg()
        True
        """
        check(Figure.styled, locals())
        return Figure(self._inner.styled(style))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the figure to a file.

        Parameters
        ----------
        path
            Its ending, ``.svg``, ``.png`` or ``.pdf``, chooses the format.

        Raises
        ------
        MemscapeError
            If it ends otherwise.
        """
        check(Figure.save, locals())
        path = Path(path)
        match path.suffix.lower():
            case ".svg":
                path.write_text(self.svg(), encoding="utf-8")
            case ".png":
                path.write_bytes(self.png())
            case ".pdf":
                path.write_bytes(self.pdf())
            case _:
                raise _memscape.MemscapeError(f"`path` is '{path}'; let it end in .svg, .png or .pdf")

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return "<memscape.Figure; save it with .save(path)>"


@dataclass(frozen=True, repr=False)
class Experiment:
    """One figure or table of a paper.

    Comes from :func:`experiment` and :func:`experiments`.
    """

    _inner: _memscape.Experiment

    @property
    def id(self) -> str:
        """Paper and figure, such as ``"pimnast.fig10"``."""
        return self._inner.id

    @property
    def title(self) -> str:
        """What it shows."""
        return self._inner.title

    def table(self, parameters: Mapping[str, Any] | None = None) -> polars.DataFrame:
        """Computes the numbers behind the figure.

        Parameters
        ----------
        parameters
            What to change against the paper, as for :func:`run`.

        Raises
        ------
        MemscapeError
            If a parameter does not exist, the experiment sets it itself or does not depend on it,
            or a point has no answer.
        """
        check(Experiment.table, locals())
        return self._inner.table(dict(parameters or {}))

    def plot(
        self,
        table: Any = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        published: bool = True,
        style: Style = "paper",
    ) -> Figure:
        """Draws the figure.

        Parameters
        ----------
        table
            What to draw instead of :meth:`table`, with the same columns: a
            ``polars.DataFrame`` or any other Arrow table.
        parameters
            What to change against the paper, as for :meth:`table`; the caption says it, and what
            the paper prints is left out. A ``table`` beside them that they do not make is called a
            changed one below.
        published
            Whether what the paper prints is drawn in: open diamonds on bars and curves, columns
            in tables.
        style
            Where it is shown.

        Raises
        ------
        MemscapeError
            If a column is missing, several rows of ``table`` have one place, or a parameter changes
            nothing here.

        Examples
        --------
        >>> import memscape as ms
        >>> figure = ms.experiment("pimnast.fig10").plot(parameters={"memory.trcd_ns": 36})
        >>> "Changed: memory.trcd_ns = 36" in figure.alt_text()
        True
        """
        check(Experiment.plot, locals())
        return Figure(self._inner.plot(table, dict(parameters or {}), published, style))

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
    check(experiment, locals())
    return Experiment(_memscape.experiment(id))
