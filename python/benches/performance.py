"""Measures the program as its users meet it, and writes docs/performance.md.

Usage: python python/benches/performance.py MEMSCAPE WHEEL [CRITERION]

Every figure is the best of several whole processes, since whatever else the machine does
only adds. CRITERION is the folder of `cargo bench`'s results, for the speed of the engine.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"

# An axis of so many values, and what else is asked, for what the papers' readings ask of all studies.
SWEEPS: dict[str, tuple[int, dict[str, object], dict[str, object]]] = {
    "pim.gemv, as printed": (
        1_000_000,
        {"memory.trcd_ns": {"from": 10, "to": 30, "count": 1_000_000}},
        {"model": "opt-6.7b", "gemv": "fc1", "placement": "pimnast"},
    ),
    "pim.inference, as printed": (
        50_000,
        {"memory.trcd_ns": {"from": 10, "to": 30, "count": 50_000}},
        {"model": "opt-6.7b", "placement": "pimnast"},
    ),
}

# The first number of a study, a real one if it has any, over which all points have an answer, from its default up to
# twice that; and as many points as take a third of a second.
PICK = """
import json, sys, time
import memscape as ms
study = sys.argv[1]

def axes():
    of = lambda it: it["values"].get("number") if isinstance(it["values"], dict) else None
    counted = lambda it: isinstance(it["default"], (int, float)) and it["default"] > 0
    numbers = [it for it in ms.describe(study).parameters if of(it) and it["more"] and counted(it)]
    for it in sorted(numbers, key=lambda it: of(it)["whole"]):
        low, most = it["default"], of(it)["max"] or 2**40
        if of(it)["whole"]:
            yield it["path"], lambda count: {"from": low, "to": min(low + count - 1, int(most)), "integer": True}
        else:
            yield it["path"], lambda count: {"from": low, "to": min(2 * low, most), "count": count}

def swept(path, axis, count):
    began = time.perf_counter()
    table = ms.sweep(study, {path: axis(count)})
    took = time.perf_counter() - began
    answered = table["error"].null_count()
    return took, table.height if answered == table.height > 1 else 0

path, axis = next(it for it in axes() if swept(*it, 16)[1])
count = 16
while True:
    took, rows = swept(path, axis, count)
    if took > 0.3 or count == 1_000_000 or rows < count:
        break
    count = min(1_000_000, int(count * max(1.5, min(8, 0.4 / took))))
print(json.dumps([rows, {path: axis(count)}, {}]))
"""

SWEEP = """
import json, resource, sys, time
import polars
import memscape as ms
study, count, axes, base = json.loads(sys.argv[1])
study = study.split(",")[0]
ms.run(study, base)
more = json.loads(sys.argv[2])
file = more.pop("file", None)
began = time.perf_counter()
table = ms.sweep(study, axes, base, **more)
if file:
    table.write_parquet(file)
