"""``python -m gradegate``, and the console script. Until the commands are imported, a signal ends the process at once."""

import signal
import sys
from typing import NoReturn

from gradegate import __version__
from gradegate.gate.exit_codes import at_once
from gradegate.reports.format.streams import guard


def script() -> NoReturn:
    """Run the command of this process and exit."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, at_once)
    if sys.argv[1:] == ["--version"]:  # asked at every start by some tools: without the commands
        guard()
        print(f"gradegate {__version__}")
        sys.exit()
    from gradegate.cli import main as cli

    cli.script()


if __name__ == "__main__":
    script()
