"""Answers that are kept, so that nothing is computed twice."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memscape import _memscape
from memscape._cluster import TASKS, Executor, fill_with, search_with
from memscape._given import check, ended
from memscape._progress import Progress
from memscape._remarks import incomplete
from memscape._spec import Space, sweep_spec

if TYPE_CHECKING:
    import polars


class Store:
    """A folder in which answers are kept, each known by the content of its question.

    A question that is asked again, or has points in common with another, is not computed
    again. Several processes may use one store at the same time, and one that dies loses at
    most 20 seconds of its work. docs/store.md tells what is in the folder.

    Parameters
    ----------
    path
        The folder; it is made if it is not there.

    Raises
    ------
    MemscapeError
        If it is a folder of something else, or a store of another version.

    Examples
    --------
    >>> import memscape as ms, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = ms.Store(f"{folder.name}/runs")
    >>> axes = {"memory.banks_per_channel": [8, 16, 32]}
    >>> first = store.fill("pim.gemv", axes)
    >>> first["computed"], store.fill("pim.gemv", axes)["computed"]
    (3, 0)
    >>> ms.sweep("pim.gemv", axes, store=store).equals(ms.sweep("pim.gemv", axes))
    True
    >>> store.ls()["rows"].to_list()
    [3]
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        check(Store.__init__, locals())
        self._path = Path(path).absolute()
        self._store = _memscape.Store(self._path, True)

    @property
    def path(self) -> Path:
        """The folder."""
        return self._path

    def __reduce__(self) -> tuple[type[Store], tuple[Path]]:
        return Store, (self._path,)

    def __eq__(self, other: object) -> bool:
        return self._path == other._path if isinstance(other, Store) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._path)

    def __repr__(self) -> str:
        return f"Store({str(self._path)!r})"

    def fill(
        self,
        study: str,
        axes: Mapping[str, Any] | Space | None = None,
        base: Mapping[str, Any] | None = None,
        *,
        zip: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
        constraints: str | Iterable[str] = (),
        sample: Mapping[str, Any] | None = None,
        executor: Executor | None = None,
        tasks: int = TASKS,
    ) -> dict[str, Any]:
        """Answers a question into the store, and makes no table of it.

        Memory is for a few blocks of rows, however many there are.

        Parameters
        ----------
        study, axes, base, zip, constraints, sample
            As for :func:`sweep`.
        executor
            Who does the work: any executor of :mod:`concurrent.futures` (processes that are
            spawned, not forked, or Dask's ``client.get_executor()``), or
            ``submitit.AutoExecutor``, which makes a job array. All workers must see the
            store's folder. What failed or was killed is asked again; what it had done is not.
        tasks
            For an executor: how many pieces of work to make, at most one per row.

        Returns
        -------
        dict
            ``question``, its name in this store; ``rows``; how many of them were ``found`` and
            how many ``computed``; and whether all are there, ``complete``: not after an
            interrupt (Ctrl-C).

        Raises
        ------
        MemscapeError
            As :func:`sweep`, or if workers fail again and again.
        """
        check(Store.fill, locals())
        spec = sweep_spec(study, axes, base, zip, constraints, sample)
        filled = self._fill(spec, executor, tasks)
        if not filled["complete"]:
            done = filled["found"] + filled["computed"]
            incomplete(f"the store has {done} of {filled['rows']} rows")
        return filled

    def _fill(self, spec: dict[str, Any], executor: Executor | None, tasks: int) -> dict[str, Any]:
        seen_from = (spec, os.getcwd())
        computed = 0
        if executor is not None:
            computed = fill_with(executor, self._path, seen_from, tasks)
        with Progress(spec["study"]) as progress:
            filled = self._store.fill(seen_from, None, progress)
        # What workers did is there by now, though nobody had it before.
        filled["computed"] += computed
        filled["found"] -= computed
        return filled

    def _sweep(
        self, spec: dict[str, Any], leaf_names: bool, executor: Executor | None
    ) -> tuple[polars.DataFrame, bool]:
        """All rows of a sweep, and whether they are all."""
        if executor is not None:
            self._fill(spec, executor, TASKS)
        with Progress(spec["study"]) as progress:
            return self._store.sweep((spec, os.getcwd()), leaf_names, progress)

    def _front(
        self, points: dict[str, Any], spec: dict[str, Any], executor: Executor | None
    ) -> tuple[polars.DataFrame, list[str], bool]:
        """The front of these points, values of axes of which it says nothing, and whether all were looked at."""
        if executor is not None:
            _memscape.Store.check_front((spec, os.getcwd()))
            self._fill(points, executor, TASKS)
        with Progress(spec["study"]) as progress:
            return self._store.front((spec, os.getcwd()), progress)

    def _search(
        self, specs: list[dict[str, Any]], executor: Executor | None
    ) -> Iterator[tuple[polars.DataFrame, bool]]:
        """The points that each search evaluates, and whether it came to its end."""
        folder = os.getcwd()
        if executor is not None:
            search_with(executor, self._path, [(it, folder) for it in specs])
        for spec in specs:
            with Progress(spec["study"]) as progress:
                yield self._store.search((spec, folder), progress)

    def ls(self) -> polars.DataFrame:
        """Lists the questions of which there are answers.

        Returns
        -------
        polars.DataFrame
            A row for each: ``question``, ``study``, ``rows``, ``blocks_there`` of its
            ``blocks``, whether it is ``complete``, ``bytes``, when it was ``started`` and
            ``finished``, the ``host``, the version of ``memscape``, and whether it is
            ``stale``: of another version of the program, the model or the data.
        """
        import polars

        schema: dict[str, polars.DataType | type[polars.DataType]] = {
            "question": polars.String,
            "study": polars.String,
            "rows": polars.Int64,
            "blocks_there": polars.Int64,
            "blocks": polars.Int64,
            "complete": polars.Boolean,
            "bytes": polars.Int64,
            "started": polars.Datetime("us", "UTC"),
            "finished": polars.Datetime("us", "UTC"),
            "host": polars.String,
            "memscape": polars.String,
            "stale": polars.Boolean,
        }
        runs = self._store.runs()
        for run in runs:
            for key in ("started", "finished"):
                if run[key] is not None:
                    run[key] = datetime.fromtimestamp(run[key], timezone.utc)
        return polars.DataFrame(runs, schema=schema)

    def show(self, question: str = "") -> dict[str, Any]:
        """Returns all that the store says of a question.

        Parameters
        ----------
        question
            The beginning of its name, unless it is the only one.

        Returns
        -------
        dict
            The study, versions of program, model and data, the base, the axes and the space
            with its seed, rows and blocks, host and times in seconds since 1970.

        Raises
        ------
        MemscapeError
            If there is none or several of this name.
        """
        check(Store.show, locals())
        return self._store.show(question)

    def table(self, question: str = "") -> polars.DataFrame:
        """Returns all rows of a question.

        Parameters
        ----------
        question
            The beginning of its name, unless it is the only one.

        Raises
        ------
        MemscapeError
            If not all rows are there, or they do not fit in memory.
        """
        check(Store.table, locals())
        with Progress("reading") as progress:
            return self._store.table(question, progress)

    def scan(self, question: str = "") -> polars.LazyFrame:
        """Returns a question's rows to be read lazily, for more than memory holds.

        Parameters
        ----------
        question
            The beginning of its name, unless it is the only one.

        Returns
        -------
        polars.LazyFrame
            As :func:`sweep` returns them.

        Raises
        ------
        MemscapeError
            If not all rows are there.

        Examples
        --------
        >>> import memscape as ms, polars, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = ms.Store(f"{folder.name}/runs")
        >>> filled = store.fill("pim.gemv", {"memory.banks_per_channel": [8, 16, 32]})
        >>> store.scan().select(polars.len()).collect().item()
        3
        >>> folder.cleanup()
        """
        check(Store.scan, locals())
        import polars

        return polars.scan_parquet(self._store.files(question)).drop("key.high", "key.low")

    def export(self, path: str | os.PathLike[str], question: str = "") -> None:
        """Writes a question's rows as one table, a block at a time.

        Parameters
        ----------
        path
            The file, whose ending, ``.parquet`` or ``.csv``, is its form.
        question
            The beginning of its name, unless it is the only one.

        Raises
        ------
        MemscapeError
            If not all rows are there, or the file cannot be written, or it holds something else than
            an answer to this question.
        """
        check(Store.export, locals())
        with Progress("writing") as progress:
            self._store.export(question, Path(path), progress)

    def verify(self) -> list[Path]:
        """Reads every file and holds it against its checksum.

        Returns
        -------
        list of pathlib.Path
            Damaged files, where they were. They are set aside, and their points are computed
            again where they are wanted.
        """
        with Progress("verify") as progress, warnings.catch_warnings():
            # They are returned.
            warnings.simplefilter("ignore", UserWarning)
            return self._store.verify(progress)[2]

    def ask_again(self, question: str = "", *, points: int = 100) -> polars.DataFrame:
        """Asks about some points again, and returns the answers that differ from what is kept.

        There is none, unless a model was changed without its version. Points of a description that
        has changed since are other ones now, and are none of them.

        Parameters
        ----------
        question
            The beginning of its name, unless it is the only one.
        points
            About how many points, spread over its rows.

        Returns
        -------
        polars.DataFrame
            A row for each that differs: ``file``, ``row``, ``column``, what is ``kept``, and what
            is answered ``now``.

        Raises
        ------
        MemscapeError
            If there is no such question.
        """
        check(Store.ask_again, locals())
        import polars

        with Progress("asking again") as progress:
            _, differing = self._store.ask_again(question, points, progress)
        schema = {"file": polars.String, "row": polars.Int64, "column": polars.String}
        schema |= {"kept": polars.String, "now": polars.String}
        return polars.DataFrame([(str(it[0]), *it[1:]) for it in differing], schema=schema, orient="row")

    def gc(self, *, stale: bool = False, questions: Iterable[str] = ()) -> int:
        """Removes what nobody wants: damaged and left-behind files, second copies.

        Parameters
        ----------
        stale
            Remove answers of other versions of the program, the model or the data, too.
        questions
            Remove these questions' answers, too: the beginnings of their names.

        Returns
        -------
        int
            How many bytes are free now.
        """
        check(Store.gc, locals())
        return self._store.gc(stale, ended(questions))[1]


def opened(store: Store | str | os.PathLike[str] | None, executor: Executor | None) -> Store | None:
    """The store that is meant, if one is; an executor needs one."""
    if store is None and executor is not None:
        raise _memscape.MemscapeError('an `executor` needs a `store`, a folder that all workers see: store="runs"')
    return store if store is None or isinstance(store, Store) else Store(store)
