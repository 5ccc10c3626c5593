"""What answers may be, from how well the numbers behind them are known."""

from __future__ import annotations

import pytest

import memscape as ms

GRADES = {"printed", "datasheet", "measured", "derived", "choice", "reading", "prior", "calibrated"}


def test_every_number_of_every_preset_has_a_grade():
    for name in ms.presets()["name"]:
        sources = ms.describe(name).sources
        assert {source.split(":")[0] for source in sources.values()} <= GRADES, name


def test_a_single_point_says_what_each_number_may_be():
    table = ms.run("pim.gemv", model="opt-6.7b", gemv="fc1", uncertainty=50)
    answer = ms.run("pim.gemv", model="opt-6.7b", gemv="fc1")
    rows = {row["of"]: row for row in table.iter_rows(named=True)}
    assert rows["time_ns"]["value"] == answer["time_ns"]
    assert rows["time_ns"]["low"] < answer["time_ns"] < rows["time_ns"]["high"]
    assert rows["time_ns"]["from_readings"] > 0
    # Counting bytes is not in doubt.
    assert rows["weight_bytes"]["low"] == rows["weight_bytes"]["high"]


@pytest.mark.parametrize("study", ["ondevice.capacity", "ndp.inference"])
def test_columns_are_told_each_by_itself(study):
    """One that is null in draws, and one that is called like a parameter, too."""
    answer = ms.run(study)
    for row in ms.run(study, uncertainty=20).iter_rows(named=True):
        assert row["value"] == answer[row["of"]], row["of"]
        # A changed machine has no price.
        assert "usd" in row["of"] or row["low"] <= row["median"] <= row["high"], row


def test_a_reading_that_an_engine_lacks_is_not_drawn():
    """The closed form follows one rule of the predictor only."""
    with pytest.raises(ms.MemscapeError, match=r"`predictor\.rule`"):
        ms.run("ndp.inference", **{"predictor.rule": "exceed"})
    (row,) = ms.uncertainty("ndp.inference", of="tokens_per_s", draws=40).iter_rows(named=True)
    assert row["draws"] == 40
    assert row["from_readings"] > 0


def test_what_is_given_is_known():
    doubt = ms.uncertainty("pim.gemv", of="time_ns", base={"model": "opt-6.7b"})
    less = ms.uncertainty("pim.gemv", of="time_ns", base={"model": "opt-6.7b", "pim.row_after_write": "in-order"})
    assert doubt["from_readings"][0] > 0
    assert less["from_readings"][0] == 0


def test_a_sweep_has_a_row_for_each_point_and_the_same_draws_at_all():
    axes = {"memory.banks_per_channel": [8, 16], "split_k": [1, 2]}
    table = ms.sweep("pim.gemv", axes, base={"model": "opt-6.7b"}, uncertainty=30)
    assert table["memory.banks_per_channel"].to_list() == [8, 8, 16, 16]
    assert table.equals(ms.sweep("pim.gemv", axes, base={"model": "opt-6.7b"}, uncertainty=30))


def test_a_description_of_ones_own_brings_its_own_doubts(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(
        'base = "lpddr5x-7500"\n[parameters]\ntrcd_ns = 18\n'
        '[sources]\ntrcd_ns = "prior: a guess"\n[intervals]\ntrcd_ns = [10, 40]\n'
    )
    given = {"model": "opt-6.7b"}
    wide = ms.uncertainty("pim.gemv", of="time_ns", base={**given, "memory": str(own)})
    plain = ms.uncertainty("pim.gemv", of="time_ns", base=given)
    assert wide["from_priors"][0] > plain["from_priors"][0]
    own.write_text(own.read_text().replace("[10, 40]", "[20, 40]"))
    with pytest.raises(ms.MemscapeError, match="expected a number below and one above 18"):
        ms.run("pim.gemv", memory=str(own))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"draws": 1}, "at least 20"),
        ({"draws": 10**12}, "at most"),
        ({"of": "time_n"}, "did you mean `time_ns`"),
        ({"space": {"pim.registers": {"from": 1, "to": 2}}}, "range of real numbers"),
    ],
)
def test_bad_questions_are_refused(change, message):
    with pytest.raises(ms.MemscapeError, match=message):
        ms.uncertainty("pim.gemv", **{"of": "time_ns", **change})


def test_a_point_without_an_answer_says_why():
    formats = {"format": ["int8", "bad"]}
    table = ms.sweep("pim.gemv", formats, base={"model": "opt-6.7b"}, uncertainty=20)
    assert table["error"][0] is None and table["value"][0] > 0
    assert table["value"][1] is None and table["draws"][1] == 0 and "bad" in table["error"][1]
