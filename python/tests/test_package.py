"""The package as installed."""

import ast
import importlib.metadata
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import memscape
import memscape._memscape as compiled


def test_everything_compiled_is_wrapped():
    used = set()
    for file in Path(memscape.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Attribute(value=ast.Name(id="_memscape"), attr=name):
                    used.add(name)
                case ast.ImportFrom(module="memscape._memscape", names=names):
                    used.update(it.name for it in names)
    public = {it for it in dir(compiled) if not it.startswith("_")}
    # Made by Rust only, what Python sees of it is a polars.DataFrame; and what pickle calls.
    assert public - used == {"Frame", "figure", "ndp_placed"}


def test_everything_public_is_documented():
    for name in memscape.__all__:
        assert inspect.getdoc(getattr(memscape, name)), name
    assert sorted(memscape.__all__) == memscape.__all__


def shipped():
    """Texts of the licences and lists of parts that are installed with the package, by name."""
    files = importlib.metadata.files("memscape") or []
    kept = [it for it in files if {"licenses", "sboms"} & set(it.parts)]
    return {it.name: it.read_text(encoding="utf-8") for it in kept}


def test_the_licences_of_all_that_is_in_the_wheel_are_in_it():
    texts = shipped()
    assert "Apache License" in texts["LICENSE-APACHE"]
    assert "Permission is hereby granted" in texts["LICENSE-MIT"]
    assert "SIL OPEN FONT LICENSE" in texts["OFL.txt"]
    listed = dict(re.findall(r"^(\w[\w-]*) (\d\S+) \(.+\)$", texts["THIRD-PARTY-LICENSES.txt"], re.MULTILINE))
    assert len(listed) > 100
    # Whose terms leave no choice has its own text.
    assert "zstd-sys" in listed
    assert "Meta Platforms" in texts["THIRD-PARTY-LICENSES.txt"]


def test_the_list_of_parts_names_what_is_linked():
    texts = shipped()
    [parts] = [json.loads(text) for name, text in texts.items() if name.endswith(".cyclonedx.json")]
    assert parts["bomFormat"] == "CycloneDX"
    components = {(it["name"], it["version"]): it for it in parts["components"]}
    listed = re.findall(r"^(\w[\w-]*) (\d\S+) \((.+)\)$", texts["THIRD-PARTY-LICENSES.txt"], re.MULTILINE)
    for name, version, _ in listed:
        assert (name, version) in components, f"{name} {version} is linked and not in the list"
        assert components[name, version]["licenses"], name
        assert components[name, version]["hashes"], name
    own = {name for name, _ in components if name.startswith("memscape")}
    assert {"memscape-cli", "memscape-explore", "memscape-systems"} <= own


def test_extras_can_be_installed_one_by_one_or_all():
    distribution = importlib.metadata.metadata("memscape")
    extras = set(distribution.get_all("Provides-Extra") or [])
    assert {"all", "cluster", "notebook", "pandas"} <= extras
    [whole] = [it for it in importlib.metadata.requires("memscape") or [] if re.search(r"extra == .all.", it)]
    named = re.search(r"\[(.+?)\]", whole)
    assert named
    assert set(named[1].split(",")) == extras - {"all", "test"}


def test_import_leaves_polars_and_its_like_alone():
    """Which is what makes it quick: `make bench` says how quick."""
    heavy = ["polars", "numpy", "pandas", "pyarrow", "submitit", "anywidget", "IPython"]
    code = f"import sys, memscape; sys.exit(' '.join(it for it in {heavy} if it in sys.modules) or None)"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": ""})
