"""`:::{figures} PAPER`: every figure of a paper as it stands in `figures/`, with its title.

`:::{figure-of} EXPERIMENT` is one of them, in its full width.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import site_data
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import memscape as ms

if TYPE_CHECKING:
    from sphinx.application import Sphinx


@cache
def titles() -> dict[str, str]:
    """What each figure shows, by experiment."""
    return {it.id: it.title for it in ms.experiments()}


def image(experiment: str) -> nodes.image:
    """The figure in the repository."""
    paper, _, name = experiment.partition(".")
    file = f"figures/{paper}/{name}.svg"
    assert (site_data.ROOT / file).is_file(), f"there is no {file}; `make reproduce` draws it"
    return nodes.image(uri=f"/{file}", alt=titles()[experiment], loading="lazy")


class Figures(SphinxDirective):
    """All figures of a paper, small, each with a link to itself."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Makes them."""
        paper = self.arguments[0]
        of = [it for it in titles() if it.partition(".")[0] == paper]
        if not of:
            raise self.error(f"no experiment is of `{paper}`")
        cards = []
        for experiment in of:
            small = image(experiment)
            small["width"] = "100%"  # by which Sphinx links it to itself
            name = nodes.paragraph("", "", nodes.literal(text=experiment), nodes.Text(" " + titles()[experiment]))
            cards.append(nodes.container("", small, name, classes=["site-card"]))
        return [nodes.container("", *cards, classes=["site-gallery"])]


class FigureOf(SphinxDirective):
    """One figure."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Makes it."""
        (experiment,) = self.arguments
        if experiment not in titles():
            raise self.error(f"there is no experiment `{experiment}`")
        return [nodes.figure("", image(experiment), nodes.caption("", titles()[experiment]), classes=["site-figure"])]


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the directives."""
    app.add_directive("figures", Figures)
    app.add_directive("figure-of", FigureOf)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
