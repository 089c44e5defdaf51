"""Shows how far a run is, and what it has cost so far: a bar on a terminal, a plain line now and then elsewhere."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import reduce
from operator import add
from typing import Any

from gradegate.core.numbers import format_count, format_dollars
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.reports.format.streams import has_rich
from gradegate.results.rows import Row

EVERY = 15.0  # seconds between plain lines
_PER_SECOND = 4  # times that the bar is drawn anew, at the width that the terminal has then


@contextmanager
def progress(
    total: int, in_ci: bool = False, quiet: bool = False
) -> Iterator[Callable[[Row], None]]:
    """A function to call with each finished row, from any thread."""
    has_bar = (
        not quiet
        and sys.stderr.isatty()
        and not in_ci
        and os.environ.get("TERM") != "dumb"
        and has_rich()
    )
    with _bar() if has_bar else nullcontext() as bar:
        task = None if bar is None else bar.add_task("", total=total, spent="")
        lock, done, usage, last = threading.Lock(), 0, NO_USAGE, time.monotonic()

        def advance(row: Row) -> None:
            nonlocal done, usage, last
            with lock:
                done += 1
                usage = reduce(add, (grade.usage for grade in row.grades), usage + row.usage)
                if bar is not None:
                    bar.update(task, completed=done, spent=cost(usage))
                elif (now := time.monotonic()) - last >= EVERY:
                    last, spent = now, cost(usage)
                    so_far = f", {spent} so far" if spent else ""
                    print(
                        f"{done:,} of {format_count(total, 'answer')} graded{so_far}",
                        file=sys.stderr,
                        flush=True,
                    )

        yield advance if not quiet else lambda _: None


def cost(usage: Usage) -> str:
    """``0.0123 USD``, ``more than 0.0123 USD`` where some prices are not known, ``cost unknown``; empty where nothing was asked."""
    if not usage.cost:
        return "cost unknown" if usage.unpriced else ""
    return f"{'more than ' if usage.unpriced else ''}{format_dollars(usage.cost)}"


def _bar() -> Any:
    """A bar that leaves nothing behind. It hides no cursor: a process that a second signal ends could not bring it back."""
    from rich.console import Console  # only on a terminal: it is slow to load
    from rich.progress import BarColumn, Progress, ProgressColumn, Task
    from rich.table import Column
    from rich.text import Text

    class Steady(Console):
        def show_cursor(self, show: bool = True) -> bool:
            return False

    class Words(ProgressColumn):
        def render(self, task: Task) -> Text:
            """``12/300 answers, 0.0412 USD, 1:05 left``, what matters most first."""
            done, total, left, spent = (
                int(task.completed),
                int(task.total or 0),
                task.time_remaining,
                task.fields["spent"],
            )
            parts = [f"{done:,}/{total:,} answers", *([spent] if spent else [])]
            if done == total:  # what goes on then is no answer
                parts.append("re-asking failures")
            elif left is not None:
                parts.append(f"{int(left) // 60}:{int(left) % 60:02} left")
            return Text(", ".join(parts))

    return Progress(
        BarColumn(20),  # gives way where there is no room
        Words(Column(no_wrap=True, overflow="ellipsis")),
        console=Steady(file=sys.stderr),
        transient=True,
        refresh_per_second=_PER_SECOND,
        redirect_stdout=False,
        redirect_stderr=False,
    )
