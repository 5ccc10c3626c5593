"""Holds a built site to what it promises: nothing is fetched to read it, and every link leads somewhere.

`python check_site.py FOLDER` looks at each page for scripts, styles, images and fonts of other hosts, and at
each link between pages for the file and the place in it. Links that a reader may follow to other hosts are no
matter. Pages of rustdoc, which checks its links itself, are looked at for other hosts alone.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote

# What a browser loads by itself, with an address of another host; where else a page or search engine may be told
# of is not loaded.
LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object|use|image)\b[^>]*?\b(?:src|srcset|data|href)\s*=\s*"
    r"[\"']?\s*(?:https?:)?//[^\s\"'>]*"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|icon|shortcut|preload|prefetch|preconnect|modulepreload|manifest))"
    r"[^>]*?\bhref\s*=\s*[\"']?\s*(?:https?:)?//[^\s\"'>]*",
    re.IGNORECASE,
)
LOADED_BY_STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?\s*(?:https?:)?//[^\s\"')]*", re.IGNORECASE)
LINK = re.compile(r"<a\b[^>]*?\bhref=\"([^\"]*)\"", re.IGNORECASE)
SHOWN = re.compile(r"<(?:img|iframe)\b[^>]*?\bsrc=\"([^\"]*)\"", re.IGNORECASE)
PLACE = re.compile(r"\b(?:id|name)=\"([^\"]+)\"")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def fetched(text: str, *, style: bool = False) -> list[str]:
    """What a browser would fetch from other hosts to show this page or style sheet."""
    return [it[0] for it in (LOADED_BY_STYLE if style else LOADED).finditer(text)]


@cache
def places(page: Path) -> frozenset[str]:
    """Where links can point to within a page."""
    return frozenset(unescape(it) for it in PLACE.findall(page.read_text(encoding="utf-8")))


def broken(page: Path, text: str) -> list[str]:
    """Links, images and frames of a page that lead nowhere."""
    found = []
    for said in {*LINK.findall(text), *SHOWN.findall(text)}:
        address = unescape(said)
        if ELSEWHERE.match(address):
            continue
        file, _, place = address.partition("#")
        target = page.parent / unquote(file.partition("?")[0]) if file else page
        if target.is_dir():
            target /= "index.html"
        if not target.is_file():
            found.append(f"`{address}`: there is no such file")
        elif place and target.suffix == ".html" and "rust" not in target.parts and unquote(place) not in places(target):
            found.append(f"`{address}`: the page has no such place")
    return sorted(found)


def faults(folder: Path) -> list[str]:
    """Everything that is wrong with a site."""
    found = []
    for file in sorted(folder.rglob("*")):
        if file.suffix not in (".html", ".css", ".svg"):
            continue
        name = file.relative_to(folder)
        text = file.read_text(encoding="utf-8", errors="replace")
        found += [f"{name}: fetches {it}" for it in fetched(text, style=file.suffix == ".css")]
        if file.suffix == ".html" and name.parts[0] != "rust":
            found += [f"{name}: {it}" for it in broken(file, text)]
    return found


def main() -> None:
    """Prints what is wrong with the folder given, and exits with 1 if anything is."""
    (folder,) = map(Path, sys.argv[1:])
    pages = len(list(folder.rglob("*.html")))
    if pages < 2:
        sys.exit(f"there is no site in {folder}; `make docs` builds it")
    found = faults(folder.resolve())
    print("\n".join([*found, f"{pages} pages, {len(found)} faults"]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
