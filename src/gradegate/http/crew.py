"""Threads that do one kind of work together: each takes one item after another, and any of them may never begin."""

import _thread
import sys
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import Generic, TypeVar

T = TypeVar("T")
MAX_THREADS = 64  # threads of one gathering: a long conversation has hundreds of questions
LOOK_EVERY = 0.25  # seconds: a thread that ends without memory may wake nobody
BEGIN_SECONDS = 30.0  # until a thread has begun, on the busiest machine


class Crew(Generic[T]):
    """Does the work for every item, but at once only for ``most`` items with the same ``key``, so that slow items hold back only those with their own key.

    ``threading.Thread.start`` waits until its thread has begun, and so for ever for one that finds no memory to begin with
    (gh-140746). Nobody waits for these threads before they have begun.
    """

    def __init__(
        self,
        work: Callable[[T], None],
        items: Iterable[T],
        most: int = MAX_THREADS,
        key: Callable[[T], Hashable] = lambda _: "",
    ) -> None:
        self._waiting = defaultdict[Hashable, deque[T]](deque)
        for item in items:
            self._waiting[key(item)].append(item)
        self._most = most
        self._in_work = Counter[Hashable]()
        self.threads_needed = sum(
            min(most, len(queue)) for queue in self._waiting.values()
        )  # that find work
        self.busy_threads = 0  # threads that have begun and not ended
        self._work = work
        self._changed = threading.Condition()
        self._error: BaseException | None = None

    @property
    def items_left(self) -> int:
        """How many items nobody has begun with."""
        return sum(map(len, self._waiting.values()))

    def drop_items(self) -> None:
        """Forget the items that nobody has begun with."""
        for queue in self._waiting.values():
            queue.clear()

    def start(self) -> None:
        """Have one more thread take items. Raises RuntimeError where the system has no room for it."""
        _thread.start_new_thread(copy_context().run, (self._run,))

    def take_items(self) -> None:
        """Do the work for one item after another, until none is left that this thread may begin with."""
        while True:
            with self._changed:
                keys = [
                    key
                    for key, queue in self._waiting.items()
                    if queue and self._in_work[key] < self._most
                ]
                if not keys:
                    return
                key = min(keys, key=self._in_work.__getitem__)
                item = self._waiting[key].popleft()
                self._in_work[key] += 1
            self._work(item)
            with self._changed:
                self._in_work[key] -= 1

    def wait(self, seconds: float) -> None:
        """Wait so long, or until a thread ends."""
        with self._changed:
            self._changed.wait(seconds)

    def join(self) -> None:
        """Wait until all is done. Raises what ended a thread, and MemoryError where none begins."""
        until = time.monotonic() + BEGIN_SECONDS
        while self.busy_threads or self.items_left:
            if self.busy_threads:
                until = time.monotonic() + BEGIN_SECONDS
            elif time.monotonic() > until:
                raise MemoryError("no thread begins")
            self.wait(LOOK_EVERY)
        if self._error:
            raise self._error

    def _run(self) -> None:
        sys.settrace(threading.gettrace())  # as Thread does, for debuggers and coverage
        with self._changed:
            self.busy_threads += 1
        try:
            self.take_items()
        except BaseException as e:
            self._error = e
            self.drop_items()
        finally:
            with self._changed:
                self.busy_threads -= 1
                self._changed.notify_all()


def gather_results(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """The results in order. Every task is run to its end; then the first exception in order is raised."""
    results = dict[int, T]()
    errors = dict[int, Exception]()

    def run(numbered: tuple[int, Callable[[], T]]) -> None:
        number, task = numbered
        try:
            results[number] = task()
        except Exception as e:
            errors[number] = e

    crew = Crew(run, enumerate(tasks))
    with suppress(RuntimeError):  # no room for more threads: this one does everything
        for _ in range(min(len(tasks), MAX_THREADS) - 1):
            crew.start()
    crew.take_items()
    crew.join()
    if errors:
        raise errors[min(errors)]
    return [results[number] for number in range(len(tasks))]
