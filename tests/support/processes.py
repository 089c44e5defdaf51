"""Processes that a test starts and that never outlive it."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def start_process(command: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process with the options of Popen. It is killed at the end of the block, so that a hanging process fails one test only.

    Popen as a context manager waits without a limit, also after a TimeoutExpired inside its block.
    """
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()
