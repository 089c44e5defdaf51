"""The worker's side: evaluates what it is asked, one request after another, under limits that the kernel keeps.

A request and its answer are JSON behind their length in four bytes. A request that takes too much CPU ends the process
by a signal, which no code can catch or outrun; so a worker whose parent was killed ends too, at the latest then.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import resource
import signal
import sys
import time
from typing import Any, BinaryIO

from gradegate.bounded.bounds import MEMORY, SECONDS

_LONGEST = 2000  # characters of what is said of a failure


def serve() -> None:
    """Answer standard input on standard output until it ends."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    for limit, amount in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):  # a system that does not know the limit
            resource.setrlimit(limit, (amount, amount))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _send(answers, b"{}")
    while request := receive(requests):
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        said = answer(request)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _send(answers, said)


def receive(stream: BinaryIO) -> bytes:
    """The next message, empty at the end of the stream."""
    return stream.read(int.from_bytes(stream.read(4), "big"))


def _send(stream: BinaryIO, message: bytes) -> None:
    stream.write(len(message).to_bytes(4, "big") + message)
    stream.flush()


def answer(request: bytes) -> bytes:
    """What a request comes to: ``value``, or why there is none (``refused``, ``exceeded``), and its ``seconds`` of CPU."""
    started = time.process_time()
    said: dict[str, Any]
    try:
        task, arguments = json.loads(request)
        module, _, name = task.partition(":")
        said = {"value": getattr(importlib.import_module(module), name)(*arguments)}
        return _encoded(said, started)
    except MemoryError:
        said = {"exceeded": f"it needs more than {MEMORY >> 20} MiB of memory"}
    except RecursionError:
        said = {"exceeded": "it is nested too deeply, or refers to itself without end"}
    except ValueError as e:
        said = {"refused": str(e)[:_LONGEST]}
    except (ArithmeticError, LookupError, TypeError, AttributeError, re.error) as e:
        said = {"refused": f"{type(e).__name__}: {e}"[:_LONGEST]}
    return _encoded(said, started)


def _encoded(said: dict[str, Any], started: float) -> bytes:
    return json.dumps({**said, "seconds": time.process_time() - started}).encode()
