"""Platforms beside each other, predictions, and plots of any table."""

from __future__ import annotations

import json

import polars as pl
import pytest

import memscape as ms


def test_a_comparison_has_a_row_for_each_platform_and_format():
    table = ms.compare("llama-3.2-1b", prompt_tokens=64, platforms=["npu-xdna2", "pimnast"], format=["int4", "int8"])
    assert table["platform"].to_list() == ["npu-xdna2", "npu-xdna2", "pimnast", "pimnast"]
    assert table["format"].to_list() == ["int4", "int8"] * 2
    assert table["error"].null_count() == 4
    own = {"base": "npu-xdna2", "parameters": {"given": {"device.dram.read_gb_s": 80}}}
    faster = ms.compare("llama-3.2-1b", prompt_tokens=64, platforms=[own], format="int4")
    assert faster["token_ns"][0] < table["token_ns"][0]
    assert faster["platform"][0] == "npu-xdna2: device.dram.read_gb_s = 80"
    assert faster["assumptions"][0].endswith("changed from npu-xdna2: device.dram.read_gb_s = 80")


def test_a_model_of_one_s_own_can_be_asked_for_again():
    tables = []
    for layers in (8, 12):
        model = {"base": "llama-3.2-1b", "parameters": {"layers": layers}}
        tables.append(ms.compare(model, prompt_tokens=64, platforms="npu-xdna2"))
    both = pl.concat(tables)
    assert both["model"].n_unique() == 2
    assert "llama-3.2-1b, layers = 12" in ms.plot(both, x="model", y="token_ns").svg()
    again = ms.compare(json.loads(both["model"][1]), prompt_tokens=64, platforms="npu-xdna2")
    assert again["token_ns"][0] == both["token_ns"][1]
    swept = ms.sweep("npu.inference", {"model": [json.loads(both["model"][1])]}, {"prompt_tokens": 64})
    assert swept["model"][0] == both["model"][1]
    for empty in ((), [], pl.Series([], dtype=pl.String)):
        with pytest.raises(ms.MemscapeError, match="`format` is empty"):
            ms.compare(platforms="npu-xdna2", format=empty)


def test_a_model_of_a_file_is_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = 'base = "llama-3.2-1b"\nsummary = "x"\n[parameters]\nlayers = 8\n'
    (tmp_path / "own.toml").write_text(text, encoding="utf-8")
    table = ms.compare("own.toml", prompt_tokens=64, platforms="npu-xdna2")
    assert table["model"][0] == str(tmp_path / "own.toml")


def test_an_energy_has_ends_a_boundary_and_a_grade():
    names = ["soc-lpddr5x", "pimnast", "sg2042", "hermes"]
    table = ms.compare("llama-2-7b", prompt_tokens=32, generated_tokens=8, platforms=names)
    assert table["error"].null_count() == len(names)
    # A graphics card has memory of its own, of which nothing is known.
    assert table["energy_boundary"].to_list() == ["device", "device", "device", "modules"]
    assert table["low_tokens_per_j"].is_null().to_list() == [False, False, False, True]
    assert (table["energy_low_j"] <= table["energy_j"]).all()
    assert (table["energy_j"] <= table["energy_high_j"]).all()
    soc, pim = table["energy_per_token_j"][:2]
    assert pim < soc
    assert table["energy_package_limit_j"].is_null().to_list() == [True, True, False, False]
    # A memory of which nothing is said is a null, not a guess.
    assert ms.run("pim.gemv", {"memory": {"energy": None}})["energy_j"] is None


def test_what_no_platform_could_mend_is_an_error():
    with pytest.raises(ms.MemscapeError, match="npu-xdna2"):
        ms.compare(platforms=["npu-xdna3"])
    with pytest.raises(ms.MemscapeError, match="generated_tokens"):
        ms.compare(generated_tokens=0)
    with pytest.raises(ms.MemscapeError):
        ms.compare(batch=-1)


