"""Which file of a crate uses which: as much of Rust's grammar as circles need.

An arrow leads from a file to another whose items it names: in a `use`, in a path
such as `crate::cost::Rates`, or through a macro. A name that a module re-exports
counts for the file that defines it, so `pub use child::Name` alone is no arrow of
the parent; using `Name` beside it is one. Tests, comments, strings and what a file
reaches by methods alone are left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*)
      | (?P<raw>\b(?:br|cr|r)(?P<hashes>\#*)".*?"(?P=hashes))
      | (?P<string>\b[bc]?"(?:\\.|[^"\\])*"|"(?:\\.|[^"\\])*")
      | (?P<char>\bb?'(?:\\u\{[^}]*\}|\\x..|\\.|[^\\'])'|'(?:\\u\{[^}]*\}|\\x..|\\.|[^\\'])')
      | (?P<lifetime>'\w+)
      | (?P<name>(?:r\#)?[A-Za-z_]\w*)
      | (?P<number>\d\w*)
      | (?P<mark>::|\S)""",
    re.VERBOSE | re.DOTALL,
)
BRACKETS = {"(": ")", "[": "]", "{": "}"}
DEFINES = {"struct", "enum", "union", "trait", "type", "const", "static", "fn"}
STARTS_AN_ITEM = DEFINES | {"pub", "mod", "use", "impl", "unsafe", "async", "extern", "macro_rules", "let"}


def tokens(text: str) -> list[str]:
    """Names and marks of Rust code, without comments, strings and lifetimes."""
    found, position = [], 0
    while match := TOKEN.search(text, position):
        position = match.end()
        if match.group() == "/*":
            depth = 1
            while depth and (mark := re.compile(r"/\*|\*/").search(text, position)):
                depth += 1 if mark.group() == "/*" else -1
                position = mark.end()
        elif match.lastgroup in ("name", "mark"):
            # `r#use` is a name, not a word of the language.
            found.append(match.group().replace("r#", "raw_"))
        elif match.lastgroup != "comment":
            found.append('""')
    return found


@dataclass
class Import:
    """One name that a `use` brings in; `*` brings all."""

    path: tuple[str, ...]
    name: str
    public: bool


@dataclass
class Module:
    """A module, in a file of its own or inside another."""

    file: Path
    parent: Module | None
    children: dict[str, Module] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
    defined: set[str] = field(default_factory=set)
    paths: set[tuple[str, ...]] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    macros_called: set[str] = field(default_factory=set)

    def all(self) -> Iterator[Module]:
        yield self
        for child in self.children.values():
            yield from child.all()


@dataclass(frozen=True)
class Item:
    """What a path ends at."""

    file: Path
    name: str


class Foreign:
    """What another crate holds."""


