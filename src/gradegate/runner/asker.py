"""Asks in threads, until a signal, the budget or a missing key ends the run."""

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
_GLANCE = 0.005  # seconds
_SWIFT = 10  # items that one thread has done after a glance if they wait for nothing
LAST_WORDS = 3.0  # seconds that calls in flight get to notice that they were cut


class Asker:
    """Does all asking of a run. Ctrl-C and SIGTERM stop calls at once."""

    def __init__(self, client: Client, concurrency: int, absent_keys: frozenset[str]) -> None:
        self.client = client
        self.signal = ""  # how a signal ended the run: "interrupted" or "terminated"
        self.missing_keys: frozenset[str] = frozenset()  # without which something cannot be asked
        self._concurrency = concurrency
        self._absent_keys = absent_keys  # that the plan names and this job does not have
        self._crew = Crew[Any](lambda _: None, ())
        self._clock = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long the run has been asking."""
        return time.monotonic() - self._clock

    def reason_to_stop(self) -> str:
        """Why nothing more is asked; an empty string as long as something may be."""
        if self.signal:
            return f"the run was {self.signal}"
        if self.missing_keys:
            return f"no {' and '.join(sorted(self.missing_keys))} in the merge job"
        used_up = self.client.budget.report().used_up
        return f"the budget of {used_up} is used up" if used_up else ""

    def until_signal(self, work: Callable[[], object]) -> None:
        """Do the work to its end, or until a signal."""
        self._clock = time.monotonic()
        self.client.budget.start()
        try:
            work()
        except KeyboardInterrupt as e:
            self.signal = "terminated" if isinstance(e, Terminated) else "interrupted"
            self.client.stop()
            programs.stop_code()
            self._crew.drop_items()
            until = time.monotonic() + LAST_WORDS
            while self._crew.busy_threads and time.monotonic() < until:
                time.sleep(_GLANCE)

    def absent_keys(self, providers: Iterable[Provider]) -> frozenset[str]:
        """The variables that these providers need and this job does not have."""
        absent = set[str]()
        for provider in providers if self._absent_keys else ():
            absent |= self._absent_keys.intersection(provider.keys)
            absent.update(mistake.missing for mistake in provider.missing)
        return frozenset(absent)

    def require_keys(self, providers: Iterable[Provider]) -> None:
        """Stop the run if a key of these providers is missing."""
        self.missing_keys |= self.absent_keys(providers)

    def in_threads(
        self,
        work: Callable[[T], None],
        items: Iterable[T],
        host: Callable[[T], str] = lambda _: "",
    ) -> None:
        """Do the work for every item, as many of a host at once as the plan allows, until the run is stopped."""
        self._crew = crew = Crew(work, items, self._concurrency, host)
        threads = crew.threads_needed
        crew.start()
        while left := crew.items_left:
            crew.wait(_GLANCE)
            # As long as the first waits for nothing, others would only be in its way
            if left - crew.items_left < _SWIFT:
                break
        with suppress(RuntimeError):  # no room for more threads
            for _ in range(1, threads):
                crew.start()
        crew.join()