def test_measurements_are_held_against_what_was_said(tmp_path):
    said = ms.predictions()
    first = said.row(0, named=True)
    file = tmp_path / "measured.toml"
    file.write_text(f'[[measured]]\nid = "{first["id"]}"\nvalue = {first["value"]}\nsource = "nobody"\n')
    score = ms.predictions(measured=file)
    assert score["inside"].to_list() == [True]
    assert abs(score["error"][0]) < 1e-9
    file.write_text('[[measured]]\nid = "sg2042"\nvalue = 1.0\nsource = "nobody"\n')
    with pytest.raises(ms.MemscapeError, match="sg2042"):
        ms.predictions(measured=file)


def test_any_table_is_drawn():
    table = pl.DataFrame({"batch": [1, 2, 4], "time_ms": [1.0, 1.5, 3.0], "kind": ["a", "a", "a"]})
    svg = ms.plot(table, x="batch", y="time_ms", reference={"limit": 2.0}, log="x").svg()
    assert "Time (ms)" in svg
    assert "limit" in svg
    for kind in ["bars", "lines", "points", "front"]:
        assert ms.plot(table, x="batch", y="time_ms", kind=kind).png().startswith(b"\x89PNG")


def test_columns_have_other_names_and_units_where_asked():
    table = pl.DataFrame({"batch": [1, 2, 4], "token_ns": [1e6, 1.5e6, 3e6]})
    assert "Token (ms)" in ms.plot(table, x="batch", y="token_ns").svg()
    named = ms.plot(table, x="batch", y="token_ns", labels={"token_ns": "One token (ns)"}).svg()
    assert "One token (ns)" in named and "(ms)" not in named
    with pytest.raises(ms.MemscapeError, match="token_ms"):
        ms.plot(table, x="batch", y="token_ns", labels={"token_ms": "x"})
    # Told at once, not when a notebook shows it.
    with pytest.raises(ms.MemscapeError, match="does not fit"):
        ms.plot(table, x="batch", y="token_ns", title="x" * 400)


def test_a_front_says_what_it_passes_over():
    table = pl.DataFrame(
        {"time_ns": [1.0, 2.0], "cost_usd": [None, 5.0], "energy_j": [1.0, 2.0], "energy_boundary": ["a", "b"]}
    )
    with pytest.warns(UserWarning, match="1 of 2 rows have no `cost_usd`"):
        ms.front(table, minimize=["time_ns", "cost_usd"])
    with pytest.warns(UserWarning, match="`energy_boundary` is a, b"):
        ms.front(table, minimize=["time_ns", "energy_j"])


def test_figures_have_bands_tornados_and_styles():
    table = pl.DataFrame({"batch": [1, 2], "time_ms": [2.0, 3.0], "least_ms": [1.5, 2.0], "most_ms": [3.0, 5.0]})
    band = ms.plot(table, x="batch", y="time_ms", band=("least_ms", "most_ms"), reference={"phones": (4, 6)})
    assert "fill-opacity" in band.svg()
    assert "phones" in band.alt_text()
    slide = ms.plot(table, x="batch", y="time_ms", style="slides", wide=True)
    assert 'width="13.33' in slide.svg()
    axes = {"memory.trcd_ns": {"from": 10, "to": 30}, "memory.banks_per_channel": [8, 16, 32]}
    moves = ms.sensitivity("pim.gemv", axes, of="time_ns", method="tornado")
    figure = ms.plot(moves, x="parameter", y=["at_low", "at_high"], kind="tornado")
    assert "memory.banks_per_channel" in figure.svg()
    with pytest.raises(ms.MemscapeError, match="nothing"):
        ms.plot(moves, x="nothing", y=["at_low", "at_high"], kind="tornado")


def test_what_cannot_be_drawn_is_told():
    table = pl.DataFrame({"batch": [1, 1], "time_ms": [1.0, 2.0], "threads": [1, 2]})
    with pytest.raises(ms.MemscapeError, match="threads"):
        ms.plot(table, x="batch", y="time_ms")
    with pytest.raises(ms.MemscapeError, match="did you mean"):
        ms.plot(table, x="batches", y="time_ms")
    with pytest.raises(ms.MemscapeError, match="is empty"):
        ms.plot(table.clear(), x="batch", y="time_ms")
    with pytest.raises(ms.MemscapeError):
        ms.plot(table, x="batch", y="time_ms", kind="pie")
