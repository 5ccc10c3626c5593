"""Beside other people's tools: what docs/agreement.md says, and that it holds."""

from __future__ import annotations

import statistics
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import gguf
import numpy as np
import polars as pl
import pytest
from gguf import quants
from test_ndp import optimum

import memscape as ms

ROOT = Path(__file__).parents[2]
if not (ROOT / "data" / "agreement").is_dir():
    pytest.skip(f"{ROOT} is not the repository", allow_module_level=True)

FORMATS = {4: "int4", 8: "int8", 16: "fp16"}
CLOSE = 0.05
INSTANCES = 40


def ours(theirs):
    """The same product on our model, in the same setting and with the same timings: theirs has no tRTP."""
    given = {
        "m": theirs["m"],
        "k": theirs["k"],
        "format": FORMATS[theirs["in_bits"]],
        "placement": "pimnast",
        "memory.trtp_ns": 0,
        "memory.banks_per_channel": theirs["banks_per_channel"],
        "pim.registers": theirs["orf"] + theirs["irf"],
        "split_k": theirs["split_k"],
        "charge_reduction": True,
        "cr_degree": "auto" if theirs["cr_degree_mode"] == "auto" else 1,
    }
    setting = theirs["experiment"]
    if setting.startswith("in_reg"):
        given["pim.input_registers"] = theirs["in_reg"]
    if setting.startswith("registers"):
        given["pim.input_registers"] = min(theirs["in_reg"], theirs["irf"])
    return ms.run("pim.gemv", given)


@pytest.fixture(scope="module")
def compared():
    rows = pl.read_csv(ROOT / "data" / "agreement" / "geniepim.csv").rows(named=True)
    return [(row, ours(row)) for row in rows]


def error(pair):
    theirs, answer = pair
    return answer["speedup"] / theirs["speedup"] - 1


def test_geniepim_agrees_where_columns_are_not_split(compared):
    assert all(abs(error(it)) <= CLOSE for it in compared if it[0]["split_k"] == 1)


def test_geniepim_disagrees_only_where_it_forgets_row_blocks(compared):
    """A part of a split has fewer banks and so more row-blocks in each; there these are counted as without a split."""
    far = [theirs for theirs, answer in compared if abs(error((theirs, answer))) > CLOSE]
    blocks = [it["m"] / (it["tile_m"] * it["banks_per_channel"] * 8) for it in far]
    assert len(far) == 12
    assert all(it["split_k"] > 1 and block != int(block) for it, block in zip(far, blocks, strict=True))


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs" / "agreement.md").read_text(encoding="utf-8")


def test_the_page_says_so(compared, page):
    settings = dict.fromkeys(theirs["experiment"] for theirs, _ in compared)
    for setting in settings:
        errors = [abs(error(it)) for it in compared if it[0]["experiment"] == setting]
        far = sum(it > CLOSE for it in errors)
        median, most = 100 * statistics.median(errors), 100 * max(errors)
        row = f"| `{setting}` | {len(errors)} | {median:.1f} % | {most:.1f} % | {far} |"
        assert row in page, row
    errors = [abs(error(it)) for it in compared]
    close = sum(it <= CLOSE for it in errors)
    said = f"median error {100 * statistics.median(errors):.1f} %, {close} of {len(errors)} within 5 %"
    assert said in page, said


def test_the_lpddr5_preset_is_as_ramulator_has_it():
    """JESD209-5B's numbers in Ramulator 2.1, in clocks of the command bus."""
    it = ms.describe("lpddr5-6400").parameters
    clock_ns = 1e3 * it["transfers_per_clock"] / it["data_rate_mt_s"]
    clocks = {name: it[name] / clock_ns for name in ("cl_ns", "cwl_ns", "trtp_ns", "trp_ab_ns")}
    assert clocks == {"cl_ns": 17, "cwl_ns": 9, "trtp_ns": 8, "trp_ab_ns": 17}
    assert abs(it["trefi_ns"] - 3906) < 1
    # nCL + nBL + 2 - nCWL; left to the rule.
    assert it["trtw_ns"] is None
    assert clocks["cl_ns"] + it["burst_length"] / it["transfers_per_clock"] + 2 - clocks["cwl_ns"] == 12


def table(name):
    return pl.read_csv(ROOT / "data" / "agreement" / name).rows(named=True)


