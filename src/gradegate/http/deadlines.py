"""Cuts calls at their deadline, and all calls when the run is stopped."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from gradegate.errors import ProviderError, Trouble

LOOK_EVERY = 0.25  # seconds
IDLE_LOOKS = 8  # without a call in flight, after which the thread ends; the next call starts another


@dataclass(slots=True, eq=False)
class Call:
    """A request in flight, so that another thread can cut its connection. ``deadline`` is of the monotonic clock."""

    deadline: float
    connection: Any = None  # an object with a `sock`
    sock: Any = None  # the connection forgets it when the body has no length
    expired: bool = False

    def uses(self, connection: Any) -> None:
        """Remember the connection, and its socket while it has one."""
        self.connection = connection
        self.sock = getattr(connection, "sock", None)

    def cut(self) -> None:
        """End the connection from outside: whoever reads from it sees its end."""
        for sock in {self.sock, getattr(self.connection, "sock", None)} - {None}:
            with suppress(OSError):  # already closed by the other side
                sock.shutdown(socket.SHUT_RDWR)


_current = threading.local()


def current() -> Call | None:
    """The call of this thread."""
    return getattr(_current, "call", None)


class Deadlines:
    """The calls in flight, and one thread that cuts those which are late.

    Socket time-outs restart with every byte; only this bounds a server that answers one byte at a time.
    """

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._calls: set[Call] = set()
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    @property
    def stopped(self) -> bool:
        """Whether the run was stopped."""
        return self._stopping.is_set()

    @contextmanager
    def watch(self, deadline: float) -> Iterator[Call]:
        """The call of this thread, as long as it lasts. Raises ProviderError once the run is stopped."""
        call = Call(deadline)
        with self._lock:
            self._calls.add(call)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._cut_late_calls, daemon=True, name="deadlines")
                self._watcher.start()
        _current.call = call
        try:
            if self.stopped:
                raise stopped()
            yield call
        finally:
            _current.call = None
            with self._lock:
                self._calls.discard(call)

    def pause(self, seconds: float) -> None:
        """Wait between two tries. Raises ProviderError when the run is stopped meanwhile."""
        if self._stopping.wait(seconds):
            raise stopped()

    def stop(self) -> None:
        """Cut every call in flight and refuse further ones."""
        self._stopping.set()
        self._cut(self._in_flight())

    def _in_flight(self) -> list[Call]:
        with self._lock:
            return list(self._calls)

    def _cut(self, calls: list[Call]) -> None:
        for call in calls:
            call.cut()

    def _cut_late_calls(self) -> None:
        idle = 0
        while not self._stopping.wait(LOOK_EVERY):
            now = time.monotonic()
            late = [call for call in self._in_flight() if call.deadline < now]
            for call in late:
                call.expired = True
            self._cut(late)
            with self._lock:
                idle = 0 if self._calls else idle + 1
                if idle > IDLE_LOOKS:
                    self._watcher = None
                    return
        while calls := self._in_flight():  # one that was not yet connected when the run was stopped is cut once it is
            self._cut(calls)
            time.sleep(0.05)


def stopped() -> ProviderError:
    """The error of every call after the run was stopped."""
    return ProviderError("the run was stopped", Trouble.STOPPED)
