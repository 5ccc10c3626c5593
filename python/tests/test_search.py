"""Spaces, searches and fronts from Python."""

import signal
import subprocess
import sys
import textwrap
import time
from datetime import date

import polars as pl
import pytest

import memscape as ms

BANKS, REGISTERS = "memory.banks_per_channel", "pim.registers"
AXES = {BANKS: [4, 8, 16, 32], REGISTERS: {"from": 10, "to": 24, "integer": True}}
SMALL = f"{REGISTERS} * {BANKS} <= 300"
BASE = {"model": "opt-125m", "gemv": "out"}


def test_a_space_may_be_an_object_or_a_dict():
    expected = ms.sweep("pim.gemv", ms.Space(AXES, constraints=[SMALL]), BASE)
    assert 0 < len(expected) < 4 * 15
    assert (expected[BANKS] * expected[REGISTERS]).max() <= 300
    assert ms.sweep("pim.gemv", AXES, BASE, constraints=SMALL).equals(expected)
    assert ms.sweep("pim.gemv", {"axes": AXES, "constraints": [SMALL]}, BASE).equals(expected)


def test_an_axis_may_exist_only_where_others_say():
    axes = {"placement": ["best", "fixed-tile"], "tile": {"values": [1, 2], "when": "placement == 'fixed-tile'"}}
    table = ms.sweep("pim.gemv", axes, BASE)
    assert table.select("placement", "tile").rows() == [("best", None), ("fixed-tile", 1), ("fixed-tile", 2)]


def test_constraints_over_answers_are_a_column():
    table = ms.sweep("pim.gemv", AXES, BASE, constraints="speedup >= 2")
    assert table["feasible"].to_list() == (table["speedup"] >= 2).fill_null(False).to_list()


def test_the_front_of_the_table_of_a_search_is_its_own():
    goals = {"minimize": ["time_ns", REGISTERS]}
    table = ms.search("pim.gemv", AXES, constraints="speedup >= 2", budget=60, base=BASE, **goals)
    assert 0 < table["feasible"].sum() < len(table)
    assert ms.front(table, **goals).equals(table.filter("on_front"))
    kept = ms.hypervolume(table.filter("feasible"), **goals)
    assert ms.hypervolume(table, **goals) == kept
    figure = ms.plot(table, x=REGISTERS, y="time_ns", kind="front")
    assert "not on the front (column `feasible`)" in figure.alt_text()


def test_ranges_are_drawn_from():
    table = ms.sweep(
        "pim.gemv", {"memory.trcd_ns": {"min": 10, "max": 20}}, BASE, sample={"method": "latin", "count": 8}
    )
    assert table["memory.trcd_ns"].is_between(10, 20).all()
    assert table["memory.trcd_ns"].n_unique() == 8


@pytest.mark.parametrize("method", ["exhaustive", "random", "latin", "sobol", "descent", "nelder-mead", "swarm"])
def test_a_search_keeps_the_best_so_far(method):
    table = ms.search("pim.gemv", AXES, minimize="time_ns", method=method, budget=60, base=BASE)
    assert table["evaluation"].to_list() == list(range(len(table)))
    assert table["best_so_far"].to_list() == table["time_ns"].cum_min().to_list()
    assert table.filter("on_front")["time_ns"].unique().to_list() == [table["time_ns"].min()]
    again = ms.search("pim.gemv", AXES, minimize="time_ns", method=method, budget=60, base=BASE)
    assert again.equals(table)


def test_the_front_of_a_space_is_that_of_its_table():
    goals = {"minimize": ["time_ns", f"{REGISTERS} * {BANKS}"]}
    best = ms.front("pim.gemv", AXES, base=BASE, constraints=SMALL, **goals)
    table = ms.front(ms.sweep("pim.gemv", AXES, BASE, constraints=SMALL), **goals)
    assert best["designs"].sum() == len(table)
    assert set(best["time_ns"]) == set(table["time_ns"])


def test_a_front_says_of_which_listed_values_it_knows_nothing():
    axes = {"memory.banks_per_channel": [8, 16], "placement": ["pimnast", "columns-first"]}
    told = (
        "no point with `placement` = columns-first has an answer; the front's first point says with it: .*columns-first"
    )
    with pytest.warns(UserWarning, match=told):
        known = ms.front("pim.gemv", axes, minimize=["time_ns"])
    assert set(known["placement"]) == {"pimnast"}