def test_streams_beside_two_simulators(page):
    """The rate of one rank, in clocks of a read, is what was compared, and what the page says of it."""
    of = {"interleaved": "bank-groups", "row-by-row": "row-by-row"}
    for row in table("streams.csv"):
        ours, pattern = row["ours_clocks"], row["pattern"]
        theirs = [row[it] for it in ("dramsim3_32_clocks", "ramulator_32_clocks")]
        if pattern == "row-by-row":
            assert all(0.5 < it / ours < 0.81 for it in theirs), row
            assert 1 <= row["dramsim3_1_clocks"] / ours < 1.25, row
        else:
            assert all(abs(it / ours - 1) < 0.04 for it in theirs), row
        if row["refresh"] == "on":
            said = [f"{row[it]:#.4g}" for it in ("dramsim3_1_clocks", "ours_clocks")] + [f"{it:#.4g}" for it in theirs]
            assert f"| `{row['preset']}` | {pattern} | {' | '.join(said)} |" in page, row
        elif pattern in of:
            memory = ms.describe(row["preset"]).parameters
            given = {"dimm.memory": row["preset"], "dimm.interleave": of[pattern], "dimm.ranks": 1}
            rate = ms.run("ndp.inference", given)["dimm_bandwidth_gb_s"] / memory["channels"]
            burst_bytes = memory["bus_bits"] * memory["burst_length"] / 8
            clocks = burst_bytes / rate * memory["data_rate_mt_s"] / memory["transfers_per_clock"] * 1e-3
            between_refreshes = 1 - memory["trfc_ab_ns"] / memory["trefi_ns"]
            assert clocks * between_refreshes == pytest.approx(ours, rel=5e-4), row


def test_pim_commands_beside_two_simulators(page):
    """MACs of a trace are as far apart as the reads of one bank are in both."""
    for row in table("macs.csv"):
        assert row["equal"] == row["gaps"], row
        asked = [f"memory={row['memory']}", f"m={row['m']}", f"k={row['k']}", "--format", "commands"]
        traced = subprocess.run(
            [sys.executable, "-m", "memscape", "trace", "--quiet", "pim.gemv", *asked],
            capture_output=True,
            text=True,
            check=True,
        )
        commands = [it.split(",") for it in traced.stdout.splitlines()[1:]]
        columns = [it for it in commands if it[1] in ("MAC", "REGWR", "SPILL", "ALU")]
        pairs = [(one, two) for one, two in pairwise(columns) if one[1] == two[1] == "MAC"]
        gaps = {same: {int(b[0]) - int(a[0]) for a, b in pairs if (a[6] == b[6]) is same} for same in (True, False)}
        assert len(pairs) == row["gaps"], row
        assert gaps == {True: {row["clocks_within_row"]}, False: {row["clocks_to_other_row"]}}, row
        said = [row[it] for it in ("gaps", "equal", "clocks_within_row", "clocks_to_other_row")]
        assert f"| `{row['memory']}` | {' | '.join(map(str, said))} |" in page, row


@pytest.mark.parametrize(
    ("name", "kind"), [("q4_0", gguf.GGMLQuantizationType.Q4_0), ("q8_0", gguf.GGMLQuantizationType.Q8_0)]
)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0])
def test_blocks_are_those_of_the_gguf_package(name, kind, scale):
    weights = (np.random.default_rng(1).standard_normal(32 * 500) * scale).astype(np.float32)
    theirs = quants.quantize(weights, kind).tobytes()
    assert bytes(ms.riscv.quantise(name, weights.tolist())) == theirs
    back = quants.dequantize(np.frombuffer(theirs, np.uint8), kind)
    assert ms.riscv.dequantise(name, theirs) == back.tolist()


def test_partitions_beside_integer_programmes(page):
    """Random blocks of 3 to 10 neurons on a GPU and 1 to 3 DIMMs."""
    gaps, bounds = [], []
    for seed in range(INSTANCES):
        random = np.random.default_rng(seed)
        neurons, blocks, dimms = (int(random.integers(*it)) for it in ((3, 11), (1, 4), (1, 4)))
        size = random.uniform(4e6, 9e6, (blocks, neurons))
        frequency = np.maximum(random.uniform(0, 1, (blocks, neurons)) ** 3, 1e-3)
        bandwidth = [748.8e9] + [89.6e9] * dimms
        capacity = [float(size.sum() * random.uniform(0.1, 0.6))] + [float(size.sum())] * dimms
        ours = ms.ndp.solve(size, frequency, bandwidth=bandwidth, capacity=capacity)
        best = optimum(size.tolist(), frequency.tolist(), bandwidth, capacity)
        assert ours.lower_bound_ms * 1e3 <= best * (1 + 1e-6)
        assert ours.objective_ms * 1e3 >= best * (1 - 1e-6)
        gaps.append(ours.objective_ms * 1e3 / best - 1)
        bounds.append(1 - ours.lower_bound_ms * 1e3 / best)
    optimal = sum(it < 1e-6 for it in gaps)
    row = (
        f"| {INSTANCES} | {optimal} | {100 * max(gaps):.1f} % | {100 * statistics.median(bounds):.1f} % | "
        f"{100 * max(bounds):.1f} % |"
    )
    assert row in page, row
