"""What the models say of machines that anyone can measure, before it is measured."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memscape import _memscape
from memscape._given import check, read_plain

if TYPE_CHECKING:
    import polars


def predictions(measured: str | os.PathLike[str] | None = None) -> polars.DataFrame:
    """Returns what was said of machines before it was measured, or scores measurements.

    Parameters
    ----------
    measured
        A TOML file of measurements: ``[[measured]]`` with ``id``, ``value`` and ``source``.

    Returns
    -------
    polars.DataFrame
        Without measurements a row per prediction: ``id``, ``what``, ``unit``, ``machine``,
        ``value``, ``low``, ``high`` (nine times of ten it is between these), ``version`` and
        ``date``. With them a row per measurement: ``id``, ``measured``, ``value``, ``low``,
        ``high``, ``error`` (said over measured, less 1) and ``inside``.

    Raises
    ------
    MemscapeError
        If the file is not of this form, or measures what is not predicted.

    Examples
    --------
    >>> import memscape as ms
    >>> said = ms.predictions()
    >>> bool((said["low"] <= said["value"]).all() and (said["value"] <= said["high"]).all())
    True
    """
    check(predictions, locals())
    import polars

    text, number = polars.String, polars.Float64
    said = {"value": number, "low": number, "high": number}
    if measured is None:
        schema = {"id": text, "what": text, "unit": text, "machine": text, **said, "version": text, "date": text}
        return polars.DataFrame(_memscape.predictions(), schema=schema)
    schema = {"id": text, "measured": number, **said, "error": number, "inside": polars.Boolean}
    return polars.DataFrame(_memscape.score(_text(measured)), schema=schema)


def _text(path: str | os.PathLike[str]) -> str:
    try:
        return read_plain(path, 1 << 24).decode()
    except UnicodeDecodeError as error:
        raise _memscape.MemscapeError(f"{path} is no text in UTF-8: {error}") from None
