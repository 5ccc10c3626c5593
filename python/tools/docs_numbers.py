"""Totals of the claims report in the pages, between `<!-- claims: PAPER -->` and `<!-- /claims -->`.

`python docs_numbers.py COMMAND` rewrites README, docs and CHANGELOG by what
`COMMAND claims PAPER --json` says. What is counted are the paper's bars, as they
stand in `data/published`. A version that is released keeps its numbers: take the
marks out of its part of CHANGELOG.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
COLUMNS = 120
MARKED = re.compile(
    r"^(?P<indent> *)(?P<open><!-- claims: (?P<paper>[\w-]+) -->)\n.*?^ *(?P<close><!-- /claims -->)$",
    re.MULTILINE | re.DOTALL,
)


def papers(text: str) -> list[str]:
    """The papers whose totals a page quotes."""
    return [it["paper"] for it in MARKED.finditer(text)]


def rewritten(text: str, reports: dict[str, list[dict[str, Any]]]) -> str:
    """The page with the totals of these reports."""

    def one(found: re.Match[str]) -> str:
        indent, paper = found["indent"], found["paper"]
        said = sentence(reports[paper], bars(paper), free_parameters(paper))
        # A number and its sign stay together.
        lines = textwrap.wrap(said.replace(" %", "\0%"), COLUMNS - len(indent), break_on_hyphens=False)
        return "\n".join(indent + it.replace("\0", " ") for it in [found["open"], *lines, found["close"]])

    return MARKED.sub(one, text)


def sentence(report: list[dict[str, Any]], bars: list[dict[str, Any]], free: int) -> str:
    """How many predictions of each kind are within what, and what is free."""
    said: dict[str, list[str]] = {}
    for bar in bars:
        of = [it for it in report if is_about(bar, it)]
        tolerance = bar.get("tolerance")
        if tolerance is None:
            met, what = sum(it["exact"] for it in of), "exact to the printed digits"
        else:
            met, what = sum(abs(it["relative_error"]) <= tolerance for it in of), f"within {100 * tolerance:g} %"
        parts = said.setdefault(f"Of {len(of)} {bar['says']}", [])
        verb = "" if parts else "is " if met == 1 else "are "
        parts.append(f"{met} {verb}{what}")
    sentences = [f"{head}, {' and '.join(parts)}." for head, parts in said.items()]
    return " ".join([*sentences, f"{free} free parameters."])


def is_about(bar: dict[str, Any], verdict: dict[str, Any]) -> bool:
    """Whether a bar counts a claim, as `memscape claims` does."""

    def named(patterns: list[str]) -> bool:
        return any(fnmatchcase(verdict["id"], it) for it in patterns)

    wanted = named(bar.get("claims", ["*"])) and not named(bar.get("except", []))
    return verdict["role"] == "predict" and verdict["relative_error"] is not None and wanted


def bars(paper: str) -> list[dict[str, Any]]:
    """What the paper's model is held to: tables of plain values, which TOML writes as JSON does."""
    text = (ROOT / "data/published" / f"{paper}.toml").read_text(encoding="utf-8")
    tables = re.findall(r"^\[\[bar\]\]\n(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    lines = [[it.split(" = ", 1) for it in table.splitlines() if " = " in it] for table in tables]
    return [{key: json.loads(value) for key, value in table} for table in lines]


def free_parameters(paper: str) -> int:
    """How many the paper's model has."""
    file = ROOT / "data/calibration" / f"{paper}.toml"
    return file.read_text(encoding="utf-8").count("[[parameter]]") if file.is_file() else 0


def report_of(command: str, paper: str) -> list[dict[str, Any]]:
    """What the command line says to each claim of a paper."""
    done = subprocess.run([command, "--quiet", "claims", paper, "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main() -> None:
    """Rewrites the pages that quote totals."""
    (command,) = sys.argv[1:]
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "CHANGELOG.md"]
    texts = {it: it.read_text(encoding="utf-8") for it in pages}
    wanted = {paper for it in texts.values() for paper in papers(it)}
    reports = {it: report_of(command, it) for it in sorted(wanted)}
    for page, text in texts.items():
        new = rewritten(text, reports)
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
