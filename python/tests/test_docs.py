"""What the pages show is what happens: commands, snippets and totals."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from glob import glob
from pathlib import Path

import check_site
import docs_numbers
import polars as pl
import pytest

import memscape as ms

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
if not PAGES[0].is_file():
    pytest.skip(f"{ROOT} is not the repository: there is no README.md", allow_module_level=True)

NAMES = [it.relative_to(ROOT).as_posix() for it in PAGES]
# What is there before memscape is, and what `make test` itself does.
NOT_RUN = {
    "make reproduce",
    "make test",
    "pip install memscape-*.whl",
    # Figures are redrawn and compared, claims reported, and tests run, by themselves.
    "memscape reproduce --out figures --claims",
    "python -m pytest python/tests/test_agreement.py",
}

BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<why>.+?) -->\n+)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A fenced block; `why` says why it is not run."""

    language: str
    code: str
    line: int
    why: str | None


def blocks(text):
    return [
        Block(it["language"], it["code"], text.count("\n", 0, it.start("code")) + 1, it["why"])
        for it in BLOCK.finditer(text)
    ]


def commands(code):
    """Each line of a shell block as its words, comments apart; a last `\\` continues a line."""
    lines = code.replace("\\\n", " ").splitlines()
    return [words for it in lines if (words := shlex.split(it, comments=True))]


def run(words):
    """Runs `memscape ...` as a reader's shell would in the current folder."""
    words = [found for it in words[1:] for found in (sorted(glob(it)) if "*" in it else [it])]
    done = subprocess.run(
        [sys.executable, "-m", "memscape", "--quiet", *words], capture_output=True, text=True, timeout=600
    )
    # A claim out of tolerance is what that report is about.
    assert done.returncode in ((0, 1) if {"claims", "--claims"} & {*words} else (0,)), done.stderr


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A folder like the repository for who only reads: its data, and nothing that can be spoilt."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_every_block_of_a_page_runs(name, reader):
    path = ROOT / name
    page = blocks(path.read_text(encoding="utf-8"))
    for block in page:
        if block.language == "toml":
            file = block.code.split("\n", 1)[0].removeprefix("# ")
            assert re.fullmatch(r"[\w-]+\.toml", file), f"{name}:{block.line}: the first line names no file"
            (reader / file).write_text(block.code, encoding="utf-8")
    namespace = {"__name__": "__main__"}
    for block in page:
        where = f"{name}:{block.line}"
        match block.language:
            case "python":
                # Padded, so that a traceback shows the page's line.
                code = compile("\n" * (block.line - 1) + block.code, str(path), "exec")
                if block.why is None:
                    exec(code, namespace)
            case "sh":
                for words in commands(block.code):
                    if " ".join(words) in NOT_RUN:
                        continue
                    assert words[0] == "memscape", f"{where}: nothing runs `{' '.join(words)}`"
                    if block.why is None:
                        run(words)
            case "toml":
                pass  # written above
            case "text":
                pass  # what a command prints, or a grammar
            case "rust":
                # Cargo runs it, if the crate shows it the page.
                shown = (ROOT / "crates/memscape/src/lib.rs").read_text(encoding="utf-8")
                assert f'include_str!("../../../{name}")' in shown, f"{where}: the crate's tests lack this page"
            case other:
                pytest.fail(f"{where}: nothing knows how to run a block of `{other}`")


@pytest.mark.parametrize("name", NAMES)
def test_every_command_in_a_sentence_exists(name):
    text = BLOCK.sub("", (ROOT / name).read_text(encoding="utf-8"))
    wanted = {tuple(shlex.split(it)) for it in re.findall(r"`memscape ([^`]+)`", text)}
    for words in {it[: 2 if it[0] == "measure" else 1] for it in wanted}:
        run(["memscape", *words, "--help"])


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs/python.rst").read_text(encoding="utf-8")
    named = set(re.findall(r"^\.\. auto\w+:: (?:memscape\.)?(\w+)$", page, re.MULTILINE))
    assert named == set(ms.__all__), "docs/python.rst has other names than memscape"


def test_every_paper_has_a_page_with_all_its_parts():
    """One whose performance is claimed: what has facts alone, or none, needs none."""
    parts = ["figures", "claims", "blind", "parameters"]
    claimed = ms.claims().filter(pl.col("sort") == "performance")
    for paper in claimed["id"].str.split(".").list.first().unique().sort():
        place = ROOT / f"docs/{paper}.md"
        assert place.exists(), f"{paper} has claims of performance, but no page {place.name}"
        page = place.read_text(encoding="utf-8")
        asked = re.findall(r"^:::\{([\w-]+)\} (\S+)", page, re.MULTILINE)
        told = claimed.filter(pl.col("id").str.starts_with(f"{paper}."))["blind"].is_not_null().any()
        needed = [it for it in parts[:3] if told or it != "blind"]
        assert [(name, of) for name, of in asked if name in parts[:3]] == [(name, paper) for name in needed], paper
        assert parts[3] in {name for name, _ in asked} and "## Equations" in page, paper


