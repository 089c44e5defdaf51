"""Does work in portions that the budget covers, so that no thread uses calls that another one needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gradegate.http.budget import Budget

T = TypeVar("T")
MARGIN = 2  # times what is expected: a reply that cannot be read is asked for once more
InThreads = Callable[[Callable[[Any], None], Iterable[Any]], None]  # does the work for every item, several at once


@dataclass(frozen=True)
class Portions:
    """Divides work by what is left of a budget's calls.

    What is asked at once, in whatever order, takes the same calls in all. So only the portion in which the calls end
    depends on threads, and what came of it counts for nothing. Portions get smaller towards the end, to lose little.
    Without a limit of calls there is one portion.
    """

    budget: Budget
    in_threads: InThreads

    @property
    def limited(self) -> bool:
        """Whether there is a limit of calls."""
        return self.budget.limits.calls is not None

    def work(
        self, do: Callable[[T], None], items: Sequence[T], calls: Callable[[T], int], take_back: Callable[[Sequence[T]], None]
    ) -> None:
        """Do it for all items, in their order. ``calls`` says what one is expected to take.

        ``take_back`` is given the portion in which the calls ended; later items are done as far as that takes none.
        """
        begun = 0
        while begun < len(items):
            ended = self.budget.out_of_calls
            end = len(items) if ended else self._end(items, begun, calls)
            portion = items[begun:end]
            self.in_threads(do, portion)
            begun = end
            if self.budget.out_of_calls and not ended:
                take_back(portion)

    def _end(self, items: Sequence[T], begun: int, calls: Callable[[T], int]) -> int:
        """Where the items end that the calls suffice for; it is at least one."""
        if not self.limited:
            return len(items)
        left = self.budget.calls_left
        for number in range(begun, len(items)):
            left -= MARGIN * calls(items[number])
            if left < 0:
                return max(begun + 1, number)
        return len(items)
