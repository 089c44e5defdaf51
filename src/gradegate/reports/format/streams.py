"""Standard output and standard error, which may be closed. What cannot be written is lost, and changes no verdict."""

import io
import os
import select
import sys
from importlib.util import find_spec
from typing import TextIO

from gradegate.structs import NamedTexts

PATIENCE = 5.0  # seconds that a reader may take to go on reading


def guard_streams() -> None:
    """Replace the streams of the process by streams that never raise: at no closed, full or broken end, at no character."""
    for _ in range(3):
        # Take the free numbers from 0 to 2, so that no file or connection gets the number of a stream.
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > 2:
            os.close(descriptor)
    sys.stdout = _open_stream(sys.stdout, 1)
    sys.stderr = _open_stream(sys.stderr, 2)


def _open_stream(stream: TextIO | None, descriptor: int) -> TextIO:
    """A text stream on a descriptor that never raises, with the encoding of the stream it replaces."""
    raw = _LossyFile(descriptor, "w", closefd=False)
    buffer = io.BufferedWriter(raw)  # type: ignore[type-var]  # a FileIO may return None, this one never does
    return io.TextIOWrapper(
        buffer,
        stream.encoding if stream else "utf-8",
        "backslashreplace",
        line_buffering=descriptor == 2 or raw.isatty(),
    )


class _LossyFile(io.FileIO):
    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Write what can be written. The rest counts as written."""
        try:
            written = super().write(data)
            while written is None:  # another process made the pipe non-blocking
                if not select.select([], [self], [], PATIENCE)[1]:
                    return memoryview(data).nbytes
                written = super().write(data)
        except OSError:
            return memoryview(data).nbytes
        return written


def uses_colours(stream: TextIO, environ: NamedTexts = os.environ) -> bool:
    """Whether a stream gets colours: NO_COLOR and FORCE_COLOR decide if they are set, else whether it is a terminal."""
    if environ.get("NO_COLOR"):
        return False
    forced = environ.get("FORCE_COLOR")
    if forced:
        return forced.lower() not in ("0", "false")
    return stream.isatty() and environ.get("TERM", "") != "dumb"


def has_rich() -> bool:
    """Whether ``rich`` is installed, which knows the width of signs and draws the bar. The image has no ``rich``."""
    return find_spec("rich") is not None
