"""What generated pages are made of: tables, and parts that fold."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Cell = str | nodes.Node
CODE = re.compile(r"(`[^`]+`)")


def text(said: str) -> list[nodes.Node]:
    """A sentence in which backquotes mark code, as in doc comments."""
    parts = CODE.split(said)
    return [nodes.literal(text=it[1:-1]) if CODE.fullmatch(it) else nodes.Text(it) for it in parts if it]


def table(head: Sequence[str], rows: Iterable[Sequence[Cell]], *, classes: Sequence[str] = ()) -> nodes.table:
    """A table; columns whose heading begins with `#` are numbers, to the right."""
    right = [it.startswith("#") for it in head]

    def row(cells: Sequence[Cell]) -> nodes.row:
        entries = []
        for cell, number in zip(cells, right, strict=True):
            said = text(cell) if isinstance(cell, str) else [cell]
            paragraph = nodes.paragraph("", "", *said)
            entries.append(nodes.entry("", paragraph, classes=["text-right"] if number else []))
        return nodes.row("", *entries)

    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in head), cols=len(head))
    group += nodes.thead("", row([it.removeprefix("#") for it in head]))
    group += nodes.tbody("", *(row(it) for it in rows))
    return nodes.table("", group, classes=["site-table", *classes])


def folded(summary: str, *inside: nodes.Node) -> list[nodes.Node]:
    """Parts under a line that unfolds them."""
    return [
        nodes.raw("", f"<details class='site'><summary>{escape(summary)}</summary>", format="html"),
        *inside,
        nodes.raw("", "</details>", format="html"),
    ]


def number(value: object) -> str:
    """A value with as many digits as are of use."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e6 or value % 1 else f"{value:.0f}"
    return str(value)