def test_any_table_has_a_front():
    table = pl.DataFrame({"a": [1, 2, 3, None], "b": [3.0, 1.0, 2.0, 0.0], "ok": [True, True, True, True]})
    with pytest.warns(UserWarning, match="1 of 4 rows have no `a`") as warned:
        assert ms.front(table, minimize=["a", "b"])["a"].to_list() == [1, 2]
    assert [it.filename for it in warned] == [__file__]
    assert ms.front(table, minimize="a", maximize="b", constraints="ok and a > 1")["a"].to_list() == [2, 3]
    assert ms.hypervolume(table, minimize=["a", "b"], reference={"a": 4, "b": 4}) == 3 + 2 * 2


def test_rows_and_columns_may_mix_whole_numbers_with_others():
    # Polars looks at a hundred rows unless told otherwise.
    rows = [{"a": 2, "b": 1}] * 150 + [{"a": 0.5, "b": 1, "c": "x"}]
    assert ms.front(rows, minimize="a")["a"].to_list() == [0.5]
    assert ms.hypervolume(rows, minimize="a", reference={"a": 3}) == 2.5
    columns = {"a": [2, None, 0.5], "b": [1, 2, 3]}
    with pytest.warns(UserWarning, match="1 of 3 rows have no `a`"):
        assert ms.front(columns, minimize="a")["a"].to_list() == [0.5]
    assert "2.50" in ms.plot({"x": [1, 2, 3], "y": [1, 2.5, 2]}, x="x", y="y").alt_text()
    # Beyond 64 bits a number is as near as a float is.
    assert ms.front([{"a": 2**64}, {"a": 2**65}], minimize="a")["a"].to_list() == [2.0**64]
    with pytest.raises(ms.MemscapeError, match="makes no table"):
        ms.front([{"a": 2**200}], minimize="a")


