"""`:::{commands}`: the help of `memscape` and of each of its commands, asked of the command itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import site_data
from docutils import nodes
from site_nodes import text
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

LISTED = re.compile(r"^  ([a-z][\w-]*)(?:  .*)?$", re.MULTILINE)


def commands(said: str) -> list[str]:
    """The commands that a help lists."""
    _, _, below = said.partition("\nCommands:\n")
    return [it for it in LISTED.findall(below.partition("\n\n")[0]) if it != "help"]


def helps(*words: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each command with its help, those above first."""
    said = site_data.command(*words, "--help")
    yield words, said
    for name in commands(said):
        yield from helps(*words, name)


class Commands(SphinxDirective):
    """A section for each command."""

    def run(self) -> list[nodes.Node]:
        """Makes them."""
        made: list[nodes.Node] = []
        for words, said in helps():
            name = " ".join(["memscape", *words])
            section = nodes.section("", nodes.title("", "", nodes.literal(text=name)), ids=[nodes.make_id(name)])
            about, _, usage = said.partition("\nUsage: ")
            section += [nodes.paragraph("", "", *text(it)) for it in about.strip().split("\n\n")]
            section += nodes.literal_block(text="Usage: " + usage.rstrip(), language="text")
            made.append(section)
        return made


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the directive."""
    app.add_directive("commands", Commands)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
