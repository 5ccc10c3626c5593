"""Holds memscape's DRAM to two simulators of others, DRAMsim3 and Ramulator 2.1, and writes what they say as CSV.

`python simulators.py MEMSCAPE DRAMSIM3MAIN RAMULATOR FOLDER` takes memscape's command line, `dramsim3main` of DRAMsim3
29817593, built with `-DCMD_TRACE`, and a tree of Ramulator 2.1 c5b1c3a, built in place for the Python that runs this.
Both simulators get a preset's timings in whole clocks, rounded up; those of memscape's traces are so by themselves.
DRAMsim3 knows no LPDDR5: its GDDR5X, without tPPD and t32AW, spends as many clocks on a burst. In Ramulator's, WCK
always runs, since memscape has no start of it.

`streams.csv`: clocks for each read of a backlog, from the first RD to the last in a simulator's log of commands.

* `preset`, `pattern`, `refresh`: which memory, in which order of addresses, with refresh of all banks or without.
* `ours_clocks`: the closed form; what `ndp.inference` says of one rank. Of `row-conflict`, which no study asks for,
  tRC or tRCD + tRTP + tRP, whichever is longer. With refresh, over the share of time that it leaves.
* `dramsim3_1_clocks`: DRAMsim3 with room for one transaction, and one command for each bank.
* `dramsim3_32_clocks`: DRAMsim3 with its usual 32 transactions, and eight commands for each bank.
* `ramulator_32_clocks`: Ramulator 2.1 with FR-FCFS over its usual 32 reads.

`macs.csv`: what the MACs of all banks that `pim.gemv` traces do to one bank, as reads of one bank with a tRP of tRPab,
without refresh. This holds the pace of MACs to the simulators, but not REGWR, SPILL and ALU, nor tFAW or refresh.

* `memory`, `m`, `k`, `simulator`: which product is traced, and who replays it.
* `gaps`: pairs of MACs that follow each other with no REGWR, SPILL or ALU between, and `equal`: how many of them are
  as far apart, in clocks, in the trace as in the simulator.
* `clocks_within_row`, `clocks_to_other_row`: what the simulator has between two such; all that occur.

DRAMsim3 also replays each product's `dramsim3` trace: it is an error if it accesses other places than `commands` has.
"""

from __future__ import annotations

import csv
import importlib
import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from operator import eq
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

PRESETS = ("ddr4-3200", "ndp-dimm-rank", "lpddr5-6400", "lpddr5x-7500", "hbm2-2000")
# What `dimm.interleave` calls them, where it has them.
PATTERNS = {"interleaved": "bank-groups", "row-by-row": "row-by-row", "row-conflict": None}
READS = 40_000
# Memory, m and k of `pim.gemv`.
PRODUCTS = (
    ("lpddr5-6400", 1024, 1024),
    ("ddr4-3200", 1024, 1024),
    ("hbm2-2000", 4096, 4096),
    ("lpddr5x-7500", 4096, 1024),
    ("lpddr5x-8533", 4096, 1024),
)
# More than Ramulator's queue holds: it ends when it has taken the last read, not when it has served it.
PADDING = 64
NEVER = 1_000_000_000
STREAMS = "preset pattern refresh ours_clocks dramsim3_1_clocks dramsim3_32_clocks ramulator_32_clocks"
MACS = "memory m k simulator gaps equal clocks_within_row clocks_to_other_row"
Row = tuple[object, ...]


class Place(NamedTuple):
    """A burst of a channel."""

    group: int
    bank: int
    row: int
    column: int


class Access(NamedTuple):
    """A read (`R`) or a write (`W`), and the clock of its command."""

    clock: int
    kind: str
    place: Place


class Standard(NamedTuple):
    """A kind of memory: what the simulators call it, and how many transfers DRAMsim3 counts as a column."""

    protocol: str
    column: int
    ramulator: str
    organization: str
    speed: str
    controller: str


STANDARDS = {
    "ddr4": Standard("DDR4", 1, "DDR4", "DDR4_8Gb_x8", "DDR4_3200AA", "GenericDDR"),
    "ndp-dimm": Standard("DDR4", 1, "DDR4", "DDR4_8Gb_x8", "DDR4_3200AA", "GenericDDR"),
    "lpddr5": Standard("GDDR5X", 16, "LPDDR5", "LPDDR5_16Gb_x16", "LPDDR5_6400", "LPDDR5"),
    "hbm2": Standard("HBM", 2, "HBM2", "HBM2_4Gb", "HBM2_2000Mbps", "HBM12"),
}


