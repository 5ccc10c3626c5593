"""What no input does: end the interpreter, take its memory, or hold it."""

import itertools
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import memscape as ms

BANKS = "memory.banks_per_channel"


def cyclic_list():
    it: list = []
    it.append(it)
    return it


def cyclic_dict():
    it: dict = {}
    it["a"] = it
    return it


def nested(depth):
    it: list = []
    for _ in range(depth):
        it = [it]
    return it


class Itself:
    """Its own list."""

    def tolist(self):
        return self


@pytest.mark.parametrize(
    "value",
    [cyclic_list(), cyclic_dict(), nested(100_000), Itself()],
    ids=["list", "dict", "nested", "tolist"],
)
def test_values_without_end_are_refused(value):
    for call in (
        lambda: ms.run("pim.gemv", {BANKS: value}),
        lambda: ms.run("pim.gemv", {"memory": value}),
        lambda: ms.sweep("pim.gemv", {BANKS: [value]}),
        lambda: ms.pim.plan(model=value),
    ):
        with pytest.raises(ms.MemscapeError):
            call()


@pytest.mark.parametrize("value", [b"AB", bytearray(b"AB"), memoryview(b"AB")])
def test_bytes_are_no_numbers(value):
    with pytest.raises(ms.MemscapeError, match="give a text or a list of numbers"):
        ms.sweep("pim.gemv", {BANKS: value})


def test_an_integer_of_many_digits_is_refused():
    with pytest.raises(ms.MemscapeError, match="does not fit 64 bits"):
        ms.run("pim.gemv", {BANKS: 10**5000})


@pytest.mark.parametrize(
    "call",
    [
        lambda: ms.pim.tile_shape(7, banks=2**63 - 1, tile_elements=2**20),
        lambda: ms.riscv.census(generated_tokens=10**8),
        lambda: ms.npu.search_tiles(top=2**63),
        lambda: ms.timeline("npu.gemm", m=2**24),
        lambda: ms.riscv.explain([], repetitions=(16, 2**24)),
        lambda: ms.ondevice.layout(**{"memory.rows": 33, "memory.channels": 2**31}),
        lambda: ms.ndp.solve([], [], bandwidth=[1.0, 1.0], capacity=[1.0, 1.0]),
    ],
    ids=["tile_shape", "census", "search_tiles", "timeline", "explain", "layout", "solve"],
)
def test_helpers_answer_or_refuse_within_ten_seconds(call):
    start = time.perf_counter()
    try:
        call()
    except ms.MemscapeError as error:
        assert "panic" not in str(error)
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize(
    "call",
    [
        "ms.sweep('pim.gemv', {'memory.trcd_ns': itertools.count()})",
        "ms.run('ndp.activity', engine='events')",
        "ms.ndp.partition(dimms=128)",
        "ms.npu.search_tiles(**{'device.l1_bytes': 2**21})",
        # One answer is waited for, and one that is walked takes seconds.
        "ms.laws('ndp.inference', points=100_000, engine='closed')",
        "ms.uncertainty('ndp.inference', {'gpu.bandwidth_gb_s': list(range(1, 1000))}, draws=100)",
        "ms.run('ndp.inference', uncertainty=200)",
        "ms.sensitivity('ndp.inference', {'hot_share': {'from': 0.1, 'to': 1}}, of='token_ns', samples=10_000)",
    ],
)
def test_ctrl_c_is_seen_within_a_second(call):
    code = textwrap.dedent(f"""
        import itertools, time
        import memscape as ms
        print("ready", flush=True)
        try:
            {call}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            import os
            os._exit(0)
        except ms.MemscapeError as error:
            print("refused", error, flush=True)
        print("done", flush=True)
    """)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    start = time.perf_counter()
    out, _ = process.communicate(timeout=60)
    # Either a KeyboardInterrupt, or what was done until then.
    assert "interrupted" in out or out.rstrip().endswith("done")
    assert time.perf_counter() - start < 2.5


def test_an_interrupted_trace_does_not_go_on(tmp_path):
    code = textwrap.dedent(f"""
        import pathlib, time
        import memscape as ms
        print("ready", flush=True)
        folder = pathlib.Path({str(tmp_path)!r})
        try:
            ms.trace("npu.gemm", folder / "it.json", {{"m": 100_000, "k": 100_000, "n": 100_000}})
        except KeyboardInterrupt:
            time.sleep(1)
            print(*(it.name for it in folder.iterdir()), flush=True)
    """)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "\n"


def test_an_iterator_without_end_is_refused():
    with pytest.raises(ms.MemscapeError, match="values; give fewer"):
        ms.sweep("pim.gemv", {"memory.trcd_ns": itertools.count()})


def test_a_trace_that_cannot_be_written_names_its_file(tmp_path):
    for path, told in [(tmp_path / "nodir" / "x.json", "there is no such folder"), (tmp_path, "directory")]:
        with pytest.raises(ms.MemscapeError) as error:
            ms.trace("pim.gemv", path, model="opt-125m", gemv="out")
        assert str(path) in str(error.value)
        assert told in str(error.value)
