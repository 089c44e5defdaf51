"""Shows the progress of a run and its cost so far: a bar on a terminal, a plain line now and then elsewhere."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gradegate.core.numbers import format_count, format_dollars
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.reports.format.streams import has_rich
from gradegate.results.rows import Row

EVERY = 15.0  # seconds between plain lines
_DRAWN_PER_SECOND = 4  # the bar is fitted to the width of the terminal each time


@contextmanager
def progress(
    total: int, in_ci: bool = False, quiet: bool = False
) -> Iterator[Callable[[Row], None]]:
    """Show progress meanwhile. Gives a function to call with each finished row, from any thread."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty() and not in_ci and os.environ.get("TERM") != "dumb" and has_rich():
        with _make_bar() as bar:
            task = bar.add_task("", total=total, spent="")

            def update_bar(done: int, usage: Usage) -> None:
                bar.update(task, completed=done, spent=format_cost(usage))

            yield _RowCounter(update_bar).add
    else:
        yield _RowCounter(_LinePrinter(total).print_if_due).add


class _RowCounter:
    """Counts finished rows and adds up their usage. Passes both on after each row."""

    def __init__(self, show: Callable[[int, Usage], None]) -> None:
        self._show = show
        self._lock = threading.Lock()
        self._done = 0
        self._usage = NO_USAGE

    def add(self, row: Row) -> None:
        """Count a row. Any thread may call this."""
        with self._lock:
            self._done += 1
            self._usage += row.usage
            for grade in row.grades:
                self._usage += grade.usage
            self._show(self._done, self._usage)


class _LinePrinter:
    """Prints a line of progress every ``EVERY`` seconds, for logs and plain terminals."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._printed_at = time.monotonic()

    def print_if_due(self, done: int, usage: Usage) -> None:
        """Print how many answers are graded, and the cost if it is not zero."""
        now = time.monotonic()
        if now - self._printed_at < EVERY:
            return
        self._printed_at = now

        line = f"{done:,} of {format_count(self._total, 'answer')} graded"
        spent = format_cost(usage)
        if spent:
            line += f", {spent} so far"
        print(line, file=sys.stderr, flush=True)


def format_cost(usage: Usage) -> str:
    """``0.0123 USD``, ``more than 0.0123 USD`` if some prices are unknown, ``cost unknown``; empty if nothing was asked."""
    if not usage.cost:
        return "cost unknown" if usage.unpriced else ""
    shown = format_dollars(usage.cost)
    return f"more than {shown}" if usage.unpriced else shown


def _make_bar() -> Any:
    """A bar that leaves nothing behind. It does not hide the cursor: a process that a signal kills could not show it again."""
    from rich.console import Console  # only on a terminal: it is slow to load
    from rich.progress import BarColumn, Progress, ProgressColumn, Task
    from rich.table import Column
    from rich.text import Text

    class Steady(Console):
        def show_cursor(self, show: bool = True) -> bool:
            return False

    class Words(ProgressColumn):
        def render(self, task: Task) -> Text:
            """``12/300 answers, 0.0412 USD, 1:05 left``: the most important part first."""
            done = int(task.completed)
            total = int(task.total or 0)
            parts = [f"{done:,}/{total:,} answers"]
            if task.fields["spent"]:
                parts.append(task.fields["spent"])
            seconds = task.time_remaining
            if done == total:  # re-asks are no answers
                parts.append("re-asking failures")
            elif seconds is not None:
                parts.append(f"{int(seconds) // 60}:{int(seconds) % 60:02} left")
            return Text(", ".join(parts))

    return Progress(
        BarColumn(20),  # shrinks if there is no room
        Words(Column(no_wrap=True, overflow="ellipsis")),
        console=Steady(file=sys.stderr),
        transient=True,
        refresh_per_second=_DRAWN_PER_SECOND,
        redirect_stdout=False,
        redirect_stderr=False,
    )
