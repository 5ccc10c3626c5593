"""Stores as Python and the command line see them."""

from __future__ import annotations

import json
import subprocess
import sys

import polars
import pytest

import memscape as ms

AXES = {"memory.banks_per_channel": [8, 16, 32], "memory.trcd_ns": {"from": 10, "to": 20, "count": 1000}}
STUDY = 'study = "pim.gemv"\n[axes]\n"memory.banks_per_channel" = [8, 16, 32]\n\
"memory.trcd_ns" = { from = 10, to = 20, count = 1000 }\n'


def memscape(*arguments):
    command = [sys.executable, "-m", "memscape", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_a_sweep_is_the_same_with_and_without_a_store(tmp_path):
    expected = ms.sweep("pim.gemv", AXES)
    for _ in range(2):
        assert ms.sweep("pim.gemv", AXES, store=tmp_path / "runs").equals(expected)
    more = {**AXES, "memory.banks_per_channel": [8, 12, 16, 32]}
    store = ms.Store(tmp_path / "runs")
    filled = store.fill("pim.gemv", more)
    assert (filled["found"], filled["computed"]) == (3000, 1000)
    assert store.table(filled["question"]).equals(ms.sweep("pim.gemv", more))
    leaves = ms.sweep("pim.gemv", AXES, store=store, names="leaf")
    assert leaves.columns[:2] == ["banks_per_channel", "trcd_ns"]


def test_what_a_store_has_can_be_listed_read_and_written(tmp_path):
    store = ms.Store(tmp_path / "runs")
    assert store.ls().is_empty()
    question = store.fill("pim.gemv", AXES, base={"model": "opt-6.7b"})["question"]
    (run,) = store.ls().to_dicts()
    assert run == {**run, "question": question, "study": "pim.gemv", "rows": 3000, "complete": True, "stale": False}
    about = store.show(question[:8])
    assert about["memscape"] == ms.__version__ and about["base"] == [{"model": "opt-6.7b"}]
    expected = ms.sweep("pim.gemv", AXES, base={"model": "opt-6.7b"})
    assert store.scan().collect().equals(expected)
    store.export(tmp_path / "table.parquet")
    assert polars.read_parquet(tmp_path / "table.parquet").equals(expected)
    (tmp_path / "mine.csv").write_text("my own\n")
    with pytest.raises(ms.MemscapeError, match="something else than an answer, which would be lost"):
        store.export(tmp_path / "mine.csv")
    code, out, _ = memscape("show", tmp_path / "table.parquet", "--json")
    assert code == 0 and json.loads(out)["id"] == question
    assert store.verify() == []
    assert store.ask_again(points=50).is_empty()
    with pytest.raises(ms.MemscapeError, match="Its name is empty"):
        store.gc(questions=[""])
    assert store.gc(questions=[question]) > 0
    assert store.ls().is_empty()


def test_an_export_replaces_its_own_question_alone(tmp_path):
    store = ms.Store(tmp_path / "runs")
    one, other = (store.fill("pim.gemv", {"split_k": it})["question"] for it in ([1, 2], [1, 2, 4]))
    for _ in range(2):
        store.export(tmp_path / "table.parquet", one)
    with pytest.raises(ms.MemscapeError, match=r"\(`sweep`\), which would be lost"):
        store.export(tmp_path / "table.parquet", other)


def test_a_damaged_file_is_told_and_computed_again(tmp_path):
    store = ms.Store(tmp_path / "runs")
    store.fill("pim.gemv", AXES)
    shard = next((tmp_path / "runs").rglob("*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.warns(UserWarning, match="damaged .* set aside"):
        table = ms.sweep("pim.gemv", AXES, store=store)
    assert table.equals(ms.sweep("pim.gemv", AXES))
    shard.write_bytes(b"")
    assert store.verify() == [shard]


def test_wrong_folders_and_questions_are_told(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ms.MemscapeError, match="this folder is no store and not empty"):
        ms.Store(tmp_path)
    store = ms.Store(tmp_path / "runs")
    with pytest.raises(ms.MemscapeError, match="there is no question `x`"):
        store.show("x")
    with pytest.raises(ms.MemscapeError, match="did you mean"):
        store.fill("pim.gemv", {"memory.trcd": [1]})
    assert [it.name for it in (tmp_path / "runs").iterdir()] == ["store.json"]


def test_a_table_that_does_not_fit_is_refused_with_what_does(tmp_path):
    huge = {
        "memory.trcd_ns": {"from": 10, "to": 20, "count": 40_000},
        "memory.trp_ns": {"from": 10, "to": 20, "count": 50_000},
    }
    for store in (None, tmp_path / "runs"):
        with pytest.raises(ms.MemscapeError, match=r"-o table\.parquet"):
            ms.sweep("pim.gemv", huge, store=store)


def test_searches_and_fronts_are_kept_and_say_what_they_answer(tmp_path):
    study, runs = tmp_path / "study.toml", tmp_path / "runs"
    study.write_text(STUDY)
    goals = ["--minimize", "time_ns"]
    for found in (0, 200):
        table = tmp_path / "search.parquet"
        code, _, said = memscape("search", study, *goals, "--budget", 200, "--store", runs, "-o", table)
        assert code == 0 and f"of 200 rows {found} were there, {200 - found} are computed" in said
    assert polars.read_parquet(table).equals(ms.search("pim.gemv", AXES, minimize="time_ns", budget=200))
    code, out, _ = memscape("show", table)
    assert code == 0 and 'search    {"minimize":["time_ns"],"budget":200' in out and "axis      memory.trcd_ns" in out
    code, out, _ = memscape("run", table, "--row", 7, "--json")
    assert code == 0 and json.loads(out)["time_ns"] == polars.read_parquet(table)["time_ns"][7]
    table = tmp_path / "front.parquet"
    code, _, said = memscape("front", study, *goals, "--store", runs, "-o", table)
    assert code == 0 and "of 3000 rows 200 were there, 2800 are computed" in said
    assert polars.read_parquet(table).equals(ms.front("pim.gemv", AXES, minimize="time_ns"))
    assert "front     [" in memscape("show", table)[1]
    # Rows of a table are points of what the whole table answers.
    assert memscape("front", tmp_path / "search.parquet", *goals, "-o", table)[0] == 0
    assert "search    {" in memscape("show", table)[1]
    code, _, said = memscape("front", table, *goals, "--store", runs)
    assert code == 2 and "leave out `--store`" in said
    for what, told in (("sensitivity", "sensitivity {"), ("uncertainty", "uncertainty {")):
        given = ["--of", "time_ns", *(["--draws", 20] if what == "uncertainty" else [])]
        code, _, said = memscape(what, study, *given, "-o", tmp_path / "front.parquet")
        assert code == 2 and "what `pim.gemv` answered (`front`), which would be lost" in said
        table = tmp_path / f"{what}.parquet"
        code, _, said = memscape(what, study, *given, "-o", table)
        assert code == 0, said
        assert told in memscape("show", table)[1]


def test_every_table_says_what_it_answers(tmp_path):
    for asked, told in (
        (["compare", "npu-xdna2", "--model", "llama-3.2-1b"], 'workload  {"model":"llama-3.2-1b"'),
        (["laws", "pim.gemv", "--points", 3], "points    3"),
        (["bench", "front", "cxl", "--budgets", 20, "--seeds", 1], 'systems   ["cxl"]'),
    ):
        table = tmp_path / f"{asked[0]}.parquet"
        code, _, said = memscape(*asked, "-o", table)
        assert code == 0, said
        assert told in memscape("show", table)[1]
    code, _, said = memscape("run", table, "--row", 0)
    assert code == 2 and "bench front" in said


def test_the_command_line_keeps_answers(tmp_path):
    study, runs = tmp_path / "study.toml", tmp_path / "runs"
    study.write_text(STUDY)
    code, _, said = memscape("sweep", study, "--store", runs)
    assert code == 0 and "of 3000 rows 0 were there, 3000 are computed" in said
    code, _, said = memscape("sweep", study, "--store", runs, "-o", tmp_path / "table.parquet")
    assert code == 0 and "of 3000 rows 3000 were there, 0 are computed" in said
    assert polars.read_parquet(tmp_path / "table.parquet").equals(ms.sweep("pim.gemv", AXES))
    code, out, _ = memscape("store", "ls", runs)
    assert code == 0 and "pim.gemv" in out and "3 of 3" in out
    (run,) = json.loads(memscape("store", "ls", runs, "--json")[1])
    code, out, _ = memscape("store", "show", runs, run["id"][:6])
    assert code == 0 and "axis      memory.trcd_ns" in out and "rows      3000" in out
    assert memscape("store", "export", runs, "-o", tmp_path / "again.csv")[0] == 0
    assert len((tmp_path / "again.csv").read_text().splitlines()) == 3001
    code, out, _ = memscape("store", "verify", runs, "--ask", 20)
    assert code == 0 and "0 answers differ" in out
    shard = next(runs.rglob("*.parquet"))
    shard.write_bytes(shard.read_bytes()[1:])
    code, out, said = memscape("store", "verify", runs)
    assert code == 1 and str(shard) in out and "set aside" in said
    code, out, _ = memscape("store", "gc", runs, "--question", run["id"])
    assert code == 0 and "files removed" in out
    code, _, said = memscape("store", "ls", tmp_path / "none")
    assert code == 2 and "there is no store here" in said
