"""Totals of the claims report in the pages, between marks.

`python docs_numbers.py COMMAND` rewrites README, docs and CHANGELOG by what
`COMMAND claims --json` says: a paper's totals between `<!-- claims: PAPER -->` and
`<!-- /claims -->`, those of all papers between `<!-- trust -->` and `<!-- /trust -->`,
the record of what was said blind between `<!-- blind -->` and `<!-- /blind -->`; and
between `<!-- left out -->` and `<!-- /left out -->` by the tables of `make
leave-one-out`, between `<!-- covered -->` and `<!-- /covered -->` by those of `make
coverage`. In a sentence or a row, a number before `<!-- = CLAIM -->` is what the
model says to that claim, in as many decimals as stand there, and before
`<!-- = PAPER:PATH -->` (or `PAPER:PRESET:PATH`) the value of that free parameter;
`<!-- = CLAIM / 1000 -->` is in another unit. A version that is released keeps its
numbers: take the marks out of its part of CHANGELOG.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
COLUMNS = 120
CLAIMS = re.compile(
    r"^(?P<indent> *)(?P<open><!-- claims: (?P<paper>[\w-]+) -->)\n.*?^ *(?P<close><!-- /claims -->)$",
    re.MULTILINE | re.DOTALL,
)
TRUST = re.compile(r"^(?P<open><!-- trust -->)\n.*?^(?P<close><!-- /trust -->)$", re.MULTILINE | re.DOTALL)
BLIND = re.compile(r"^(?P<open><!-- blind -->)\n.*?^(?P<close><!-- /blind -->)$", re.MULTILINE | re.DOTALL)
LEFT_OUT = re.compile(r"^(?P<open><!-- left out -->)\n.*?^(?P<close><!-- /left out -->)$", re.MULTILINE | re.DOTALL)
COVERED = re.compile(r"^(?P<open><!-- covered -->)\n.*?^(?P<close><!-- /covered -->)$", re.MULTILINE | re.DOTALL)
SAID = re.compile(r"(?P<said>\d+(?:\.(?P<decimals>\d+))?)(?P<mark> <!-- = (?P<of>[\w.:-]+)(?: / (?P<over>\d+))? -->)")
LEAVE_ONE_OUT = "-leave-one-out.csv"
COVERAGE = "-coverage.json"
Report = dict[str, list[dict[str, Any]]]


def is_marked(text: str) -> bool:
    """Whether a page quotes the report."""
    return any(it.search(text) for it in (CLAIMS, TRUST, BLIND, LEFT_OUT, COVERED, SAID))


def rewritten(text: str, report: Report) -> str:
    """The page with the totals of this report."""

    def claims(found: re.Match[str]) -> str:
        indent, paper = found["indent"], found["paper"]
        said = sentence(paper, report, free_parameters(paper))
        # A number and its sign stay together.
        lines = textwrap.wrap(said.replace(" %", "\0%"), COLUMNS - len(indent), break_on_hyphens=False)
        return "\n".join(indent + it.replace("\0", " ") for it in [found["open"], *lines, found["close"]])

    def around(lines: list[str]) -> Callable[[re.Match[str]], str]:
        return lambda found: "\n".join([found["open"], *lines, found["close"]])

    def said(found: re.Match[str]) -> str:
        number = known.get(found["of"])
        if number is None:
            sys.exit(f"a page quotes the number of `{found['of']}`, but there is none")
        return f"{number / float(found['over'] or 1):.{len(found['decimals'] or '')}f}{found['mark']}"

    known = {it["id"]: it["computed"] for it in report["claims"]} | fitted()
    text = SAID.sub(said, CLAIMS.sub(claims, text))
    text = TRUST.sub(around(trust_table(report)), text)
    text = BLIND.sub(around(blind_tables(report)), text)
    text = COVERED.sub(around(covered_table()), text)
    return LEFT_OUT.sub(around(left_out_table()), text)


def sentence(paper: str, report: Report, free: int) -> str:
    """How many facts and predictions of performance are right, how many are asked for, and what is free."""
    said = [
        f"Of {it['computed']} facts, {it['exact']} {are(it['exact'])} exact to the printed digits."
        for it in report["totals"]
        if (it["source"], it["sort"], it["role"]) == (paper, "fact", "predict") and it["computed"]
    ]
    bars = [it for it in report["bars"] if it["source"] == paper]
    parts = [
        f"{it['met']} {are(it['met'])} within {100 * it['within']:g} % ({100 * it['share']:g} % asked for)"
        for it in bars
    ]
    if parts:
        said.append(f"Of {bars[0]['of']} predictions of performance, {' and '.join(parts)}.")
    return " ".join([*said, f"{free} free parameters."])


def are(count: int) -> str:
    """What so many are."""
    return "is" if count == 1 else "are"


def trust_table(report: Report) -> list[str]:
    """How right each paper's model is, what was said of it blind, and what is free."""
    lines = [
        "| paper | facts exact | performances predicted | within (asked for) | said blind: median error, now | free |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for paper in dict.fromkeys(it["source"] for it in report["bars"]):
        facts = [it for it in report["totals"] if (it["source"], it["sort"], it["role"]) == (paper, "fact", "predict")]
        bars = [it for it in report["bars"] if it["source"] == paper and it["of"]]
        blind = [it for it in report["blind"] if (it["source"], it["sort"]) == (paper, "performance")]
        if not bars:
            continue
        within = [
            f"{100 * it['met'] / it['of']:.0f} % within {100 * it['within']:g} % ({100 * it['share']:g} %)"
            for it in bars
        ]
        cells = [
            paper,
            f"{sum(it['exact'] for it in facts)} of {sum(it['computed'] for it in facts)}",
            str(bars[0]["of"]),
            ", ".join(within),
            ", ".join(f"{100 * blind[0][f'median_error_{when}']:.1f} %" for when in ("then", "now")) if blind else "",
            str(free_parameters(paper)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def blind_tables(report: Report) -> list[str]:
    """What was said blind: paper by paper, then each performance."""
    lines = [
        "| paper | performances | median error then | now | facts | exact then | now |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for paper in dict.fromkeys(it["source"] for it in report["blind"]):
        of = {it["sort"]: it for it in report["blind"] if it["source"] == paper}
        speed, facts = of.get("performance"), of.get("fact")
        errors = [f"{100 * speed[f'median_error_{when}']:.1f} %" for when in ("then", "now")] if speed else ["", ""]
        exact = [str(facts[f"exact_{when}"]) if facts else "" for when in ("then", "now")]
        counts = [str(it["claims"]) if it else "0" for it in (speed, facts)]
        lines.append(f"| {' | '.join([paper, counts[0], *errors, counts[1], *exact])} |")
    lines += ["", "| claim | published | 0.1 said | error | says now | error |", "|---|--:|--:|--:|--:|--:|"]
    for it in report["claims"]:
        if it["blind"] is not None and it["sort"] == "performance":
            errors = [f"{100 * it[name]:+.1f} %" for name in ("blind_error", "relative_error")]
            then, now = f"{it['blind']:.4g}", f"{it['computed']:.4g}"
            lines.append(f"| {it['id']} | {it['printed']} {it['unit']} | {then} | {errors[0]} | {now} | {errors[1]} |")
    return lines


def left_out_table() -> list[str]:
    """Each claim that a fit takes, as a fit without it has it."""
    lines = ["| claim | published | fitted | left out | error | open without it |", "|---|--:|--:|--:|--:|---|"]
    for file in sorted((ROOT / "data/calibration").glob(f"*{LEAVE_ONE_OUT}")):
        with file.open(encoding="utf-8", newline="") as rows:
            for it in csv.DictReader(rows):
                said = f"{float(it['left_out']):.4g}" if it["left_out"] else ""
                error = f"{100 * float(it['relative_error']):+.1f} %" if it["relative_error"] else ""
                parameters = ", ".join(f"`{name}`" for name in it["open"].split())
                cells = [
                    it["claim"],
                    f"{it['published']} {it['unit']}",
                    f"{float(it['fitted']):.4g}",
                    said,
                    error,
                    parameters,
                ]
                lines.append(f"| {' | '.join(cells)} |")
    return lines


def covered_table() -> list[str]:
    """How many printed numbers lie where the model says that they may, paper by paper."""
    lines = ["| paper | predictions inside | share |", "|---|--:|--:|"]
    for file in sorted((ROOT / "data/calibration").glob(f"*{COVERAGE}")):
        claims = json.loads(file.read_text(encoding="utf-8"))
        inside = sum(it["inside"] for it in claims)
        paper = file.name.removesuffix(COVERAGE)
        lines.append(f"| {paper} | {inside} of {len(claims)} | {100 * inside / len(claims):.0f} % |")
    return lines


def fitted() -> dict[str, float]:
    """The value of each free parameter, by paper, the preset that it is of if it is of one, and path."""
    found = {}
    for file in sorted((ROOT / "data/calibration").glob("*.toml")):
        for entry in file.read_text(encoding="utf-8").split("[[parameter]]\n")[1:]:
            keys = dict(re.findall(r"^(\w+) = \"?([^\"\n]*)\"?$", entry, re.MULTILINE))
            found[":".join(filter(None, [file.stem, keys.get("preset"), keys["path"]]))] = float(keys["value"])
    return found


def free_parameters(paper: str) -> int:
    """How many the paper's model has."""
    return sum(it.partition(":")[0] == paper for it in fitted())


def report_of(command: list[str]) -> Report:
    """What the command line says to all claims."""
    done = subprocess.run([*command, "--quiet", "claims", "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    report: Report = json.loads(done.stdout)
    return report


def main() -> None:
    """Rewrites the pages that quote totals."""
    (command,) = sys.argv[1:]
    report = report_of([command])
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "CHANGELOG.md"]:
        text = page.read_text(encoding="utf-8")
        new = rewritten(text, report)
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
