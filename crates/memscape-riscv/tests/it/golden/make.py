"""Writes golden blocks of the `gguf` Python package: `pip install gguf`, then run.

One line per block: the 32 weights as hexadecimal f32 bits, the block's bytes, and
the dequantised weights as f32 bits.
"""

from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.quants import dequantize, quantize

rng = np.random.default_rng(2042)
ramp = np.arange(32, dtype=np.float32)
blocks = [
    *rng.normal(size=(40, 32)),
    *(rng.normal(size=(20, 32)) * 10.0 ** rng.integers(-6, 4, size=(20, 1))),
    *rng.uniform(-1, 1, size=(20, 32)),
    np.zeros(32),  # of zeros below 0, the package keeps a sign that ggml does not
    ramp - 16,  # the largest is negative
    16 - ramp,  # the largest is positive
    np.where(ramp % 2, 8.0, -8.0),  # equal magnitudes: the first counts
    np.where(ramp % 2, -8.0, 8.0),
    (ramp - 16) / 2,  # halves: ties
    np.where(ramp == 3, 127.0, ramp - 15.5),  # ties of Q8_0
    np.where(ramp == 0, -1.0, 0.0),
    np.full(32, 1e-7),  # a subnormal scale
    np.full(32, -6e-8),
    rng.normal(size=32) * 1e-6,
    rng.normal(size=32) * 1e-30,  # a scale of zero in fp16
    np.full(32, 65000.0),
    np.linspace(-5e5, 5e5, 32),
]
weights = np.array(blocks, dtype=np.float32)


def hexadecimal(numbers: np.ndarray) -> str:
    return np.ascontiguousarray(numbers, dtype=np.float32).view(np.uint32).astype(">u4").tobytes().hex()


for kind in (Type.Q4_0, Type.Q8_0):
    packed = quantize(weights, kind)
    restored = dequantize(packed, kind)
    lines = [
        f"{hexadecimal(before)} {block.tobytes().hex()} {hexadecimal(after)}"
        for before, block, after in zip(weights, packed, restored)
    ]
    path = Path(__file__).with_name(f"{kind.name.lower()}.txt")
    path.write_text("\n".join(lines) + "\n")
