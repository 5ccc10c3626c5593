"""PIMnast's placement itself, below the study ``pim.gemv``.

>>> import memscape as ms
>>> ms.pim.plan(model="opt-125m", gemv="out")
Plan(768 x 768 in tiles of 8 x 32, CR degree 1, split-K 1, 128 banks)
"""

from __future__ import annotations

from typing import Any, NamedTuple

from memscape import _memscape
from memscape._given import check
from memscape._memscape import PimPlan

__all__ = ["PimPlan", "TileShape", "plan", "tile_shape"]


def __dir__() -> list[str]:
    return __all__


class TileShape(NamedTuple):
    """Rows and columns of a tile, which fills one interleaving unit of memory."""

    m: int
    k: int


def tile_shape(rows: int, *, banks: int, tile_elements: int, most_rows: int = 2**63) -> TileShape:
    """Algorithm 1: the tallest tile that spreads the rows evenly over the banks.

    Parameters
    ----------
    rows
        Rows of the matrix.
    banks
        Banks over all channels.
    tile_elements
        Elements in one interleaving unit, a power of two.
    most_rows
        Rows that the registers hold.

    Returns
    -------
    TileShape
        One row if no tile is balanced.

    Raises
    ------
    MemscapeError
        If a count is zero or ``tile_elements`` is no power of two.

    Examples
    --------
    >>> import memscape as ms
    >>> ms.pim.tile_shape(16384, banks=128, tile_elements=256)
    TileShape(m=128, k=2)
    """
    check(tile_shape, locals())
    return TileShape(*_memscape.pim_tile_shape(rows, banks, tile_elements, most_rows))


def plan(**parameters: Any) -> PimPlan:
    """Resolves a placement: tile shape, CR degree, and where each weight lies.

    Parameters
    ----------
    **parameters
        Those of the study ``pim.gemv``; dotted paths go in as
        ``**{"memory.banks_per_channel": 8}``.

    Returns
    -------
    PimPlan
        ``place(row, column)`` gives bank, row, column and lane of an element;
        ``execute(weights, inputs)`` computes the product from row-major weights
        by executing the command stream.

    Raises
    ------
    MemscapeError
        If a parameter is unknown or the matrix does not fit.

    Examples
    --------
    >>> import memscape as ms
    >>> small = ms.pim.plan(m=256, k=32)
    >>> small.place(3, 0)
    (0, 0, 0, 3)
    >>> small.execute([1.0] * 256 * 32, list(range(32)))[:2]
    [496.0, 496.0]
    """
    return _memscape.pim_plan(parameters)
