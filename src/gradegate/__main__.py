"""``python -m gradegate`` and the console script. Until the commands are imported, a signal ends the process at once."""

import os
import signal
import sys
from typing import NoReturn


def script() -> NoReturn:
    """Run the command of this process and exit."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            # An import that a signal interrupts would print a traceback.
            signal.signal(number, lambda number, _: os._exit(128 + number))
    if sys.argv[1:] in (
        ["--version"],
        ["-V"],
    ):  # some tools ask at every start, so without the commands
        from gradegate import __version__
        from gradegate.reports.format.streams import guard_streams

        guard_streams()
        print(f"gradegate {__version__}")
        sys.exit()
    from gradegate.cli import main as cli

    cli.run_process()


if __name__ == "__main__":
    script()
