"""The Rust kernel of the notebooks: evcxr in a folder that is kept, which says below a cell what it builds.

`python kernel.py --install KERNELS EVCXR FOLDER` writes it into a folder of Jupyter's kernels; what stands there
has Jupyter call `python kernel.py EVCXR FOLDER --control_file FILE`.

By itself, evcxr builds everything anew in each session, and shows nothing meanwhile. Here FOLDER is kept, with
`FOLDER-2` and so on for kernels that run at the same time: two that built in one folder would run each other's
code. Versions are those of the repository's lock file, settings those of `rust/init.evcxr`.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
LOCK = HERE.parent / "Cargo.lock"
#: Between two lines about what is built.
SECONDS = 5.0


def install(kernels: Path, evcxr: str, folder: str) -> None:
    """Describes this kernel to Jupyter, with evcxr's own pictures."""
    data = kernels.parent
    subprocess.run(
        [evcxr, "--install"], env=os.environ | {"JUPYTER_PATH": str(data)}, stdout=subprocess.DEVNULL, check=True
    )
    # Under the home folder, evcxr's libraries do not find Rust's own by themselves.
    libraries = subprocess.run(["rustc", "--print", "target-libdir"], capture_output=True, text=True, check=True)
    described = {
        "argv": [sys.executable, str(HERE / "kernel.py"), evcxr, folder, "--control_file", "{connection_file}"],
        "env": {"LD_LIBRARY_PATH": libraries.stdout.strip()},
        "display_name": "Rust",
        "language": "rust",
        "interrupt_mode": "message",
    }
    (kernels / "rust/kernel.json").write_text(json.dumps(described, indent=1), encoding="utf-8")


def held(folder: str) -> tuple[Path, TextIO]:
    """The first folder in which no other kernel builds; it is ours as long as the file is open."""
    for number in count(1):
        it = Path(folder if number == 1 else f"{folder}-{number}")
        it.mkdir(parents=True, exist_ok=True)
        file = (it / ".held").open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
        else:
            return it, file
    raise AssertionError("numbers do not end")


def children(of: int) -> Iterator[tuple[int, str]]:
    """Number and name of each process that this one started, where Linux tells."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = stat.read_text(encoding="utf-8").rpartition(")")
        except OSError:
            continue  # it has ended
        if int(rest.split()[1]) == of:
            yield int(stat.parent.name), head.partition("(")[2]


def built(cargo: int) -> list[str]:
    """The crates that cargo's compilers are at."""
    # A compiler may be wrapped.
    parents = [cargo, *(it for it, _ in children(cargo))]
    compilers = {it for parent in parents for it, name in children(parent) if name == "rustc"}
    crates = []
    for it in compilers:
        with suppress(OSError, ValueError):  # it has ended, or is asked for its version alone
            words = Path(f"/proc/{it}/cmdline").read_bytes().decode().split("\0")
            crates.append(words[words.index("--crate-name") + 1])
    # What a cell itself becomes is called `ctx`.
    return sorted({"this cell" if it == "ctx" else it for it in crates})


def say(kernel: int, line: str) -> None:
    """Writes a line below the cell that waits, as its own code would.

    Jupyter shows what evcxr's child writes on its standard error at any time, also while evcxr itself waits for cargo.
    """
    for child, _ in children(kernel):
        # What has ended needs no line.
        with suppress(OSError):
            if b"EVCXR_IS_RUNTIME=" in Path(f"/proc/{child}/environ").read_bytes():
                Path(f"/proc/{child}/fd/2").write_text(line + "\n", encoding="utf-8")


def tell(kernel: int) -> None:
    """Says every few seconds what is built, as long as the kernel runs."""
    builds, began, last = None, 0.0, 0.0
    while True:
        time.sleep(0.5)
        now = time.monotonic()
        cargo = next((it for it, name in children(kernel) if name == "cargo"), None)
        if cargo != builds:
            builds, began, last = cargo, now, now
        elif cargo is not None and now - last >= SECONDS:
            say(kernel, f"{now - began:4.0f} s: building {', '.join(built(cargo)) or 'on'}")
            last = now


def run(evcxr: str, folder: str, *arguments: str) -> int:
    """Is the kernel until Jupyter ends it."""
    place, _file = held(folder)
    shutil.copy(LOCK, place)
    settings = {"EVCXR_TMPDIR": str(place), "EVCXR_CONFIG_DIR": str(HERE / "rust")}
    with subprocess.Popen([evcxr, *arguments], env=os.environ | settings) as kernel:
        if "MEMSCAPE_QUIET" not in os.environ:
            threading.Thread(target=tell, args=[kernel.pid], daemon=True).start()
        return kernel.wait()


if __name__ == "__main__":
    if sys.argv[1] == "--install":
        install(Path(sys.argv[2]), *sys.argv[3:])
    else:
        sys.exit(run(*sys.argv[1:]))
