"""Worker processes: one runs code of the repository under its keeper, the other evaluates in a sandbox what a config says."""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gradegate.files.limits import (
    EVAL_CPU_SECONDS,
    EVAL_WALL_SECONDS,
    MAX_WORKER_MESSAGE,
    MIB,
    WORKER_MEMORY,
    WORKER_START_SECONDS,
)
from gradegate.sandbox.rights import hide_process
from gradegate.security.redaction import last_part
from gradegate.structs import FrozenStruct, JsonObject

# The folder with the files that other processes run. This process does not import them.
_HERE = Path(__file__).parent
KEEPER_SECONDS = 20.0  # until a keeper has begun or ended
# What a worker of another user may take; without one, the limits are those of the user who runs it.
LIMITS = {
    "RLIMIT_DATA": 4096 * MIB,  # bytes of memory of one process
    "RLIMIT_FSIZE": 256 * MIB,  # bytes of one file
    "RLIMIT_NPROC": 512,  # processes and threads
    "RLIMIT_NOFILE": 1024,
    "RLIMIT_CORE": 0,
}
# Of the last that a process printed before it ended; fewer than a keeper keeps
LAST_LINES = 6
LAST_CHARACTERS = 1000
_STACK_FRAME = re.compile(r"\s*\d+: 0x|-{5}")  # that a node without memory prints of itself
_KEEPER_CODE = (
    "import sys; sys.path.append(sys.argv[1]); from gradegate.sandbox.keeper import main; main()"
)
_SANDBOX_CODE = (
    "import sys; modules, *sys.path[:] = sys.argv[1:];"
    " from gradegate.sandbox.sandbox_worker import serve_requests; serve_requests(modules)"
)
_NO_START = "the process to evaluate it in does not start"
# Without them some builds of Python do not start
_LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class WorkerDied(ValueError):
    """The process gave no answer and can only be ended; the message says why."""


class WorkerSetup(FrozenStruct):
    """What a worker for code of the repository runs, and where."""

    # An interpreter with its options, which takes the harness as its last argument
    start: tuple[str, ...]
    harness: str
    folder: Path
    env: dict[str, str]
    user: int = 0  # 0: the user of this process
    closed_paths: tuple[str, ...] = ()  # paths that it must not reach
    read_only_paths: tuple[str, ...] = ()  # paths that it must not write


class Worker:
    """A process in which code of the repository runs, and the keeper that ends it. It answers one request at a time."""

    def __init__(self, setup: WorkerSetup) -> None:
        """Raises WorkerDied if it does not start."""
        self._home = tempfile.mkdtemp(prefix="gradegate-")
        self._user = setup.user
        requests, self._request_pipe = os.pipe()
        self._answer_pipe, answers = os.pipe()
        try:
            if setup.user:
                os.chown(self._home, setup.user, setup.user)
            self._keeper = subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, "-I", "-S", "-B", "-c", _KEEPER_CODE, str(_HERE.parents[1])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.defpath},
                pass_fds=(requests, answers),
                start_new_session=True,  # Ctrl-C is for this process to handle
            )
        except OSError as e:
            os.close(self._request_pipe)
            os.close(self._answer_pipe)
            raise WorkerDied(f"its process does not start: {e}") from e
        finally:
            os.close(requests)
            os.close(answers)
        os.set_blocking(self._request_pipe, False)
        task = {
            "argv": [*setup.start, (_HERE / setup.harness).read_text(encoding="utf-8")],
            "env": {
                **setup.env,
                "HOME": self._home,
                "TMPDIR": self._home,
                "USER": "gradegate",
                "LOGNAME": "gradegate",
            },
            "folder": str(setup.folder),
            "pipes": [requests, answers],
            "uid": setup.user,
            "limits": LIMITS if setup.user else {"RLIMIT_CORE": 0},
            "closed_paths": setup.closed_paths,
            "read_only_paths": setup.read_only_paths,
        }
        assert self._keeper.stdin
        with contextlib.suppress(BrokenPipeError):  # the first request says that it died
            self._keeper.stdin.write(json.dumps(task).encode() + b"\n")
            self._keeper.stdin.flush()

    def send_request(self, request: JsonObject, seconds: float) -> JsonObject:
        """The harness's answer to a request: ``{"value"}``, or ``{"error", "raised"}``.

        Raises WorkerDied if there is no answer within ``seconds``. Then the worker can only be ended.
        """
        text = json.dumps(request, default=str, ensure_ascii=False)
        content = text.encode("utf-8", "backslashreplace")
        try:
            message = exchange_messages(
                content, self._request_pipe, self._answer_pipe, seconds, seconds
            )
        except EOFError as e:
            raise self._death() from e

        # The code runs in the process of the harness, so it may have written the message itself.
        try:
            answer = json.loads(message)
        except (ValueError, RecursionError) as e:
            raise WorkerDied(f"what it returns cannot be read: {e}") from e
        if isinstance(answer, dict) and ("value" in answer or "error" in answer):
            return answer
        raise WorkerDied("it sent an unexpected reply")

    def stop(self) -> None:
        """Kill it with all that it started; a thread that waits for its answer learns that it died."""
        assert self._keeper.stdin
        with contextlib.suppress(BrokenPipeError):
            self._keeper.stdin.close()
        try:
            self._keeper.wait(KEEPER_SECONDS)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()

    def end(self) -> None:
        """Kill it, and close its pipes and its folder."""
        self.stop()
        os.close(self._request_pipe)
        os.close(self._answer_pipe)
        assert self._keeper.stdout
        self._keeper.stdout.close()
        # What another user left, the keeper removes with the rights of that user.
        if not self._user:
            shutil.rmtree(self._home, ignore_errors=True)

    def _death(self) -> WorkerDied:
        """What the keeper reports about the end of a process that ended by itself."""
        assert self._keeper.stdout
        pipe = self._keeper.stdout.fileno()
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        message = os.read(pipe, 65536) if poll.poll(KEEPER_SECONDS * 1000) else b""
        try:
            report = json.loads(message)
        except ValueError:
            report = {}
        if "refused" in report:
            return WorkerDied(f"its process was not started: {report['refused']}")
        if "code" not in report:
            return WorkerDied("its process was ended from outside")

        printed = str(report.get("tail", "")).strip().splitlines()
        lines = [line for line in printed if not _STACK_FRAME.match(line)]
        last_words = last_part("\n".join(lines[-LAST_LINES:]).strip(), LAST_CHARACTERS)
        reason = f"its process ended with {report['code']}"
        return WorkerDied(f"{reason}: {last_words}" if last_words else reason)