class Memory(NamedTuple):
    """A preset, its timings in whole clocks by their names without unit, and by those of the simulators."""

    name: str
    clock_ns: float
    channels: int
    groups: int
    banks: int
    rows: int
    columns: int
    bus_bits: int
    burst_length: int
    refresh_share: float
    clocks: dict[str, int]

    @property
    def burst_bytes(self) -> int:
        return self.bus_bits * self.burst_length // 8

    @property
    def standard(self) -> Standard:
        return next(it for name, it in STANDARDS.items() if self.name.startswith(name))


class Programs(NamedTuple):
    """What is compared, and a folder for the simulators' files."""

    memscape: str
    dramsim3: Path
    ramulator: Any
    scratch: Path


def output(command: Sequence[str | Path], folder: Path | None = None) -> str:
    """What a program prints."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def described(programs: Programs, name: str) -> Memory:
    """A preset as `describe` prints it."""
    said: dict[str, float] = {}
    for line in output([programs.memscape, "describe", name]).splitlines()[2:]:
        path, value, *_ = line.split()
        if not path.startswith("energy."):
            said[path] = float(value)
    clock_ns = said["transfers_per_clock"] / said["data_rate_mt_s"] * 1e3
    groups = int(said["bank_groups"])
    burst = int(said["burst_length"] / said["transfers_per_clock"])
    burst_bytes = int(said["bus_bits"] * said["burst_length"]) // 8
    # What is whole but for rounding is whole.
    of = {it[:-3]: math.ceil(said[it] / clock_ns - 1e-3) for it in said if it.endswith("_ns")}
    of = {"trc": of["tras"] + of["trp"], "tccd_s": burst, "tccd_l": burst * min(groups, 2)} | of
    of["trefi"] = math.floor(said["trefi_ns"] / clock_ns + 1e-3)
    of |= {"trcdrd": of["trcd"], "trcdwr": of["trcd"], "trtpl": of["trtp"], "trfc": of["trfc_ab"]}
    return Memory(
        name=name,
        clock_ns=clock_ns,
        channels=int(said["channels"]),
        groups=groups,
        banks=int(said["banks_per_channel"]) // groups,
        # DRAMsim3 leaves out what is beyond a power of two.
        rows=1 << math.ceil(math.log2(said["rows"])),
        columns=int(said["row_bytes"]) // burst_bytes,
        bus_bits=int(said["bus_bits"]),
        burst_length=int(said["burst_length"]),
        refresh_share=said["trfc_ab_ns"] / said["trefi_ns"],
        clocks=of,
    )


def closed_form(programs: Programs, memory: Memory, pattern: str) -> float:
    """The clocks of a read without refresh, as memscape has them."""
    interleave = PATTERNS[pattern]
    if interleave is None:
        of = memory.clocks
        return max(of["trc"], of["trcd"] + of["trtp"] + of["trp"])
    asked = [f"dimm.memory={memory.name}", f"dimm.interleave={interleave}", "dimm.ranks=1"]
    said = json.loads(output([programs.memscape, "run", "--json", "--quiet", "ndp.inference", *asked]))
    # What is said is what refreshes leave.
    left = 1 - memory.refresh_share
    return float(left * memory.burst_bytes / (said["dimm_bandwidth_gb_s"] * memory.clock_ns))


def places(memory: Memory, pattern: str) -> Iterator[Place]:
    """Where the reads of a pattern go."""
    groups, banks, columns = memory.groups, memory.banks, memory.columns
    if pattern == "row-conflict":
        yield from (Place(0, 0, row, 0) for row in range(READS // 8))
        return
    for at in range(READS):
        if pattern == "interleaved":
            rest, group = divmod(at, groups)
            rest, column = divmod(rest, columns)
        else:
            rest, column = divmod(at, columns)
            rest, group = divmod(rest, groups)
        row, bank = divmod(rest, banks)
        yield Place(group, bank, row, column)


def dramsim3_trace(memory: Memory, reads: Iterable[Place]) -> str:
    """Reads of the first channel that all wait from the start, as DRAMsim3 reads them."""
    lines = []
    for group, bank, row, column in reads:
        burst = ((row * memory.channels * memory.banks + bank) * memory.groups + group) * memory.columns + column
        lines.append(f"0x{burst * memory.burst_bytes:X} READ 0\n")
    return "".join(lines)


def dramsim3(
    programs: Programs, memory: Memory, trace: str, enough: int, *, queues: tuple[int, int] = (32, 8), refresh: bool
) -> list[Access]:
    """What DRAMsim3 serves of a trace in the first channel, within so many clocks."""
    standard = memory.standard
    columns = memory.columns * memory.burst_length // standard.column
    channel_bytes = memory.groups * memory.banks * memory.rows * memory.columns * memory.burst_bytes
    config = f"""\