class Crate:
    """The modules below one root, `lib.rs` or `main.rs`."""

    def __init__(self, root: Path) -> None:
        self.macros: dict[str, Path] = {}
        self.root = Module(root, None)
        self._read(self.root, root.parent)

    def arrows(self) -> dict[tuple[Path, Path], set[str]]:
        """Which names each file takes from which other."""
        found: dict[tuple[Path, Path], set[str]] = defaultdict(set)
        for module in self.root.all():
            for target in self._used(module):
                if target.file != module.file:
                    found[module.file, target.file].add(target.name)
        return found

    # What a module holds.

    def _read(self, module: Module, folder: Path) -> None:
        code = tokens(module.file.read_text(encoding="utf-8"))
        self._scan(module, folder, code)

    def _scan(self, module: Module, folder: Path, code: list[str]) -> None:
        depth: list[bool] = []  # of open braces: whether names in them are the module's own
        at = 0
        while at < len(code):
            token, before = code[at], code[at - 1] if at else ""
            after = code[at + 1] if at + 1 < len(code) else ""
            if token == "#" and after in ("[", "!"):
                start = at + (1 if after == "[" else 2)
                end = closing(code, start)
                if after == "[" and is_test(code[start:end]):
                    end = item_end(code, end)
                at = end
            elif token == "mod" and after.isidentifier():
                at = self._module(module, folder, code, at + 1)
            elif token == "use" and after != "<":
                end = code.index(";", at)
                public = before == "pub" or (before == ")" and code[at - 4] == "pub")
                module.imports += [Import(path, name, public) for path, name in use_tree(code[at + 1 : end])]
                at = end
            elif token in BRACKETS.values() or token in BRACKETS:
                if token == "{":
                    invoked = "!" in code[max(at - 2, 0) : at] and "macro_rules" not in code[max(at - 3, 0) : at]
                    depth.append(invoked)
                elif token == "}" and depth:
                    depth.pop()
                at += 1
            elif token == "macro_rules":
                self.macros.setdefault(code[at + 2], module.file)
                module.defined.add(code[at + 2])
                at += 3
            elif token.isidentifier() and before != "::":
                if before in DEFINES and all(depth):
                    module.defined.add(token)
                path = [token]
                while code[at + 1 : at + 2] == ["::"] and at + 2 < len(code) and code[at + 2].isidentifier():
                    path.append(code[at + 2])
                    at += 2
                after = code[at + 1] if at + 1 < len(code) else ""
                if len(path) > 1:
                    module.paths.add(tuple(path))
                elif after == "!" and before != ".":
                    module.macros_called.add(token)
                # A variable or a field may be called as a function is.
                elif before not in (".", "fn") and (token[0].isupper() or after == "("):
                    module.names.add(token)
                at += 1
            else:
                at += 1

    def _module(self, module: Module, folder: Path, code: list[str], at: int) -> int:
        name = code[at]
        if code[at + 1] == "{":
            end = closing(code, at + 1)
            child = module.children[name] = Module(module.file, module)
            self._scan(child, folder / name, code[at + 2 : end - 1])
            return end
        places = [folder / f"{name}.rs", folder / name / "mod.rs"]
        file = next((it for it in places if it.is_file()), None)
        if file is None:
            raise ValueError(f"{module.file} declares `mod {name}`, but there is neither of {places}")
        child = module.children[name] = Module(file, module)
        self._read(child, folder / name)
        return at + 1

    # What a path means.

    def _resolve(
        self, module: Module, path: tuple[str, ...], seen: frozenset[tuple[int, str]] = frozenset()
    ) -> Module | Item | Foreign | None:
        head, *rest = path
        here: Module | Item | Foreign | None
        if head == "crate":
            here = self.root
        elif head == "self":
            here = module
        elif head == "super":
            here = module.parent
        else:
            here = self._look_up(module, head, seen)
        for name in rest:
            if not isinstance(here, Module):
                break
            if name == "super":
                here = here.parent
            elif name != "self":
                # What a macro makes cannot be seen, but it is there.
                here = self._look_up(here, name, seen) or Item(here.file, name)
        return here

    def _look_up(self, module: Module, name: str, seen: frozenset[tuple[int, str]]) -> Module | Item | Foreign | None:
        if (id(module), name) in seen:
            return None
        seen |= {(id(module), name)}
        if name in module.children:
            return module.children[name]
        for it in module.imports:
            if it.name == name:
                return self._resolve(module, it.path, seen) or Foreign()
        if name in module.defined:
            return Item(module.file, name)
        for it in module.imports:
            if (
                it.name == "*"
                and isinstance(within := self._resolve(module, it.path, seen), Module)
                and (found := self._look_up(within, name, seen))
            ):
                return found
        if module is self.root and name in self.macros:
            return Item(self.macros[name], name)
        return None

    # What a module uses.

    def _used(self, module: Module) -> Iterator[Item]:
        below = {it.file for it in module.all()} - {module.file}
        mentioned = module.names | {it[0] for it in module.paths}
        for it in module.imports:
            found = self._resolve(module, it.path)
            if it.name == "*" and isinstance(found, Module):
                inside = (self._look_up(found, name, frozenset()) for name in mentioned)
                yield from (item for item in inside if isinstance(item, Item))
            elif isinstance(found, Item):
                re_export = it.public and found.file in below
                if not re_export or it.name in module.names:
                    yield found
        for path in module.paths:
            found = self._resolve(module, path)
            if isinstance(found, Item):
                yield found
        for name in module.macros_called & self.macros.keys():
            yield Item(self.macros[name], f"{name}!")


