"""Searches, iterations and timelines of NPUs, below the studies ``npu.*``.

>>> import memscape as ms
>>> ms.npu.search_tiles(device="xdna", precision="int8-int8", top=1)["macs_per_cycle"][0] > 200
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memscape import _memscape

if TYPE_CHECKING:
    import polars

__all__ = ["balance_trace", "search_tiles", "timeline"]


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
    import polars

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
        ``n_ct``, ``k_mt``, the product ``m``, ``k``, ``n``, ``macs_per_cycle``
        and ``tops``.

    Raises
    ------
    MemscapeError
        If a parameter is unknown or there is no kernel to start from.

    Examples
    --------
    >>> import memscape as ms
    >>> trace = ms.npu.balance_trace(device="xdna", iteration="skip-equal", k_start=160)
    >>> trace["k_ct"].is_sorted(descending=True)
    True
    """
    import polars

    return polars.DataFrame(_memscape.npu_balance(parameters))


def timeline(**parameters: Any) -> polars.DataFrame:
    """Walks one product event by event.

    Parameters
    ----------
    **parameters
        Those of the study ``npu.gemm``.

    Returns
    -------
    polars.DataFrame
        One row per event: ``unit`` (``read``, ``core``, ``drain``, ``write`` or
        ``commands``), ``block`` of C, ``step`` of its reduction, ``start_ns``
        and ``end_ns``.

    Raises
    ------
    MemscapeError
        If a parameter is unknown or the design does not fit.

    Examples
    --------
    >>> import memscape as ms
    >>> events = ms.npu.timeline(m=448, k=896, n=448)
    >>> events.filter(events["unit"] == "core").select("block", "step").rows()
    [(0, 0), (0, 1)]
    """
    import polars

    return polars.DataFrame(_memscape.npu_timeline(parameters), infer_schema_length=None)
