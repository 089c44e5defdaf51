"""The keeper: a process between gradegate and code of the repository that starts the code, and ends everything it started.

It is run as a process of its own, and imports little of the package and of Python. Its task is a line of JSON on standard input,
because other processes can read arguments (``Worker`` writes it). It has one thread, so that it may fork. It is the reaper of every descendant
(``PR_SET_CHILD_SUBREAPER``), so a daemon cannot leave the tree. It ends with gradegate, however gradegate ends, because the pipe
to it then closes. On standard output it reports once how the code's process ended: ``{"refused"}`` before it began, or
``{"code", "tail"}`` with the last that was printed.
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

from gradegate.sandbox.rights import (
    DUMPABLE,
    LINUX,
    drop_rights,
    hide_process,
    lower_limit,
    prctl,
)

_SUBREAPER = 36  # of prctl(2)
_DEATH_SIGNAL = 1
TAIL = 4096  # bytes of what was printed
KILL_SECONDS = 3.0  # until killed processes are gone
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/var/lock")  # noqa: S108 - where everybody may leave files
CLEAR_SECONDS = 5  # in which their files are removed


def main() -> None:
    """Run the task of the first line of standard input."""
    task = json.loads(sys.stdin.buffer.readline())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prctl(_SUBREAPER, 1)
    hide_process()
    log_out, log_in = os.pipe()
    error_out, error_in = os.pipe()
    child = os.fork()
    if not child:
        try:
            _become_interpreter(task, log_in)
        except (OSError, ValueError) as e:
            os.write(error_in, str(e).encode("utf-8", "replace")[:TAIL])
        os._exit(126)
    for number in (log_in, error_in, *task["pipes"]):
        os.close(number)

    error = os.read(error_out, TAIL).decode("utf-8", "replace")  # empty once the child runs
    report = {"refused": error} if error else _watch_child(child, log_out)
    _kill_tree(child, task["uid"])
    if task["uid"]:
        import shutil  # which that user perhaps may not read

        _do_as_user(task["uid"], lambda: _clear_folders(shutil.rmtree))
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(report).encode())


def _watch_child(child: int, log: int) -> dict[str, Any]:
    """How the child ended, or nothing if gradegate closed its pipe. Meanwhile reads from ``log`` what the child prints."""
    wake_out, wake_in = os.pipe()
    os.set_blocking(wake_in, False)
    signal.set_wakeup_fd(wake_in)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    printed = b""
    watched = [0, log, wake_out]
    while True:
        code = _reap_children(child)[0]
        if code is not None:
            with contextlib.suppress(OSError):
                os.set_blocking(log, False)
                printed += os.read(log, 65536)
            return {"code": code, "tail": printed[-TAIL:].decode("utf-8", "replace")}
        ready = select.select(watched, [], [], 1.0)[0]
        if 0 in ready:
            return {}
        if wake_out in ready:
            os.read(wake_out, 1024)
        if log in ready:
            part = os.read(log, 65536)
            printed = (printed + part)[-TAIL:]
            if not part:
                watched = [0, wake_out]


def _reap_children(child: int) -> tuple[int | None, bool]:
    """Reap all processes that ended. Returns the exit code of the child if it is among them, and whether others are left."""
    code = None
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                code = os.waitstatus_to_exitcode(ended[1])
    except ChildProcessError:
        return code, False
    return code, True


# --- the child, before it becomes the interpreter -------------------------------------------------------------


def _become_interpreter(task: dict[str, Any], log: int) -> None:
    """Turn this process into the interpreter of the code, under limits and without privileges. Raises OSError or ValueError."""
    os.setsid()
    prctl(DUMPABLE, 1)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("1000")  # the first to end where memory ends

    # Standard input is empty, the output goes to the log, requests come on 3 and answers leave on 4.
    for number in task["pipes"]:
        os.set_inheritable(number, False)
    requests, answers = [os.dup(number) for number in task["pipes"]]
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    # First to numbers far above, because a pipe may have the number that another gets.
    os.dup2(requests, 60, inheritable=False)
    os.dup2(answers, 61, inheritable=False)
    os.dup2(60, 3)  # and inherited
    os.dup2(61, 4)

    for name, value in task["limits"].items():
        lower_limit(name, value)
    drop_rights(task["uid"])
    prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if task["uid"]:
        os.umask(0o077)
        # Try what must not be possible from here.
        if os.getgroups() or 0 in (*os.getresuid(), *os.getresgid()):
            raise ValueError("root rights cannot be dropped here")
        for path in task["closed_paths"]:
            if os.access(path, os.R_OK) or os.access(path, os.W_OK):
                raise ValueError(f"it could read or write {path}")
        for path in task["read_only_paths"]:
            if os.access(path, os.W_OK):
                raise ValueError(f"it could write to {path}")
    os.chdir(task["folder"])
    os.execve(task["argv"][0], task["argv"], task["env"])  # noqa: S606 - no shell


# --- the end --------------------------------------------------------------------------------------------------


def _kill_tree(child: int, uid: int) -> None:
    """Kill everything that the child started, until this process has no children: orphans become its children."""
    deadline = time.monotonic() + KILL_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        if uid:
            # All at once: no process can be faster
            _do_as_user(uid, lambda: os.kill(-1, signal.SIGKILL))
        if LINUX:
            for process in _descendants():
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
        if not _reap_children(child)[1]:
            return
        time.sleep(0.005)


def _do_as_user(uid: int, action: Callable[[], None]) -> None:
    """Do something with only the rights of a user; nobody else is that user."""
    process = os.fork()
    if not process:
        try:
            drop_rights(uid)
            action()
        finally:
            os._exit(0)
    os.waitpid(process, 0)


def _clear_folders(remove: Callable[..., None]) -> None:
    """Remove what this user left where everybody may write, as far as that is quickly done."""
    signal.alarm(CLEAR_SECONDS)  # which ends this process
    for folder in SHARED_FOLDERS:
        entries = []
        with contextlib.suppress(OSError):
            entries = list(os.scandir(folder))
        for entry in entries:
            # It may belong to another user, be gone meanwhile, or be too deep
            with contextlib.suppress(OSError, RecursionError):
                if entry.stat(follow_symlinks=False).st_uid == os.getuid():
                    remove(entry.path, ignore_errors=True)
                    os.unlink(entry.path)  # noqa: PTH108 - as the text that it is


def _descendants() -> list[int]:
    """All processes below this one. An orphan is a child of this process by now."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
            state, parent = file.read().rpartition(b")")[2].split()[:2]
            if state != b"Z":
                children.setdefault(int(parent), []).append(int(name))

    descendants: list[int] = []
    parents = [os.getpid()]
    while parents:
        below = children.get(parents.pop(), [])
        descendants += below
        parents += below
    return descendants
