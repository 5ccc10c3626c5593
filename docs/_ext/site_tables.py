"""Tables that are made of what the installed memscape says.

`:::{claims} PAPER` and `:::{blind} PAPER` hold what is printed against the model, and `:::{counts}` all
papers at once; `:::{parameters} STUDY ...` and `:::{described} NAME ...` say where each number of a machine
comes from; `:::{studies}` lists what can be asked of each and what it answers, `:::{presets}` what has a name.
`:::{losses} SYSTEM COLUMN` says what a system's heuristic loses for each value of a column of `figures/regret`.
"""

from __future__ import annotations

import csv
import re
import statistics
from collections import Counter
from typing import TYPE_CHECKING, Any

import site_data
from docutils import nodes
from site_nodes import folded, number, table, text
from sphinx.util.docutils import SphinxDirective

import memscape as ms

if TYPE_CHECKING:
    from collections.abc import Callable

    from sphinx.application import Sphinx

# The word before a source's first colon says how well the number is known.
GRADE = re.compile(r"(?P<grade>[a-z]+): (?P<source>.+)", re.DOTALL)


def graded(source: str) -> tuple[str, str]:
    """A source's grade, if it begins with one, and the rest of it."""
    found = GRADE.fullmatch(source)
    return (found["grade"], found["source"]) if found else ("", source)


def error(value: float | None) -> str:
    """A relative error, or nothing where there is none."""
    return "" if value is None else f"{100 * value:+.1f} %"


def claims(directive: Table) -> list[nodes.Node]:
    """All claims of a paper: performances that the model predicts, those that it is fitted to, facts."""
    found = site_data.claims(directive.env, directive.arguments[0])

    def rows(wanted: Callable[[dict[str, Any]], bool]) -> nodes.table:
        head = ["claim", "where", "what", "#published", "#model", "#error", "remark"]
        return table(head, [_claim(it) for it in found if wanted(it)], classes=["claims"])

    def predicted(it: dict[str, Any], follows: bool) -> bool:
        return (it["sort"], it["role"], bool(it["follows_from"])) == ("performance", "predict", follows)

    parts = {
        "performances that the model predicts": lambda it: predicted(it, follows=False),
        "predictions that follow from others, which bars do not count": lambda it: predicted(it, follows=True),
        "performances that it is fitted to": lambda it: it["sort"] == "performance" and it["role"] == "calibrate",
        "performances that it takes as given": lambda it: it["sort"] == "performance" and it["role"] == "input",
        "facts": lambda it: it["sort"] == "fact",
    }
    made: list[nodes.Node] = []
    for name, wanted in parts.items():
        count = sum(map(wanted, found))
        if count:
            made += folded(f"{count} {name}", rows(wanted))
    return made


def _claim(it: dict[str, Any]) -> list[str | nodes.Node]:
    computed = it["computed"]
    bound = {"upper": "≤ ", "lower": "≥ "}.get(it["bound"], "")
    exact = " =" if it["exact"] else ""
    return [
        nodes.literal(text=it["id"].partition(".")[2]),
        it["where"],
        it["says"],
        f"{bound}{it['printed']} {it['unit']}".strip(),
        number(computed) + exact,
        "" if it["bound"] and not it["relative_error"] else error(it["relative_error"]),
        it["note"],
    ]


def blind(directive: Table) -> list[nodes.Node]:
    """What version 0.1 said of a paper's performances before anybody knew them, and what is said now."""
    found = [it for it in site_data.claims(directive.env, directive.arguments[0]) if it["blind"] is not None]
    rows: list[list[str | nodes.Node]] = [
        [
            nodes.literal(text=it["id"].partition(".")[2]),
            it["says"],
            f"{it['printed']} {it['unit']}".strip(),
            number(it["blind"]),
            error(it["blind_error"]),
            number(it["computed"]),
            error(it["relative_error"]),
        ]
        for it in found
        if it["sort"] == "performance"
    ]
    facts = [
        it
        for it in site_data.report(directive.env)["blind"]
        if (it["source"], it["sort"]) == (directive.arguments[0], "fact")
    ]
    made: list[nodes.Node] = [
        table(["claim", "what", "#published", "#0.1 said", "#error", "#says now", "#error"], rows, classes=["claims"])
    ]
    if facts:
        of = facts[0]
        said = f"And {of['claims']} facts, of which {of['exact_then']} were exact then and {of['exact_now']} are now."
        made.append(nodes.paragraph("", said))
    return made


def parameters(directive: Table) -> list[nodes.Node]:
    """Numbers of the machines that studies are asked of by default: value, source and what that is worth."""
    found: dict[str, dict[str, Any]] = {}
    for name in directive.arguments:
        for it in site_data.study(name).parameters:
            found.setdefault(it["path"], it)
    known = [it for it in found.values() if it["source"] != "study default" and it["default"] is not None]
    assert known, f"no number of {directive.arguments} has a source"
    grades = Counter(graded(it["source"])[0] or "not graded" for it in known)
    rows: list[list[str | nodes.Node]] = [
        [
            nodes.literal(text=it["path"]),
            number(it["default"]),
            it["unit"] or "",
            it["meaning"],
            *graded(it["source"]),
        ]
        for it in known
    ]
    said = ", ".join(f"{count} {name}" for name, count in grades.most_common())
    whole = table(["parameter", "#value", "unit", "meaning", "grade", "source"], rows, classes=["wide"])
    return [*folded(f"{len(rows)} numbers: {said}", whole)]