def use_tree(code: list[str]) -> list[tuple[tuple[str, ...], str]]:
    """The paths in `a::{b, c as d, e::*}`, each with the name that it gets."""
    path: list[str] = []
    at = 0
    while at < len(code):
        token = code[at]
        if token == "{":
            parts: list[list[str]] = [[]]
            depth = 0
            for it in code[at + 1 : closing(code, at) - 1]:
                depth += (it == "{") - (it == "}")
                if it == "," and depth == 0:
                    parts.append([])
                else:
                    parts[-1].append(it)
            inner = [found for part in parts if part for found in use_tree(part)]
            return [(shorten((*path, *rest)), name if name != "self" else path[-1]) for rest, name in inner]
        if token == "*":
            return [(tuple(path), "*")]
        if token == "as":
            return [(shorten(tuple(path)), code[at + 1])]
        if token != "::":
            path.append(token)
        at += 1
    return [(tuple(path), path[-1])]


def shorten(path: tuple[str, ...]) -> tuple[str, ...]:
    """`a::b::self` is `a::b`."""
    return path[:-1] if len(path) > 1 and path[-1] == "self" else path


def closing(code: list[str], at: int) -> int:
    """The place after the bracket that closes the one at `at`."""
    depth = 0
    for it in range(at, len(code)):
        depth += (code[it] in BRACKETS) - (code[it] in BRACKETS.values())
        if depth == 0:
            return it + 1
    raise ValueError(f"`{code[at]}` is never closed")


def is_test(attribute: list[str]) -> bool:
    """Whether `[cfg(test)]` or its like leaves the next item out of the library."""
    return attribute[1] == "cfg" and not {"test", "doctest"}.isdisjoint(attribute) and "not" not in attribute


def item_end(code: list[str], at: int) -> int:
    """The place after the item, field or variant that starts at `at`."""
    while code[at : at + 2] == ["#", "["]:
        at = closing(code, at + 1)
    first = code[at : at + 4]
    is_use = "use" in first
    is_item = not STARTS_AN_ITEM.isdisjoint(first[:1])
    while at < len(code):
        token = code[at]
        if token == ";" or (token == "," and not is_item):
            return at + 1
        if token in BRACKETS.values():
            return at
        if token in BRACKETS:
            at = closing(code, at)
            if token == "{" and not is_use:
                return at
        else:
            at += 1
    return at


def circles(arrows: dict[tuple[Path, Path], set[str]]) -> list[list[Path]]:
    """The sets of files that reach each other."""
    ahead: dict[Path, set[Path]] = defaultdict(set)
    for start, end in arrows:
        ahead[start].add(end)

    def reached(start: Path) -> set[Path]:
        found: set[Path] = set()
        new = list(ahead[start])
        while new:
            it = new.pop()
            if it not in found:
                found.add(it)
                new += ahead[it]
        return found

    reach = {it: reached(it) for it in list(ahead)}
    together = {frozenset(other for other in reach[it] if it in reach.get(other, ())) for it in reach}
    return sorted(sorted(it) for it in together if it)


def report(source: Path) -> str:
    """The circles of the crate in `source`, each arrow with its names; empty if there is none."""
    lines = []
    roots = [source / "lib.rs", source / "main.rs", *sorted((source / "bin").glob("*.rs"))]
    for root in roots:
        if not root.is_file():
            continue
        arrows = Crate(root).arrows()
        for files in circles(arrows):
            lines.append(f"a circle of {len(files)} files:")
            for (start, end), names in sorted(arrows.items()):
                if start in files and end in files:
                    a, b = (it.relative_to(source).as_posix() for it in (start, end))
                    lines.append(f"  {a} -> {b}: {', '.join(sorted(names))}")
    return "\n".join(lines)
