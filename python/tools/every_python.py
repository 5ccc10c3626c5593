"""Try a wheel on every Python at hand that it is for, where nothing else is in reach.

`every_python.py WHEEL FOLDER` makes an environment for each in FOLDER, with the wheel and pytest, and
runs the tests that need little more than that. Neither a compiler nor any other program is on their path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 10)
NEEDED = ["anywidget", "numpy", "pytest"]
TESTS = ["memscape", *(f"python/tests/test_{it}.py" for it in ("api", "arrow", "cli", "limits", "processes", "store"))]
WHICH = "import sys; print(*sys.version_info[:2]); print(sys.executable)"


def pythons() -> dict[tuple[int, int], str]:
    """Interpreters by version: what runs as `python3.N` or `python3`, and those that pyenv keeps."""
    names = ["python3", *(f"python3.{minor}" for minor in range(OLDEST[1], OLDEST[1] + 20))]
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[tuple[int, int], str] = {}
    for it in [*filter(None, map(shutil.which, names)), *sorted(map(str, kept.glob("*/bin/python")))]:
        told = subprocess.run([it, "-c", WHICH], capture_output=True, text=True, check=False)
        # A name may stand for a version that is not there.
        if told.returncode == 0:
            version, executable = told.stdout.splitlines()
            major, minor = map(int, version.split())
            found.setdefault((major, minor), executable)
    return {version: found[version] for version in sorted(found) if version >= OLDEST}


def main() -> int:
    """Try them all; 1 if one fails."""
    wheel, folder = sys.argv[1:]
    failed = []
    for (major, minor), executable in pythons().items():
        name = f"Python {major}.{minor}"
        place = Path(folder) / f"{major}.{minor}"
        subprocess.run([executable, "-m", "venv", "--clear", place], check=True)
        python = place / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", wheel, *NEEDED], check=True)
        print(f"{name}:", flush=True)
        # `PATH` as it is would have compilers, and Rust.
        bare = {**os.environ, "PATH": str(python.parent)}
        if subprocess.run([python, "-m", "pytest", *TESTS], env=bare, check=False).returncode:
            failed.append(name)
    print(f"fails on {', '.join(failed)}" if failed else "passes on all")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
