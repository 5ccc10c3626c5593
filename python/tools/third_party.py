"""Write THIRD-PARTY-LICENSES.txt: the licences of all that is linked into the wheel.

`make third-party` writes it anew, which a changed `Cargo.lock` asks for; a test compares.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
OUTPUT = ROOT / "THIRD-PARTY-LICENSES.txt"

# What wheels are built for.
TARGETS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
)

# Crates that come without a text, and a crate of the same repository that has it.
BESIDE = {"alloc-stdlib": "alloc-no-stdlib", "polars-parquet-format": "polars-parquet"}

# Libraries in C that crates bring along.
OF_C = ("liblz4/lib/LICENSE", "zstd/LICENSE")

TEXT = re.compile(r"(un)?licen[cs]e|copying|notice|copyright", re.IGNORECASE)
# Texts that Apache-2.0, where it may be chosen, leaves unneeded.
ALTERNATIVE = re.compile(
    r"(un)?licen[cs]e([-_.](mit0?|apache|0bsd|bsd|boost|isc|zlib|cc0|a2|a2llvm|apache-2\.0.*))?(\.md|\.txt)?|copying|copyright",
    re.IGNORECASE,
)

HEAD = """\
The wheel of memscape holds compiled code of others. This file says whose, and under which terms. It is written by
`make third-party` from the crates that Cargo.lock names. Where the terms leave a choice that includes the Apache
License 2.0, this is the choice; its text is the file LICENSE-APACHE beside this one.

The Rust standard library is Copyright (c) The Rust Project Contributors, MIT or Apache-2.0. The figures' font, Arimo,
is under the SIL Open Font License, whose text is in OFL.txt.
"""


class Crate(NamedTuple):
    """A crate of others."""

    name: str
    version: str
    license: str
    authors: tuple[str, ...]
    folder: Path

    @property
    def takes_apache(self) -> bool:
        """Whether the terms are a choice, and Apache-2.0 one of it."""
        choices = re.split(r"\s*/\s*|\s+OR\s+", self.license)
        return " AND " not in self.license and "Apache-2.0" in choices


def linked() -> list[Crate]:
    """All crates that are linked into the wheel for any target, by name."""
    names: set[tuple[str, str]] = set()
    for target in TARGETS:
        command = ["cargo", "tree", "--locked", "--package", "memscape-python", "--edges", "normal"]
        lines = run([*command, "--target", target, "--prefix", "none", "--format", "{p}"]).splitlines()
        names |= {(name, version.removeprefix("v")) for name, version, *_ in map(str.split, filter(None, lines))}
    metadata: dict[str, Any] = json.loads(run(["cargo", "metadata", "--locked", "--format-version", "1"]))
    crates = [
        Crate(it["name"], it["version"], it["license"], tuple(it["authors"]), Path(it["manifest_path"]).parent)
        for it in metadata["packages"]
        if it["source"] and (it["name"], it["version"]) in names
    ]
    return sorted(crates)


def run(command: list[str]) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def texts(crate: Crate, crates: list[Crate]) -> list[str]:
    """The texts that have to go with a crate, beside that of Apache-2.0."""
    found = sorted(it for it in crate.folder.iterdir() if it.is_file() and TEXT.match(it.name))
    # A library in C stands in a folder of its own, beside programs and tests that are not built.
    found += sorted(it for it in map(crate.folder.joinpath, OF_C) if it.is_file())
    if crate.takes_apache:
        found = [it for it in found if not ALTERNATIVE.fullmatch(it.name)]
    elif not found:
        beside = next((it for it in crates if it.name == BESIDE.get(crate.name)), None)
        if beside is not None:
            return texts(beside, crates)
        if crate.license == "MIT":
            own = (ROOT / "LICENSE-MIT").read_text(encoding="utf-8")
            return [re.sub(r"Copyright \(c\).*", f"Copyright (c) {', '.join(crate.authors) or crate.name}", own)]
        raise SystemExit(
            f"{crate.name} {crate.version} ({crate.license}) comes without a text; say in BESIDE whose it has"
        )
    return [it.read_text(encoding="utf-8", errors="replace") for it in found]


def written() -> str:
    """The whole file."""
    crates = linked()
    # Texts that differ in nothing but spaces are one.
    whose: dict[str, tuple[str, list[Crate]]] = {}
    for crate in crates:
        for text in texts(crate, crates):
            plain = "\n".join(it.rstrip() for it in text.strip().splitlines())
            whose.setdefault(re.sub(r"\s+", " ", plain), (plain, []))[1].append(crate)
    listed = [f"{it.name} {it.version} ({'Apache-2.0' if it.takes_apache else it.license})" for it in crates]
    parts = [HEAD, "\n".join(listed) + "\n"]
    for plain, owners in whose.values():
        names = ", ".join(dict.fromkeys(f"{it.name} {it.version}" for it in owners))
        parts.append(f"{'-' * 120}\n{names}\n\n{plain}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    OUTPUT.write_text(written(), encoding="utf-8")
    print(f"{OUTPUT.name}: {len(linked())} crates")