[dram_structure]
protocol = {standard.protocol}
bankgroups = {memory.groups}
banks_per_group = {memory.banks}
rows = {memory.rows}
columns = {columns}
device_width = {memory.bus_bits}
BL = {memory.burst_length}
[system]
channel_size = {channel_bytes >> 20}
channels = {memory.channels}
bus_width = {memory.bus_bits}
address_mapping = rochrababgco
trans_queue_size = {queues[0]}
cmd_queue_size = {queues[1]}
[timing]
tCK = {memory.clock_ns}
tPPD = 0
t32AW = 0
"""
    # It takes names in any case.
    timings = memory.clocks | ({} if refresh else {"trefi": NEVER})
    config += "".join(f"{name} = {clocks}\n" for name, clocks in timings.items())
    (programs.scratch / "own.ini").write_text(config, encoding="utf-8")
    (programs.scratch / "trace").write_text(trace, encoding="utf-8")
    output([programs.dramsim3, "own.ini", "-c", str(enough), "-t", "trace"], programs.scratch)
    served = []
    with (programs.scratch / "dramsim3ch_0cmd.trace").open(encoding="utf-8") as log:
        for line in log:
            clock, command, _channel, _rank, group, bank, row, column = line.split()
            if command in ("read", "write"):
                place = Place(int(group), int(bank), int(row, 16), int(column, 16))
                served.append(Access(int(clock), command[0].upper(), place))
    return served


def ramulator(programs: Programs, memory: Memory, reads: Iterable[Place], *, refresh: bool) -> list[Access]:
    """What Ramulator 2.1 serves of reads that all wait from the start."""
    parts, standard = programs.ramulator, memory.standard
    kind = getattr(parts.dram, standard.ramulator)
    # Its nRRDS is our trrd_s; what reads do not depend on may stay as in its preset.
    timings = {f"n{it[1:].replace('_', '')}": clocks for it, clocks in memory.clocks.items()}
    dram = kind(
        org_preset=standard.organization,
        timing_preset=standard.speed,
        bankgroup=memory.groups,
        bank=memory.banks,
        tCK_ps=round(memory.clock_ns * 1e3),
        **{it: timings[it.lower()] for it in kind.timing_params if it.lower() in timings},
    )
    # Where WCK is started on demand, a read after a pause is a clock later.
    of_controller = {"wck_sync_mode": "always_on"} if standard.ramulator == "LPDDR5" else {}
    controller = getattr(parts.controller, standard.controller)(
        dram=dram,
        scheduler=parts.scheduler.FRFCFS(),
        refresh_manager=parts.refresh_manager.AllBank() if refresh else parts.refresh_manager.NoRefresh(),
        row_policy=parts.row_policy.Open(),
        addr_mapper=parts.addr_mapper.PassThroughAddrMapper(),
        controller_plugins=[parts.controller_plugin.CmdTraceRecorder(path=str(programs.scratch / "log"))],
        **of_controller,
    )
    trace = programs.scratch / "trace"
    trace.write_text("".join(f"R 0,0,{','.join(map(str, it))}\n" for it in reads), encoding="utf-8")
    mapper = parts.channel_mapper.PassThroughChannelMapper()
    simulation = parts.Simulation(
        parts.frontend.ReadWriteTrace(clock_ratio=1, path=str(trace)),
        parts.memory_system.GenericDRAM(clock_ratio=1, controllers=[controller], channel_mapper=mapper),
    )
    simulation.run()
    simulation.finalize()
    served = []
    with (programs.scratch / "log.ch0").open(encoding="utf-8", newline="") as log:
        for it in csv.DictReader(log):
            if it["command"] == "RD":
                place = Place(int(it["BankGroup"]), int(it["Bank"]), int(it["Row"]), int(it["Column"]))
                served.append(Access(int(it["clock"]), "R", place))
    return served


def pace(served: Sequence[Access], reads: int) -> float:
    """The clocks of a read; Ramulator does not serve the last few."""
    if len(served) < reads - PADDING:
        sys.exit(f"a simulator serves {len(served)} of {reads} reads")
    return (served[-1].clock - served[0].clock) / (len(served) - 1)


def streams(programs: Programs) -> Iterator[Row]:
    """What `streams.csv` has."""
    for name, pattern in product(PRESETS, PATTERNS):
        memory = described(programs, name)
        reads = list(places(memory, pattern))
        trace = dramsim3_trace(memory, reads)
        ours = closed_form(programs, memory, pattern)
        enough = round(2 * ours * len(reads))
        for refresh in (False, True):
            left = 1 - memory.clocks["trfc"] / memory.clocks["trefi"] if refresh else 1
            served = (
                dramsim3(programs, memory, trace, enough, queues=(1, 1), refresh=refresh),
                dramsim3(programs, memory, trace, enough, refresh=refresh),
                ramulator(programs, memory, reads, refresh=refresh),
            )
            clocks = [ours / left, *(pace(it, len(reads)) for it in served)]
            yield name, pattern, "on" if refresh else "off", *(f"{it:#.4g}" for it in clocks)


def check_places(programs: Programs, memory: Memory, trace: str, commands: Sequence[dict[str, str]]) -> None:
    """Exits if DRAMsim3 reads other places out of a trace than the commands have; MAC and SPILL are in all banks."""
    kinds = {"MAC": "R", "SPILL": "W"}
    banks = list(product(range(memory.groups), range(memory.banks)))
    expected = Counter(
        (kinds[it["command"]], Place(*bank, int(it["Row"]), int(it["Column"])))
        for it in commands
        if it["command"] in kinds
        for bank in banks
    )
    enough = int(commands[-1]["clock"]) + 8 * expected.total() + 20_000
    served = Counter((it.kind, it.place) for it in dramsim3(programs, memory, trace, enough, refresh=False))
    if served != expected:
        missing, other = (expected - served).total(), (served - expected).total()
        sys.exit(f"{memory.name}: of the trace's accesses, {missing} are missing and {other} are elsewhere")


def gaps(accesses: Sequence[Access], follows: Sequence[bool]) -> list[tuple[bool, int]]:
    """Whether accesses are in the row of the one before, and how many clocks after it, where they follow it."""
    pairs = zip(pairwise(accesses), follows[1:], strict=True)
    return [(it.place.row == last.place.row, it.clock - last.clock) for (last, it), counts in pairs if counts]


def macs(programs: Programs) -> Iterator[Row]:
    """What `macs.csv` has."""
    for name, m, k in PRODUCTS:
        memory = described(programs, name)
        ask = [programs.memscape, "trace", "--quiet", "pim.gemv", f"memory={name}", f"m={m}", f"k={k}", "--format"]
        commands = list(csv.DictReader(output([*ask, "commands"]).splitlines()))
        check_places(programs, memory, output([*ask, "dramsim3"]), commands)
        own: list[Access] = []
        # Whether a MAC follows the one before it with nothing between that makes the wait one of another kind.
        follows: list[bool] = []
        before = ""
        for it in commands:
            if it["command"] == "MAC":
                own.append(Access(int(it["clock"]), "R", Place(0, 0, int(it["Row"]), int(it["Column"]))))
                follows.append(before == "MAC")
            if it["command"] in ("MAC", "REGWR", "SPILL", "ALU"):
                before = it["command"]
        closed = memory.clocks["trp_ab"]
        one_bank = memory._replace(clocks=memory.clocks | {"trp": closed, "trc": memory.clocks["tras"] + closed})
        reads = [it.place for it in own]
        reads += reads[-1:] * PADDING
        enough = own[-1].clock + 20_000
        replays = {
            "DRAMsim3": dramsim3(programs, one_bank, dramsim3_trace(memory, reads), enough, refresh=False),
            "Ramulator 2.1": ramulator(programs, one_bank, reads, refresh=False),
        }
        for simulator, log in replays.items():
            served = log[: len(own)]
            if [it.place for it in served] != [it.place for it in own]:
                sys.exit(f"{name}: {simulator} does not serve all reads of a bank in order")
            ours, theirs = gaps(own, follows), gaps(served, follows)
            equal = sum(map(eq, ours, theirs))
            clocks = [sorted({it for same, it in theirs if same is within}) for within in (True, False)]
            yield name, m, k, simulator, len(ours), equal, *(" ".join(map(str, it)) for it in clocks)


def write(path: Path, header: str, rows: Iterable[Row]) -> None:
    """A table as CSV."""
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(header.split())
        writer.writerows(rows)


def main() -> None:
    """Writes both tables to the folder given."""
    memscape, binary, tree, folder = sys.argv[1:]
    sys.path.insert(0, str(Path(tree, "python").resolve()))
    module = importlib.import_module("ramulator")
    with TemporaryDirectory() as scratch:
        programs = Programs(memscape, Path(binary).resolve(), module, Path(scratch))
        write(Path(folder, "macs.csv"), MACS, macs(programs))
        write(Path(folder, "streams.csv"), STREAMS, streams(programs))


if __name__ == "__main__":
    main()
