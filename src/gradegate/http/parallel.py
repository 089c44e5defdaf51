"""Runs a few calls at once; the HTTP client bounds how many are really in flight."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")
MOST = 64  # threads of one gathering: a long conversation has hundreds of questions


def gather(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """The results in order. Every task is run to its end; then the first exception in order is raised."""
    if len(tasks) < 2:
        return [task() for task in tasks]
    results: list[T | None] = [None] * len(tasks)
    errors: list[BaseException | None] = [None] * len(tasks)
    left = deque(range(len(tasks)))  # taken from by all threads, which a deque allows

    def run() -> None:
        while True:
            try:
                index = left.popleft()
            except IndexError:
                return
            try:
                results[index] = tasks[index]()
            except BaseException as e:  # carried over to the thread that waits
                errors[index] = e

    helpers = [copy_context() for _ in range(min(len(tasks), MOST) - 1)]  # where questions are asked is in the context
    threads = [threading.Thread(target=context.run, args=(run,), daemon=True) for context in helpers]
    for thread in threads:
        thread.start()
    run()  # the waiting thread does its share
    for thread in threads:
        thread.join()
    for error in errors:
        if error is not None:
            raise error
    return results  # type: ignore[return-value]  # no error, so every place is filled
