"""Runs notebooks, each in its own folder, and stops at the first cell that fails.

Usage: python notebooks/run.py [--save] NOTEBOOK...

With --save, what the cells printed is written back into the notebooks. Of each notebook it says how long its first
cell took, which in Rust builds what it asks for, and how long the slowest of the others.
"""

import os
import sys
import time
from datetime import datetime
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

# The first cell of a Rust notebook may have to build Polars.
CELL_SECONDS = 3600


def run(path: Path, *, save: bool) -> None:
    """Executes one notebook from a clean slate."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=CELL_SECONDS, resources={"metadata": {"path": str(path.parent)}})
    began = time.monotonic()
    try:
        client.execute()
    except CellExecutionError as error:
        # The message alone leaves out all but the first of a compiler's errors.
        told = [it for cell in notebook.cells for it in cell.get("outputs", []) if it.output_type == "error"]
        lines = [line for it in told for line in it.traceback]
        sys.exit("\n".join([f"{path}: {error.ename or 'a cell failed'}: {error.evalue}", *lines]))
    if notebook.metadata.kernelspec.language == "rust":
        # What `?` hands up is told there, and ends the cell, not the run.
        told = [it.text for cell in notebook.cells for it in cell.get("outputs", []) if it.get("name") == "stderr"]
        if told:
            sys.exit("\n".join([f"{path}: a cell has no answer:", *told]))
    seconds = time.monotonic() - began
    first, *others = took(notebook)
    slowest = f", the first in {first:.1f} s, no other in more than {max(others, default=0):.1f} s"
    print(f"{path}: {len(notebook.cells)} cells in {seconds:.0f} s{slowest}", flush=True)
    if save:
        for cell in notebook.cells:
            # When each cell ran is noise in a diff.
            cell.metadata.pop("execution", None)
        nbformat.write(notebook, path)


def took(notebook: nbformat.NotebookNode) -> list[float]:
    """Seconds of each cell of code that has some."""
    times = [it.metadata.execution for it in notebook.cells if "execution" in it.metadata]
    at = datetime.fromisoformat
    return [
        (at(it["shell.execute_reply"]) - at(it["iopub.execute_input"])).total_seconds()
        for it in ({key: value.replace("Z", "+00:00") for key, value in it.items()} for it in times)
    ]


def main(arguments: list[str]) -> None:
    """Runs the notebooks named on the command line."""
    save = "--save" in arguments
    paths = [Path(it) for it in arguments if it != "--save"]
    if not paths:
        sys.exit(__doc__)
    # Bars, and what is built, are for who waits: they come and go with the machine.
    os.environ["MEMSCAPE_QUIET"] = "1"
    for path in paths:
        run(path, save=save)


if __name__ == "__main__":
    main(sys.argv[1:])
