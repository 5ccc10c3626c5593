"""A study's parameters from measurements of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import TYPE_CHECKING, Any

from memscape import _memscape
from memscape._given import check, ended
from memscape._progress import Progress
from memscape._table import framed

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit found.

    Attributes
    ----------
    values
        The value of each free parameter, by dotted path: a base for
        :func:`memscape.run` and :func:`memscape.sweep`.
    standard_errors
        How well each is known; ``None`` where the measurements do not tell.
    identified
        Whether the measurements fix each; otherwise other values, alone or together with others, would do as well.
    limits
        The end of its range at which each stands, ``"lowest"`` or ``"highest"``: it would perhaps go on. Else ``None``.
    converged
        Whether nothing moved any more; otherwise the values are the best so far.
    rms
        Root mean square of the errors: relative, or in standard deviations if these were given.
    points
        A row for each measured number: ``column``, ``measured``, ``model``, and
        ``error``: relative, or in standard deviations if these were given.
    """

    values: dict[str, float]
    standard_errors: dict[str, float | None]
    identified: dict[str, bool]
    limits: dict[str, str | None]
    converged: bool
    rms: float
    points: polars.DataFrame

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fit):
            return NotImplemented
        mine, theirs = (
            (it.values, it.standard_errors, it.identified, it.limits, it.converged, it.rms) for it in (self, other)
        )
        return mine == theirs and self.points.equals(other.points)

    def __repr__(self) -> str:
        """One line for each parameter."""
        ended = "" if self.converged else ", not converged"
        lines = [f"Fit of {len(self.points)} measurements, rms error {self.rms:.3g}{ended}"]
        for path, value in self.values.items():
            error, limit = self.standard_errors[path], self.limits[path]
            told = "" if error is None else f" +- {error:.2g}"
            told += "" if self.identified[path] else " (the measurements do not fix it)"
            told += "" if limit is None else f" (the {limit} of its range)"
            lines.append(f"  {path} = {value:.6g}{told}")
        return "\n".join(lines)


def fit(
    study: str,
    measured: Any,
    free: Mapping[str, Any],
    base: Mapping[str, Any] | None = None,
    *,
    sigma: Mapping[str, float] | None = None,
) -> Fit:
    """Finds parameters with which a study's answers are nearest to measurements.

    Parameters
    ----------
    study
        Its name, such as ``"cxl.inference"``.
    measured
        A row for each point that was measured: a table, columns as a dict of lists, or rows as
        dicts. Columns that the study answers, such as ``"token_ns"``, are measurements; all others
        are parameters by dotted path. Where the study has both of one name, ``"answer.density"`` is the measurement
        and ``"density"``, beside it, the parameter, as in a sweep's table.
    free
        The parameters to be found: ``(min, max)`` by dotted path, or a dict with
        ``min`` and ``max`` (or ``from`` and ``to``, as an axis has them) and, if wanted, ``start``, ``log``
        (equal ratios are equally likely) and ``integer``: ``{"from": 1, "to": 16, "integer": True}``.
    base
        Parameters of every point, as for :func:`memscape.run`.
    sigma
        The standard deviation of each measured column, from which standard errors follow (or from the
        errors, if these are larger); without, errors are relative to the numbers.

    Returns
    -------
    Fit
        Values, how well they are known, and how far the model is from each number.

    Raises
    ------
    MemscapeError
        If a parameter or a column does not exist, nothing is measured, or the study
        has no answer at a point.

    Examples
    --------
    >>> import memscape as ms
    >>> lanes = {"link.lanes": [1, 2, 4, 8]}
    >>> seen = ms.sweep("cxl.inference", lanes, {"link.flit_share": 0.8})
    >>> found = ms.fit("cxl.inference", seen.select("link.lanes", "token_ns"), {"link.flit_share": (0.5, 1.0)})
    >>> round(found.values["link.flit_share"], 4)
    0.8
    """
    check(fit, locals())
    import polars

    is_table = isinstance(measured, (polars.DataFrame, Mapping)) or hasattr(measured, "__arrow_c_stream__")
    if not is_table and not isinstance(measured, Iterable):
        raise _memscape.MemscapeError(_NO_TABLE.format(measured))
    rows = (
        framed(measured).to_dicts() if is_table or isinstance(measured, str) else [_row(it) for it in ended(measured)]
    )
    described = _memscape.describe(study)
    answered = {column["name"] for column in described.columns}
    shared = answered & {parameter["path"] for parameter in described.parameters}
    names = dict.fromkeys(name for row in rows for name in row)
    for name in names:
        if name in shared and f"answer.{name}" not in names:
            raise _memscape.MemscapeError(_AMBIGUOUS.format(name, study))
    # The study's column that each name means.
    columns = {name: name.removeprefix("answer.") for name in names if name not in shared}
    columns = {name: column for name, column in columns.items() if column in answered}
    sigmas = {name.removeprefix("answer."): it for name, it in (sigma or {}).items()}
    for column in sigmas:
        if column not in answered:
            raise _memscape.MemscapeError(f"`sigma` of {_unknown(column, answered)}: `{study}` does not answer it")
        if not any(row[name] is not None for row in rows for name in row if columns.get(name) == column):
            raise _memscape.MemscapeError(f"`sigma` of `{column}`: no row has a measurement of it")
    points: list[tuple[dict[str, Any], str, float, float | None]] = []
    for row in rows:
        point = {path: value for path, value in row.items() if path not in columns}
        numbers = {columns[name]: value for name, value in row.items() if name in columns and value is not None}
        points += [(point, column, value, sigmas.get(column)) for column, value in numbers.items()]
    for _, column, value, _ in points:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise _memscape.MemscapeError(f"`{column}` = {value!r}: expected a number")
    if not points:
        raise _memscape.MemscapeError(_unmeasured(study, names, answered))
    with Progress(f"fit {study}") as progress:
        found = _memscape.fit(study, dict(base or {}), points, [_free(*it) for it in free.items()], progress)
    parameters = found["parameters"]
    schema = {name: polars.String if name == "column" else polars.Float64 for name in _POINT}
    return Fit(
        values={it["key"]: it["value"] for it in parameters},
        standard_errors={it["key"]: it["standard_error"] for it in parameters},
        identified={it["key"]: it["identified"] for it in parameters},
        limits={it["key"]: it["limit"] for it in parameters},
        converged=found["converged"],
        rms=found["rms"],
        points=polars.DataFrame(found["points"], schema=schema),
    )


