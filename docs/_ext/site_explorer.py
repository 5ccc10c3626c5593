"""`:::{explorer} NAME.html`: a page of the explorer that the block of commands with `--static NAME.html` writes.

The block is one of the same page, and so are the files that it needs: every `toml` block whose first line names
it. What stands in the site is therefore what a reader gets who copies them, computed while the site is built; it
is framed, since a page that asks nobody also works where a site is opened from a folder.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import site_data
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: Where in the site the pages stand.
PLACE = "_explorer"
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def written(page: str, name: str, folder: Path) -> Path:
    """Runs the commands of a page that write a file, in a folder with the files that the page shows."""
    blocks = [(it["language"], it["code"]) for it in BLOCK.finditer(page)]
    for language, code in blocks:
        if language == "toml":
            (folder / code.split("\n", 1)[0].removeprefix("# ")).write_text(code, encoding="utf-8")
    (commands,) = (code for language, code in blocks if language == "sh" and f"--static {name}\n" in code)
    for line in commands.splitlines():
        words = shlex.split(line, comments=True)
        subprocess.run([*site_data.COMMAND, "--quiet", *words[1:]], cwd=folder, check=True)
    return folder / name


class Explorer(SphinxDirective):
    """One page of the explorer, framed."""

    required_arguments = 1
    option_spec = {"height": directives.positive_int}  # noqa: RUF012, docutils' own way

    def run(self) -> list[nodes.Node]:
        """Makes it."""
        (name,) = self.arguments
        page = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        place = Path(self.env.app.outdir) / PLACE
        place.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as folder:
            shutil.copy(written(page, name, Path(folder)), place / name)
        builder = self.env.app.builder
        address = escape(relative_uri(builder.get_target_uri(self.env.docname), f"{PLACE}/{name}"))
        frame = (
            f'<iframe class="site-explorer" src="{address}" title="The explorer: {escape(name)}" loading="lazy"'
            f' height="{self.options.get("height", 900)}"></iframe>'
            f'<p class="site-explorer"><a href="{address}">By itself</a></p>'
        )
        return [nodes.raw("", frame, format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the directive."""
    app.add_directive("explorer", Explorer)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
