"""Every typed helper at the ends of what its numbers can be: an answer or a refusal, in time and in bounds."""

import json
import subprocess
import sys

import pytest

# What a number may be given as.
EXTREMES = [0, 1, -1, 2**31, 2**63 - 1, 2**63, 10**400, 1e-300, 1e300, float("inf"), float("nan"), True, "1", None]

# How each is asked, in the words of a program that has `it`, its arguments; by which study its
# parameters are told; and what holds it to a second's work where nothing is changed.
HELPERS = {
    "pim.plan": ("ms.pim.plan(**it)", "pim.gemv", {}),
    "pim.tile_shape": (
        "ms.pim.tile_shape(**it)",
        None,
        {"rows": 64, "banks": 8, "tile_elements": 256, "most_rows": 64},
    ),
    "ondevice.layout": ("ms.ondevice.layout(**it)", "ondevice.layout", {}),
    "npu.balance_trace": ("ms.npu.balance_trace(**it)", "npu.balance", {}),
    "npu.chains": ("ms.npu.chains(**it)", "npu.gemm", {}),
    "npu.multiply": (
        "ms.npu.multiply([1] * 64, [1] * 64, **it)",
        "npu.gemm",
        {"m": 8, "k": 8, "n": 8, "shift": 0},
    ),
    "npu.search_tiles": ("ms.npu.search_tiles(**it)", "npu.search", {"top": 2}),
    "riscv.census": ("ms.riscv.census(**it)", "riscv.census", {"prompt_tokens": 16, "generated_tokens": 4}),
    "riscv.multiply": ("ms.riscv.multiply(bytes(18), bytes(34), **it)", "riscv.kernel", {"columns": 32}),
    "riscv.explain": (
        "ms.riscv.explain([(32, 32, 1, 6)], repetitions=(1, it.pop('repetitions')),"
        " prompt_tokens=(1, it.pop('prompt_tokens')), generated_tokens=(1, it.pop('generated_tokens')), **it)",
        None,
        {"repetitions": 2, "prompt_tokens": 4, "generated_tokens": 4},
    ),
    "PimPlan.place": ("ms.pim.plan().place(it['row'], it['column'])", None, {"row": 0, "column": 0}),
    "OndeviceLayout.place": ("SMALL.place(it['row'], it['column'])", None, {"row": 0, "column": 0}),
    "OndeviceLayout.address": ("SMALL.address(it['row'], it['column'])", None, {"row": 0, "column": 0}),
    "OndeviceLayout.copy": ("SMALL.copy(IMAGE, it['start'], it['stop'])", None, {"start": 0, "stop": 2}),
    "NdpPartition.device": ("PARTS.device(it['block'])", None, {"block": 0}),
    "ndp.partition": ("ms.ndp.partition(**it)", "ndp.partition", {"model": "opt-125m"}),
    "ndp.solve": (
        "ms.ndp.solve([[it.pop('size_bytes')] * 4], [[it.pop('frequency')] * 4],"
        " bandwidth=[it.pop('fast'), it.pop('slow')], capacity=[it.pop('little'), it.pop('much')], **it)",
        None,
        {"size_bytes": 2.0, "frequency": 0.5, "fast": 2.0, "slow": 1.0, "little": 4.0, "much": 64.0},
    ),
}

# Says each question before it is asked, so that the last one is known if the process ends.
ASK = """
import json, resource, sys, time
import memscape as ms

resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
SMALL = ms.ondevice.layout(rows=32, columns=4)
IMAGE = SMALL.convert(bytes(range(256)))
PARTS = ms.ndp.solve([[2, 2]], [[1, 1]], bandwidth=[2, 1], capacity=[4, 4])
answered = 0
for line in sys.stdin:
    it = json.loads(line)
    print(line, end="", flush=True)
    began = time.perf_counter()
    try:
        CALL
        answered += 1
    except ms.MemscapeError as error:
        assert "panic" not in str(error) and "internal" not in str(error), error
    assert time.perf_counter() - began < 10, f"{time.perf_counter() - began:.1f} s"
# Not by getrusage, which begins with what the process had that started this one.
status = dict(line.split(":", 1) for line in open("/proc/self/status")) if sys.platform == "linux" else {}
assert int(status.get("VmHWM", "0 kB").split()[0]) < 1 << 20, "over 1 GB"
print("answered", answered)
"""


def numbers(study):
    """The paths of a study's numbers."""
    import memscape as ms

    return [it["path"] for it in ms.describe(study).parameters if "number" in it["values"]]


@pytest.mark.parametrize("helper", HELPERS)
def test_a_helper_answers_or_refuses(helper):
    call, study, base = HELPERS[helper]
    named = [*base, *(numbers(study) if study else [])]
    named = [it for it in dict.fromkeys(named) if not isinstance(base.get(it), str)]
    asked = [{**base, name: value} for name in named for value in EXTREMES]
    done = subprocess.run(
        [sys.executable, "-c", ASK.replace("CALL", call)],
        input="".join(json.dumps(it) + "\n" for it in asked),
        capture_output=True,
        text=True,
        timeout=600,
    )
    last = (done.stdout.splitlines() or ["nothing"])[-1]
    assert done.returncode == 0, f"{last}: {done.stderr[-1000:]}"
    # If all are refused, nothing was asked.
    assert int(last.removeprefix("answered ")) > 0, last
