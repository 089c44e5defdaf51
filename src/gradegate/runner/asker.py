"""Runs all work of a run in threads, until a signal, the budget or a missing key stops it."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

from gradegate.errors import Terminated
from gradegate.http.client import Client
from gradegate.http.crew import Crew
from gradegate.providers.api.provider import Provider
from gradegate.sandbox import repository_code as programs

T = TypeVar("T")
_GLANCE_SECONDS = 0.005
_SWIFT = 10  # items that a thread finishes within a glance if they wait for nothing
LAST_WORDS = 3.0  # seconds that calls in flight get to notice that they were stopped


class Asker:
    """Runs the work of a run in threads. Ctrl-C and SIGTERM stop calls at once."""

    def __init__(self, client: Client, concurrency: int, absent_keys: frozenset[str]) -> None:
        self.client = client
        self.signal = ""  # how a signal ended the run: "interrupted" or "terminated"
        self.missing_keys: frozenset[str] = frozenset()  # needed now; they stop the run
        self._concurrency = concurrency
        self._absent_keys = absent_keys  # the plan names them, and this job does not have them
        self._crew = Crew[Any](lambda _: None, ())
        self._began_at = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long the run has been asking."""
        return time.monotonic() - self._began_at

    def reason_to_stop(self) -> str:
        """Why nothing more may be asked; an empty string if the run goes on."""
        if self.signal:
            return f"the run was {self.signal}"
        if self.missing_keys:
            return f"no {' and '.join(sorted(self.missing_keys))} in the merge job"
        used_up = self.client.budget.report().used_up
        return f"the budget of {used_up} is used up" if used_up else ""

    def run_until_signal(self, work: Callable[[], object]) -> None:
        """Do the work to its end, or until a signal."""
        self._began_at = time.monotonic()
        self.client.budget.start()
        try:
            work()
        except KeyboardInterrupt as e:
            self.signal = "terminated" if isinstance(e, Terminated) else "interrupted"
            self.client.stop()
            programs.stop_code()
            self._crew.drop_items()
            deadline = time.monotonic() + LAST_WORDS
            while self._crew.busy_threads and time.monotonic() < deadline:
                time.sleep(_GLANCE_SECONDS)

    def find_missing_keys(self, providers: Iterable[Provider]) -> frozenset[str]:
        """The variables that these providers need and this job does not have."""
        if not self._absent_keys:
            return frozenset()
        absent = set[str]()
        for provider in providers:
            absent |= self._absent_keys.intersection(provider.keys)
            absent.update(mistake.missing for mistake in provider.missing)
        return frozenset(absent)

    def require_keys(self, providers: Iterable[Provider]) -> None:
        """Stop the run if a key of these providers is missing."""
        self.missing_keys |= self.find_missing_keys(providers)

    def work_in_threads(
        self,
        work: Callable[[T], None],
        items: Iterable[T],
        host: Callable[[T], str] = lambda _: "",
    ) -> None:
        """Do the work for every item until the run is stopped. The plan limits how many items of a host run at once.

        ``host`` gives the host that an item asks.
        """
        self._crew = crew = Crew(work, items, self._concurrency, host)
        thread_count = crew.threads_needed
        crew.start()

        # While the first thread waits for nothing, more threads would only slow it down.
        items_left = crew.items_left
        is_swift = True
        while items_left and is_swift:
            crew.wait(_GLANCE_SECONDS)
            is_swift = items_left - crew.items_left >= _SWIFT
            items_left = crew.items_left

        with suppress(RuntimeError):  # the system has no room for more threads
            for _ in range(1, thread_count):
                crew.start()
        crew.join()
