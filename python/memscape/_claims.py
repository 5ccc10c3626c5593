"""What the papers say against what the models say."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memscape import _memscape
from memscape._given import check
from memscape._progress import Progress

if TYPE_CHECKING:
    import polars


def claims(source: str | os.PathLike[str] | None = None) -> polars.DataFrame:
    """Holds published numbers against the models' own.

    Parameters
    ----------
    source
        A paper such as ``"pimnast"``, or the path of a claims file of yours;
        all papers if not given.

    Returns
    -------
    polars.DataFrame
        One row per claim: ``id``, ``published``, ``printed`` (its digits),
        ``computed``, ``relative_error``, ``exact`` (whether the printed digits
        agree), ``bound`` (``upper`` or ``lower`` if the number is only a limit),
        ``role``, ``sort`` (``fact`` or ``performance``), ``follows_from`` (claims
        that give it by arithmetic, so that bars do not count it again), ``blind``
        (what version 0.1 said before the number was known) and ``blind_error``,
        ``unit`` and ``note``.

    Examples
    --------
    >>> import memscape as ms
    >>> ms.claims("pimnast").columns[:3]
    ['id', 'published', 'printed']
    """
    check(claims, locals())
    import polars

    schema: dict[str, polars.datatypes.DataTypeClass | polars.DataType] = {
        "id": polars.String,
        "published": polars.Float64,
        "printed": polars.String,
        "computed": polars.Float64,
        "relative_error": polars.Float64,
        "exact": polars.Boolean,
        "bound": polars.String,
        "role": polars.String,
        "sort": polars.String,
        "follows_from": polars.List(polars.String),
        "blind": polars.Float64,
        "blind_error": polars.Float64,
        "unit": polars.String,
        "note": polars.String,
    }
    with Progress("claims") as progress:
        rows = _memscape.claims(None if source is None else os.fspath(source), progress)
    return polars.DataFrame(rows, schema=schema)


def calibrate(paper: str) -> dict[str, Any]:
    """Refits a paper's free parameters from its ``calibrate`` claims.

    Parameters
    ----------
    paper
        Its name, such as ``"pimnast"``.

    Returns
    -------
    dict
        ``parameters``, a list of dicts with the ``fitted`` value beside the
        ``stored`` one; ``rms_error``, and the ``verdicts`` on the claims.

    Raises
    ------
    MemscapeError
        If there is no such paper, or it has nothing to fit.
    """
    check(calibrate, locals())
    with Progress(f"calibrate {paper}") as progress:
        return _memscape.calibrate(paper, progress)
