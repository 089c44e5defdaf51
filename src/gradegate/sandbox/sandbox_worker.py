"""The code of the sandboxed worker: answers one request after another, under limits of the kernel.

The worker imports what its requests need. Then it gives up every right (``rights``), and only then reads the first request.
Requests and answers are JSON behind their length in four bytes. A request that takes too much CPU ends the process by a signal,
which no code can catch or outrun. So a worker ends too if its parent was killed.
"""

import importlib
import json
import os
import re
import signal
import sys
import time
from typing import Any, BinaryIO

from gradegate.files.limits import EVAL_CPU_SECONDS, WORKER_MEMORY
from gradegate.sandbox.rights import confine_process, lower_limit
from gradegate.security.redaction import excerpt

_MAX_MESSAGE = 2000  # characters of an error


def serve_requests(modules: str) -> None:
    """Answer requests from standard input on standard output until it ends. ``modules`` are their modules, in words."""
    for module in modules.split():
        for name in (module, *getattr(importlib.import_module(module), "NEEDS", ())):
            importlib.import_module(name)
    time.tzset()  # while the file can be read
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    lower_limit("RLIMIT_AS", WORKER_MEMORY)
    try:
        confine_process()
    except OSError as e:
        _send(answers, str(e).encode())
        return
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _send(answers, b"")
    while request := receive_message(requests):
        signal.setitimer(signal.ITIMER_PROF, EVAL_CPU_SECONDS)
        answer = answer_request(request)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _send(answers, answer)


def receive_message(stream: BinaryIO) -> bytes:
    """The next message, empty at the end of the stream."""
    return stream.read(int.from_bytes(stream.read(4), "big"))


def _send(stream: BinaryIO, message: bytes) -> None:
    stream.write(len(message).to_bytes(4, "big") + message)
    stream.flush()


def answer_request(request: bytes) -> bytes:
    """The answer to a request: ``value``, ``refused`` or ``exceeded`` with a message, and the ``seconds`` of CPU."""
    started = time.process_time()
    answer: dict[str, Any]
    try:
        task, arguments = json.loads(request)
        module, _, name = task.partition(":")
        answer = {"value": getattr(importlib.import_module(module), name)(*arguments)}
        return _encode_answer(answer, started)
    except MemoryError:
        answer = {"exceeded": f"it needs more than {WORKER_MEMORY >> 20} MiB of memory"}
    except RecursionError:
        answer = {"exceeded": "it is nested too deeply, or refers to itself"}
    except ValueError as e:
        answer = {"refused": excerpt(str(e), _MAX_MESSAGE)}
    except (ArithmeticError, LookupError, TypeError, AttributeError, re.error) as e:
        answer = {"refused": excerpt(f"{type(e).__name__}: {e}", _MAX_MESSAGE)}
    return _encode_answer(answer, started)


def _encode_answer(answer: dict[str, Any], started: float) -> bytes:
    answer["seconds"] = time.process_time() - started
    return json.dumps(answer).encode()
