"""Any table as a figure in the papers' look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Literal

from memscape import _memscape
from memscape._experiments import Figure, Style
from memscape._given import check, listed
from memscape._memscape import MemscapeError
from memscape._table import framed, plain


def plot(
    table: Any,
    *,
    x: str,
    y: str | Iterable[str],
    series: str | None = None,
    facet: str | None = None,
    own_axes: bool = False,
    kind: Literal["bars", "lines", "points", "heatmap", "front", "stacked", "tornado"] | None = None,
    log: Literal["", "x", "y", "xy"] = "",
    reference: Mapping[str, float | Sequence[float]] | float | None = None,
    band: tuple[str, str] | None = None,
    maximize: str | Iterable[str] = (),
    labels: Mapping[str, str] | None = None,
    title: str = "",
    caption: str = "",
    wide: bool = False,
    style: Style = "paper",
) -> Figure:
    """Draws a table.

    Rows that lack a value, such as those with an error, have no mark: bars and heat maps say ``n/a`` in
    their place, and below other figures stands how many there are. Names of columns become labels
    with their units; times and energies are drawn with the prefix that suits them (``token_ns`` in
    milliseconds).

    Parameters
    ----------
    table
        A polars.DataFrame, anything with ``__arrow_c_stream__``, a dict of columns or a list of rows.
    x, y
        The columns across and up; several ``y`` are a series each, or the parts of a stack.
    series
        The column whose values are told apart by colour; of a heat map, its rows.
    facet
        The column whose values have a panel each.
    own_axes
        Whether each panel has axes of its own; else a length or a colour means the same in all.
    kind
        ``"lines"`` over numbers and ``"bars"`` over names if not given; ``"points"``;
        ``"heatmap"`` (``y`` as colour over ``x`` and ``series``); ``"front"`` (points, and what
        nothing is better than in ``x`` and ``y``, of the rows that are ``feasible`` if there is
        such a column); ``"stacked"`` (``n/a`` where a part is null); ``"tornado"`` (a bar for each
        ``x`` between two columns ``y``, around the column ``base``, as
        ``sensitivity(..., method="tornado")`` answers).
    log
        Axes on which equal factors are equally far apart; the colours of a heat map are its ``"y"``.
    reference
        A dashed line across, or several by name; a pair of numbers is a band between them.
    band
        Columns of the least and the greatest that each ``y`` may be: a band along lines, bars
        around points and on bars.
    maximize
        Of a front: columns of which more is better; of others, less is.
    labels
        What columns are called, if not by their names: ``{"token_ns": "Time per token (ns)"}``. Such
        columns are drawn in their own units.
    title, caption
        What stands above and below.
    wide
        Whether it is as wide as two columns of a page.
    style
        Where it is shown: ``"paper"``, ``"slides"`` or ``"dark"``.

    Returns
    -------
    Figure
        Shown inline by notebooks; ``.save("figure.svg")``, ``.png`` or ``.pdf`` writes it.

    Raises
    ------
    MemscapeError
        If a column is missing or holds no numbers, no row has all values, or several rows
        would be drawn over each other.

    Examples
    --------
    >>> import memscape as ms
    >>> table = ms.sweep("pim.gemv", {"memory.banks_per_channel": [8, 16, 32], "split_k": [1, 2]})
    >>> figure = ms.plot(table, x="memory.banks_per_channel", y="speedup", series="split_k")
    >>> "Banks per channel" in figure.svg()
    True
    """
    check(plot, locals())
    spec: dict[str, Any] = {
        "x": x,
        "y": listed(y),
        "series": series,
        "facet": facet,
        "own_axes": own_axes,
        "kind": kind,
        "log": {"x": "x" in log, "y": "y" in log},
        "reference": [[str(name), _line(str(name), value)] for name, value in _named(reference).items()],
        "band": None if band is None else list(band),
        "maximize": listed(maximize),
        "labels": dict(labels or {}),
        "title": title,
        "caption": caption,
        "wide": wide,
        "style": style,
    }
    drawn = [x, *spec["y"], series, facet, *(band or ())]
    shown = plain(framed(table), [it for it in drawn if it is not None])
    return Figure(_memscape.draw(shown, spec))


def _named(reference: Mapping[str, float | Sequence[float]] | float | None) -> Mapping[str, float | Sequence[float]]:
    """Lines by their names; one alone needs none."""
    if reference is None:
        return {}
    return reference if isinstance(reference, Mapping) else {"": reference}


def _line(name: str, value: float | Sequence[float]) -> float | list[float]:
    """A line at a number, or a band between two."""
    ends = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    is_line = len(ends) == (2 if isinstance(value, Iterable) else 1)
    if not is_line or not all(isinstance(it, Real) and not isinstance(it, bool) for it in ends):
        raise MemscapeError(f"`reference` {name!r} = {value!r}: expected a number, or the two ends of a band")
    try:
        numbers = [float(it) for it in ends]
    except OverflowError as error:
        raise MemscapeError(f"`reference` {name!r}: {error}") from error
    return numbers if isinstance(value, Iterable) else numbers[0]
