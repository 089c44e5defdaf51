"""Processes in which something runs apart: code of the repository under its keeper, and what we evaluate ourselves in a sandbox."""

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

from gradegate.files.limits import MAX_SENT, MEMORY, MIB, SECONDS, START_SECONDS, WALL
from gradegate.sandbox.rights import hide_process
from gradegate.security.redaction import ending
from gradegate.structs import FrozenStruct, JsonObject


class WorkerDied(ValueError):
    """The process gave no answer and can only be ended; the message says why."""


def exchange_messages(
    question: bytes | None, into: int, out: int, seconds: float, told: float
) -> bytes:
    """The answer to a question, or what is said without one. ``into`` does not block; ``told`` are the seconds that a message names.

    Raises EOFError where the process has ended, else Died.
    """
    until = time.monotonic() + seconds

    def wait(pipe: int, event: int) -> None:
        poll = select.poll()
        poll.register(pipe, event)
        if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
            raise WorkerDied(f"it takes more than {told:g} seconds")

    def read(size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            wait(out, select.POLLIN)
            part = os.read(out, size - len(parts))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)

    view = memoryview(b"" if question is None else len(question).to_bytes(4, "big") + question)
    try:
        while view:
            wait(into, select.POLLOUT)
            view = view[os.write(into, view) :]
    except BrokenPipeError as e:
        raise EOFError from e
    size = int.from_bytes(read(4), "big")
    if size > MAX_SENT:
        raise WorkerDied(f"what it returns has more than {MAX_SENT >> 20} MiB")
    return read(size)


_HERE = Path(__file__).parent  # with what other processes run, which this one has no use for
_BOOT = (
    "import sys; sys.path.append(sys.argv[1]); from gradegate.sandbox.keeper import main; main()"
)
KEEPER_SECONDS = 20.0  # until a keeper has begun or ended
_FRAME = re.compile(r"\s*\d+: 0x|-{5}")  # of the stack that a node without memory prints of itself
# Of what a process printed that ended by itself; fewer than a keeper keeps
LAST_LINES = 6
LAST_CHARACTERS = 1000
# What a user of its own may take; off the Action the limits are those of whoever runs it.
LIMITS = {
    "RLIMIT_DATA": 4096 * MIB,  # bytes of memory of one process
    "RLIMIT_FSIZE": 256 * MIB,  # bytes of one file
    "RLIMIT_NPROC": 512,  # processes and threads
    "RLIMIT_NOFILE": 1024,
    "RLIMIT_CORE": 0,
}


class WorkerSetup(FrozenStruct):
    """Where a worker works."""

    # An interpreter with its options, which takes the harness as its last argument
    start: tuple[str, ...]
    harness: str
    folder: Path
    env: dict[str, str]  # what it sees of the environment
    user: int = 0  # as we are
    closed: tuple[str, ...] = ()  # paths that it must not reach
    fixed: tuple[str, ...] = ()  # paths that it must not write


