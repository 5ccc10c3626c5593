"""Questions to the models: one at a time, or many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal, overload

from memscape import _memscape, _uncertainty
from memscape._cluster import Executor
from memscape._given import check
from memscape._progress import Progress
from memscape._remarks import incomplete, remark
from memscape._spec import Space, sweep_spec
from memscape._store import Store, opened

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


def describe(name: str) -> Description | Preset:
    """Explains a study, or a built-in description or a file of one.

    Parameters
    ----------
    name
        A study, such as ``"pim.gemv"``, a preset, such as ``"lpddr5-6400"``, or
        the path of a description of your own.

    Returns
    -------
    Description or Preset
        Prints as a table, in notebooks too. Of a study, ``.parameters`` and
        ``.columns`` are lists of dicts; of a preset, ``.parameters`` and ``.facts``
        (what else is published of it) are nested dicts, and ``.sources`` says where
        each value comes from.

    Raises
    ------
    MemscapeError
        If there is neither.

    Examples
    --------
    >>> import memscape as ms
    >>> [it["unit"] for it in ms.describe("pim.gemv").parameters if it["path"] == "memory.trcd_ns"]
    ['ns']
    >>> ms.describe("lpddr5-6400").parameters["channels"]
    1
    >>> ms.describe("pim.gmev")
    Traceback (most recent call last):
    memscape.MemscapeError: there is no study or preset `pim.gmev`; did you mean `pim.gemv`?
    """
    check(describe, locals())
    if name in studies():
        return _memscape.describe(name)
    return Preset(**_memscape.preset(name))


def edition(study: str) -> dict[str, Any]:
    """Tells which versions decide a study's answers beside its parameters.

    Answers of other versions are never taken from a :class:`Store`.

    Parameters
    ----------
    study
        Its name, such as ``"pim.gemv"``.

    Returns
    -------
    dict
        ``memscape``, the program's version; ``model``, which goes up when the study answers
        otherwise; ``data``, the content of the built-in descriptions that it takes;
        ``commit``, if the program knows the one that it was built from; and ``study``.

    Raises
    ------
    MemscapeError
        If there is no such study.

    Examples
    --------
    >>> import memscape as ms
    >>> ms.edition("pim.gemv")["memscape"] == ms.__version__
    True
    """
    check(edition, locals())
    return _memscape.edition(study)


@dataclass(frozen=True)
class Preset:
    """A named description: a model, a memory, a machine.

    Comes from :func:`describe`.
    """

    name: str
    summary: str
    parameters: dict[str, Any]
    sources: dict[str, str]
    facts: dict[str, Any]

    def _rows(self) -> list[tuple[str, str, str]]:
        def leaves(prefix: str, table: dict[str, Any]) -> list[tuple[str, Any]]:
            found: list[tuple[str, Any]] = []
            for key, value in table.items():
                path = f"{prefix}{key}"
                found += leaves(f"{path}.", value) if isinstance(value, dict) else [(path, value)]
            return found

        all_leaves = leaves("", {**self.parameters, "facts": self.facts})
        given = [(path, value) for path, value in all_leaves if value is not None]
        return [(path, str(value), self.sources.get(path, "")) for path, value in given]

    def __repr__(self) -> str:
        rows = self._rows()
        path = max((len(row[0]) for row in rows), default=0)
        value = max((len(row[1]) for row in rows), default=0)
        lines = [f"{row[0]:<{path}}  {row[1]:<{value}}  {row[2]}".rstrip() for row in rows]
        return "\n".join([f"{self.name}: {self.summary}", "", *lines])

    def _repr_html_(self) -> str:
        cells = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows())
        head = f"<p><b>{escape(self.name)}</b>: {escape(self.summary)}</p>"
        return f"{head}<table><tr><th>parameter</th><th>value</th><th>source</th></tr>{cells}</table>"


def presets(kind: str | None = None) -> polars.DataFrame:
    """Lists what can be named: models, memories, machines and their parts.

    Parameters
    ----------
    kind
        Only those of one kind, such as ``"memory"``.

    Returns
    -------
    polars.DataFrame
        Columns ``kind``, ``name`` and ``summary``.

    Raises
    ------
    MemscapeError
        If there is no such kind.

    Examples
    --------
    >>> import memscape as ms
    >>> "lpddr5-6400" in ms.presets("memory")["name"]
    True
    """
    check(presets, locals())
    import polars

    rows = _memscape.presets()
    if kind is not None:
        _memscape.schema(kind)  # says which kinds there are
        rows = [row for row in rows if row[0] == kind]
    return polars.DataFrame(rows, schema=["kind", "name", "summary"], orient="row")


def difference(a: str, b: str) -> list[dict[str, Any]]:
    """Lists the parameters in which two descriptions differ.

    Parameters
    ----------
    a, b
        Names of presets, or paths.

    Returns
    -------
    list of dict
        ``path``, and what ``a`` and ``b`` say; None where one says nothing.

    Raises
    ------
    MemscapeError
        If there is no such description.

    Examples
    --------
    >>> import memscape as ms
    >>> [it for it in ms.difference("llama-3.2-1b", "llama-3.2-3b") if it["path"] == "layers"]
    [{'path': 'layers', 'a': 16, 'b': 28}]
    """
    check(difference, locals())
    return _memscape.difference(a, b)


def schema(kind: str) -> dict[str, Any]:
    """Returns the form of a kind of description as JSON Schema, for editors.

    Parameters
    ----------
    kind
        Such as ``"memory"`` or ``"model"``.

    Raises
    ------
    MemscapeError
        If there is no such kind.

    Examples
    --------
    >>> import memscape as ms
    >>> ms.schema("memory")["required"]
    ['parameters']
    """
    check(schema, locals())
    return _memscape.schema(kind)


@overload
def run(
    study: str, parameters: Mapping[str, Any] | None = None, /, *, uncertainty: None = None, **overrides: Any
) -> dict[str, Any]: ...
@overload
def run(
    study: str, parameters: Mapping[str, Any] | None = None, /, *, uncertainty: int, **overrides: Any
) -> polars.DataFrame: ...
def run(
    study: str,
    parameters: Mapping[str, Any] | None = None,
    /,
    *,
    uncertainty: int | None = None,
    **overrides: Any,
) -> dict[str, Any] | polars.DataFrame:
    """Answers one question.

    Parameters
    ----------
    study
        Its name, such as ``"pim.gemv"``.
    parameters
        Parameters by dotted path, such as ``{"memory.banks_per_channel": 8}``,
        or nested as in a study file. What takes a description (``model``,
        ``memory``, ``hardware``, ...) takes a name, the path of a file, or a dict.
    uncertainty
        Draws everything that is not known for sure so often, and returns what
        :func:`memscape.uncertainty` does.
    **overrides
        Parameters whose name has no dot; these win over ``parameters``, and a
        name merges with a dict of the same parameter. What is in neither keeps
        the default that :func:`describe` shows.

    Returns
    -------
    dict
        The answer by column; the columns' names end in their units. With
        ``uncertainty``, a DataFrame with a row per column.

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
    check(run, locals())
    if uncertainty is not None:
        return _uncertainty.uncertainty(study, draws=uncertainty, base={**(parameters or {}), **overrides})
    return _memscape.run(study, [dict(parameters or {}), overrides])


