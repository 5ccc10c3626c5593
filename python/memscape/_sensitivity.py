"""Which parameters matter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from memscape import _memscape
from memscape._given import check, listed
from memscape._progress import Progress
from memscape._remarks import incomplete
from memscape._spec import Space, as_space

if TYPE_CHECKING:
    import polars


def sensitivity(
    study: str,
    space: Space | Mapping[str, Any],
    *,
    of: str | Iterable[str],
    method: Literal["tornado", "morris", "sobol"] = "sobol",
    samples: int = 1024,
    seed: int = 0,
    base: Mapping[str, Any] | None = None,
) -> polars.DataFrame:
    """Tells how much each axis of a space matters to an answer.

    Parameters
    ----------
    study
        Its name, such as ``"pim.inference"``.
    space
        A :class:`Space` without constraints and conditions, or a dict of axes.
    of
        What they matter to: a column, or a formula over parameters and columns, one or
        several.
    method
        ``"sobol"``: shares of the answer's variance, of each axis alone (first order) and with
        all others (total), with intervals that hold them 19 times of 20 or so from 256 samples on; ``"morris"``:
        elementary effects along random paths; ``"tornado"``: one axis at a time from the base.
    samples
        Base points of ``"sobol"`` (each costs as many answers as there are axes, and two
        more), paths of ``"morris"`` (one more).
    seed
        Another seed draws others.
    base
        Parameters that stay the same, as for :func:`run`.

    Returns
    -------
    polars.DataFrame
        One row per column asked of and axis: ``of``, ``parameter``, and ``first_order``,
        ``total`` with their ``_low`` and ``_high``; or ``mean_effect``,
        ``mean_absolute_effect`` and ``deviation``; or ``base``, ``at_low``, ``at_high``,
        ``least``, ``greatest`` and ``swing``; last how many samples had all of their answers,
        or how many ``answers`` along an axis a tornado has and how many values are ``refused``.

    Raises
    ------
    MemscapeError
        If the axes depend on each other, an axis or a column is wrong, or more than half of
        the samples have no answer.

    Examples
    --------
    >>> import memscape as ms
    >>> axes = {"memory.trcd_ns": {"from": 10, "to": 30}, "memory.banks_per_channel": [8, 16, 32]}
    >>> table = ms.sensitivity("pim.gemv", axes, of="time_ns", samples=64)
    >>> table.sort("total", descending=True)["parameter"][0]
    'memory.banks_per_channel'
    """
    check(sensitivity, locals())
    question = {
        "of": listed(of),
        "method": method,
        "samples": samples,
        "seed": seed,
    }
    spec = {"study": study, "base": dict(base or {}), **as_space(space).spec(), "sensitivity": question}
    with Progress(study) as progress:
        table, complete = _memscape.sensitivity(spec, progress)
    if not complete:
        incomplete("the shares are those of the samples answered until then")
    return table
