"""Sweeps by other processes and on Slurm: the table is the local one, whoever dies meanwhile."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest
import slurm

import memscape as ms
from memscape._cluster import _keep_to_given_cores

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked up in /proc")

AXES = {"memory.trcd_ns": {"from": 10, "to": 20, "count": 100}, "memory.banks_per_channel": list(range(1, 65))}


def axes(points):
    """As many points, most of them over one axis."""
    count = points // 64
    return {**AXES, "memory.trcd_ns": {"from": 10, "to": 20, "count": count}}


def in_bytes(table):
    """The table sorted, as a file."""
    out = io.BytesIO()
    table.sort(list(AXES)).write_parquet(out)
    return out.getvalue()


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_fill_a_store(method, tmp_path):
    expected = ms.sweep("pim.gemv", axes(6400))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        table = ms.sweep("pim.gemv", axes(6400), store=tmp_path / "runs", executor=pool)
    assert table.equals(expected)
    assert in_bytes(table) == in_bytes(expected)
    # Nothing is left to do, so that nobody is asked.
    assert ms.sweep("pim.gemv", axes(6400), store=tmp_path / "runs", executor=Nobody()).equals(expected)
    (run,) = ms.Store(tmp_path / "runs").ls().to_dicts()
    assert run["complete"] and run["blocks_there"] == run["blocks"] == 7


def test_threads_fill_a_store(tmp_path):
    store = ms.Store(tmp_path / "runs")
    with ThreadPoolExecutor(3) as pool:
        filled = store.fill("pim.gemv", axes(6400), executor=pool, tasks=5)
        assert filled == {**filled, "rows": 6400, "found": 0, "computed": 6400, "complete": True}
        # Blocks of a longer question begin elsewhere, but hold the same points.
        longer = axes(6400) | {"memory.banks_per_channel": list(range(1, 81))}
        more = store.fill("pim.gemv", longer, executor=pool, tasks=5)
    assert more == {**more, "rows": 8000, "found": 6400, "computed": 1600, "complete": True}


class Requeues(Executor):
    """A cluster that stops each task after its first block and queues it again."""

    def submit(self, task, store, spec, rows):
        task(store, spec, rows[:1])
        again = Future()
        again.set_result(task(store, spec, rows))
        return again


def test_what_a_task_did_before_it_was_queued_again_is_computed(tmp_path):
    store = ms.Store(tmp_path / "runs")
    assert store.fill("pim.gemv", axes(640))["computed"] == 640
    filled = store.fill("pim.gemv", axes(6400), executor=Requeues(), tasks=2)
    # All ten numbers are among the hundred.
    assert filled == {**filled, "rows": 6400, "found": 640, "computed": 5760, "complete": True}


class Stops(Executor):
    """A cluster that stops each task within a block, sixteen rows further each time."""

    def __init__(self):
        self.shares = []

    def submit(self, task, store, spec, rows):
        self.shares.append(rows)
        task(store, spec, [(0, 16 * len(self.shares))])
        lost = Future()
        lost.set_exception(OSError("the node is on fire"))
        return lost


def test_a_task_that_is_killed_within_a_block_goes_on(tmp_path):
    """Less than a block counts as getting something done, as often as work is handed out."""
    stops = Stops()
    with pytest.raises(ms.MemscapeError, match="16 of 64 rows undone"):
        ms.Store(tmp_path / "runs").fill("pim.gemv", axes(64), executor=stops, tasks=1)
    assert stops.shares == [[(0, 64)]] * 3


def test_a_block_is_cut_for_as_many_tasks_as_there_are(tmp_path):
    store, pool = ms.Store(tmp_path / "runs"), Requeues()
    shares = []
    pool.submit, submit = lambda *args: shares.append(args[-1]) or submit(*args), pool.submit
    filled = store.fill("pim.gemv", axes(640), executor=pool, tasks=5)
    assert shares == [[(start, start + 128)] for start in range(0, 640, 128)]
    assert filled == {**filled, "found": 0, "computed": 640, "complete": True}
    assert ms.sweep("pim.gemv", axes(640), store=store).equals(ms.sweep("pim.gemv", axes(640)))
    # One block, and nothing that it was made of.
    assert len(list((tmp_path / "runs").rglob("*.parquet"))) == 1
    # No task is without rows.
    few = {"memory.banks_per_channel": [8, 16, 32]}
    shares.clear()
    assert store.fill("pim.gemv", few, executor=pool)["complete"]
    assert sum(end - start for ((start, end),) in shares) == 3 and len(shares) <= 3


@pytest.mark.parametrize(("given", "threads"), [("1", "1"), ("1000000", None), ("", None)])
def test_a_worker_takes_no_more_threads_than_slurm_gave_cores(given, threads, monkeypatch):
    monkeypatch.setenv("RAYON_NUM_THREADS", "")
    monkeypatch.delenv("RAYON_NUM_THREADS")
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", given)
    _keep_to_given_cores()
    assert os.environ.get("RAYON_NUM_THREADS") == threads


GOALS = {"minimize": ["time_ns", "memory.banks_per_channel"]}
SEARCH = {"minimize": "time_ns", "budget": 300, "seed": [1, 2, 3]}


def check_best(store, executor):
    """Searches and fronts by workers, which must be the local ones; and the second time nobody is asked."""
    with warnings.catch_warnings():
        # That most numbers of banks are no whole groups.
        warnings.filterwarnings("ignore", "no point with|nor have points")
        front = ms.front("pim.gemv", axes(6400), **GOALS)
        searches = ms.search("pim.gemv", AXES, **SEARCH)
        assert searches["seed"].unique(maintain_order=True).to_list() == [1, 2, 3]
        for worker in (executor, Nobody()):
            assert ms.front("pim.gemv", axes(6400), **GOALS, store=store, executor=worker).equals(front)
            assert ms.search("pim.gemv", AXES, **SEARCH, store=store, executor=worker).equals(searches)


def test_searches_and_fronts_by_processes(tmp_path):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        check_best(tmp_path / "runs", pool)
    one = ms.search("pim.gemv", AXES, **{**SEARCH, "seed": 2}, store=tmp_path / "runs")
    assert one.equals(ms.search("pim.gemv", AXES, **{**SEARCH, "seed": 2}))
    runs = ms.Store(tmp_path / "runs").ls()
    # Those that began in one second are in no order of time.
    assert runs["complete"].all() and runs["rows"].sort().to_list() == [300, 300, 300, 6400]


def test_a_search_that_a_worker_loses_is_asked_again(tmp_path):
    expected = ms.search("pim.gemv", AXES, **SEARCH)
    with Unreliable(2) as pool:
        assert ms.search("pim.gemv", AXES, **SEARCH, store=tmp_path / "runs", executor=pool).equals(expected)
    with Unreliable(1000) as pool, pytest.raises(ms.MemscapeError, match="3 of 3 searches undone"):
        ms.search("pim.gemv", AXES, **SEARCH, store=tmp_path / "none", executor=pool)


class Nobody(Executor):
    """Must not be asked."""

    def submit(self, function, /, *args):
        raise AssertionError("asked for what is there")


class Unreliable(ThreadPoolExecutor):
    """Loses some of its work."""

    def __init__(self, losses):
        super().__init__(2)
        self.losses = losses

    def submit(self, function, /, *args):
        self.losses -= 1
        if self.losses < 0:
            return super().submit(function, *args)
        lost = Future()
        lost.set_exception(OSError("the node is on fire"))
        return lost


def test_what_a_worker_loses_is_asked_again(tmp_path):
    with Unreliable(3) as pool:
        table = ms.sweep("pim.gemv", axes(6400), store=tmp_path / "runs", executor=pool)
    assert table.equals(ms.sweep("pim.gemv", axes(6400)))


def test_workers_that_always_fail_are_told(tmp_path):
    with Unreliable(1000) as pool, pytest.raises(ms.MemscapeError, match="6400 of 6400 rows undone"):
        ms.sweep("pim.gemv", axes(6400), store=tmp_path / "runs", executor=pool)


# Python warns of forks beside threads, from 3.12 on.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_workers_are_told_what_to_do(tmp_path):
    ms.sweep("pim.gemv", AXES)
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=context) as pool, pytest.raises(ms.MemscapeError, match="spawn"):
        ms.sweep("pim.gemv", AXES, store=tmp_path / "runs", executor=pool)


def test_an_executor_needs_a_store_and_must_be_one(tmp_path):
    with pytest.raises(ms.MemscapeError, match='store="runs"'):
        ms.sweep("pim.gemv", AXES, executor=Nobody())
    with pytest.raises(ms.MemscapeError, match='store="runs"'):
        ms.search("pim.gemv", AXES, **SEARCH, executor=Nobody())
    with pytest.raises(ms.MemscapeError, match="did you mean `time_ns`"):
        ms.front("pim.gemv", AXES, minimize="time_n", store=tmp_path / "wrong", executor=Nobody())
    with pytest.raises(ms.MemscapeError, match="did you mean `time_ns`"):
        ms.search("pim.gemv", AXES, minimize="time_n", store=tmp_path / "wrong", executor=Nobody())
    assert ms.Store(tmp_path / "wrong").ls().is_empty()
    with pytest.raises(ms.MemscapeError, match="`executor` is a `int`"):
        ms.search("pim.gemv", AXES, **SEARCH, store=tmp_path / "runs", executor=4)
    with pytest.raises(ms.MemscapeError, match="`seed` is an empty list"):
        ms.search("pim.gemv", AXES, minimize="time_ns", seed=[])
    with pytest.raises(ms.MemscapeError, match="`executor` is a `int`"):
        ms.sweep("pim.gemv", AXES, store=tmp_path / "runs", executor=4)
    with pytest.raises(ms.MemscapeError, match="`tasks` is 0"):
        ms.Store(tmp_path / "runs").fill("pim.gemv", AXES, executor=Nobody(), tasks=0)


def kill_one(folder, runs):
    """Kills a task when the store has its first blocks, and returns a list for its id."""
    killed = []

    def hunt():
        deadline = time.monotonic() + 120
        while not killed and time.monotonic() < deadline:
            if len(list(runs.rglob("*.parquet"))) >= 2:
                for process in slurm.processes(sys.executable, "submitit.core._submit", str(folder)):
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
                    break
            time.sleep(0.01)

    threading.Thread(target=hunt, daemon=True).start()
    return killed


def sweep_by(cluster, tmp_path, points):
    """Sweeps with tasks of a cluster, one of which is killed, and returns the table."""
    submitit = pytest.importorskip("submitit", reason='pip install "memscape[cluster]"')
    folder, runs = tmp_path / "jobs", tmp_path / "runs"
    executor = submitit.AutoExecutor(folder, cluster=cluster)
    executor.update_parameters(timeout_min=5, cpus_per_task=1)
    killed = kill_one(folder, runs)
    filled = ms.Store(runs).fill("pim.gemv", axes(points), executor=executor, tasks=4)
    assert len(killed) == 1, "no task was killed"
    assert filled["computed"] == points
    # One task did not end well, so there was a second round.
    assert len(list(folder.rglob("*_submitted.pkl"))) > 4
    return ms.sweep("pim.gemv", axes(points), store=runs)


def test_processes_of_submitit_one_of_which_is_killed(tmp_path):
    table = sweep_by("local", tmp_path, 1_280_000)
    assert in_bytes(table) == in_bytes(ms.sweep("pim.gemv", axes(1_280_000)))


@pytest.mark.skipif(bool(slurm.why_not()), reason=slurm.why_not() or "there is Slurm")
def test_a_slurm_of_one_node_one_of_whose_tasks_is_killed(tmp_path):
    with slurm.one_node(tmp_path / "slurm"):
        table = sweep_by("slurm", tmp_path, 1_280_000)
        submitit = pytest.importorskip("submitit")
        executor = submitit.AutoExecutor(tmp_path / "jobs", cluster="slurm")
        executor.update_parameters(timeout_min=5, cpus_per_task=1)
        check_best(tmp_path / "best", executor)
    expected = ms.sweep("pim.gemv", axes(1_280_000))
    assert in_bytes(table) == in_bytes(expected)
    assert table.equals(expected), "in the order of the axes, too"
