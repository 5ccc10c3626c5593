"""What the installed memscape says, each question asked once.

Answers that take all cores are asked of a process of its own: a sweep's threads do not survive the
forks by which pages are written.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import docs_numbers
import tomllib

import memscape as ms

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "memscape"]


def kept(folder: Path) -> Path:
    """Where the claims report of this very wheel is kept."""
    module = Path(str(ms._memscape.__file__)).read_bytes()
    return folder / f"claims-{hashlib.sha256(module).hexdigest()[:16]}.json"


def ask(app: Sphinx) -> None:
    """Asks for the claims before pages are read, unless this wheel has answered them already."""
    file = kept(Path(app.doctreedir))
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(docs_numbers.report_of(COMMAND)), encoding="utf-8")


@cache
def _report(folder: Path) -> docs_numbers.Report:
    said: docs_numbers.Report = json.loads(kept(folder).read_text(encoding="utf-8"))
    return said


def report(env: BuildEnvironment) -> docs_numbers.Report:
    """The claims report: claims, totals, bars, and what was said blind."""
    return _report(Path(env.doctreedir))


@cache
def published(paper: str) -> dict[str, dict[str, Any]]:
    """What the paper prints, by claim."""
    file = ROOT / "data/published" / f"{paper}.toml"
    return {it["id"]: it for it in tomllib.loads(file.read_text(encoding="utf-8"))["claim"]}


@cache
def study(name: str) -> ms.Description:
    """A study's parameters and columns."""
    found = ms.describe(name)
    assert isinstance(found, ms.Description), f"`{name}` is no study"
    return found


@cache
def preset(name: str) -> list[tuple[str, Any, str]]:
    """Each number of a description: its path, itself, and its source."""
    found = ms.describe(name)
    assert isinstance(found, ms.Preset), f"`{name}` is no description"

    def leaves(prefix: str, inside: dict[str, Any]) -> list[tuple[str, Any, str]]:
        of: list[tuple[str, Any, str]] = []
        for key, value in inside.items():
            path = prefix + key
            named = isinstance(value, dict)
            of += leaves(f"{path}.", value) if named else [(path, value, found.sources.get(path, ""))]
        return of

    return [it for it in leaves("", found.parameters) if it[1] is not None]


def claims(env: BuildEnvironment, paper: str) -> list[dict[str, Any]]:
    """The paper's claims, with where they are printed."""
    found = [it for it in report(env)["claims"] if it["id"].partition(".")[0] == paper]
    assert found, f"no claim is of `{paper}`"
    return [{**published(paper)[it["id"]], **it} for it in found]


@cache
def command(*words: str) -> str:
    """What `memscape WORDS` prints."""
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=True)
    return done.stdout
