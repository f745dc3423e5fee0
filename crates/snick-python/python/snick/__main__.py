"""The command line: ``snick`` and ``python -m snick``."""

import signal
import sys

from ._snick import run_command


def main() -> int:
    """Runs the command line of this process and returns its exit code."""
    # Otherwise Python would only handle Ctrl-C after the command.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command(["snick", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