took = time.perf_counter() - began
assert table["error"].null_count() == count, table["error"].drop_nulls()[0]
print(json.dumps([took, table.estimated_size()]))
"""


PICTURE_FILE = PAGE.parent / "_static" / "searches.svg"
PICTURE = """
import sys
import memscape as ms
import polars as pl
every = pl.read_parquet(sys.argv[1]).group_by("system", "method", "budget", maintain_order=True)
median = every.agg((100 * pl.col("hypervolume").median()).alias("hypervolume_percent"))
ms.plot(
    median.rename({"budget": "evaluations"}), x="evaluations", y="hypervolume_percent", series="method",
    facet="system", kind="lines", log="x", wide=True, title="How near searches come to the true front",
    caption="share of its hypervolume, median over ten seeds",
).save(sys.argv[2])
"""


def run(command: Sequence[str | Path], threads: int = 0) -> tuple[str, float]:
    """What a process prints, and how long it takes."""
    more = {"RAYON_NUM_THREADS": str(threads), "POLARS_MAX_THREADS": str(threads)} if threads else {}
    began = time.perf_counter()
    done = subprocess.run(list(map(str, command)), env=os.environ | more, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))[:200]}: {done.stderr}")
    return done.stdout, time.perf_counter() - began


def sweep_s(study: str, asked: Sequence[object], threads: int, **more: object) -> tuple[float, int]:
    """Seconds of one sweep, without the start of its process, and bytes of its table."""
    given = json.dumps([study, *asked])
    out, _ = run([sys.executable, "-c", SWEEP, given, json.dumps(more)], threads)
    took, size = json.loads(out)
    return float(took), int(size)


def peak_mib(command: Sequence[str | Path]) -> tuple[float, float]:
    """Seconds and the most memory that a process takes."""
    began = time.perf_counter()
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {child.returncode}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return time.perf_counter() - began, usage.ru_maxrss / unit


def sweeps() -> list[str]:
    """Points per second, study by study."""
    lines = [
        "| study | points | one thread (points/s) | two threads (points/s) | efficiency | MiB for a million rows |",
        "|---|---|---|---|---|---|",
    ]
    studies, _ = run([sys.executable, "-c", "import memscape as ms; print(*ms.studies())"])
    every = {it: json.loads(run([sys.executable, "-c", PICK, it], 1)[0]) for it in studies.split()}
    for study, asked in sorted({**SWEEPS, **every}.items()):
        count, axes, base = asked
        timed = {it: min(sweep_s(study, asked, it) for _ in range(3)) for it in (1, 2)}
        given = ", ".join([*axes, *(f"{name}={value}" for name, value in base.items())])
        one, two = timed[1][0], timed[2][0]
        mib = timed[1][1] / count * 1e6 / 2**20
        lines.append(
            f"| `{study.split(',')[0]}` ({given}) | {count:,} | {count / one:,.0f} | {count / two:,.0f} "
            f"| {one / two / 2:.0%} | {mib:,.0f} |"
        )
    return lines


def store(folder: Path) -> list[str]:
    """What keeping answers costs, and what it saves."""
    base = SWEEPS["pim.gemv, as printed"][2]
    fresh = iter(range(100))

    def seconds(side: int) -> list[float]:
        axes = {
            "memory.trcd_ns": {"from": 10, "to": 30, "count": side},
            "memory.trefi_ns": {"from": 3000, "to": 4000, "count": side},
        }

        def least(more: Callable[[], dict[str, object]]) -> float:
            return min(sweep_s("pim.gemv", (side**2, axes, base), 2, **more())[0] for _ in range(3))

        plain = least(dict)
        file = least(lambda: {"file": str(folder / "it.parquet")})
        first = least(lambda: {"store": str(folder / f"store-{side}-{next(fresh)}")})
        kept = str(folder / f"store-{side}-{next(fresh) - 1}")
        return [plain, file, first, least(lambda: {"store": kept})]

    lines = [
        "| points | `ms.sweep(...)` (s) | and Polars' `write_parquet` | into an empty store | from that store |",
        "|---|---|---|---|---|",
    ]
    for side in (1000, 2000):
        plain, *others = seconds(side)
        cells = [f"{it:.2f} ({it / plain - 1:+.0%})" for it in others]
        lines.append(f"| {side**2:,} | {plain:.2f} | {' | '.join(cells)} |")
    return lines


def programs(memscape: Path, folder: Path) -> list[str]:
    """Whole processes."""
    study = folder / "million.toml"
    study.write_text(
        'study = "pim.gemv"\n[base]\nmodel = "opt-6.7b"\ngemv = "fc1"\nplacement = "pimnast"\n[axes]\n'
        '"memory.trcd_ns" = { from = 10, to = 30, count = 1000 }\n'
        '"pim.registers" = { from = 11, to = 30, integer = true }\n'
        '"memory.banks_per_channel" = [8, 16, 32, 64, 128]\nsplit_k = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]\n'
    )
    lines = ["| process | seconds | memory (MiB) |", "|---|---|---|"]
    for name, command in [
        ("`memscape run pim.gemv`", [memscape, "run", "pim.gemv"]),
        ("`memscape reproduce pimnast.fig10`", [memscape, "reproduce", "pimnast.fig10", "--out", folder]),
        ("`memscape reproduce`: all figures", [memscape, "reproduce", "--out", folder]),
        ("`memscape claims`", ["sh", "-c", f"{memscape} claims || [ $? -eq 1 ]"]),
        ("`memscape compare --model llama-3.2-3b`", [memscape, "compare", "--model", "llama-3.2-3b"]),
        ("a million points to Parquet", [memscape, "-q", "sweep", study, "-o", folder / "it.parquet"]),
        ("a million points to CSV", [memscape, "-q", "sweep", study, "-o", folder / "it.csv"]),
        ("`python -c 'import polars'`", [sys.executable, "-c", "import polars"]),
        ("`python -c 'import memscape'`", [sys.executable, "-c", "import memscape"]),
    ]:
        taken = []
        for _ in range(3):
            for it in ("it.parquet", "it.csv"):
                (folder / it).unlink(missing_ok=True)
            taken.append(peak_mib(command))
        lines.append(f"| {name} | {min(it[0] for it in taken):.2f} | {max(it[1] for it in taken):.0f} |")
    return lines


def fronts(memscape: Path, folder: Path) -> list[str]:
    """Spaces looked at whole, and how near samplers come."""
    table = folder / "searches.parquet"
    out, took = run([memscape, "--quiet", "bench", "front", "--out", table])
    run([sys.executable, "-c", PICTURE, table, PICTURE_FILE])
    return [
        f"![Share of the true front's hypervolume over evaluations](_static/{PICTURE_FILE.name})",
        "",
        "```text",
        out.rstrip(),
        "```",
        "",
        f"All of it took {took:.0f} s.",
    ]


def batches() -> list[str]:
    """What another optimiser asks for and is told."""
    out, _ = run([sys.executable, Path(__file__).parent / "batch.py"])
    return ["```text", out.rstrip(), "```"]


def engine(criterion: Path) -> list[str]:
    """What `cargo bench` measured."""
    lines = ["| benchmark | per second |", "|---|---|"]
    for found in sorted(criterion.glob("**/new/benchmark.json")):
        about = json.loads(found.read_text())
        throughput = about.get("throughput") or {}
        count = next(iter(throughput.values()), None)
        if count is None:
            continue
        mean_ns = json.loads((found.parent / "estimates.json").read_text())["median"]["point_estimate"]
        lines.append(f"| `{about['full_id']}` | {count / mean_ns * 1e9:,.0f} |")
    return lines


def machine() -> str:
    """What all of it was measured on."""
    try:
        names = {
            it.split(":")[1].strip() for it in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in it
        }
        name = names.pop() if names else platform.processor()
    except OSError:
        name = platform.processor()
    return f"{os.cpu_count()} cores of {name or platform.machine()}, {platform.system()}"


def main() -> None:
    """Writes the page, part by part: what is measured stays if a later part fails."""
    memscape, wheel = Path(sys.argv[1]), Path(sys.argv[2])
    criterion = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    version, _ = run([memscape, "--version"])
    parts = [
        "# Performance",
        f"`make bench` measures this and writes this page; here with {version.splitlines()[0]} on {machine()}."
        "\nEach figure is the best of three processes. A point is a whole answer, from axes to a row of a frame.",
    ]

    def add(title: str, lines: list[str], remark: str = "") -> None:
        parts.extend(it for it in (f"## {title}", remark, "\n".join(lines)) if it)
        PAGE.write_text("\n\n".join(parts) + "\n")
        print(title, flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        add(
            "Sweeps",
            sweeps(),
            "Where a study is slower than its neighbours, its points do more: `pim.gemv` looks for the best placement"
            "\nunless told one, `ndp.inference` places neurons, `pim.inference` and `ondevice.inference` go through"
            "\nevery matrix of a model.",
        )
        add(
            "A store",
            store(folder),
            "`pim.gemv` with `placement=pimnast` over two parameters, two threads. What a store takes beside points is"
            "\nits first look and its last block, a tenth of a second, which millions of rows share.",
        )
        add("Batches of an optimiser", batches())
        add("Programs", programs(memscape, folder), f"The wheel has {wheel.stat().st_size / 2**20:.1f} MiB.")
        if criterion and criterion.is_dir():
            add("Parts, by criterion", engine(criterion))
        add(
            "Fronts",
            fronts(memscape, folder),
            "A space of each system is exhausted, which proves its front, and then each sampler tries: how far its best"
            "\nis from the best there is (regret), and its share of the true front's hypervolume. Medians over ten"
            "\nseeds, as `memscape bench front` prints them.",
        )
    print(PAGE)


if __name__ == "__main__":
    main()
