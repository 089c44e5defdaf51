"""Signals that end a command: the first one stops the requests in an orderly way, a second one ends the process at once.

Once all requests are done, the first one stops nothing: a cancelled job has seconds left, and reports take less.
"""

import os
import signal
import time
from typing import Any

from gradegate.errors import Terminated
from gradegate.structs import Struct

ECHO_SECONDS = 1.0  # `timeout` and wrappers of commands send one signal twice
_ENDING = (signal.SIGINT, signal.SIGTERM)


class _Command(Struct):
    """The command that runs in this process."""

    signal: int = 0  # the signal that ended it
    has_finished: bool = False  # all requests to models


_command = _Command()


def start_listening() -> None:
    """Begin a command. A signal then raises KeyboardInterrupt, unless the process was started to ignore it."""
    _command.signal = 0
    _command.has_finished = False
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handle_signal)


def ending_signal() -> int:
    """The signal that ended the command, 0 for none."""
    return _command.signal


def finish_requests() -> None:
    """From now on a signal lets the command end by itself, because all requests are done."""
    _command.has_finished = True


def handle_signal(number: int, frame: Any) -> None:
    """Stop the requests, if any are left."""
    _command.signal = number
    began = time.monotonic()

    def end_process(number: int, frame: Any) -> None:
        if time.monotonic() - began > ECHO_SECONDS:
            os._exit(128 + number)

    for ending in _ENDING:
        signal.signal(ending, end_process)
    if not _command.has_finished:
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