def timeline(study: str, parameters: Mapping[str, Any] | None = None, /, **overrides: Any) -> polars.DataFrame:
    """Returns what happens when: memory commands, or who is busy with what.

    Parameters
    ----------
    study
        A study that has times, such as ``"npu.gemm"``.
    parameters, **overrides
        As for :func:`run`.

    Returns
    -------
    polars.DataFrame
        A row for each span: ``group``, ``track``, ``name``, ``category``,
        ``start_ns``, ``end_ns``, and a column for each detail.

    Raises
    ------
    MemscapeError
        If nothing in the study has a time, else as :func:`run`.

    Examples
    --------
    >>> import memscape as ms
    >>> spans = ms.timeline("pim.gemv", model="opt-125m", gemv="out")
    >>> spans.columns[:6]
    ['group', 'track', 'name', 'category', 'start_ns', 'end_ns']
    """
    check(timeline, locals())
    return _memscape.timeline(study, [dict(parameters or {}), overrides])


def trace(
    study: str,
    path: str | os.PathLike[str],
    parameters: Mapping[str, Any] | None = None,
    /,
    *,
    format: str = "perfetto",
    **overrides: Any,
) -> None:
    """Writes what happens when to a file, for other programs.

    Parameters
    ----------
    study
        A study that has times.
    path
        The file to write.
    parameters, **overrides
        As for :func:`run`.
    format
        ``"perfetto"`` (Chrome trace JSON, for ui.perfetto.dev), ``"csv"``, or one
        of the study's own, such as ``"ramulator"``. A study's parameter of that name goes into
        ``parameters``: ``{"format": "int4"}``.

    Raises
    ------
    MemscapeError
        If the study has no such format, else as :func:`run`.
    """
    check(trace, locals())
    _memscape.trace(study, [dict(parameters or {}), overrides], format, path)


