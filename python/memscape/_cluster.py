"""One question answered by many workers, which have nothing in common but a store."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from memscape import _memscape
from memscape._progress import Progress

#: Seconds between two looks at the store.
PAUSE_S = 0.2
#: Seconds after which a worker keeps what it has done of a block.
CHECKPOINT_S = 20.0
#: Seconds between two looks at Slurm's queue.
QUEUE_S = 5.0
#: Pieces of work that a sweep is cut into, if nobody says how many.
TASKS = 32
#: How often work is handed out that comes back undone.
ROUNDS = 3
#: Lines of a worker's last words that an error quotes.
LINES = 5
#: The first of some rows that follow each other, and the one after the last.
Rows = tuple[int, int]


class Job(Protocol):
    """What an executor returns: a future, or a job of submitit."""

    def done(self) -> bool: ...


class Executor(Protocol):
    """Who does the work: of :mod:`concurrent.futures`, or of submitit."""

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Any: ...


class Queued:
    """What a cluster may stop and queue again."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def checkpoint(self, *args: Any) -> Any:
        """Says to submitit what to queue again when the time is over or the node is taken."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, *args)


class Task(Queued):
    """Some rows of a question. Asked again, it goes on where the store ends."""

    def __call__(self, store: Path, spec: tuple[dict[str, Any], str], rows: Sequence[Rows]) -> dict[str, Any]:
        _keep_to_given_cores()
        return _memscape.Store(store, False).fill(spec, rows, _silent)


class SearchTask(Queued):
    """A search, from its beginning: what the store has of it is not computed again."""

    def __call__(self, store: Path, spec: tuple[dict[str, Any], str]) -> None:
        _keep_to_given_cores()
        _memscape.Store(store, False).search(spec, _silent)


def _keep_to_given_cores() -> None:
    """Makes a worker's threads no more than Slurm has promised, which need not confine tasks to their cores."""
    given = os.environ.get("SLURM_CPUS_PER_TASK", "")
    # More threads than there are cores would wait for each other.
    if given.isdigit() and 0 < int(given) < (os.cpu_count() or 1):
        os.environ.setdefault("RAYON_NUM_THREADS", given)


def _silent(done: int, total: int) -> None:
    pass


