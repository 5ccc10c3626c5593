"""The best of a design space, and what nothing in it is better than."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, overload

from memscape import _memscape
from memscape._cluster import Executor
from memscape._given import check, ended, listed
from memscape._progress import Progress
from memscape._remarks import incomplete, remark
from memscape._spec import Space, as_space
from memscape._store import Store, opened
from memscape._table import framed, plain

if TYPE_CHECKING:
    import polars


def search(
    study: str,
    space: Space | Mapping[str, Any],
    *,
    minimize: str | Iterable[str] = (),
    maximize: str | Iterable[str] = (),
    method: Literal["exhaustive", "random", "latin", "sobol", "descent", "nelder-mead", "swarm", "annealing", "nsga2"]
    | None = None,
    budget: int = 1000,
    seed: int | Sequence[int] = 0,
    base: Mapping[str, Any] | None = None,
    constraints: str | Iterable[str] = (),
    store: Store | str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
) -> polars.DataFrame:
    """Looks for the best points of a space without looking at all of it.

    An interrupt (Ctrl-C, or a notebook's stop button) ends the search and returns what was
    evaluated until then, with a warning.

    Parameters
    ----------
    study
        Its name, such as ``"pim.inference"``.
    space
        A :class:`Space`, or a dict of axes.
    minimize, maximize
        What less or more of is better: columns, or formulas over parameters and columns,
        one or several.
    method
        ``"descent"`` (coordinate descent with restarts) for one objective and ``"nsga2"``
        for several if not given; ``"exhaustive"``, ``"random"``, ``"latin"`` and ``"sobol"``
        take any; ``"annealing"`` takes one, and so do ``"nelder-mead"`` and ``"swarm"``,
        which move on axes with an order.
    budget
        Points evaluated at most. What constraints over parameters exclude costs nothing.
    seed
        Another seed makes another search; the same one the same table. Several make a search
        each, told apart by a column ``seed``.
    base
        Parameters that stay the same, as for :func:`run`.
    constraints
        What must hold besides.
    store
        A :class:`Store`, or its folder: points that it knows are not computed again, and new
        ones are kept.
    executor
        Who searches, into the store: as for :meth:`Store.fill`, a task for each seed.

    Returns
    -------
    polars.DataFrame
        One row per point, in the order in which they were evaluated: ``evaluation``, the
        axes, the answer, ``error``, ``feasible`` if there are constraints over the answer,
        a column for each objective that is no column's name, ``best_so_far`` for one
        objective, and ``on_front``: whether nothing in the table is better.

    Raises
    ------
    MemscapeError
        If an axis, a constraint or an objective is wrong.

    Examples
    --------
    >>> import memscape as ms
    >>> space = {"memory.banks_per_channel": [8, 16, 32], "split_k": [1, 2, 4]}
    >>> table = ms.search("pim.gemv", space, minimize="time_ns", budget=9, base={"gemv": "out"})
    >>> table["best_so_far"][-1] == table.filter("on_front")["time_ns"][0] == table["time_ns"].min()
    True
    """
    check(search, locals())
    question: dict[str, Any] = {"minimize": listed(minimize), "maximize": listed(maximize), "budget": budget}
    if method is not None:
        question["method"] = method
    parts = as_space(space).spec()
    parts["constraints"] += listed(constraints)
    # NumPy's integers are no `int`.
    several = not isinstance(seed, Integral)
    seeds = ended(seed) if isinstance(seed, Iterable) else [seed]
    if not seeds:
        raise _memscape.MemscapeError("`seed` is an empty list; give a seed for each search")
    if several and any("seed" in axes for axes in (parts["axes"], *parts["zip"])):
        raise _memscape.MemscapeError(
            "`seed` is an axis of the space, and several searches are told apart by a column of that name; "
            "search once for each seed"
        )
    whole = {"study": study, "base": dict(base or {}), **parts}
    specs = [{**whole, "search": {**question, "seed": it}} for it in seeds]
    kept = opened(store, executor)
    tables: list[polars.DataFrame] = []
    try:
        for table, complete in kept._search(specs, executor) if kept else _searched(specs):
            tables.append(table)
            if not complete:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        # Whatever there is, is not lost.
        if not tables:
            raise
        which = f" of search {len(tables)} of {len(seeds)}" if several else ""
        incomplete(f"{len(tables[-1])} of {budget} evaluations{which} are done")
    if not several:
        return tables[0]
    import polars

    numbered = zip(seeds, tables, strict=False)
    return polars.concat([it.select(polars.lit(at, polars.UInt64).alias("seed"), polars.all()) for at, it in numbered])


def _searched(specs: list[dict[str, Any]]) -> Iterator[tuple[polars.DataFrame, bool]]:
    for spec in specs:
        with Progress(spec["study"]) as progress:
            yield _memscape.search(spec, progress)


def evaluate(
    study: str,
    points: Mapping[str, Any] | polars.DataFrame | Iterable[Mapping[str, Any]],
    *,
    base: Mapping[str, Any] | None = None,
) -> polars.DataFrame:
    """Answers points that something else has chosen, such as an optimiser's batch.

    Parameters
    ----------
    study
        Its name, such as ``"pim.gemv"``.
    points
        A dict of lists by dotted path, a list of dicts, or a DataFrame (polars, or anything
        with ``__arrow_c_stream__``) with a column for each parameter that moves.
    base
        Parameters that stay the same, as for :func:`run`.

    Returns
    -------
    polars.DataFrame
        One row per point, in their order: the parameters, the answer, and ``error``.

    Raises
    ------
    MemscapeError
        If a parameter does not exist, or the points do not all give the same ones.

    Examples
    --------
    >>> import memscape as ms
    >>> batch = [{"pim.registers": 12, "split_k": 1}, {"pim.registers": 16, "split_k": 2}]
    >>> ms.evaluate("pim.gemv", batch)["pim.registers"].to_list()
    [12, 16]
    """
    # Before it is checked: pandas' frames are iterables of their columns' names.
    if hasattr(points, "__arrow_c_stream__") or hasattr(points, "collect"):
        points = framed(points)
    check(evaluate, locals())
    columns = _columns(points)
    if not columns:
        raise _memscape.MemscapeError("there is no point that gives a parameter; give one at least")
    spec = {"study": study, "base": dict(base or {}), "zip": [columns]}
    with Progress(study) as progress:
        table, complete = _memscape.sweep(spec, False, progress)
    if not complete:
        incomplete(f"the table has the first {len(table)} rows only")
    return table


def _columns(points: Any) -> dict[str, Any]:
    if isinstance(points, Mapping):
        return dict(points)
    if hasattr(points, "get_columns"):
        return {it.name: it.to_list() for it in points.get_columns()}
    rows = ended(points)
    names = list(rows[0]) if rows else []
    for index, row in enumerate(rows):
        if set(row) != set(names):
            raise _memscape.MemscapeError(
                f"point {index} gives {sorted(row)}, the first one {sorted(names)}; all must give the same parameters"
            )
    return {name: [row[name] for row in rows] for name in names}


@overload
def front(
    of: str,
    space: Space | Mapping[str, Any],
    *,
    minimize: str | Iterable[str] = (),
    maximize: str | Iterable[str] = (),
    base: Mapping[str, Any] | None = None,
    constraints: str | Iterable[str] = (),
    store: Store | str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
) -> polars.DataFrame: ...


@overload
def front(
    of: Any,
    space: None = None,
    *,
    minimize: str | Iterable[str] = (),
    maximize: str | Iterable[str] = (),
    base: None = None,
    constraints: str | Iterable[str] = (),
) -> polars.DataFrame: ...


def front(
    of: Any,
    space: Space | Mapping[str, Any] | None = None,
    *,
    minimize: str | Iterable[str] = (),
    maximize: str | Iterable[str] = (),
    base: Mapping[str, Any] | None = None,
    constraints: str | Iterable[str] = (),
    store: Store | str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
) -> polars.DataFrame:
    """Returns what nothing is better than in every objective.

    Parameters
    ----------
    of
        A table (a polars.DataFrame, or anything with ``__arrow_c_stream__``), or the name
        of a study: then every point of ``space`` is looked at and none but the front is
        kept, so that it may be larger than memory.
    space
        A :class:`Space` without ranges of real numbers, or a dict of axes.
    minimize, maximize
        What less or more of is better: columns, or formulas over them; of a study, over
        parameters too.
    base
        Parameters of a study that stay the same, as for :func:`run`.
    constraints
        What must hold besides.
    store
        For a study: a :class:`Store`, or its folder. Every point is kept, so that what other
        objectives want is there; what is there is not computed again.
    executor
        Who answers the points, into the store: as for :meth:`Store.fill`.

    Returns
    -------
    polars.DataFrame
        Of a table, its rows that no other row dominates; rows without a value of an
        objective are left out, and so are those of which a column ``feasible`` (of a sweep or a
        search with constraints) is false. Of a study, a row for each point on the front, and
        ``designs``: how many points reach the same objectives, of which the first is shown.
        Of values that an axis lists and with which no point has an answer, a warning says why.

    Raises
    ------
    MemscapeError
        If a column is missing or holds no numbers, if the space has no end, or if
        constraints exclude all of it.

    Examples
    --------
    >>> import memscape as ms
    >>> axes = {"memory.banks_per_channel": [4, 8, 16, 32], "pim.registers": [12, 16, 24]}
    >>> goals = {"minimize": ["time_ns", "pim.registers * memory.banks_per_channel"]}
    >>> best = ms.front("pim.gemv", axes, **goals)
    >>> table = ms.sweep("pim.gemv", axes)
    >>> len(ms.front(table, **goals)) == best["designs"].sum()
    True
    """
    check(front, locals())
    if not isinstance(of, str):
        if any(it is not None for it in (space, base, store, executor)):
            raise _memscape.MemscapeError(
                "a table has no `space`, `base`, `store` and `executor`; name a study, or leave them out"
            )
        return _front_of_table(of, listed(minimize), listed(maximize), listed(constraints))
    if space is None:
        # What is no study is told first.
        _memscape.describe(of)
        raise _memscape.MemscapeError(
            f"the front of `{of}` needs a space; give one, or a table in place of the study, such as "
            "`polars.read_parquet(path)`"
        )
    question = {"minimize": listed(minimize), "maximize": listed(maximize)}
    parts = as_space(space).spec()
    parts["constraints"] += listed(constraints)
    whole = {"study": of, "base": dict(base or {}), **parts}
    spec = {**whole, "search": question}
    kept = opened(store, executor)
    if kept is None:
        with Progress(of) as progress:
            table, unanswered, complete = _memscape.front_of(spec, progress)
    else:
        table, unanswered, complete = kept._front(whole, spec, executor)
    for text in unanswered:
        remark(text)
    if not complete:
        incomplete("the front is that of the points looked at until then")
    return table


def _front_of_table(table: Any, minimize: list[str], maximize: list[str], constraints: list[str]) -> polars.DataFrame:
    frame = framed(table)
    numbers = plain(frame)
    rows = _memscape.front(numbers, minimize, maximize, constraints)
    # Whoever says what must hold has chosen the rows.
    if not constraints or not len(rows):
        for text in _of_unlike_rows(numbers, [*minimize, *maximize]):
            remark(text)
    return frame[rows]


def _of_unlike_rows(table: polars.DataFrame, goals: list[str]) -> list[str]:
    """Says what a front over rows of several studies passes over."""
    remarks = []
    answered = table.filter(table["error"].is_null()) if "error" in table.columns else table
    columns = [it for it in goals if it in table.columns]
    for column in columns:
        lacking = answered[column].null_count()
        if lacking:
            remarks.append(f"{lacking} of {len(table)} rows have no `{column}` and are not on the front")
    boundary = "energy_boundary"
    if boundary in table.columns and any(it.endswith("_j") for it in columns):
        kinds = answered[boundary].drop_nulls().unique().sort().to_list()
        if len(kinds) > 1:
            remarks.append(f"energies of the rows are of different parts: `{boundary}` is {', '.join(kinds)}")
    return remarks


def hypervolume(
    table: Any,
    *,
    minimize: str | Iterable[str] = (),
    maximize: str | Iterable[str] = (),
    reference: Mapping[str, float] | None = None,
    constraints: str | Iterable[str] = (),
) -> float:
    """Returns the volume between a table's rows and a reference they are better than.

    Parameters
    ----------
    table
        A polars.DataFrame, or anything with ``__arrow_c_stream__``.
    minimize, maximize
        As for :func:`front`.
    reference
        A value of each objective; the worst in the table if not given. Rows that are not
        better than it in every objective add nothing, nor do those that :func:`front` leaves out.
    constraints
        What must hold besides.

    Returns
    -------
    float
        In the product of the objectives' units.

    Raises
    ------
    MemscapeError
        As :func:`front`, or if the reference lacks an objective.

    Examples
    --------
    >>> import memscape as ms
    >>> import polars as pl
    >>> table = pl.DataFrame({"ns": [1.0, 2.0, 3.0], "usd": [3.0, 2.0, 1.0]})
    >>> ms.hypervolume(table, minimize=["ns", "usd"], reference={"ns": 4, "usd": 4})
    6.0
    """
    check(hypervolume, locals())
    less, more = listed(minimize), listed(maximize)
    limits: list[float] | None = None
    if reference is not None:
        differ = set(reference) ^ {*less, *more}
        if differ:
            raise _memscape.MemscapeError(
                "`reference` must have a value for each objective and no other; "
                f"{sorted(map(str, differ))} is not in both"
            )
        limits = [float(reference[it]) for it in [*less, *more]]
    return _memscape.hypervolume(plain(framed(table)), less, more, limits, listed(constraints))