def sweep(
    study: str,
    axes: Mapping[str, Any] | Space | None = None,
    base: Mapping[str, Any] | None = None,
    *,
    zip: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
    constraints: str | Iterable[str] = (),
    sample: Mapping[str, Any] | None = None,
    names: Literal["path", "leaf"] = "path",
    uncertainty: int | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
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
        as ``{"from": 1, "to": 64, "count": 7, "log": True}``, as for
        :class:`Space`; or a whole :class:`Space`. All combinations are asked, the
        last axis changing fastest.
    base
        Parameters that stay the same, as for :func:`run`.
    zip
        Axes that move together: one dict as ``axes`` with lists of the same
        length, or several such dicts.
    constraints
        What must hold at every point, as for :class:`Space`: points that break one
        over parameters have no row; those over the answer are a column ``feasible``.
    sample
        Points drawn from the ranges among the axes, as ``[sample]`` of a study file:
        ``method`` (``"random"``, ``"latin"`` or ``"sobol"``), ``count`` (at each
        combination of the other axes' values), ``seed`` and further ``ranges``.
    names
        ``"leaf"`` calls the columns of axes by the last part of their path, for
        tools that take dots for something else (Altair, DuckDB).
    uncertainty
        Draws everything that is not known for sure so often, and returns what
        :func:`memscape.uncertainty` does: a row per point, with the study's aim.
    store
        A :class:`Store`, or a folder for one, that keeps the answers: what is there, from
        whatever sweep, is not computed again.
    executor
        Who does the work: any executor of :mod:`concurrent.futures`, or
        ``submitit.AutoExecutor`` for Slurm (``pip install "memscape[cluster]"``). Needs a
        store that all workers see. See :meth:`Store.fill`.

    Returns
    -------
    polars.DataFrame
        One row per point: the axes, the answer's columns, and ``error``, which
        says why a row has no answer.

    Raises
    ------
    MemscapeError
        If a parameter does not exist, an axis is wrong as a whole, the table would not
        fit in memory, or the store cannot be used.

    Notes
    -----
    ``table.to_pandas()``, and DuckDB on a table by its name, take pyarrow:
    ``pip install "memscape[pandas]"``.

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
    check(sweep, locals())
    spec = sweep_spec(study, axes, base, zip, constraints, sample)
    if uncertainty is not None:
        if sample is not None or names == "leaf" or store is not None or executor is not None:
            raise _memscape.MemscapeError(
                "`uncertainty` takes a plain grid and whole paths, and keeps nothing; leave out `sample`, `names`, "
                "`store` and `executor`"
            )
        return _uncertainty.of_spec(spec, [], uncertainty, 0)
    kept = opened(store, executor)
    if kept is not None:
        table, complete = kept._sweep(spec, names == "leaf", executor)
    else:
        with Progress(study) as progress:
            table, complete = _memscape.sweep(spec, names == "leaf", progress)
    if not complete:
        keeps = "" if kept is None else "; the store keeps what is done"
        incomplete(f"the table has the first {len(table)} rows only{keeps}")
    elif len(table) and not table["error"].null_count():
        remark(f"none of {len(table)} rows has an answer; the first says: {table['error'][0]}")
    return table


def laws(
    study: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    /,
    *,
    points: int = 1000,
    seed: int = 0,
    **overrides: Any,
) -> polars.DataFrame:
    """Holds studies to their laws at random points.

    More of a resource is never slower, no parameter is dead, what does not fit is
    refused, parts sum to the whole, and no time is below what bytes over bandwidth
    allow: :func:`describe` shows what each study promises. An interrupt ends it
    when the answer under way is there (seconds for a walk of ``ndp.inference``), with
    what was looked at until then.

    Parameters
    ----------
    study
        Its name, such as ``"pim.gemv"``; all studies if not given.
    parameters, **overrides
        What stays as it is, as for :func:`run`, for example ``hardware="my.toml"``;
        the machine around it is drawn.
    points
        Random points for each study.
    seed
        Other points for each seed.

    Returns
    -------
    polars.DataFrame
        A row for each rule, and for each parameter that was varied: ``study``,
        ``rule``, ``parameter``, ``declared``, ``checks``, ``exempt``, ``broken``, and
        ``example``: the smallest commands that show a broken law.

    Raises
    ------
    MemscapeError
        If a parameter is wrong, or no point near the parameters can exist.

    Examples
    --------
    >>> import memscape as ms
    >>> table = ms.laws("cxl.inference", points=100)
    >>> table["broken"].sum()
    0
    """
    check(laws, locals())
    import polars

    fixed = {**(parameters or {}), **overrides}
    tables = []
    for name in studies() if study is None else [study]:
        with Progress(name) as progress:
            table, complete = _memscape.laws(name, fixed, points, seed, progress)
        tables.append(table)
        if not complete:
            incomplete(f"{name} was looked at in part")
            break
    return polars.concat(tables)
