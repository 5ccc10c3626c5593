"""Tables cross the border and come back the same."""

from datetime import date

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import memscape as ms
from memscape._memscape import Frame, MemscapeError

MIXED = pl.DataFrame(
    {
        "whole": [1, -(2**62), None],
        "real": [0.1, None, 1e300],
        "text": ["", None, "longer than the twelve bytes stored inline, µ"],
        "truth": [True, None, False],
    }
)


@pytest.mark.parametrize(
    "frame",
    [
        MIXED,
        MIXED.clear(),
        MIXED.select(pl.all().first().repeat_by(0).explode()),
        pl.concat([MIXED, MIXED], rechunk=False),
        MIXED.slice(1, 1),
        pl.DataFrame({"none": pl.Series([None, None], dtype=pl.Float64)}),
        pl.DataFrame(
            {f"c{i}": pl.Series([i], dtype=it) for i, it in enumerate((pl.Int32, pl.UInt32, pl.UInt64, pl.Float32))}
        ),
    ],
    ids=["mixed", "empty", "empty by filter", "two chunks", "slice", "all null", "widths"],
)
def test_round_trip(frame):
    assert_frame_equal(pl.DataFrame(Frame(frame)), frame)


def test_a_frame_can_be_taken_twice():
    frame = Frame(MIXED)
    assert_frame_equal(pl.DataFrame(frame), pl.DataFrame(frame))


def test_data_outlives_the_frame():
    frame = pl.DataFrame(Frame(pl.concat([MIXED] * 1000)))
    assert frame["text"].null_count() == 1000


def test_what_is_no_table_is_refused():
    with pytest.raises(MemscapeError, match=r"`list` is not a table; give a polars\.DataFrame"):
        Frame([1, 2])
    with pytest.raises(MemscapeError, match=r"column `day` is of type .* cast it"):
        Frame(pl.DataFrame({"day": [None]}, schema={"day": pl.Date}))


def test_what_is_not_drawn_may_be_anything():
    rows = [{"regs": 12, "us": 1.0, "note": None, "day": date(2026, 1, 1)}, {"regs": 16, "us": 2.0, "note": None}]
    expected = ms.plot(pl.DataFrame(rows).select("regs", "us"), x="regs", y="us").svg()
    small = pl.DataFrame(rows).with_columns(pl.col("regs").cast(pl.Int8), odd=pl.lit([1, 2]))
    for table in (pl.DataFrame(rows), rows, {"regs": [12, 16], "us": [1.0, 2.0]}, small):
        assert ms.plot(table, x="regs", y="us").svg() == expected
    with pytest.raises(ms.MemscapeError, match=r"column `odd` is of type List.*neither numbers nor texts"):
        ms.plot(small, x="odd", y="us")
    with pytest.raises(ms.MemscapeError, match="a `set` is not a table"):
        ms.plot({1}, x="regs", y="us")


def test_one_axis_has_one_unit():
    rows = [{"it": "a", "ttft_s": 1.0, "tokens_per_s": 20.0}]
    with pytest.raises(ms.MemscapeError, match=r"`ttft_s` is in s, and `tokens_per_s` is in tokens/s: one axis"):
        ms.plot(rows, x="it", y=["ttft_s", "tokens_per_s"])
    named = {"ttft_s": "Seconds", "tokens_per_s": "Tokens per second"}
    assert "Seconds" in ms.plot(rows, x="it", y=list(named), labels=named).svg()


def test_whole_numbers_are_drawn_as_such():
    axis = {"from": 12, "to": 32}
    with pytest.raises(ms.MemscapeError, match=r"`pim.registers` is a range of real numbers.*`integer = true`"):
        ms.search("pim.gemv", {"pim.registers": axis}, minimize="time_ns", budget=5)
    found = ms.search("pim.gemv", {"pim.registers": {**axis, "integer": True}}, minimize="time_ns", budget=5)
    assert found["error"].null_count() == len(found)


def test_a_description_takes_dotted_names():
    given = [{"memory.trcd_ns": 30}, {"memory": {"trcd_ns": 30}}]
    answers = [ms.run("pim.gemv", hardware={"base": "lpddr5x-7500-pim", "parameters": it}) for it in given]
    assert answers[0]["time_ns"] == answers[1]["time_ns"] != ms.run("pim.gemv")["time_ns"]
