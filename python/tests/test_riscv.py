"""The SG2042's helpers."""

import struct

import pytest

import memscape as ms


def test_blocks_hold_what_they_are_given():
    weights = [it / 4 - 8 for it in range(64)]
    for kind, size in [("q4_0", 18), ("q8_0", 34)]:
        data = ms.riscv.quantise(kind, weights)
        assert len(data) == 2 * size
        restored = ms.riscv.dequantise(kind, data)
        # Half a step, where a step is the block's scale, which is itself rounded to fp16.
        steps = [abs(struct.unpack_from("<e", data, it * size)[0]) for it in range(2)]
        errors = [abs(a - b) / steps[i // 32] for i, (a, b) in enumerate(zip(weights, restored, strict=True))]
        assert max(errors) < 0.6, kind


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: ms.riscv.quantise("q4_0", [float("nan")] * 32), "only finite numbers"),
        (lambda: ms.riscv.quantise("q4_0", [1.0] * 31), "no whole number of blocks"),
        (lambda: ms.riscv.quantise("q5_0", [1.0] * 32), "allowed are"),
        (lambda: ms.riscv.dequantise("q8_0", b"123"), "no whole number of blocks"),
        (lambda: ms.riscv.multiply(b"", b"", columns=33), "multiple of 32"),
        (lambda: ms.riscv.multiply(bytes(18), bytes(34), columns=32, kernel="openblas"), "riscv.gemm"),
        (lambda: ms.riscv.census(generated=3), "did you mean"),
        (lambda: ms.riscv.explain([], prompt_tokens=(1, 2**30)), "narrow the ranges"),
        (lambda: ms.run("riscv.inference", policy="bind-cores", threads=65), "do not fit 64 cores"),
        (lambda: ms.run("riscv.inference", {"numa.distances": [[10, 15], [15, 11]]}), "diagonal"),
        (lambda: ms.run("riscv.inference", {"numa.distances": [[10, 15]]}), "square"),
        (lambda: ms.run("riscv.inference", format="q5_k"), "of `q5_k`; give `format` as one of q4_0, q4_k_s"),
        (lambda: ms.run("riscv.kernel", format="q5_1"), "there are q4_0, q4_k, q5_k, q6_k, q8_0, fp16 and fp32"),
    ],
)
def test_bad_questions_are_told_apart(call, problem):
    with pytest.raises(ms.MemscapeError, match=problem):
        call()


def test_distances_are_an_axis():
    table = ms.sweep("riscv.inference", {"numa.distances": [10, 20, 40]}, base={"policy": "no-balancing"})
    speeds = table["generation_tokens_per_s"].to_list()
    assert speeds == sorted(speeds, reverse=True)


def test_the_census_is_explained_by_its_own_run():
    frame = ms.riscv.census(prompt_tokens=7, generated_tokens=40, repetitions=2)
    counts = frame.select("shared", "dst0", "dst1", "count").rows()
    assert ms.riscv.explain(counts) == [ms.riscv.Run(2, 7, 40)]