def test_a_batch_may_have_any_form():
    rows = [{BANKS: 8, REGISTERS: 12}, {BANKS: 4, REGISTERS: 16}, {BANKS: 0, REGISTERS: 16}]
    columns = {BANKS: [8, 4, 0], REGISTERS: [12, 16, 16]}
    expected = ms.evaluate("pim.gemv", rows, base=BASE)
    assert expected[BANKS].to_list() == [8, 4, 0]
    assert expected["error"].is_null().to_list() == [True, True, False]
    assert ms.evaluate("pim.gemv", columns, base=BASE).equals(expected)
    assert ms.evaluate("pim.gemv", pl.DataFrame(rows), base=BASE).equals(expected)

    class Foreign:
        """Another library's table, which goes through its columns' names."""

        def __iter__(self):
            return iter([BANKS, REGISTERS])

        def __arrow_c_stream__(self, schema=None):
            return pl.DataFrame(rows).__arrow_c_stream__(schema)

    assert ms.evaluate("pim.gemv", Foreign(), base=BASE).equals(expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ms.evaluate("pim.gemv", [{BANKS: 8}, {REGISTERS: 8}]), "point 1 gives"),
        (lambda: ms.evaluate("pim.gemv", []), "give one at least"),
        (lambda: ms.evaluate("pim.gemv", {BANKS: [1, 2], REGISTERS: [1]}), "they must be as many"),
    ],
)
def test_a_batch_that_is_none_is_refused(call, message):
    with pytest.raises(ms.MemscapeError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ms.front(pl.DataFrame({"a": [1.0]}), minimize="b"), "no column `b`"),
        (lambda: ms.front(pl.DataFrame({"a": [float("nan")]}), minimize="a"), "row 0 is NaN"),
        (lambda: ms.front(pl.DataFrame({"a": ["x"]}), minimize="a"), "it holds texts, not numbers"),
        (lambda: ms.front(pl.DataFrame({"a": [1.0]})), "no objective"),
        (lambda: ms.front("pim.gemv", minimize="time_ns"), "needs a space"),
        (lambda: ms.front("found.parquet", minimize="time_ns"), "there is no study"),
        (lambda: ms.front(pl.DataFrame({"a": [1.0]}).lazy(), minimize="a"), "`collect()` makes it one"),
        (lambda: ms.evaluate("pim.gemv", pl.DataFrame({"pim.registers": [8]}).lazy()), "`collect()` makes it one"),
        (lambda: ms.front(pl.DataFrame({"a": [1.0]}), AXES, minimize="a"), "a table has no `space`"),
        (lambda: ms.front(pl.DataFrame({"a": [1.0]}), minimize="a", store="runs"), "a table has no `space`"),
        (lambda: ms.hypervolume(pl.DataFrame({"a": [1]}), minimize="a", reference={"b": 1}), "`reference` must have"),
        (lambda: ms.search("pim.gemv", {}, minimize="time_ns"), "has no axes"),
        (lambda: ms.search("pim.gemv", AXES, minimize="time_ns", constraints=f"{BANKS} > 64"), "leaves none of 60"),
        (lambda: ms.search("ndp.partition", {"seed": [1, 2]}, minimize="seed", seed=[1, 2]), "`seed` is an axis"),
        (lambda: ms.search("pim.gemv", AXES, minimize="time_ns", method="sobel"), "`method` is 'sobel'; give"),
        (lambda: ms.search("pim.gemv", AXES, minimize="time_ns <"), "at its end"),
        (lambda: ms.sweep("pim.gemv", AXES, constraints=f"{BANKS} > 64"), "leaves none of 60 points"),
    ],
)
def test_what_makes_no_sense_is_told(call, message):
    with pytest.raises(ms.MemscapeError) as error:
        call()
    assert message in str(error.value)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_an_interrupt_keeps_the_front_so_far():
    code = """
        import warnings
        import memscape as ms
        axes = {"memory.trcd_ns": {"from": 10, "to": 40, "count": 100_000}, "pim.registers": list(range(8, 108))}
        print("ready", flush=True)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            table = ms.front("pim.gemv", axes, minimize=["time_ns", "pim.registers"])
        assert "interrupted" in str(seen[0].message)
        assert seen[0].category is ms.IncompleteWarning
        assert len(table) > 0
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(1.5)
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=20) == 0


def test_a_search_without_a_best_point_says_why():
    with pytest.warns(UserWarning, match="null or not a finite number") as warned:
        table = ms.search("pim.gemv", AXES, minimize="time_ns / 0", budget=5, base=BASE, method="random")
    assert len(table) == 5 and not table["on_front"].any()
    assert [it.filename for it in warned] == [__file__], "not a line of the package"


def test_a_search_says_what_it_compares_with_nothing():
    goal = f"1 / ({BANKS} - 8)"
    with pytest.warns(UserWarning, match="15 of 60 answers are compared with none") as warned:
        table = ms.search("pim.gemv", AXES, minimize=goal, budget=100, base=BASE, method="exhaustive")
    assert table["on_front"].any() and len(warned) == 1
    assert [it.filename for it in warned] == [__file__], "not a line of the package"


def test_any_column_may_stand_beside_an_objective():
    table = pl.DataFrame({"a": [2, 1, 1], "day": [date(2026, 11, it) for it in (1, 2, 3)], "of": [[1], [2], [3]]})
    table = table.with_columns(pl.col("a").cast(pl.Int8), b=pl.col("a").cast(pl.UInt64))
    for goal in ("a", "b"):
        best = ms.front(table, minimize=goal)
        assert best.equals(table[1:])
    assert ms.hypervolume(table, minimize="a", reference={"a": 3}) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize("after_s", [0.3, 1.0, 2.0])
def test_an_interrupt_keeps_the_searches_so_far(after_s):
    """Also one that comes while a result is handed over, of which the first needs polars."""
    code = """
        import warnings
        import memscape as ms
        axes = {"memory.trcd_ns": {"from": 10, "to": 20}, "pim.registers": list(range(8, 40))}
        print("ready", flush=True)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            goals = ["time_ns", "pim.registers"]
            table = ms.search("pim.gemv", axes, minimize=goals, method="random", budget=400_000, seed=[1, 2, 3])
        assert "interrupted" in str(seen[-1].message), seen
        assert 0 < len(table) < 1_200_000
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(after_s)
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=60) == 0