class Sandbox:
    """A process without keys that evaluates what may never end or fill the memory. It answers one request at a time.

    Its environment is empty. It can open no file and no socket, and has no way to this process, whose keys it might read
    (``rights``). It is killed if it takes too long, and ends by itself when the pipe to it closes, however this process ends.
    The kernel's "parent death signal" is no help: it is sent when the *thread* that started a process ends.
    """

    def __init__(self, modules: frozenset[str]) -> None:
        """A worker for functions of these modules only: it can open no file later. Raises WorkerDied if it does not start."""
        self.modules = modules
        hide_process()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - ourselves
                [
                    sys.executable,
                    "-I",
                    "-B",
                    "-c",
                    _SANDBOX_CODE,
                    " ".join(sorted(modules)),
                    *filter(os.path.isabs, sys.path),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env={name: os.environ[name] for name in _LIBRARIES if name in os.environ},
                start_new_session=True,  # Ctrl-C is for this process to handle
            )
        except OSError as e:
            raise WorkerDied(f"{_NO_START}: {e}") from e
        assert self._process.stdin
        assert self._process.stdout
        self._request_pipe = self._process.stdin.fileno()
        self._answer_pipe = self._process.stdout.fileno()
        os.set_blocking(self._request_pipe, False)
        try:
            objection = self.send_request(None, WORKER_START_SECONDS).decode("utf-8", "replace")
        except WorkerDied as e:
            self.end()
            raise WorkerDied(_NO_START) from e
        if objection:
            self.end()
            raise WorkerDied(f"{_NO_START}: {objection}")

    def send_request(self, request: bytes | None, seconds: float = EVAL_WALL_SECONDS) -> bytes:
        """The answer to a request, or the first message without one. Raises WorkerDied, after which it can only be ended."""
        try:
            return exchange_messages(
                request, self._request_pipe, self._answer_pipe, seconds, EVAL_CPU_SECONDS
            )
        except EOFError as e:
            code = self._process.wait()
            if code == -signal.SIGPROF:
                raise WorkerDied(f"it takes more than {EVAL_CPU_SECONDS:g} seconds") from e
            raise WorkerDied(
                f"it ended the process that evaluates it ({code}); it may need more than {WORKER_MEMORY >> 20} MiB"
            ) from e

    def end(self) -> None:
        """Kill it and close its pipes."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            pipe.close()


def exchange_messages(
    request: bytes | None,
    request_pipe: int,
    answer_pipe: int,
    seconds: float,
    limit_shown: float,
) -> bytes:
    """Write a request, if there is one, to a pipe that does not block, and read a message from the other pipe.

    Each message is behind its length in four bytes. ``limit_shown`` are the seconds that an error names. Raises EOFError if the
    process has ended, and WorkerDied if it takes too long or sends too much.
    """
    deadline = time.monotonic() + seconds

    def wait_for(pipe: int, event: int) -> None:
        poll = select.poll()
        poll.register(pipe, event)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise WorkerDied(f"it takes more than {limit_shown:g} seconds")

    def read_bytes(size: int) -> bytes:
        content = bytearray()
        while len(content) < size:
            wait_for(answer_pipe, select.POLLIN)
            part = os.read(answer_pipe, size - len(content))
            if not part:
                raise EOFError
            content += part
        return bytes(content)

    if request is not None:
        unsent = memoryview(len(request).to_bytes(4, "big") + request)
        try:
            while unsent:
                wait_for(request_pipe, select.POLLOUT)
                sent = os.write(request_pipe, unsent)
                unsent = unsent[sent:]
        except BrokenPipeError as e:
            raise EOFError from e

    size = int.from_bytes(read_bytes(4), "big")
    if size > MAX_WORKER_MESSAGE:
        raise WorkerDied(f"what it returns has more than {MAX_WORKER_MESSAGE >> 20} MiB")
    return read_bytes(size)