def test_few_blocks_are_not_run():
    why = [block.why for page in PAGES for block in blocks(page.read_text(encoding="utf-8")) if block.why]
    assert len(why) <= 4, why


@cache
def report():
    return docs_numbers.report_of([sys.executable, "-m", "memscape"])


@pytest.mark.parametrize("name", [*NAMES, "CHANGELOG.md"])
def test_totals_are_those_of_the_claims_report(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    if docs_numbers.is_marked(text):
        assert text == docs_numbers.rewritten(text, report()), "`make docs-numbers` renews it"


def test_left_out_tables_are_of_the_fit_as_it_is():
    files = sorted((ROOT / "data/calibration").glob(f"*{docs_numbers.LEAVE_ONE_OUT}"))
    papers = {it.name.removesuffix(docs_numbers.LEAVE_ONE_OUT) for it in files}
    assert papers == {it.stem for it in (ROOT / "data/calibration").glob("*.toml")}
    texts = "".join(it.read_text(encoding="utf-8") for it in (ROOT / "data/published").glob("*.toml"))
    unfitted = {re.search(r'^id = "(.*)"', it, re.M)[1] for it in texts.split("[[claim]]") if "\nunfitted = " in it}
    claims = (it for it in report()["claims"] if it["role"] == "calibrate" and it["id"] not in unfitted)
    fitted = {it["id"]: it for it in claims if it["id"].split(".")[0] in papers}
    seen = [it for file in files for it in pl.read_csv(file, schema_overrides={"published": pl.String}).to_dicts()]
    assert {it["claim"] for it in seen} == set(fitted)
    for it in seen:
        claim = fitted[it["claim"]]
        assert (it["published"], it["unit"]) == (claim["printed"], claim["unit"] or None)
        told = f"{it['claim']}: `make leave-one-out` renews it"
        assert it["fitted"] == pytest.approx(claim["computed"], rel=1e-6), told


# The tests' own tests.


def test_blocks_are_found_with_their_reasons():
    text = "a\n\n<!-- not run: needs a GPU -->\n```python\nx = 1\n```\n\n```sh\nmemscape studies\n```\n"
    assert blocks(text) == [
        Block("python", "x = 1\n", 5, "needs a GPU"),
        Block("sh", "memscape studies\n", 9, None),
    ]


def test_shell_lines_are_words_without_comments():
    code = "memscape run a 'b=[1, 2]'   # why\n\n# nothing\nmemscape sweep \\\n  c\n"
    assert commands(code) == [["memscape", "run", "a", "b=[1, 2]"], ["memscape", "sweep", "c"]]


def test_a_command_that_fails_is_told(reader):
    with pytest.raises(AssertionError, match=r"did you mean `pim\.gemv`"):
        run(["memscape", "run", "pim.gmev"])


REPORT = {
    "claims": [
        {"id": "pimnast.a", "sort": "performance", "unit": "x", "printed": "2.0", "blind": 2.5, "blind_error": 0.25}
        | {"computed": 1.9, "relative_error": -0.05},
        {"id": "pimnast.b", "sort": "fact", "blind": 1.0, "computed": 1500.0},
        {"id": "pimnast.c", "sort": "performance", "blind": None, "computed": None},
    ],
    "totals": [
        {"source": "pimnast", "sort": "fact", "role": "input", "computed": 7, "exact": 7},
        {"source": "pimnast", "sort": "fact", "role": "predict", "computed": 2, "exact": 1},
        {"source": "hermes", "sort": "fact", "role": "predict", "computed": 9, "exact": 9},
    ],
    "bars": [
        {"source": "pimnast", "within": 0.05, "share": 0.9, "met": 1, "of": 4},
        {"source": "pimnast", "within": 0.125, "share": 0.95, "met": 3, "of": 4},
    ],
    "blind": [
        {"source": "pimnast", "sort": "fact", "claims": 1, "exact_then": 1, "exact_now": 0},
        {"source": "pimnast", "sort": "performance", "claims": 1, "median_error_then": 0.25, "median_error_now": 0.05},
    ],
}


def test_coverage_is_of_the_models_as_they_are():
    """Hermes' draws take a quarter of an hour: its predictions are those that were drawn around."""
    files = sorted((ROOT / "data/calibration").glob(f"*{docs_numbers.COVERAGE}"))
    kept = {it.name.removesuffix(docs_numbers.COVERAGE): json.loads(it.read_text(encoding="utf-8")) for it in files}
    assert set(kept) == {it.stem for it in (ROOT / "data/calibration").glob("*.toml")}
    says = {it["id"]: it["computed"] for it in report()["claims"]}
    for paper, claims in kept.items():
        if paper != "hermes":
            asked = ["--quiet", "claims", paper, "--uncertainty", "40", "--json"]
            done = subprocess.run(
                [sys.executable, "-m", "memscape", *asked], capture_output=True, text=True, check=True
            )
            assert json.loads(done.stdout) == claims, f"{paper}: `make coverage` renews it"
        for it in claims:
            assert it["computed"] == pytest.approx(says[it["id"]]), f"{it['id']}: `make coverage` renews it"


def test_totals_tell_facts_from_performance():
    assert docs_numbers.sentence("pimnast", REPORT, free=2) == (
        "Of 2 facts, 1 is exact to the printed digits. Of 4 predictions of performance, 1 is within 5 % "
        "(90 % asked for) and 3 are within 12.5 % (95 % asked for). 2 free parameters."
    )


def test_the_record_has_each_performance_and_counts_the_facts():
    lines = docs_numbers.blind_tables(REPORT)
    assert lines[2] == "| pimnast | 1 | 25.0 % | 5.0 % | 1 | 1 | 0 |"
    assert lines[-1] == "| pimnast.a | 2.0 x | 2.5 | +25.0 % | 1.9 | -5.0 % |"


def test_numbers_before_a_mark_are_what_the_model_says():
    text = "| 2.0 | 1.75 <!-- = pimnast.a --> x | about 1.4 <!-- = pimnast.b / 1000 --> s |"
    assert docs_numbers.is_marked(text)
    new = docs_numbers.rewritten(text, REPORT)
    assert new == "| 2.0 | 1.90 <!-- = pimnast.a --> x | about 1.5 <!-- = pimnast.b / 1000 --> s |"
    value = docs_numbers.fitted()["pimnast:pim.host_turnaround_ns"]
    parameter = "<!-- = pimnast:pim.host_turnaround_ns -->"
    assert docs_numbers.rewritten(f"0.000 {parameter} ns", REPORT) == f"{value:.3f} {parameter} ns"
    for nothing in ["pimnast.c", "pimnast.d", "pimnast:e"]:
        with pytest.raises(SystemExit, match=nothing.replace(".", r"\.")):
            docs_numbers.rewritten(f"1 <!-- = {nothing} -->", REPORT)


def test_trust_has_a_line_for_each_paper_that_is_held_to_something():
    assert docs_numbers.trust_table(REPORT)[2:] == [
        "| pimnast | 1 of 2 | 4 | 25 % within 5 % (90 %), 75 % within 12.5 % (95 %) | 25.0 %, 5.0 % | 2 |"
    ]


SITE = {
    "index.html": '<a href="a/page.html#here">x</a><a href="https://example.org/">x</a><img src="x.png">',
    "a/page.html": '<h1 id="here">x</h1><link rel="canonical" href="https://example.org/"><a href="../">x</a>',
    "x.png": "",
    "style.css": 'h1 { background: url("x.png") }',
}


def site(folder, **changed):
    for name, text in {**SITE, **changed}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return check_site.faults(folder)


def test_a_site_that_is_whole_has_no_faults(tmp_path):
    assert site(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        (
            "index.html",
            '<script async src="https://cdn.example/x.js"></script>',
            'fetches <script async src="https://cdn.',
        ),
        ("index.html", '<link rel="stylesheet" href="//cdn.example/x.css">', 'fetches <link rel="stylesheet"'),
        (
            "index.html",
            "<link href=http://cdn.example/x.woff rel=preload>",
            "fetches <link href=http://cdn.example/x.woff",
        ),
        ("style.css", '@import "https://fonts.example/x";', 'fetches @import "https://fonts.example/x'),
        ("index.html", '<a href="b.html">x</a>', "`b.html`: there is no such file"),
        ("index.html", '<a href="a/page.html#there">x</a>', "`a/page.html#there`: the page has no such place"),
    ],
)
def test_a_site_that_fetches_or_leads_nowhere_is_found_out(tmp_path, name, text, fault):
    (found,) = site(tmp_path, **{name: text})
    assert found.startswith(f"{name}: {fault}")


def test_totals_stand_between_marks_and_nothing_else_moves():
    text = "- Before\n  <!-- claims: pimnast -->\n  old, on\n  two lines\n  <!-- /claims -->\n  after\n"
    assert docs_numbers.is_marked(text) and not docs_numbers.is_marked("- Before\n")
    new = docs_numbers.rewritten(text, REPORT)
    assert new.startswith("- Before\n  <!-- claims: pimnast -->\n  Of 2 facts, 1 is exact to the printed digits.")
    assert new.endswith("\n  <!-- /claims -->\n  after\n")
    assert docs_numbers.rewritten(new, REPORT) == new
