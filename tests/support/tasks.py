"""What tests have the worker do."""

import os
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
