"""Standard output and standard error, which may be closed: what cannot be written is lost and changes no verdict."""

import io
import os
import select
import sys
from importlib.util import find_spec
from typing import TextIO

from gradegate.structs import NamedTexts

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
    raw = _Raw(descriptor, "w", closefd=False)
    buffer = io.BufferedWriter(raw)  # type: ignore[type-var]  # it gives None nowhere, where a FileIO may
    at_once = descriptor == 2 or raw.isatty()
    return io.TextIOWrapper(
        buffer, stream.encoding if stream else "utf-8", "backslashreplace", line_buffering=at_once
    )


class _Raw(io.FileIO):
    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Write what can be written; the rest counts as written."""
        try:
            while (
                written := super().write(data)
            ) is None:  # somebody else has made the pipe one that does not wait
                if not select.select([], [self], [], PATIENCE)[1]:
                    return memoryview(data).nbytes
        except OSError:
            return memoryview(data).nbytes
        return written


def coloured(stream: TextIO, environ: NamedTexts = os.environ) -> bool:
    """Whether a stream gets colours: NO_COLOR and FORCE_COLOR decide where they are set, else whether it is a terminal."""
    if environ.get("NO_COLOR"):
        return False
    if forced := environ.get("FORCE_COLOR"):
        return forced.lower() not in ("0", "false")
    return stream.isatty() and environ.get("TERM", "") != "dumb"


def has_rich() -> bool:
    """Whether the package that knows how wide signs are and draws the bar is there: the image does without."""
    return find_spec("rich") is not None
