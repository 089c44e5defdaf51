"""Signals that end a command: the first stops the asking in an orderly way, and a second one ends the process at once.

Once everything is asked, the first one no longer stops anything: a cancelled job has seconds left, and reports take less.
"""

import os
import signal
import time
from typing import Any

from gradegate.errors import Terminated

ECHO_SECONDS = 1.0  # `timeout` and wrappers of commands send one signal twice
_ENDING = (signal.SIGINT, signal.SIGTERM)
_received: list[int] = []
_is_asked: list[bool] = []


def listen() -> None:
    """Begin a command, of which a signal raises KeyboardInterrupt. One that the process was started to ignore stays ignored."""
    _received.clear()
    _is_asked.clear()
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handle)


def received() -> int:
    """The signal that ended the command; 0 for none."""
    return _received[0] if _received else 0


def finish() -> None:
    """Let the command end by itself from now on, as everything is asked."""
    _is_asked.append(True)


def handle(number: int, frame: Any) -> None:
    """Stop the asking, if any is left."""
    _received.append(number)
    began = time.monotonic()

    def end_process(number: int, frame: Any) -> None:
        if time.monotonic() - began > ECHO_SECONDS:
            os._exit(128 + number)

    for ending in _ENDING:
        signal.signal(ending, end_process)
    if not _is_asked:
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
