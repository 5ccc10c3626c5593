"""The repository's own rules: no circle of files, and pages that say what Cargo does."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
import rust_modules
import third_party

ROOT = Path(__file__).parents[2]
if not (ROOT / "Cargo.toml").is_file():
    pytest.skip(f"{ROOT} is not the repository: there is no Cargo.toml", allow_module_level=True)

CRATES = sorted(it.name for it in (ROOT / "crates").iterdir() if (it / "Cargo.toml").is_file())
ARCHITECTURE = ROOT / "ARCHITECTURE.md"


@pytest.mark.parametrize("crate", CRATES)
def test_no_circle_of_files(crate):
    found = rust_modules.report(ROOT / "crates" / crate / "src")
    assert not found, f"in {crate}, {found}\nmove what both need below both"


def features(*kinds):
    """Each dependency with what it is built with; what only builds others may be there a second time."""
    command = ["cargo", "tree", "--workspace", "--locked", "--offline", "--edges", ",".join(kinds), "--prefix", "none"]
    done = subprocess.run([*command, "--format", "{p}|{f}"], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = {line.removesuffix(" (*)") for line in done.stdout.splitlines()}
    return {line for line in lines if "|" in line and "memscape" not in line}


def test_tests_and_program_share_one_build():
    """One feature more in tests builds everything above twice: ask for it in the workspace's Cargo.toml."""
    assert features("normal", "build") <= features("normal", "build", "dev")


# What the pages say.


@cache
def packages():
    """Each crate of the workspace with its dependencies, as (name, kind)."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {
        it["name"]: [(dependency["name"], dependency["kind"]) for dependency in it["dependencies"]]
        for it in json.loads(done.stdout)["packages"]
    }


def table(heading):
    """The rows of all tables in a section of ARCHITECTURE.md, without their heads."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    section = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, f"ARCHITECTURE.md has no section `{heading}`"
    rows = [[cell.strip() for cell in it.strip("|").split("|")] for it in re.findall(r"^\|.*\|$", section[1], re.M)]
    return [
        row for at, row in enumerate(rows) if not is_rule(row) and not (at + 1 < len(rows) and is_rule(rows[at + 1]))
    ]


def is_rule(row):
    return all(set(cell) <= set("-:") for cell in row)


def short(crate):
    return crate.removeprefix("memscape-")


def systems():
    """What memscape-systems lists, and nothing else does."""
    text = (ROOT / "crates/memscape-systems/src/lib.rs").read_text(encoding="utf-8")
    found = {it.replace("_", "-") for it in re.findall(r"^ +\w+: (memscape_\w+),$", text, re.MULTILINE)}
    assert len(found) > 1, "memscape-systems lists its systems in another way than this test reads"
    return found


def reached(crate):
    """Everything that a crate is built from, tests and benchmarks apart."""
    found, new = set(), [crate]
    while new:
        for name, kind in packages().get(new.pop(), []):
            if kind is None and name not in found:
                found.add(name)
                new.append(name)
    return found


def test_architecture_lists_the_crates_in_order():
    listed = [row[0] for row in table("Crates")]
    assert sorted(listed) == sorted(packages()), "one row a crate"
    for crate in listed:
        above = listed[: listed.index(crate)]
        uses = {name for name, kind in packages()[crate] if kind is None and name in listed}
        assert uses <= set(above), f"{crate} stands above {sorted(uses - set(above))}, which it uses"


@pytest.mark.parametrize("crate", CRATES)
def test_architecture_says_what_each_crate_uses(crate):
    listed = [row[0] for row in table("Crates")]
    uses = {name for name, kind in packages()[crate] if kind is None and name in packages()}
    expected = ", ".join(short(it) for it in listed if it in uses)
    told = {row[0]: row[2] for row in table("Crates")}
    assert crate in told, f"ARCHITECTURE.md has no row for {crate}"
    assert told[crate] == expected, f"ARCHITECTURE.md says that {crate} uses `{told[crate]}`; it uses `{expected}`"


def test_every_file_of_data_is_embedded():
    """One that no list names is silently none of the program's."""
    rust = [it.read_text(encoding="utf-8") for it in sorted((ROOT / "crates").glob("*/src/**/*.rs"))]
    files = [it for it in sorted((ROOT / "data").rglob("*")) if it.suffix in {".toml", ".npz"}]
    assert len(files) > 80, "data is elsewhere than this test looks"

    def is_named(it):
        """Beside its folder: others of the same name may stand elsewhere."""
        folder = f"{it.parent.relative_to(ROOT).as_posix()}/"
        return any(folder in text and (f'"{it.stem}"' in text or it.name in text) for text in rust)

    lost = [it for it in files if not is_named(it)]
    assert not lost, f"no Rust source names {[str(it.relative_to(ROOT)) for it in lost]}"


