"""Searches and iterations of NPUs, below the studies ``npu.*``.

>>> import memscape as ms
>>> ms.npu.search_tiles(device="xdna", precision="int8-int8", top=1)["macs_per_cycle"][0] > 200
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memscape import _memscape
from memscape._given import I8, U32, check

if TYPE_CHECKING:
    import polars

__all__ = ["balance_trace", "chains", "multiply", "search_tiles"]


def __dir__() -> list[str]:
    return __all__


def search_tiles(*, top: int = 5, **parameters: Any) -> polars.DataFrame:
    """Ranks the tiles that one core can hold, by exhaustive search.

    Parameters
    ----------
    top
        How many to return.
    **parameters
        Those of the study ``npu.search``: ``device``, ``precision``,
        ``objective``, ``k_ct``; dotted paths go in as
        ``**{"device.l1_bytes": 131072}``.

    Returns
    -------
    polars.DataFrame
        Best first: ``m_ct``, ``k_ct``, ``n_ct``, ``macs_per_cycle``,
        ``efficiency``, ``macs``, ``outputs``, ``peak_tops``, ``l1_bytes`` and
        ``l1_share``.

    Raises
    ------
    MemscapeError
        If a parameter is unknown or no tile fits.

    Examples
    --------
    >>> import memscape as ms
    >>> best = ms.npu.search_tiles(device="xdna2", precision="int8-int32", top=3)
    >>> best.select("m_ct", "k_ct", "n_ct").row(0)
    (48, 280, 48)
    """
    check(search_tiles, locals())
    import polars

    if top < 1:
        raise _memscape.MemscapeError(f"`top` = {top}: give 1 at least")

    return polars.DataFrame(_memscape.npu_search(parameters, top))


def balance_trace(**parameters: Any) -> polars.DataFrame:
    """Follows the balanced-point iteration.

    Parameters
    ----------
    **parameters
        Those of the study ``npu.balance``: ``device``, ``precision``,
        ``iteration``, ``k_start``, ``at_least``.

    Returns
    -------
    polars.DataFrame
        One row per point in the order they are measured: ``m_ct``, ``k_ct``,
        ``n_ct``, ``k_mt``, the elements ``outputs`` of its tile of C, the product
        ``m``, ``k``, ``n``, the ``assumed_efficiency`` that the tile was searched
        with, its own ``efficiency`` and ``macs_per_cycle``, the times
        ``eq9_compute_ns`` and ``eq10_memory_ns`` of the paper's equations, and
        the model's ``time_ns`` and ``tops``.

    Raises
    ------
    MemscapeError
        If a parameter is unknown or there is no kernel to start from.

    Examples
    --------
    >>> import memscape as ms
    >>> trace = ms.npu.balance_trace(device="xdna", iteration="until-compute-bound", k_start=160)
    >>> trace["k_ct"].is_sorted(descending=True)
    True
    """
    import polars

    return polars.DataFrame(_memscape.npu_balance(parameters), infer_schema_length=None)


def chains(**parameters: Any) -> str:
    """Prints how DMA channels bring matrices into the layout that cores expect.

    Parameters
    ----------
    **parameters
        Those of the study ``npu.gemm``.

    Returns
    -------
    str
        One line per channel from DRAM to L1 (and back for C): sizes and
        strides in elements, innermost first, for the first tiles of the product.

    Raises
    ------
    MemscapeError
        If a parameter is unknown, the design does not fit, or a channel cannot
        be programmed so.

    Examples
    --------
    >>> import memscape as ms
    >>> print(ms.npu.chains(design="xdna-int8-int8").splitlines()[1])
    A       interface tile MM2S     0  (448, 1) (112, 4032) (9, 448)
    """
    return _memscape.npu_chains(parameters)


def multiply(a: Sequence[I8], b: Sequence[I8], *, shift: U32 = 0, **parameters: Any) -> list[int]:
    """Multiplies 8-bit integers on the functional array, through every DMA channel.

    Parameters
    ----------
    a
        ``m`` x ``k`` elements, row-major.
    b
        ``k`` x ``n`` elements; column-major unless ``b_layout="row-major"``.
    shift
        Bits that sums are shifted right before they saturate to the output's
        type.
    **parameters
        Those of the study ``npu.gemm``; ``precision`` must be one of integers.

    Returns
    -------
    list of int
        ``m`` x ``n`` elements, row-major.

    Raises
    ------
    MemscapeError
        If lengths do not match the shape, or the design does not fit.

    Examples
    --------
    >>> import memscape as ms
    >>> tile = dict(m_ct=16, k_ct=8, n_ct=16, k_mt=8, precision="int8-int32")
    >>> ms.npu.multiply([1, 2, 3, 4], [5, 6, 7, 8], m=2, k=2, n=2, b_layout="row-major", **tile)
    [19, 22, 43, 50]
    """
    check(multiply, locals())
    return _memscape.npu_multiply(parameters, a, b, shift)
