"""Hermes from Python: traces of one's own, and partitions against HiGHS."""

import json
from pathlib import Path

import highspy
import numpy as np
import pytest

import memscape as ms

DATA = Path(__file__).parents[2] / "data"


def optimum(size, frequency, bandwidth, capacity):
    """The integer programme as the paper writes it, in microseconds."""
    highs = highspy.Highs()
    highs.silent()
    slowest = [highs.addVariable(obj=1.0) for _ in size]
    held = [[] for _ in bandwidth]
    for block, (sizes, shares) in enumerate(zip(size, frequency, strict=True)):
        place = [[highs.addBinary() for _ in bandwidth] for _ in sizes]
        for row in place:
            highs.addConstr(highs.qsum(row) == 1)
        for device, rate in enumerate(bandwidth):
            work = [s * f / rate * 1e6 * row[device] for s, f, row in zip(sizes, shares, place, strict=True)]
            highs.addConstr(highs.qsum(work) <= slowest[block])
            held[device] += [s * 1e-6 * row[device] for s, row in zip(sizes, place, strict=True)]
    for device, all_bytes in enumerate(held):
        highs.addConstr(highs.qsum(all_bytes) <= capacity[device] * 1e-6)
    highs.minimize()
    return highs.getObjectiveValue()


def test_what_is_on_a_dimm_of_an_instance_is_on_that_dimm(tmp_path):
    """All neurons are on the GPU or on some DIMM, however many the usual machine has."""
    size, frequency = np.full((2, 4), 5e6), np.full((2, 4), 0.5)
    for dimms in [1, 2, 5]:
        file = tmp_path / f"{dimms}.npz"
        rates, rooms = [748.8e9, *[89.6e9] * dimms], [1e7, *[4e7] * dimms]
        np.savez(file, size=size, freq=frequency, bw=np.array(rates), cap=np.array(rooms))
        found = ms.run("ndp.partition", instance=file)
        on_dimms = 0.04 - found["gpu_gb"]
        assert found["emptiest_dimm_gb"] <= on_dimms / dimms * (1 + 1e-9)
        assert found["fullest_dimm_gb"] >= on_dimms / dimms * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_partition_agrees_with_highs(seed):
    random = np.random.default_rng(seed)
    size = random.uniform(4e6, 9e6, (2, 8))
    frequency = random.uniform(0, 1, (2, 8)) ** 3
    bandwidth, capacity = [748.8e9, 89.6e9, 89.6e9], [3e7, 6e7, 6e7]
    ours = ms.ndp.solve(size, frequency, bandwidth=bandwidth, capacity=capacity)
    best = optimum(size, frequency, bandwidth, capacity)
    # The bound is one, and eight neurons cannot be divided much better.
    assert ours.lower_bound_ms * 1e3 <= best + 1e-3
    assert best - 1e-3 <= ours.objective_ms * 1e3 <= 1.2 * best


def test_a_trace_of_ones_own_is_read_and_walked(tmp_path):
    random = np.random.default_rng(0)
    bits = {"qkv": random.random((40, 2, 16)) < 0.3, "mlp": random.random((40, 2, 64)) < 0.1}
    packed = {key: np.packbits(it, axis=-1, bitorder="little") for key, it in bits.items()}
    path = tmp_path / "mine.npz"
    np.savez_compressed(path, **packed, n_prefill=np.int32(8), meta=np.array(json.dumps({"model": "mine"})))
    said = ms.ndp.load("mine", [path])
    assert said == "mine: 1 sequences of 8 + 32 tokens, 2 layers of 16 QKV inputs and 64 feed-forward neurons"
    answer = ms.run("ndp.activity", model=None, trace="mine", engine="events", generated_tokens=32, block="mlp")
    assert answer["density"] == pytest.approx(bits["mlp"][8:].mean(), abs=1e-12)
    walked = ms.run("ndp.inference", model=None, trace="mine", engine="events", generated_tokens=32, hot_share=0.2)
    assert walked["tokens_per_s"] > 0
    for there in (path, tmp_path):
        read = ms.run("ndp.inference", model=None, trace=there, engine="events", generated_tokens=32, hot_share=0.2)
        assert read == walked
    np.savez(path, **{**packed, "mlp": packed["mlp"][:-1]}, n_prefill=np.int32(8), meta=np.array("{}"))
    with pytest.raises(ms.MemscapeError, match=r"mine\.npz`: array `mlp`.*tokens and layers must be those of `qkv`"):
        ms.ndp.load("mine", [path])
    with pytest.raises(ms.MemscapeError, match="`relu-6m` is a built-in recording; choose another name"):
        ms.ndp.load("relu-6m", [DATA / "traces" / "trace_00.npz"])
    with pytest.raises(ms.MemscapeError, match=r"mine\.npz`: array `mlp`"):
        ms.run("ndp.activity", model=None, trace=path, engine="events")


def test_the_built_in_recording_can_be_loaded_from_its_files():
    traces = sorted((DATA / "traces").glob("trace_*.npz"))
    ms.ndp.load("files", traces, profile=DATA / "traces" / "profile.npz")
    ask = {"model": None, "engine": "events", "batch": 2, "hot_share": 0.1}
    assert ms.run("ndp.inference", trace="files", **ask) == ms.run("ndp.inference", trace="relu-6m", **ask)