def test_systems_know_neither_each_other_nor_what_sweeps_them():
    for system in systems():
        uses = {name for name, _ in packages()[system]}
        assert not uses & (systems() - {system}), f"{system}: what two systems need moves down"
        assert "memscape-explore" not in uses, f"{system} is asked by memscape-explore and must not ask it"
    assert not {name for name, _ in packages()["memscape-explore"]} & systems()
    # What is put together of systems stands above them.
    assert not any("memscape-mixed" in {name for name, _ in packages()[it]} for it in systems())
    assert "memscape-explore" not in {name for name, _ in packages()["memscape-mixed"]}


def test_only_what_is_above_knows_polars_and_pyo3():
    listed = [row[0] for row in table("Crates")]
    below = {*listed[: listed.index("memscape-explore")], *systems(), "memscape-plot"}
    for crate in below:
        assert not {it for it in reached(crate) if it.startswith("polars")}, crate
    assert [it for it in listed if "pyo3" in reached(it)] == ["memscape-python"]


def test_every_dependency_is_justified():
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    section = re.search(r"^\[workspace\.dependencies\]$(.*?)^\[", manifest, re.MULTILINE | re.DOTALL)
    ours = {it for it in re.findall(r"^([\w-]+) *=", section[1], re.MULTILINE) if it not in packages()}
    justified = {name.split()[0] for row in table("Dependencies") for name in row[0].split(",")}
    assert ours <= justified, f"ARCHITECTURE.md does not say why {sorted(ours - justified)}"
    python = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    site = set(re.findall(r"^[\w-]+", (ROOT / "docs/requirements.txt").read_text(encoding="utf-8"), re.MULTILINE))
    stale = {it for it in justified - ours - site if f'"{it}' not in python}
    assert not stale, f"ARCHITECTURE.md justifies {sorted(stale)}, which nothing uses"
    used = {name for it in packages().values() for name, _ in it if name not in packages()}
    assert used == ours, "dependencies are written once, in the workspace's manifest, and all are used"


# What is shipped.


def resolved():
    """All packages that Cargo.lock names, on every platform."""
    command = ["cargo", "metadata", "--format-version", "1", "--offline", "--locked"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["packages"]


def test_third_party_licences_are_those_of_what_is_linked():
    said = third_party.OUTPUT.read_text(encoding="utf-8")
    assert said == third_party.written(), "`make third-party` writes it anew"


def test_no_dependency_needs_a_newer_rust_than_is_promised():
    def number(text):
        return tuple(int(it) for it in text.split("."))

    packages = resolved()
    [promised] = {it["rust_version"] for it in packages if it["name"].startswith("memscape")}
    newer = {
        f"{it['name']} {it['version']}": it["rust_version"]
        for it in packages
        if it["rust_version"] and number(it["rust_version"]) > (*number(promised), 10**6)
    }
    assert not newer, f"`rust-version` is {promised}"


def test_the_version_stands_in_one_place():
    [version] = {it["version"] for it in resolved() if it["name"].startswith("memscape")}
    for manifest in (ROOT / "crates").glob("*/Cargo.toml"):
        assert "\nversion.workspace = true\n" in manifest.read_text(encoding="utf-8"), manifest
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


# What finds circles.


def crate(folder, **files):
    """Writes a crate; `a__b` is the file `a/b.rs`."""
    for name, text in files.items():
        file = folder / f"{name.replace('__', '/')}.rs"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return rust_modules.report(folder)


def test_two_files_that_import_each_other(tmp_path):
    found = crate(
        tmp_path,
        lib="mod cost; mod study;",
        cost="use crate::study::{Engine, Study as Asked};\npub struct Costs;",
        study="use super::cost; pub struct Study; pub enum Engine { Closed }\nfn f() { cost::Costs; }",
    )
    assert found.splitlines() == [
        "a circle of 2 files:",
        "  cost.rs -> study.rs: Engine, Study",
        "  study.rs -> cost.rs: Costs",
    ]


def test_two_circles_are_two(tmp_path):
    found = crate(
        tmp_path,
        lib="mod a; mod b; mod c; mod d; mod e;",
        a="use crate::b::B; use crate::c::C; pub struct A;",
        b="pub struct B(crate::a::A);",
        c="use crate::d::D; pub struct C;",
        d="use crate::e::E; pub struct D;",
        e="use crate::c::C; pub struct E;",
    )
    assert [it for it in found.splitlines() if it.startswith("a circle")] == [
        "a circle of 2 files:",
        "a circle of 3 files:",
    ]


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("a path in the code", "fn f() -> crate::b::B { B }", "fn g(it: &super::a::A) {}"),
        ("a nested list", "use crate::{b::{self, B}, std};", "use super::{a::{A}};"),
        ("all of a module", "use crate::b::*; fn f() -> B { B }", "use super::a::A;"),
        ("a name from the root", "use crate::B;", "use crate::A;"),
        ("a name of another name", "use crate::Other;", "use crate::A;"),
        ("in a function", "fn f() { use crate::b::B; }", "fn g() { use crate::a::A; }"),
        ("in an inline module", "mod inner { use crate::b::B; }", "use crate::a::A;"),
        ("in a macro's call", "fn f() { vec![crate::b::B] }", "use crate::a::A;"),
        ("through an exported macro", "fn f() { crate::made!() }", "use crate::a::A;"),
        ("through a macro by its name", "fn f() { made!() }", "use crate::a::A;"),
    ],
)
def test_each_way_to_name_an_item_counts(tmp_path, name, first, second):
    found = crate(
        tmp_path,
        lib="#[macro_use] mod b; mod a; pub use a::A; pub use b::{B, B as Other};",
        a=f"pub struct A;\n{first}",
        b=f"pub struct B;\n#[macro_export] macro_rules! made {{ () => {{ $crate::B }} }}\n{second}",
    )
    assert "a circle of 2 files" in found, name


