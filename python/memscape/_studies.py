"""Questions to the models: one at a time, or many."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memscape import _memscape
from memscape._progress import Progress

if TYPE_CHECKING:
    import polars

    from memscape._memscape import Description


def studies() -> dict[str, str]:
    """Lists the studies: the questions that can be asked.

    Returns
    -------
    dict of str to str
        What each asks, by name.

    Examples
    --------
    >>> import memscape as ms
    >>> "pim.gemv" in ms.studies()
    True
    """
    return dict(_memscape.studies())


def describe(study: str) -> Description:
    """Explains a study's parameters and the columns of its answer.

    Parameters
    ----------
    study
        Its name, such as ``"pim.gemv"``.

    Returns
    -------
    Description
        Prints as a table, in notebooks too; ``.parameters`` and ``.columns``
        are lists of dicts.

    Raises
    ------
    MemscapeError
        If there is no such study.

    Examples
    --------
    >>> import memscape as ms
    >>> [it["unit"] for it in ms.describe("pim.gemv").parameters if it["path"] == "memory.trcd_ns"]
    ['ns']
    >>> ms.describe("pim.gmev")
    Traceback (most recent call last):
    memscape.MemscapeError: there is no study `pim.gmev`; did you mean `pim.gemv`?
    """
    return _memscape.describe(study)


def run(study: str, parameters: Mapping[str, Any] | None = None, /, **overrides: Any) -> dict[str, Any]:
    """Answers one question.

    Parameters
    ----------
    study
        Its name, such as ``"pim.gemv"``.
    parameters
        Parameters by dotted path, such as ``{"memory.banks_per_channel": 8}``,
        or nested as in a study file.
    **overrides
        Parameters whose name has no dot; these win over ``parameters``. What
        is in neither keeps the default that :func:`describe` shows.

    Returns
    -------
    dict
        The answer by column; the columns' names end in their units.

    Raises
    ------
    MemscapeError
        If a parameter does not exist or cannot have this value, or if the
        parameters contradict each other.

    Examples
    --------
    >>> import memscape as ms
    >>> few = ms.run("pim.gemv", {"memory.banks_per_channel": 8}, model="opt-6.7b")
    >>> many = ms.run("pim.gemv", {"memory.banks_per_channel": 32}, model="opt-6.7b")
    >>> few["time_ns"] > many["time_ns"]
    True
    """
    return _memscape.run(study, {**(parameters or {}), **overrides})


def sweep(
    study: str,
    axes: Mapping[str, Any] | None = None,
    base: Mapping[str, Any] | None = None,
    *,
    zip: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Iterable[Any]]] = (),
    sample: Mapping[str, Any] | None = None,
) -> polars.DataFrame:
    """Answers a question at every point of a design space.

    A bar shows the progress of what takes longer than a second. An interrupt
    (Ctrl-C, or a notebook's stop button) ends the sweep and returns the rows
    done so far, with a warning.

    Parameters
    ----------
    study
        Its name, such as ``"pim.gemv"``.
    axes
        The values of each parameter, by dotted path: a list, or a dict such
        as ``{"from": 1, "to": 64, "count": 7, "log": True}``. All combinations
        are asked, the last axis changing fastest.
    base
        Parameters that stay the same, as for :func:`run`.
    zip
        Axes that move together: one dict as ``axes`` with lists of the same
        length, or several such dicts.
    sample
        Points drawn from ranges, as ``[sample]`` of a study file: ``method``
        (``"random"``, ``"latin"`` or ``"sobol"``), ``count``, ``seed`` and
        ``ranges``.

    Returns
    -------
    polars.DataFrame
        One row per point: the axes, the answer's columns, and ``error``, which
        says why a row has no answer.

    Raises
    ------
    MemscapeError
        If a parameter does not exist, or an axis is wrong as a whole.

    Examples
    --------
    >>> import memscape as ms
    >>> banks = {"memory.banks_per_channel": [8, 16, 32]}
    >>> table = ms.sweep("pim.gemv", banks, base={"model": "opt-6.7b"})
    >>> table["memory.banks_per_channel"].to_list()
    [8, 16, 32]
    >>> table["error"].null_count()
    3
    """
    groups = [zip] if isinstance(zip, Mapping) else list(zip)
    spec: dict[str, Any] = {"study": study, "base": base or {}, "axes": axes or {}, "zip": groups}
    if sample is not None:
        spec["sample"] = sample
    with Progress(study) as progress:
        table, complete = _memscape.sweep(spec, progress)
    if not complete:
        warnings.warn(f"interrupted: the table has the first {len(table)} rows only", stacklevel=2)
    return table