def fill_with(executor: Executor, store: Path, spec: tuple[dict[str, Any], str], tasks: int) -> int:
    """Has an executor answer what a store lacks of a question, and returns how many rows workers computed."""
    _check(executor)
    if tasks < 1:
        raise _memscape.MemscapeError(f"`tasks` is {tasks}; give at least 1")
    kept = _memscape.Store(store, True)
    folder, rows, block, blocks = kept.lacking(spec)

    def lacking(blocks: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        return [it for it in blocks if it[2] < it[1] - it[0]]

    def left(blocks: list[tuple[int, int, int]]) -> int:
        return sum(end - start - known for start, end, known in blocks)

    def submit(blocks: list[tuple[int, int, int]]) -> list[Any]:
        with _together(executor):
            shares = _shares([(start, end) for start, end, _ in blocks], tasks)
            return [executor.submit(Task(), store, spec, share) for share in shares]

    known, again = rows - left(blocks), time.monotonic() + CHECKPOINT_S

    def look(_: list[Any]) -> None:
        nonlocal known, again
        now = time.monotonic()
        if now > again:
            # Less than a block is known by what is in it, which takes a while to read.
            known = rows - left(kept.lacking(spec)[3])
            again = time.monotonic() + max(CHECKPOINT_S, 20 * (time.monotonic() - now))
        progress(max(known, _done(folder, rows, block)), rows)

    with Progress(spec[0]["study"]) as progress:
        _hand_out(
            lacking(blocks),
            submit,
            lambda _: lacking(kept.lacking(spec)[3]),
            look,
            left,
            lambda left: f"{left} of {rows} rows",
        )
    # A task that was queued again finds what it has computed itself: the store was asked before, not the tasks.
    return left(blocks)


def _shares(blocks: list[Rows], tasks: int) -> list[list[Rows]]:
    """Work for so many tasks: blocks that follow each other, or parts of one if there are more tasks than blocks."""
    if tasks <= len(blocks):
        return [blocks[start:end] for start, end in pairwise(_cuts(len(blocks), tasks))]
    shares = []
    for (start, end), (first, last) in zip(blocks, pairwise(_cuts(tasks, len(blocks))), strict=True):
        cuts = [start + it for it in _cuts(end - start, min(last - first, end - start))]
        shares += [[it] for it in pairwise(cuts)]
    return shares


def _cuts(length: int, parts: int) -> list[int]:
    """Where something is cut into parts of about one length."""
    return [length * it // parts for it in range(parts + 1)]


def search_with(executor: Executor, store: Path, specs: list[tuple[dict[str, Any], str]]) -> None:
    """Has an executor do what a store lacks of some searches, a task for each."""
    _check(executor)
    kept = _memscape.Store(store, True)

    def lacking(specs: list[tuple[dict[str, Any], str]]) -> list[tuple[dict[str, Any], str]]:
        return [it for it in specs if not kept.searched(it)]

    def submit(specs: list[tuple[dict[str, Any], str]]) -> list[Any]:
        with _together(executor):
            return [executor.submit(SearchTask(), store, it) for it in specs]

    with Progress(specs[0][0]["study"]) as progress:
        _hand_out(
            lacking(specs),
            submit,
            lacking,
            lambda jobs: progress(len(specs) - sum(not job.done() for job in jobs), len(specs)),
            len,
            lambda left: f"{left} of {len(specs)} searches",
        )


def _hand_out(
    work: list[Any],
    submit: Callable[[list[Any]], list[Any]],
    lacking: Callable[[list[Any]], list[Any]],
    look: Callable[[list[Any]], None],
    left: Callable[[list[Any]], int],
    told: Callable[[int], str],
) -> None:
    """Hands work out, and what comes back undone again, as long as something gets done each time."""
    for _ in range(ROUNDS):
        if not work:
            return
        try:
            jobs = submit(work)
        except _memscape.MemscapeError:
            raise
        except Exception as error:
            raise _memscape.MemscapeError(
                f"the executor takes no work ({type(error).__name__}: {error}); what is done is in the store, and "
                "asking again goes on from there"
            ) from error
        try:
            _wait(jobs, partial(look, jobs))
        except BaseException:
            for job in jobs:
                job.cancel()
            raise
        before, work = left(work), lacking(work)
        if left(work) == before:
            break
    if work:
        raise _memscape.MemscapeError(
            f"workers left {told(left(work))} undone{_last_words(jobs)}; what is done is in the store, and "
            "asking again goes on from there"
        )


def _check(executor: Executor) -> None:
    if not callable(getattr(executor, "submit", None)):
        raise _memscape.MemscapeError(
            f"`executor` is a `{type(executor).__name__}`; give one of concurrent.futures, or submitit.AutoExecutor"
        )


def _together(executor: Executor) -> Any:
    """Submitit makes an array of what is submitted within its batch."""
    batch: Any = getattr(executor, "batch", nullcontext)
    return batch()


def _done(folder: Path, rows: int, block: int) -> int:
    """Rows of whole blocks that are there; the store tells, not the workers."""
    names = os.listdir(folder)
    there = {name.split("-")[0] for name in names if name.endswith(".parquet") and not name.endswith(".part.parquet")}
    return min(rows, block * len(there))


def _wait(jobs: list[Any], look: Callable[[], None]) -> None:
    """Returns when no job will do any more."""
    queue = _Queue()
    while True:
        left = [job for job in jobs if not job.done()]
        if not left or not queue.has_any(left):
            return
        look()
        time.sleep(PAUSE_S)


class _Queue:
    """Which of submitit's jobs Slurm still has.

    A killed job leaves no result, and submitit learns of it from Slurm's accounting, which
    not every cluster has, and asks for it rarely.
    """

    def __init__(self) -> None:
        self._asked = time.monotonic()
        self._gone: set[str] = set()

    def has_any(self, jobs: list[Any]) -> bool:
        names = [job.job_id for job in jobs if type(job).__name__ == "SlurmJob"]
        if len(names) < len(jobs):
            return True
        if time.monotonic() - self._asked > QUEUE_S:
            self._asked = time.monotonic()
            listed = self._listed()
            if listed is None:
                return True
            missing = set(names) - listed
            # Twice, for a job that ends just now and whose result is on its way.
            if missing == set(names) and missing == self._gone:
                return False
            self._gone = missing
        return True

    @staticmethod
    def _listed() -> set[str] | None:
        command = ["squeue", "--noheader", "--array", "--format=%i", f"--user={os.getuid()}"]
        done = subprocess.run(command, capture_output=True, text=True)
        return set(done.stdout.split()) if done.returncode == 0 else None


def _last_words(jobs: list[Any]) -> str:
    """What the first worker that failed said, if it said anything."""
    for job in jobs:
        if hasattr(job, "stderr"):
            # A job of submitit, which waits for a result that never comes if it is asked for one.
            said = job.stderr() or ""
        else:
            said = str(job.exception() or "") if job.done() and not job.cancelled() else ""
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        if lines:
            return f" ({'; '.join(lines[-LINES:])})"
    return ""
