"""The package as installed."""

import ast
import inspect
import os
import subprocess
import sys
import time
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
    # Made by Rust only; what Python sees of it is a polars.DataFrame.
    assert public - used == {"Frame"}


def test_everything_public_is_documented():
    for name in memscape.__all__:
        assert inspect.getdoc(getattr(memscape, name)), name
    assert sorted(memscape.__all__) == memscape.__all__


def test_import_is_quick_and_leaves_polars_alone():
    code = "import memscape, sys; sys.exit('polars' in sys.modules)"
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": ""})
        seconds.append(time.perf_counter() - began)
    # The interpreter's own start is in it; the first import may be cold.
    assert min(seconds) < 0.3
