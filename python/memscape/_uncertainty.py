"""How far answers may be off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memscape import _memscape
from memscape._given import check, listed
from memscape._progress import Progress
from memscape._remarks import incomplete
from memscape._spec import Space, as_space

if TYPE_CHECKING:
    import polars


def uncertainty(
    study: str,
    space: Space | Mapping[str, Any] | None = None,
    *,
    of: str | Iterable[str] = (),
    draws: int = 200,
    seed: int = 0,
    base: Mapping[str, Any] | None = None,
) -> polars.DataFrame:
    """Tells what answers may be, given how well the numbers behind them are known.

    Every parameter whose source is a prior or a reading is drawn from its interval, and every
    calibrated one from the covariance of its fit: all together, and each kind by itself.
    What is given by itself, or moved by an axis, is known.

    Parameters
    ----------
    study
        Its name, such as ``"pim.inference"``.
    space
        A :class:`Space` without constraints and conditions, or a dict of axes; one point
        if not given.
    of
        Columns or formulas, one or several; the study's aim if not given, or of a single
        point all numbers of the answer but the ends of their intervals (``energy_low_j`` is
        one of ``energy_j``, and what it may be counts the same doubt twice).
    draws
        How often everything is drawn, at least 20.
    seed
        Another seed draws others.
    base
        Parameters that stay the same, as for :func:`run`.

    Returns
    -------
    polars.DataFrame
        One row per point and column asked of: the axes, ``of``, ``value`` (as :func:`run`
        says it), ``median``, ``low`` and ``high`` (a 20th of the draws is below, a 20th
        above, widened to hold ``value`` where a number stands at the end of its interval),
        ``from_calibration``, ``from_priors`` and ``from_readings`` (half of the way
        from low to high if nothing else were in doubt), ``draws`` that had an answer, and
        ``error``: why the point has none, else null.

    Raises
    ------
    MemscapeError
        If the space has constraints, an axis or a column is wrong, or there are too few
        draws.

    Examples
    --------
    >>> import memscape as ms
    >>> row = ms.uncertainty("pim.gemv", of="time_ns", base={"model": "opt-6.7b"}).row(0, named=True)
    >>> row["low"] < row["median"] < row["high"]
    True
    """
    check(uncertainty, locals())
    spec = {"study": study, "base": dict(base or {}), **as_space(space or {}).spec()}
    return of_spec(spec, listed(of), draws, seed)


def of_spec(spec: dict[str, Any], of: list[str], draws: int, seed: int) -> polars.DataFrame:
    """Asks what a study file's keys ask."""
    with Progress(spec["study"]) as progress:
        table, complete = _memscape.uncertainty(spec, of, draws, seed, progress)
    if not complete:
        if table.is_empty():
            raise KeyboardInterrupt
        incomplete(f"the table has the first {len(table)} rows only")
    return table
