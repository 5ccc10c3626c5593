"""Speed of an optimiser's batches: a thousand points asked and told at a time.

Usage: python python/benches/batch.py
"""

import time

import polars  # noqa: F401  (its import is not what is measured)

import memscape as ms

POINTS = 1000
BATCHES = 50


def main() -> None:
    """Prints points per second of the median batch, as columns and as rows."""
    columns = {
        "pim.registers": [8 + i % 32 for i in range(POINTS)],
        "memory.trcd_ns": [10 + i / 100 for i in range(POINTS)],
        "split_k": [1 + i % 4 for i in range(POINTS)],
    }
    rows = [{name: values[i] for name, values in columns.items()} for i in range(POINTS)]
    # The best of all placements is looked for at each point; the printed one is computed.
    for placement in ("best", "pimnast"):
        base = {"model": "opt-6.7b", "gemv": "fc1", "placement": placement}
        for what, points in (("columns", columns), ("rows", rows)):
            took = []
            for _ in range(BATCHES):
                began = time.perf_counter()
                times = ms.evaluate("pim.gemv", points, base=base)["time_ns"].to_list()
                took.append(time.perf_counter() - began)
                assert len(times) == POINTS
            median = sorted(took)[BATCHES // 2]
            print(
                f"pim.gemv placement={placement}, {POINTS} points as {what}: {median * 1e3:.2f} ms, "
                f"{POINTS / median:,.0f} points/s"
            )


if __name__ == "__main__":
    main()
