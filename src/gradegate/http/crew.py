"""Threads that take one item after another from a common list, and results of tasks that run side by side."""

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
MAX_THREADS = 64  # of one gathering: a long conversation has hundreds of questions
LOOK_EVERY = 0.25  # seconds: a thread that ends without memory may wake nobody
BEGIN_SECONDS = 30.0  # until a thread has begun, on the busiest machine


class Crew(Generic[T]):
    """Threads that do the work for every item. Slow items hold back only items with the same key.

    ``threading.Thread.start`` waits until its thread has begun, and hangs if the thread finds no memory to begin with
    (gh-140746). So these threads are started without waiting for them.
    """

    def __init__(
        self,
        work: Callable[[T], None],
        items: Iterable[T],
        per_key: int = MAX_THREADS,
        key: Callable[[T], Hashable] = lambda _: "",
    ) -> None:
        """``per_key`` is the number of items with the same key that are worked on at the same time."""
        self._work = work
        self._per_key = per_key
        self._queues = defaultdict[Hashable, deque[T]](deque)
        for item in items:
            self._queues[key(item)].append(item)
        self._in_work = Counter[Hashable]()  # items, by key
        self.busy_threads = 0  # that have begun and not ended
        self._changed = threading.Condition()
        self._error: BaseException | None = None

    @property
    def threads_needed(self) -> int:
        """How many threads find work now."""
        return sum(min(self._per_key, len(queue)) for queue in self._queues.values())

    @property
    def items_left(self) -> int:
        """How many items no thread has begun with."""
        return sum(map(len, self._queues.values()))

    def drop_items(self) -> None:
        """Forget the items that no thread has begun with."""
        for queue in self._queues.values():
            queue.clear()

    def start(self) -> None:
        """Start one more thread. Raises RuntimeError if the system has no room for it."""
        _thread.start_new_thread(copy_context().run, (self._run,))

    def take_items(self) -> None:
        """Do the work for one item after another, until this thread may begin with no further item."""
        while True:
            with self._changed:
                keys = []
                for key, queue in self._queues.items():
                    if queue and self._in_work[key] < self._per_key:
                        keys.append(key)
                if not keys:
                    return
                key = min(keys, key=self._in_work.__getitem__)
                item = self._queues[key].popleft()
                self._in_work[key] += 1
            self._work(item)
            with self._changed:
                self._in_work[key] -= 1

    def wait(self, seconds: float) -> None:
        """Wait so many seconds, or until a thread ends."""
        with self._changed:
            self._changed.wait(seconds)

    def join(self) -> None:
        """Wait until all is done. Raises the error that ended a thread, and MemoryError if no thread begins."""
        deadline = time.monotonic() + BEGIN_SECONDS
        while self.busy_threads or self.items_left:
            if self.busy_threads:
                deadline = time.monotonic() + BEGIN_SECONDS
            elif time.monotonic() > deadline:
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
    """Run tasks side by side and return their results in order. Every task runs; then the first error in order is raised."""
    results = dict[int, T]()
    errors = dict[int, Exception]()

    def run_task(number: int) -> None:
        try:
            results[number] = tasks[number]()
        except Exception as e:
            errors[number] = e

    crew = Crew(run_task, range(len(tasks)))
    further_threads = min(len(tasks), MAX_THREADS) - 1  # because this thread works, too
    with suppress(RuntimeError):  # no room for more threads: this one does everything
        for _ in range(further_threads):
            crew.start()
    crew.take_items()
    crew.join()

    if errors:
        raise errors[min(errors)]
    return [results[number] for number in range(len(tasks))]
