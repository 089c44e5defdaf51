"""Shows how far a run is: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gradegate.result import Row

EVERY = 15.0  # seconds between plain lines


@contextmanager
def progress(total: int, in_ci: bool) -> Iterator[Callable[[Row], None]]:
    """A function to call with each finished row, from any thread."""
    if sys.stderr.isatty() and not in_ci:
        from tqdm import tqdm

        lock = threading.Lock()
        with tqdm(total=total, unit="answer", leave=False) as bar:

            def advance(row: Row) -> None:
                with lock:
                    bar.update()

            yield advance
    else:
        yield _Lines(total).advance


class _Lines:
    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._last = time.monotonic()
        self._lock = threading.Lock()

    def advance(self, row: Row) -> None:
        with self._lock:
            self._done += 1
            now = time.monotonic()
            if now - self._last >= EVERY:
                self._last = now
                print(f"{self._done} of {self._total} answers graded", file=sys.stderr, flush=True)
