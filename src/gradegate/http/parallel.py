"""Runs a few calls at once; the HTTP client bounds how many are really in flight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")
MOST = 64  # threads of one gathering: a long conversation has hundreds of questions


def gather(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """The results in order. Every task is run to its end; then the first exception in order is raised."""
    if len(tasks) < 2:
        return [task() for task in tasks]
    from concurrent.futures import ThreadPoolExecutor  # with what it brings along, of a run alone

    with ThreadPoolExecutor(min(len(tasks), MOST) - 1) as threads:
        others = [threads.submit(copy_context().run, task) for task in tasks[1:]]  # where questions are asked is in the context
        first = tasks[0]()  # the waiting thread does its share
    return [first, *(task.result() for task in others)]
