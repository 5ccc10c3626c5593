"""Tables cross the border and come back the same."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

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