def described(directive: Table) -> list[nodes.Node]:
    """Numbers of machines by name, each with its source."""
    made: list[nodes.Node] = []
    for name in directive.arguments:
        rows: list[list[str | nodes.Node]] = [
            [nodes.literal(text=path), number(value), *graded(source)] for path, value, source in site_data.preset(name)
        ]
        made += folded(f"{name}: {len(rows)} numbers", table(["parameter", "#value", "grade", "source"], rows))
    return made


def studies(directive: Table) -> list[nodes.Node]:
    """A section for each study."""
    made: list[nodes.Node] = []
    for name in ms.studies():
        title = nodes.title("", "", nodes.literal(text=name))
        made.append(nodes.section("", title, *_study(name), ids=[nodes.make_id(name)]))
    return made


def _study(name: str) -> list[nodes.Node]:
    """Everything that can be asked of a study, and everything that it answers."""
    of = site_data.study(name)
    asked: list[list[str | nodes.Node]] = []
    for it in of.parameters:
        named = isinstance(it["values"], dict) and "description" in it["values"]
        default: list[nodes.Node] = [] if it["default"] is None else [nodes.literal(text=number(it["default"]))]
        asked.append(
            [
                nodes.literal(text=it["path"]),
                nodes.inline("", "", *default),
                it["unit"] or "",
                it["meaning"],
                "a name, a path, or a table" if named else it["allowed"],
                it["more"] or "",
            ]
        )
    answered: list[list[str | nodes.Node]] = [
        [nodes.literal(text=it["name"]), it["unit"] or "", it["meaning"]] for it in of.columns
    ]
    head = ["parameter", "default", "unit", "meaning", "allowed", "more of it"]
    return [
        nodes.paragraph("", "", *text(of.summary + ".")),
        *folded(f"{len(asked)} parameters", table(head, asked, classes=["wide"])),
        *folded(f"{len(answered)} columns of the answer", table(["column", "unit", "meaning"], answered)),
    ]


def presets(directive: Table) -> list[nodes.Node]:
    """What can be named, kind by kind; only the kinds given, if any are."""
    kinds: dict[str, list[list[str | nodes.Node]]] = {}
    for kind, name, summary in ms.presets().rows():
        kinds.setdefault(kind, []).append([nodes.literal(text=name), summary])
    made: list[nodes.Node] = []
    for kind, rows in kinds.items():
        made += folded(f"{kind}: {len(rows)}", table(["name", "what it is"], rows))
    return made


def counts(directive: Table) -> list[nodes.Node]:
    """How much there is to trust or to doubt, paper by paper."""
    report = site_data.report(directive.env)
    rows: list[list[str | nodes.Node]] = []
    for paper in dict.fromkeys(it["source"] for it in report["totals"]):
        totals = [it for it in report["totals"] if it["source"] == paper]
        facts = [it for it in totals if (it["sort"], it["role"]) == ("fact", "predict")]
        bars = [it for it in report["bars"] if it["source"] == paper]
        said = [it for it in report["blind"] if (it["source"], it["sort"]) == (paper, "performance")]
        rows.append(
            [
                paper,
                str(sum(it["claims"] for it in totals)),
                f"{sum(it['exact'] for it in facts)} of {sum(it['computed'] for it in facts)}",
                "; ".join(f"{it['met']} of {it['of']} within {100 * it['within']:g} %" for it in bars),
                f"{100 * said[0]['median_error_then']:.1f} % → {100 * said[0]['median_error_now']:.1f} %"
                if said
                else "",
            ]
        )
    head = ["paper", "#claims", "#facts exact", "performance predicted", "said blind: median error then → now"]
    return [table(head, rows)]


def losses(directive: Table) -> list[nodes.Node]:
    """How a heuristic's losses are spread, for each value of a column."""
    system, column = directive.arguments
    file = site_data.ROOT / "figures/regret" / f"{system}.csv"
    directive.env.note_dependency(str(file))
    of: dict[str, list[float]] = {}
    with file.open(encoding="utf-8", newline="") as text:
        for row in csv.DictReader(text):
            of.setdefault(row[column], []).append(float(row["loss_percent"]))
    rows: list[list[str | nodes.Node]] = [
        [
            value,
            str(len(all_of)),
            str(sum(it < 1 for it in all_of)),
            f"{statistics.median_low(all_of):.1f} %",
            f"{max(all_of):.1f} %",
        ]
        for value, all_of in of.items()
    ]
    head = [column.replace("_", " "), "#cases", "#less than 1 % lost", "#median loss", "#greatest loss"]
    return [table(head, rows)]


TABLES: dict[str, tuple[Callable[[Table], list[nodes.Node]], int]] = {
    "claims": (claims, 1),
    "blind": (blind, 1),
    "parameters": (parameters, 9),
    "described": (described, 9),
    "studies": (studies, 0),
    "presets": (presets, 0),
    "counts": (counts, 0),
    "losses": (losses, 2),
}


class Table(SphinxDirective):
    """One of the tables, by its name."""

    optional_arguments = 9

    def run(self) -> list[nodes.Node]:
        """Makes it."""
        make, most = TABLES[self.name]
        if len(self.arguments) > most or (most and not self.arguments):
            raise self.error(f"`{self.name}` takes {'one argument' if most == 1 else 'other arguments'}")
        return make(self)


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the directives."""
    app.connect("builder-inited", site_data.ask)
    for name in TABLES:
        app.add_directive(name, Table)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
