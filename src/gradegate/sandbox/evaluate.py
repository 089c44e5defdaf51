"""Has something evaluated in the worker, under the limits of one request and of the whole run."""

import atexit
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from gradegate.files.limits import (
    EACH_SECONDS,
    MAX_SENT,
    READ,
    SCRIPT_EACH,
    SCRIPT_TOTAL,
    SECONDS,
    TOTAL_SECONDS,
)
from gradegate.sandbox.workers import Sandbox, WorkerDied


class LimitExceeded(ValueError):
    """A limit is exceeded; the message says which, with "it" for what was to be evaluated."""


class RunLimitExceeded(LimitExceeded):
    """The run has used up what all its evaluations may take together."""


class TaskRefused(ValueError):
    """The task itself says no, in its own words."""


@dataclass
class CpuAccount:
    """What evaluations of a kind may take in a run: ``total`` seconds of CPU together, and ``each`` beside that."""

    kind: str
    total: float
    each: float
    lock: threading.Lock = field(default_factory=threading.Lock)
    # How often each exceeded a limit, for who looks at it
    runaways: Counter[Any] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.left = self.total

    def charge(self, seconds: float) -> None:
        """One more took so many seconds."""
        with self.lock:
            self.left = min(self.total, self.left + self.each - seconds)

    def check(self) -> None:
        """Raises Spent when there is nothing left."""
        if self.left <= 0:
            raise RunLimitExceeded(
                f"the {self.kind} of this run take more than {self.total:g} seconds together"
            )


GENERAL = CpuAccount("templates, schemas and patterns", TOTAL_SECONDS, EACH_SECONDS)
# Of their own: a runaway snippet costs no template its time
SCRIPTS = CpuAccount("scripts", SCRIPT_TOTAL, SCRIPT_EACH)


@dataclass
class _Desk:
    """One worker for all threads. A slow request holds up the others, and the accounts bound that."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    worker: Sandbox | None = None
    modules: frozenset[str] = frozenset()  # that were asked for: a worker can import none later

    def ask(self, module: str, request: bytes, account: CpuAccount) -> Any:
        with self.lock:
            account.check()
            worker = self.worker
            self.worker = None
            started = time.monotonic()
            done = False
            try:
                self.modules |= {module}
                if worker and module not in worker.modules:
                    worker.end()
                    worker = None
                worker = worker or Sandbox(self.modules)
                said = json.loads(worker.ask(request))
                # After the rest its memory is not to be trusted
                done = "value" in said or "refused" in said
                return said
            finally:  # also when a signal comes in between: its answer must not be taken for that to the next request
                if done:
                    self.worker = worker
                elif worker:
                    worker.end()
                account.charge(
                    said["seconds"] if done else min(time.monotonic() - started, SECONDS)
                )

    def end(self) -> None:
        worker = self.worker
        self.worker = None
        if worker is not None:
            worker.end()


_DESK = _Desk()
atexit.register(_DESK.end)


def reset_accounts() -> None:
    """Start all accounts anew: what another run in this process read and evaluated is not this one's own."""
    READ.start_anew()
    for account in (GENERAL, SCRIPTS):
        account.left = account.total
        account.runaways.clear()


def evaluate(task: str, *arguments: Any, account: CpuAccount = GENERAL) -> Any:
    """What the function ``module:name`` gives for arguments that are plain data; so is the result.

    Raises Exceeded, and Refused with the message of a ValueError of the function.
    """
    try:
        text = json.dumps([task, arguments], default=str, ensure_ascii=False)
        request = text.encode("utf-8", "surrogatepass")
    except RecursionError as e:
        raise LimitExceeded("it is nested too deeply") from e
    except ValueError as e:  # a number with more digits than Python writes
        raise LimitExceeded(f"it contains a value that cannot be written as JSON: {e}") from e
    if len(request) > MAX_SENT:
        raise LimitExceeded(f"it and its variables have more than {MAX_SENT >> 20} MiB")
    try:
        said = _DESK.ask(task.partition(":")[0], request, account)
    except WorkerDied as e:
        raise LimitExceeded(str(e)) from e
    if "refused" in said:
        raise TaskRefused(said["refused"])
    if "exceeded" in said:
        raise LimitExceeded(said["exceeded"])
    return said["value"]


class CpuCharge:
    """Counts the CPU time of what is evaluated here, and not in the worker. Raises Exceeded when there is none left."""

    def __enter__(self) -> None:
        GENERAL.check()
        self._started = time.thread_time()

    def __exit__(self, *_: object) -> None:
        GENERAL.charge(time.thread_time() - self._started)
