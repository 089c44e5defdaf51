"""A terminal of a given size: runs a command in it, and gives what a person sees at the end."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.text import Text

from support.patience import PATIENCE
from support.processes import start_process

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def run(command: Sequence[str], cwd: Path, environ: Mapping[str, str], columns: int = 80, errors: bool = False) -> tuple[int, str]:
    """The exit code of a command whose standard output (or error) is a terminal of 24 lines, and all that it wrote there."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    out, err = (subprocess.DEVNULL, other) if errors else (other, subprocess.DEVNULL)
    written = b""
    with start_process(command, cwd=cwd, env=dict(environ), stdout=out, stderr=err) as process:
        os.close(other)
        try:
            while part := os.read(main, 65536):
                written += part
        except OSError:  # the other end is closed
            pass
        os.close(main)
        code = process.wait(timeout=PATIENCE)
    return code, written.decode().replace("\r\n", "\n")


def rows(text: str, columns: int = 80) -> list[str]:
    """The rows that a text takes on a terminal, which goes on at the margin wherever it is."""
    found: list[str] = []
    for line in CONTROL.sub("", text).removesuffix("\n").split("\n"):
        found += _wrapped(Text(line), columns)
    return found


def _wrapped(line: Text, columns: int) -> list[str]:
    parts, start, width = [], 0, 0
    for place, character in enumerate(line.plain):
        cells = Text(character).cell_len
        if width + cells > columns:
            parts.append(line.plain[start:place])
            start, width = place, 0
        width += cells
    return [*parts, line.plain[start:]]
