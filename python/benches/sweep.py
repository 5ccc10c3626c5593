"""Speed of one Python call that asks a million questions.

Usage: python python/benches/sweep.py
"""

import resource
import time

import polars  # noqa: F401  (its import is not what is measured)

import memscape as ms

AXES = {
    "gemv": ["qkv", "out", "fc1", "fc2"],
    "format": ["int8", "int4", "fp16", "mx-int8-b32", "mx-int4-b64"],
    "memory.banks_per_channel": [8, 16, 32, 64, 128],
    "pim.registers": [16, 24, 32, 40, 48],
    "split_k": [1, 2, 4, 8],
    "memory.trcd_ns": {"from": 10, "to": 30, "count": 500},
}


def main() -> None:
    """Prints the best of five sweeps."""
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        table = ms.sweep("pim.gemv", AXES, {"model": "opt-6.7b"})
        best = min(best, time.perf_counter() - began)
    answers = table["error"].null_count()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(table):,} points ({answers:,} with an answer) in {best:.2f} s: {len(table) / best:,.0f} points/s")
    print(f"table {table.estimated_size() / 2**20:.0f} MiB, process at most {peak:.0f} MiB")


if __name__ == "__main__":
    main()