@pytest.mark.parametrize(
    "harmless",
    [
        "// use crate::b::B;",
        "/* /* nested */ use crate::b::B; */",
        "/// A [`crate::b::B`].\nstruct Documented;",
        'const TEXT: &str = "use crate::b::B;";',
        'const RAW: &str = r#"" crate::b::B "#; const QUOTE: char = \'"\'; // crate::b::B',
        "#[cfg(test)]\nmod tests { use crate::b::B; }",
        "#[cfg(test)]\n#[allow(unused)]\nuse crate::b::{B};",
        "#[cfg(all(test, unix))]\nimpl A { fn f() -> crate::b::B { todo!() } }",
        "enum E { #[cfg(test)] Near(crate::b::B), Far }",
        "fn f<'b>(b: &'b str) { let r#use = '{'; }",
        "fn f() -> impl Iterator<Item = u8> + use<> { std::iter::empty() }",
        "use other::b::B;",
        "use memscape_units::B;",
        "use crate::root_import;",
    ],
)
def test_what_is_no_use_does_not_count(tmp_path, harmless):
    found = crate(
        tmp_path,
        lib="mod a; mod b; use std::vec as root_import;",
        a=f"pub struct A;\n{harmless}",
        b="use crate::a::A; pub struct B;",
    )
    assert found == ""


def test_a_parent_that_only_declares_and_re_exports_is_no_arrow(tmp_path):
    files = {"lib": "mod cost;", "cost__child": "use super::Error; pub struct Rates;"}
    assert crate(tmp_path, **files, cost="mod child; pub use child::Rates; pub struct Error;") == ""
    used = crate(tmp_path, **files, cost="mod child; pub use child::Rates; pub struct Error(Rates);")
    assert used.splitlines()[1:] == ["  cost/child.rs -> cost.rs: Error", "  cost.rs -> cost/child.rs: Rates"]


def test_a_name_that_a_module_re_exports_is_its_offspring(tmp_path):
    found = crate(
        tmp_path,
        lib="mod cost; mod study;",
        cost__mod="mod rates; mod walk; pub use rates::Rates; pub use walk::*;",
        cost__rates="use super::walk; pub struct Rates;",
        cost__walk="use super::Rates; use crate::study::Study; pub struct Walk;",
        study="use crate::cost::Walk; pub struct Study;",
    )
    assert found.splitlines() == [
        "a circle of 2 files:",
        "  cost/walk.rs -> study.rs: Study",
        "  study.rs -> cost/walk.rs: Walk",
    ]


def test_a_module_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ValueError, match="declares `mod gone`"):
        crate(tmp_path, lib="mod gone;")
