"""Signals that end a command: the first stops the asking in an orderly way, and a second one ends the process at once.

Once everything is asked, the first one no longer stops anything: a cancelled job has seconds left, and reports take less.
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
    """What a signal does depends on the command that runs in this process."""

    received: int = 0  # the signal that ended it
    is_asked: bool = False  # everything that it asks of models


_command = _Command()


def listen() -> None:
    """Begin a command, of which a signal raises KeyboardInterrupt. One that the process was started to ignore stays ignored."""
    _command.received, _command.is_asked = 0, False
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handle)


def received() -> int:
    """The signal that ended the command; 0 for none."""
    return _command.received


def finish() -> None:
    """Let the command end by itself from now on, as everything is asked."""
    _command.is_asked = True


def handle(number: int, frame: Any) -> None:
    """Stop the asking, if any is left."""
    _command.received = number
    began = time.monotonic()

    def end_process(number: int, frame: Any) -> None:
        if time.monotonic() - began > ECHO_SECONDS:
            os._exit(128 + number)

    for ending in _ENDING:
        signal.signal(ending, end_process)
    if not _command.is_asked:
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
