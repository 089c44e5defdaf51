"""A process of our own without keys, in which something is evaluated that may never end or fill the memory.

It gets an empty environment, no folder of the workspace and no file of ours, and no way to this process, whose keys it might
read (``rights``). It is killed when it takes too long, and
it ends by itself when the pipe to it closes, however this process ends. The kernel's "parent death signal" is not used:
it is sent when the *thread* that started a process ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from gradegate.files.bounds import MEMORY, SECONDS, START_SECONDS, WALL
from gradegate.processes.exchange import Died, exchange
from gradegate.processes.rights import hide

_BOOT = "import sys; modules, *sys.path[:] = sys.argv[1:]; from gradegate.processes.serve import serve; serve(modules)"
_LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # without them some builds of Python do not start


class Worker:
    """A running process; one request at a time."""

    def __init__(self, modules: frozenset[str]) -> None:
        """A worker for functions of the modules alone: it can open no file later. Raises Died when it does not start."""
        self.modules = modules
        hide()
        environ = {name: os.environ[name] for name in _LIBRARIES if name in os.environ}
        try:
            self._process = subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, "-I", "-B", "-c", _BOOT, " ".join(sorted(modules)), *filter(os.path.isabs, sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env=environ,
                start_new_session=True,  # Ctrl-C is ours to handle
            )
        except OSError as e:
            raise Died(f"the process to evaluate it in does not start: {e}") from e
        assert self._process.stdin
        assert self._process.stdout
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        try:
            why = self._told(None, START_SECONDS).decode("utf-8", "replace")
        except Died as e:
            self.end()
            raise Died("the process to evaluate it in does not start") from e
        if why:
            self.end()
            raise Died(f"the process to evaluate it in does not start: {why}")

    def ask(self, request: bytes) -> bytes:
        """The answer to a request. Raises Died, after which the worker can only be ended."""
        return self._told(request, WALL)

    def end(self) -> None:
        """Kill it and take leave of it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            pipe.close()

    def _told(self, request: bytes | None, seconds: float) -> bytes:
        try:
            return exchange(request, self._in, self._out, seconds, SECONDS)
        except EOFError as e:
            raise self._death() from e

    def _death(self) -> Died:
        code = self._process.wait()
        if code == -signal.SIGPROF:
            return Died(f"it takes more than {SECONDS:g} seconds")
        return Died(f"it ended the process that evaluates it ({code}); it may need more than {MEMORY >> 20} MiB")
