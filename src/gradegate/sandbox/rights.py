"""Takes rights from a process before it meets text or code of others, and keeps it out of the process with the keys."""

import contextlib
import ctypes
import os
import resource
import sys

LINUX = sys.platform == "linux"
DUMPABLE = 4  # of prctl(2), as the next four
_NO_NEW_PRIVS = 38
_DROP = 24
_AMBIENT = 47
_CLEAR_ALL = 4
_CAPABILITIES = 64  # more than there are
_VERSION_3 = 0x20080522  # of capset(2)
# A user id that no system and no program of a repository has
NOBODY_ELSE = 65533


def prctl(option: int, argument: int) -> None:
    """Change one setting of this process; do nothing where the system has no such setting."""
    if LINUX:
        ctypes.CDLL(None).prctl(option, argument, 0, 0, 0)


def hide_process() -> None:
    """Close the memory and the environment of this process, which has the keys, to other processes of its user."""
    prctl(DUMPABLE, 0)


def drop_rights(user: int) -> None:
    """Become a user (0: stay who we are) without groups and capabilities, who gains none by starting programs. Raises OSError."""
    if user:
        for capability in range(_CAPABILITIES):
            # Where this is not allowed, the change of the user takes the capability anyway
            prctl(_DROP, capability)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    prctl(_AMBIENT, _CLEAR_ALL)
    prctl(_NO_NEW_PRIVS, 1)
    if LINUX:
        no_capabilities = (ctypes.c_uint32 * 6)()
        ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(_VERSION_3, 0), no_capabilities)


def lower_limit(name: str, value: int) -> None:
    """Lower a limit of this process for good, where the system knows it."""
    kind = getattr(resource, name, None)
    if kind is None:
        return
    with contextlib.suppress(ValueError, OSError):
        hard_limit = resource.getrlimit(kind)[1]
        if hard_limit != resource.RLIM_INFINITY:
            value = min(value, hard_limit)
        resource.setrlimit(kind, (value, value))


def confine_process() -> None:
    """Leave this process only its memory and its pipes. Raises OSError if the parent's environment stays in reach.

    Root becomes another user. No user of this process opens a file or a socket, or starts a process.
    """
    try:
        drop_rights(0 if os.geteuid() else NOBODY_ELSE)
    except PermissionError:
        # Root of a container that may not change its user: without capabilities, it is an ordinary user
        drop_rights(0)
    try:
        os.close(os.open(f"/proc/{os.getppid()}/environ", os.O_RDONLY))
    except OSError:
        pass
    else:
        raise PermissionError("it could read the environment of gradegate, which holds the keys")
    for name in ("RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_FSIZE", "RLIMIT_CORE"):
        lower_limit(name, 0)
