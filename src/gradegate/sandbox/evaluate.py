"""Evaluates something in a sandboxed worker process, under the limits of one request and of the whole run."""

import atexit
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from gradegate.files.limits import (
    CPU_SECONDS_PER_EVAL,
    CPU_SECONDS_PER_SCRIPT_CALL,
    EVAL_CPU_SECONDS,
    MAX_WORKER_MESSAGE,
    READ,
    RUN_CPU_SECONDS,
    RUN_SCRIPT_CPU_SECONDS,
)
from gradegate.sandbox.workers import Sandbox, WorkerDied


class LimitExceeded(ValueError):
    """A limit is exceeded. The message says which limit, with "it" for what was to be evaluated."""


class RunLimitExceeded(LimitExceeded):
    """The run has used up the time of all its evaluations together."""


class TaskRefused(ValueError):
    """The task itself raised ValueError; the message is its own."""


@dataclass
class CpuAccount:
    """The CPU time that evaluations of one kind may take in a run: ``total`` seconds together, plus ``each`` for each of them."""

    kind: str
    total: float
    each: float
    lock: threading.Lock = field(default_factory=threading.Lock)
    # How often each script exceeded a limit; scripts count and read this
    runaways: Counter[Any] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.seconds_left = self.total

    def charge(self, seconds: float) -> None:
        """Count one more evaluation that took so many seconds."""
        with self.lock:
            self.seconds_left = min(self.total, self.seconds_left + self.each - seconds)

    def check(self) -> None:
        """Raises RunLimitExceeded if nothing is left."""
        if self.seconds_left <= 0:
            raise RunLimitExceeded(
                f"the {self.kind} of this run take more than {self.total:g} seconds together"
            )

    def reset(self) -> None:
        """Begin the account of another run."""
        self.seconds_left = self.total
        self.runaways.clear()


GENERAL = CpuAccount("templates, schemas and patterns", RUN_CPU_SECONDS, CPU_SECONDS_PER_EVAL)
# An account of their own: a runaway snippet costs no template its time
SCRIPTS = CpuAccount("scripts", RUN_SCRIPT_CPU_SECONDS, CPU_SECONDS_PER_SCRIPT_CALL)


@dataclass
class _SharedWorker:
    """One worker for all threads. A slow request holds up the others, and the accounts bound that."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    worker: Sandbox | None = None
    modules: frozenset[str] = frozenset()  # of all requests: a worker can import none later

    def send(self, module: str, request: bytes, account: CpuAccount) -> Any:
        """The answer to a request for a function of a module. Raises WorkerDied and RunLimitExceeded."""
        with self.lock:
            account.check()
            worker = self.worker
            self.worker = None
            started = time.monotonic()
            is_reusable = False
            try:
                self.modules |= {module}
                if worker and module not in worker.modules:
                    worker.end()
                    worker = None
                worker = worker or Sandbox(self.modules)
                answer = json.loads(worker.send_request(request))
                # After any other answer its memory is not to be trusted
                is_reusable = "value" in answer or "refused" in answer
                return answer
            finally:  # also after a signal: a late answer must not be taken for the answer to the next request
                if is_reusable:
                    self.worker = worker
                    account.charge(answer["seconds"])
                else:
                    if worker:
                        worker.end()
                    account.charge(min(time.monotonic() - started, EVAL_CPU_SECONDS))


_WORKER = _SharedWorker()


@atexit.register
def end_worker() -> None:
    """End the worker process; the next evaluation starts another."""
    worker = _WORKER.worker
    _WORKER.worker = None
    if worker:
        worker.end()


def reset_accounts() -> None:
    """Begin a run: what another run in this process read and evaluated does not count."""
    READ.start_anew()
    GENERAL.reset()
    SCRIPTS.reset()


def evaluate(task: str, *arguments: Any, account: CpuAccount = GENERAL) -> Any:
    """What the function ``module:name`` returns in the worker. Arguments and result are plain data.

    Raises LimitExceeded, and TaskRefused with the message of a ValueError of the function.
    """
    try:
        text = json.dumps([task, arguments], default=str, ensure_ascii=False)
        request = text.encode("utf-8", "surrogatepass")
    except RecursionError as e:
        raise LimitExceeded("it is nested too deeply") from e
    except ValueError as e:  # a number with more digits than Python writes
        raise LimitExceeded(f"it contains a value that cannot be written as JSON: {e}") from e
    if len(request) > MAX_WORKER_MESSAGE:
        raise LimitExceeded(f"it and its variables have more than {MAX_WORKER_MESSAGE >> 20} MiB")
    try:
        answer = _WORKER.send(task.partition(":")[0], request, account)
    except WorkerDied as e:
        raise LimitExceeded(str(e)) from e
    if "refused" in answer:
        raise TaskRefused(answer["refused"])
    if "exceeded" in answer:
        raise LimitExceeded(answer["exceeded"])
    return answer["value"]


class CpuCharge:
    """Charges the CPU time of a block in this process, and not in the worker. Raises RunLimitExceeded if there is none left."""

    def __enter__(self) -> None:
        GENERAL.check()
        self._started = time.thread_time()

    def __exit__(self, *_: object) -> None:
        GENERAL.charge(time.thread_time() - self._started)
