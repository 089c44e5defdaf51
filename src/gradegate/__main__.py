"""``python -m gradegate``, and the console script. Until the commands are imported, a signal ends the process at once."""

import signal
from typing import NoReturn

from gradegate.deciding.exit import at_once


def script() -> NoReturn:
    """Run the command of this process and exit."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, at_once)
    from gradegate import cli

    cli.script()


if __name__ == "__main__":
    script()
