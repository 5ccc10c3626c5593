"""The ``memscape`` command, also as ``python -m memscape``."""

import signal
import sys

from memscape import _memscape


def main() -> None:
    """Does what the command line says and exits."""
    # Python's handler would wait for the command to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_memscape.main(["memscape", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
