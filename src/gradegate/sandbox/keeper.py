"""A process of our own between gradegate and code of the repository: it starts the code, and ends all that came of it.

It is run apart, with little of the package and of Python imported, and takes its task as a line of JSON on standard
input, since others can read arguments. It has one thread, so that it may fork; it is the reaper of every descendant
(``PR_SET_CHILD_SUBREAPER``), so that a daemon cannot leave the tree; and it ends with gradegate, whose pipe to it then
closes, however gradegate ends. On standard output it says once how the code's process ended: ``{"refused"}`` before it
began, or ``{"code", "tail"}`` with the last that was printed.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from gradegate.sandbox.rights import DUMPABLE, LINUX, drop_rights, hide_process, lower_limit, prctl

_SUBREAPER, _DEATH = 36, 1  # of prctl(2)
TAIL = 4096  # bytes of what was printed
GONE = 3.0  # seconds until what was killed is gone
SHARED = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/var/lock")  # noqa: S108 - where everybody may leave files
CLEARED = 5  # seconds in which they are removed


def main() -> None:
    """Run the task of the first line."""
    task = json.loads(sys.stdin.buffer.readline())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prctl(_SUBREAPER, 1)
    hide_process()
    tail, log = os.pipe()
    failed, failing = os.pipe()
    child = os.fork()
    if not child:
        try:
            _become(task, log)
        except (OSError, ValueError) as e:
            os.write(failing, str(e).encode("utf-8", "replace")[:TAIL])
        os._exit(126)
    for number in (log, failing, *task["pipes"]):
        os.close(number)
    said = os.read(failed, TAIL).decode("utf-8", "replace")
    report = {"refused": said} if said else _kept(child, tail)
    _end(child, task["uid"])
    if task["uid"]:
        import shutil  # which that user perhaps may not read

        _as_user(task["uid"], lambda: _clear(shutil.rmtree))
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(report).encode())


def _kept(child: int, tail: int) -> dict[str, Any]:
    """How the child ended, or nothing when gradegate wants no more of it; what it prints is read all the time."""
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    printed = b""
    watched = [0, tail, wake]
    while True:
        status = _reap(child)[0]
        if status is not None:
            with contextlib.suppress(OSError):
                os.set_blocking(tail, False)
                printed += os.read(tail, 65536)
            return {"code": status, "tail": printed[-TAIL:].decode("utf-8", "replace")}
        ready = select.select(watched, [], [], 1.0)[0]
        if 0 in ready:
            return {}
        if wake in ready:
            os.read(wake, 1024)
        if tail in ready:
            part = os.read(tail, 65536)
            printed = (printed + part)[-TAIL:]
            watched = watched if part else [0, wake]


def _reap(child: int) -> tuple[int | None, bool]:
    """Take leave of all that ended: the exit code of the child when it is among them, and whether others are left."""
    code = None
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                code = os.waitstatus_to_exitcode(ended[1])
    except ChildProcessError:
        return code, False
    return code, True


# --- the child, before it is the user's -----------------------------------------------------------------------


def _become(task: dict[str, Any], log: int) -> None:
    """Turn into the user's interpreter, under limits and without privileges. Raises OSError or ValueError."""
    os.setsid()
    prctl(DUMPABLE, 1)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("1000")  # where memory ends, this goes first
    for number in task["pipes"]:
        os.set_inheritable(number, False)
    requests, answers = (os.dup(number) for number in task["pipes"])
    null = os.open(os.devnull, os.O_RDWR)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    high = [
        os.dup2(number, 60 + place, inheritable=False)
        for place, number in enumerate((requests, answers))
    ]
    for place, number in enumerate(high):
        os.dup2(number, 3 + place)  # and inherited
    for name, most in task["limits"].items():
        lower_limit(name, most)
    drop_rights(task["uid"])
    prctl(_DEATH, signal.SIGKILL)
    if task["uid"]:
        os.umask(0o077)
        # Try what must not be possible from here.
        if os.getgroups() or 0 in (*os.getresuid(), *os.getresgid()):
            raise ValueError("root rights cannot be dropped here")
        for path in task["closed"]:
            if os.access(path, os.R_OK) or os.access(path, os.W_OK):
                raise ValueError(f"it could read or write {path}")
        for path in task["fixed"]:
            if os.access(path, os.W_OK):
                raise ValueError(f"it could write to {path}")
    os.chdir(task["folder"])
    os.execve(task["argv"][0], task["argv"], task["env"])  # noqa: S606 - no shell


# --- the end --------------------------------------------------------------------------------------------------


def _end(child: int, uid: int) -> None:
    """Kill everything that is left of it, until this process has no children: all that is below it would have become one."""
    until = time.monotonic() + GONE
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        if uid:
            # All at once: none of them can be faster
            _as_user(uid, lambda: os.kill(-1, signal.SIGKILL))
        for process in _descendants() if LINUX else ():
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        if not _reap(child)[1]:
            return
        time.sleep(0.005)


def _as_user(uid: int, action: Callable[[], None]) -> None:
    """Do something with the rights of a user alone; nobody else is that user."""
    other = os.fork()
    if not other:
        try:
            drop_rights(uid)
            action()
        finally:
            os._exit(0)
    os.waitpid(other, 0)


def _clear(remove: Callable[..., None]) -> None:
    """Remove what this user left where everybody may write, as far as that is quickly done."""
    signal.alarm(CLEARED)  # and this process ends
    for folder in SHARED:
        entries = []
        with contextlib.suppress(OSError):
            entries = list(os.scandir(folder))
        for entry in entries:
            # Of another, gone meanwhile, or too deep
            with contextlib.suppress(OSError, RecursionError):
                if entry.stat(follow_symlinks=False).st_uid == os.getuid():
                    remove(entry.path, ignore_errors=True)
                    os.unlink(entry.path)  # noqa: PTH108 - as the text that it is


def _descendants() -> list[int]:
    """All processes below this one; those whose parents ended are its own children by now."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
            state, parent = file.read().rpartition(b")")[2].split()[:2]
            if state != b"Z":
                children.setdefault(int(parent), []).append(int(name))
    found = list[int]()
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
