"""Standard output and standard error, which may be closed: what cannot be written is lost and changes no verdict."""

from __future__ import annotations

import io
import os
import select
import sys
from typing import TextIO

PATIENCE = 5.0  # seconds that a reader may take to go on reading


def guard() -> None:
    """Put streams in the place of the process's own that raise at no closed, full or broken end, and at no character."""
    for _ in range(3):
        # Take one of the numbers 0 to 2 that is free, so that no file or connection gets the number of a stream.
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > 2:
            os.close(descriptor)
    sys.stdout, sys.stderr = _stream(sys.stdout, 1), _stream(sys.stderr, 2)


def _stream(stream: TextIO | None, descriptor: int) -> TextIO:
    encoding = stream.encoding if stream else "utf-8"
    raw = _Raw(descriptor, "w", closefd=False)
    at_once = descriptor == 2 or raw.isatty()
    buffer = io.BufferedWriter(raw)  # type: ignore[type-var]  # it gives None nowhere, where a FileIO may
    return io.TextIOWrapper(buffer, encoding, "backslashreplace", line_buffering=at_once)


class _Raw(io.FileIO):
    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Write what can be written; the rest counts as written."""
        try:
            while (written := super().write(data)) is None:  # somebody else has made the pipe one that does not wait
                if not select.select([], [self], [], PATIENCE)[1]:
                    return memoryview(data).nbytes
        except OSError:
            return memoryview(data).nbytes
        return written