_NO_TABLE = "`measured` = {!r}: expected a table, columns as a dict of lists, or rows as dicts"
_AMBIGUOUS = (
    "`{0}` is a parameter of `{1}` and a column of its answer: call a measurement `answer.{0}`; a parameter `{0}` has "
    "a column `answer.{0}` beside it, which may be empty"
)
_POINT = ("column", "measured", "model", "error")
_RANGE = {"min", "max", "start", "log", "integer"}


def _unmeasured(study: str, names: Iterable[str], answered: set[str]) -> str:
    """Says why there is nothing to fit to."""
    empty = [f"`{it}`" for it in names if it in answered]
    if empty:
        has = "has" if len(empty) == 1 else "have"
        return f"there is nothing to fit to: {', '.join(empty)} {has} no value in any row"
    told = [_unknown(it, answered) for it in names]
    if not told:
        return "there is nothing to fit to: no row was measured"
    return (
        f"there is nothing to fit to: `{study}` answers none of the columns {', '.join(told)}; "
        f'`memscape.describe("{study}")` lists what it does'
    )


def _unknown(name: str, answered: set[str]) -> str:
    """Names a column that is none, and the nearest that is one."""
    near = get_close_matches(name, answered, 1)
    return f"`{name}`" + (f" (did you mean `{near[0]}`?)" if near else "")


def _row(given: Any) -> dict[str, Any]:
    """One of the rows that were measured."""
    if not isinstance(given, Mapping):
        raise _memscape.MemscapeError(_NO_TABLE.format(given))
    return dict(given)


def _free(path: str, given: Any) -> tuple[str, float, float, float | None, bool, bool]:
    """Reads one range as the engine takes it."""
    if isinstance(given, Mapping):
        it = {{"from": "min", "to": "max"}.get(key, key): value for key, value in given.items()}
        if len(it) < len(given):
            raise _memscape.MemscapeError(f"free parameter `{path}` = {given!r}: `from` is `min`, and `to` is `max`")
    elif isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2:
        it = dict(zip(("min", "max"), given, strict=True))
    else:
        it = {}
    if not {"min", "max"} <= set(it) <= _RANGE:
        raise _memscape.MemscapeError(
            f"free parameter `{path}` = {given!r}: expected (min, max), or a dict of min, max and, if wanted, "
            "start, log and integer"
        )
    for key in ("integer", "log"):
        if not isinstance(it.get(key, False), bool):
            raise _memscape.MemscapeError(f"`{key}` of free parameter `{path}` = {it[key]!r}: expected true or false")
    numbers = {key: it[key] for key in ("min", "max", "start") if key != "start" or it.get(key) is not None}
    for key, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise _memscape.MemscapeError(f"`{key}` of free parameter `{path}` = {value!r}: expected a number")
    start = None if it.get("start") is None else float(it["start"])
    return path, float(it["min"]), float(it["max"]), start, it.get("integer", False), it.get("log", False)
