"""The `memscape` command that the wheel installs."""

import shlex
import shutil
import subprocess
import sys
import sysconfig

import pytest

MEMSCAPE = shutil.which("memscape", path=sysconfig.get_path("scripts"))


def memscape(*arguments):
    assert MEMSCAPE, "the wheel installs no `memscape` command"
    return subprocess.run([MEMSCAPE, *arguments], capture_output=True, text=True, timeout=300)


def test_it_is_the_whole_command_line():
    done = memscape("studies")
    assert done.returncode == 0
    assert "pim.gemv" in done.stdout
    assert memscape("--version").stdout.startswith("memscape ")


@pytest.mark.parametrize("arguments", [["describe", "pim.gmev"], ["stuides"], ["run", "pim.gemv", "x"]])
def test_bad_input_is_one_line_and_2(arguments):
    done = memscape(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_a_reader_that_leaves_early_is_no_error():
    assert MEMSCAPE
    reader = shlex.join([sys.executable, "-c", "input()"])
    done = subprocess.run(
        f"'{MEMSCAPE}' describe pim.gemv | {reader}", shell=True, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""


def test_sweep_writes_a_table(tmp_path):
    import polars

    study = tmp_path / "study.toml"
    study.write_text('study = "pim.gemv"\n[base]\nmodel = "opt-125m"\n[axes]\nsplit_k = [1, 2]\n')
    table = tmp_path / "table.parquet"
    done = memscape("--quiet", "sweep", str(study), "--out", str(table))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert polars.read_parquet(table)["split_k"].to_list() == [1, 2]
