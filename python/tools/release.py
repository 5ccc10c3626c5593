"""What a release would publish, checked; `make release` calls it. It publishes nothing.

`python release.py FOLDER` looks at the wheel and the source distribution in a folder, and at
the repository that they are of: one version everywhere, a changelog that knows it, licences,
a list of parts, and nothing uncommitted. It lists what would go where, then what is missing.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).parents[2]
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-LICENSES.txt", "OFL.txt")
# Without these, a source distribution does not build as the repository does.
SOURCES = ("Cargo.toml", "Cargo.lock", ".cargo/config.toml", "pyproject.toml", "data/published/pimnast.toml")


def version() -> str:
    """The workspace's version, which all others must be."""
    found = re.search(r'^version = "(.+)"$', read("Cargo.toml"), re.MULTILINE)
    assert found, "Cargo.toml has no version"
    return found[1]


def repository(expected: str) -> list[str]:
    """What is wrong with the repository."""
    problems = []
    cited = re.search(r"^version: (.+)$", read("CITATION.cff"), re.MULTILINE)
    if cited is None or cited[1] != expected:
        problems.append(f"CITATION.cff: the version is {cited and cited[1]}, not {expected}")
    if not re.search(rf"^## {re.escape(expected)}\b", read("CHANGELOG.md"), re.MULTILINE):
        problems.append(f"CHANGELOG.md: there is no part `## {expected}`; name what is unreleased so")
    stale = set(re.findall(r'^name = "memscape[^"]*"\nversion = "(.+)"$', read("Cargo.lock"), re.MULTILINE))
    if stale != {expected}:
        problems.append(f"Cargo.lock: the crates have {sorted(stale)}, not {expected}")
    if git("status", "--porcelain"):
        problems.append("git: there are changes that are not committed")
    tagged = git("tag", "--list", f"v{expected}")
    if tagged and git("rev-parse", f"v{expected}^{{commit}}") != git("rev-parse", "HEAD"):
        problems.append(f"git: v{expected} is the tag of another commit; raise the version in Cargo.toml")
    return problems


def wheel(path: Path, expected: str) -> list[str]:
    """What is wrong with a wheel."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        about = f"memscape-{expected}.dist-info"
        problems = metadata(archive.read(f"{about}/METADATA")) if f"{about}/METADATA" in names else [f"no {about}"]
        parts = [it for it in names if it.startswith(f"{about}/sboms/")]
        listed = {it["name"] for part in parts for it in json.loads(archive.read(part))["components"]}
    licences = {Path(it).name for it in names if it.startswith(f"{about}/licenses/")}
    problems += [f"no licence {it}" for it in LICENCES if it not in licences]
    if "polars" not in listed:
        problems.append("no list of its parts (SBOM) that names polars")
    if not any(it.endswith("_memscape.abi3.so") for it in names):
        problems.append("no module for every Python (abi3)")
    return problems


def source(path: Path, expected: str) -> list[str]:
    """What is wrong with a source distribution."""
    with tarfile.open(path) as archive:
        top = f"memscape-{expected}"
        names = set(archive.getnames())
        info = archive.extractfile(f"{top}/PKG-INFO") if f"{top}/PKG-INFO" in names else None
        problems = metadata(info.read()) if info else [f"no {top}/PKG-INFO"]
    problems += [f"no {it}" for it in SOURCES if f"{top}/{it}" not in names]
    licences = {Path(it).name for it in names}
    return problems + [f"no licence {it}" for it in LICENCES if it not in licences]


def metadata(text: bytes) -> list[str]:
    """What is wrong with a distribution's own words."""
    said = message_from_bytes(text)
    problems = []
    if said["Version"] != version():
        problems.append(f"its version is {said['Version']}")
    if said["License-Expression"] != "MIT OR Apache-2.0":
        problems.append(f"its licence is {said['License-Expression']}")
    return problems


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def main(folder: Path) -> int:
    """Lists and checks; returns 1 if something is missing."""
    expected = version()
    problems = repository(expected)
    kinds = {"wheel": (f"memscape-{expected}-*.whl", wheel), "source": (f"memscape-{expected}.tar.gz", source)}
    print(f"memscape {expected}, commit {git('rev-parse', '--short', 'HEAD')}")
    print("to PyPI:")
    for kind, (pattern, check) in kinds.items():
        found = sorted(folder.glob(pattern))
        if not found:
            problems.append(f"{kind}: there is no {pattern} in {folder}")
        for path in found:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            print(f"  {path.name}  {path.stat().st_size:,} bytes  sha256 {digest}")
            problems += [f"{path.name}: {it}" for it in check(path, expected)]
    print(f"to git: the tag v{expected}, which has the workflow build the wheels of other platforms")
    print("to crates.io: nothing; the crates read data/, which stands outside of them, and are used by path or by git")
    for it in problems:
        print(f"not ready: {it}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
