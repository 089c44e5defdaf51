"""Answers to questions that a run asks each grading model only once, for all cases."""

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from gradegate.providers.api.provider import Provider

T = TypeVar("T")


class SharedAnswers:
    """The answers so far, by model and question. Threads that need the same answer wait for the one that asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: WeakKeyDictionary[Provider, dict[str, Future[Any]]] = WeakKeyDictionary()

    def answer(
        self,
        model: Provider,
        question: str,
        ask: Callable[[], T],
    ) -> T:
        """The answer to a question. The first thread that needs it calls ``ask``. If that fails, the next thread does."""
        while True:
            with self._lock:
                answers = self._answers.setdefault(model, {})
                is_first = question not in answers
                future = answers.setdefault(question, Future())
            if not is_first:
                try:
                    return future.result()  # type: ignore[no-any-return]
                except CancelledError:  # the thread that asked has failed
                    continue

            try:
                future.set_result(ask())
            finally:
                if not future.done():
                    with self._lock:
                        del answers[question]
                    future.cancel()
            return future.result()  # type: ignore[no-any-return]
