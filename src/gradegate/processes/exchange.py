"""A request to another process over pipes and its reply, each after its length in four bytes, within a time limit."""

from __future__ import annotations

import os
import select
import time

from gradegate.files.bounds import MAX_SENT


class Died(ValueError):
    """The process gave no answer and can only be ended; the message says why."""


def exchange(question: bytes | None, into: int, out: int, seconds: float, told: float) -> bytes:
    """The answer to a question, or what is said without one. ``into`` does not block; ``told`` are the seconds that a message names.

    Raises EOFError where the process has ended, else Died.
    """
    until = time.monotonic() + seconds

    def wait(pipe: int, event: int) -> None:
        poll = select.poll()
        poll.register(pipe, event)
        if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
            raise Died(f"it takes more than {told:g} seconds")

    def read(size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            wait(out, select.POLLIN)
            part = os.read(out, size - len(parts))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)

    view = memoryview(b"" if question is None else len(question).to_bytes(4, "big") + question)
    try:
        while view:
            wait(into, select.POLLOUT)
            view = view[os.write(into, view) :]
    except BrokenPipeError as e:
        raise EOFError from e
    size = int.from_bytes(read(4), "big")
    if size > MAX_SENT:
        raise Died(f"what it returns has more than {MAX_SENT >> 20} MiB")
    return read(size)
