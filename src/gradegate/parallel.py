"""Runs a few calls at once; the HTTP client bounds how many are really in flight."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def gather(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """The results in order. Every task is run to its end; then the first exception in order is raised."""
    if len(tasks) < 2:
        return [task() for task in tasks]
    results: list[T | None] = [None] * len(tasks)
    errors: list[BaseException | None] = [None] * len(tasks)

    def run(index: int) -> None:
        try:
            results[index] = tasks[index]()
        except BaseException as e:  # carried over to the thread that waits
            errors[index] = e

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(1, len(tasks))]
    for thread in threads:
        thread.start()
    run(0)  # the waiting thread does its share
    for thread in threads:
        thread.join()
    for error in errors:
        if error is not None:
            raise error
    return results  # type: ignore[return-value]  # no error, so every place is filled
