"""The worker's side: evaluates one request after another, under limits of the kernel.

It imports what its requests need, and then gives up every right (``rights``) before it reads the first of them.
A request and its answer are JSON behind their length in four bytes. A request that takes too much CPU ends the process
by a signal, which no code can catch or outrun; so a worker whose parent was killed ends too, at the latest then.
"""

import importlib
import json
import os
import re
import signal
import sys
import time
from typing import Any, BinaryIO

from gradegate.files.limits import MEMORY, SECONDS
from gradegate.sandbox.rights import confine_process, lower_limit
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject

_LONGEST = 2000  # characters of what is said of a failure


def serve(modules: str) -> None:
    """Answer standard input on standard output until it ends; requests are for functions of the modules, in words."""
    for module in modules.split():
        for name in (module, *getattr(importlib.import_module(module), "NEEDS", ())):
            importlib.import_module(name)
    time.tzset()  # while the file can be read
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    lower_limit("RLIMIT_AS", MEMORY)
    try:
        confine_process()
    except OSError as e:
        _send(answers, str(e).encode())
        return
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _send(answers, b"")
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
        said = {"exceeded": "it is nested too deeply, or refers to itself"}
    except ValueError as e:
        said = {"refused": excerpt(str(e), _LONGEST)}
    except (ArithmeticError, LookupError, TypeError, AttributeError, re.error) as e:
        said = {"refused": excerpt(f"{type(e).__name__}: {e}", _LONGEST)}
    return _encoded(said, started)


def _encoded(said: JsonObject, started: float) -> bytes:
    return json.dumps({**said, "seconds": time.process_time() - started}).encode()