class Worker:
    """A process in which code of the repository runs, with the keeper that ends it; one request at a time."""

    def __init__(self, post: WorkerSetup) -> None:
        """Raises Died when it does not start."""
        self._home = tempfile.mkdtemp(prefix="gradegate-")
        self._user = post.user
        requests, self._in = os.pipe()
        self._out, answers = os.pipe()
        try:
            if post.user:
                os.chown(self._home, post.user, post.user)
            self._keeper = subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, "-I", "-S", "-B", "-c", _BOOT, str(_HERE.parents[1])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.defpath},
                pass_fds=(requests, answers),
                start_new_session=True,  # Ctrl-C is ours to handle
            )
        except OSError as e:
            os.close(self._in)
            os.close(self._out)
            raise WorkerDied(f"its process does not start: {e}") from e
        finally:
            os.close(requests)
            os.close(answers)
        os.set_blocking(self._in, False)
        home = {
            "HOME": self._home,
            "TMPDIR": self._home,
            "USER": "gradegate",
            "LOGNAME": "gradegate",
        }
        task = {
            "argv": [*post.start, (_HERE / post.harness).read_text(encoding="utf-8")],
            "env": {**post.env, **home},
            "folder": str(post.folder),
            "pipes": [requests, answers],
            "uid": post.user,
            "limits": LIMITS if post.user else {"RLIMIT_CORE": 0},
            "closed": post.closed,
            "fixed": post.fixed,
        }
        assert self._keeper.stdin
        with contextlib.suppress(BrokenPipeError):  # who asks it learns that it died
            self._keeper.stdin.write(json.dumps(task).encode() + b"\n")
            self._keeper.stdin.flush()

    def ask(self, request: JsonObject, seconds: float) -> JsonObject:
        """The answer to a request. Raises Died, after which the worker can only be ended."""
        content = json.dumps(request, default=str, ensure_ascii=False).encode(
            "utf-8", "backslashreplace"
        )
        try:
            said = exchange_messages(content, self._in, self._out, seconds, seconds)
        except EOFError as e:
            raise self._death() from e
        try:
            answer = json.loads(said)
        except (ValueError, RecursionError) as e:
            raise WorkerDied(f"what it returns cannot be read: {e}") from e
        if not isinstance(answer, dict) or not answer.keys() & {"value", "error"}:
            raise WorkerDied("it sent an unexpected reply")
        return answer

    def stop(self) -> None:
        """Kill it with all that it started; whoever waits for its answer learns that it died."""
        assert self._keeper.stdin
        with contextlib.suppress(BrokenPipeError):
            self._keeper.stdin.close()
        try:
            self._keeper.wait(KEEPER_SECONDS)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()

    def end(self) -> None:
        """Kill it and take leave of it."""
        self.stop()
        for number in (self._in, self._out):
            os.close(number)
        assert self._keeper.stdout
        self._keeper.stdout.close()
        if not self._user:  # what a user of its own leaves is removed with that user's rights
            shutil.rmtree(self._home, ignore_errors=True)

    def _death(self) -> WorkerDied:
        """What the keeper says of the end of a process that ended by itself."""
        assert self._keeper.stdout
        pipe = self._keeper.stdout.fileno()
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        said = os.read(pipe, 65536) if poll.poll(KEEPER_SECONDS * 1000) else b""
        try:
            report = json.loads(said)
        except ValueError:
            report = {}
        if "refused" in report:
            return WorkerDied(f"its process was not started: {report['refused']}")
        if "code" not in report:
            return WorkerDied("its process was ended from outside")
        lines = [
            line
            for line in str(report.get("tail", "")).strip().splitlines()
            if not _FRAME.match(line)
        ]
        last = ending("\n".join(lines[-LAST_LINES:]).strip(), LAST_CHARACTERS)
        return WorkerDied(
            f"its process ended with {report['code']}" + (f": {last}" if last else "")
        )


_SERVE = "import sys; modules, *sys.path[:] = sys.argv[1:]; from gradegate.sandbox.sandbox_worker import serve; serve(modules)"
_NO_START = "the process to evaluate it in does not start"
# Without them some builds of Python do not start
_LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class Sandbox:
    """A process without keys, in which something is evaluated that may never end or fill the memory; one request at a time.

    It gets an empty environment, no folder of the workspace and no file of ours, and no way to this process, whose keys it might
    read (``rights``). It is killed when it takes too long, and ends by itself when the pipe to it closes, however this process ends.
    The kernel's "parent death signal" is not used: it is sent when the *thread* that started a process ends.
    """

    def __init__(self, modules: frozenset[str]) -> None:
        """A worker for functions of the modules alone: it can open no file later. Raises Died when it does not start."""
        self.modules = modules
        hide_process()
        environ = {name: os.environ[name] for name in _LIBRARIES if name in os.environ}
        try:
            self._process = subprocess.Popen(  # noqa: S603 - ourselves
                [
                    sys.executable,
                    "-I",
                    "-B",
                    "-c",
                    _SERVE,
                    " ".join(sorted(modules)),
                    *filter(os.path.isabs, sys.path),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env=environ,
                start_new_session=True,  # Ctrl-C is ours to handle
            )
        except OSError as e:
            raise WorkerDied(f"{_NO_START}: {e}") from e
        assert self._process.stdin
        assert self._process.stdout
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        try:
            why = self.ask(None, START_SECONDS).decode("utf-8", "replace")
        except WorkerDied as e:
            self.end()
            raise WorkerDied(_NO_START) from e
        if why:
            self.end()
            raise WorkerDied(f"{_NO_START}: {why}")

    def ask(self, request: bytes | None, seconds: float = WALL) -> bytes:
        """The answer to a request, or what is said without one. Raises Died, after which the worker can only be ended."""
        try:
            return exchange_messages(request, self._in, self._out, seconds, SECONDS)
        except EOFError as e:
            code = self._process.wait()
            if code == -signal.SIGPROF:
                raise WorkerDied(f"it takes more than {SECONDS:g} seconds") from e
            raise WorkerDied(
                f"it ended the process that evaluates it ({code}); it may need more than {MEMORY >> 20} MiB"
            ) from e

    def end(self) -> None:
        """Kill it and take leave of it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            pipe.close()
