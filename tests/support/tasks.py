"""What tests have the worker do."""

import contextlib
import ctypes
import os
import resource
import socket
import time
from pathlib import Path


def echo(value):
    return value


def refuse(words):
    raise ValueError(words)


def spin():
    while True:
        pass


def hog():
    return len("a" * 10**10)


def deepen(levels=0):
    return deepen(levels + 1)


def leave():
    os._exit(7)


def around():
    return {"environ": dict(os.environ), "folder": str(Path.cwd()), "pid": os.getpid()}


def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def much():
    return "a" * (17 << 20)


def intrude(address, size):
    """What this process can reach of its parent and of the machine, by name; a key of the parent is at the address."""
    got = []
    for name, attempt in _attempts(os.getppid(), address, size):
        with contextlib.suppress(OSError, ValueError):
            attempt()
            got.append(name)
    return got


def _attempts(parent, address, size):
    libc = ctypes.CDLL(None, use_errno=True)
    copy = ctypes.create_string_buffer(size)
    here, there = (ctypes.c_void_p * 2)(ctypes.addressof(copy), size), (ctypes.c_void_p * 2)(address, size)

    def called(function, *arguments):
        if function(*arguments) < 0:
            raise OSError(ctypes.get_errno(), "no")

    for name in ("environ", "mem", "maps", "fd/0", "cmdline"):
        yield name, lambda name=name: os.open(f"/proc/{parent}/{name}", os.O_RDONLY)
    yield "memory", lambda: called(libc.process_vm_readv, parent, here, 1, there, 1, 0)
    yield "trace", lambda: called(libc.ptrace, 16, parent, 0, 0)  # PTRACE_ATTACH
    yield "file", lambda: os.open("/etc/passwd", os.O_RDONLY)
    yield "file in place of a pipe", lambda: (os.close(2), os.open("/etc/passwd", os.O_RDONLY))
    yield "socket", socket.socket
    yield "limit", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))
    yield "process", lambda: os.fork() or os._exit(0)
    yield "root", lambda: os.setuid(0) or os.setgroups([0])
