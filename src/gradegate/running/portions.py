"""Has work done in portions that the calls of a budget suffice for, so that no thread takes what another one counted on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gradegate.asking.budget import Budget

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
        self,
        do: Callable[[T], None],
        items: Sequence[T],
        calls: Callable[[T], int],
        take_back: Callable[[Sequence[T]], None],
    ) -> None:
        """Do it for all items, in their order. ``calls`` says what one is expected to take.

        ``take_back`` is given the portion in which the calls ended; later items are done as far as that takes none.
        """
        begun = 0
        while begun < len(items):
            ended = self.budget.out_of_calls
            portion = items[begun:] if ended else items[begun : begun + self._fitting(items[begun:], calls)]
            self.in_threads(do, portion)
            begun += len(portion)
            if self.budget.out_of_calls and not ended:
                take_back(portion)

    def _fitting(self, items: Sequence[T], calls: Callable[[T], int]) -> int:
        """How many of the items the calls suffice for; at least one."""
        if not self.limited:
            return len(items)
        left = self.budget.calls_left
        for number, item in enumerate(items):
            left -= MARGIN * calls(item)
            if left < 0:
                return max(1, number)
        return len(items)
