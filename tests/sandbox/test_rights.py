"""What the worker can reach of the process with the keys, whatever code runs in it: as root, as another user, in a container."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradegate.sandbox import sandbox_worker as serve
from support import tasks

SOURCE, TESTS = Path(serve.__file__).parents[2], Path(tasks.__file__).parents[1]
ANYBODY = 65534
# A parent with a key in its environment and another in its memory; it says what its worker got, and what the worker is.
PARENT = f"""
import sys
sys.path[:0] = {[str(SOURCE), str(TESTS), *(path for path in sys.path if path.endswith("site-packages"))]!r}
import ctypes, json
from gradegate.sandbox import evaluate
key = ctypes.create_string_buffer(b"sk-in-memory")
got = evaluate.evaluate("support.tasks:intrude", ctypes.addressof(key), 8)
status = open(f"/proc/{{evaluate.evaluate('support.tasks:around')['pid']}}/status").read()
print(json.dumps([got, status]))
"""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc and capabilities are Linux's")


def run_parent(python: str, *before: str, **options) -> tuple[list[str], str]:
    environ = {"PATH": os.environ["PATH"], "OPENAI_API_KEY": "sk-in-environment"}
    command = [*before, python, "-B", "-c", PARENT]
    done = subprocess.run(command, env=environ, cwd="/", capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr[-2000:]
    got, status = json.loads(done.stdout)
    return got, status


def parse_rights(status: str) -> dict[str, str]:
    """The ids, groups, capabilities and the promise of a process, as /proc writes them."""
    return dict(re.findall(r"^(Uid|Gid|Groups|CapEff|CapPrm|CapAmb|NoNewPrivs):[ \t]*(.*?)[ \t]*$", status, re.MULTILINE))


def rights_of_user(user: int) -> dict[str, str]:
    ids = "\t".join([str(user)] * 4)
    none = dict.fromkeys(("CapEff", "CapPrm", "CapAmb"), "0" * 16)
    return {"Uid": ids, "Gid": ids, "Groups": "", "NoNewPrivs": "1", **none}


def shared_python() -> str:
    """An interpreter that another user can start and that is as ours is; empty where there is none."""
    for python in (sys.executable, "/usr/bin/python3"):
        line = [python, "-c", f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"]
        try:
            if subprocess.run(line, user=ANYBODY, group=ANYBODY, extra_groups=[], cwd="/", check=False).returncode == 0:
                return python
        except OSError:
            continue
    return ""


def test_as_we_are_the_worker_reaches_nothing():
    got, status = run_parent(sys.executable)
    assert got == []
    assert parse_rights(status)["NoNewPrivs"] == "1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_of_root_the_worker_is_a_user_of_nobody_else():
    assert parse_rights(run_parent(sys.executable)[1]) == rights_of_user(65533)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_as_an_ordinary_user_the_worker_reaches_nothing():
    python = shared_python()
    if not python:
        pytest.skip("there is no interpreter for everybody")
    got, status = run_parent(python, user=ANYBODY, group=ANYBODY, extra_groups=[])
    assert got == []
    assert parse_rights(status) == rights_of_user(ANYBODY)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to lose")
def test_as_root_that_may_not_change_its_user_the_worker_reaches_nothing():
    got, status = run_parent(sys.executable, "setpriv", "--bounding-set=-setuid,-setgid")
    assert set(got) <= {"root", "process"}  # it is root in name, and of root nobody counts the processes
    none = dict.fromkeys(("CapEff", "CapPrm", "CapAmb"), "0" * 16)
    assert parse_rights(status).items() >= {**none, "NoNewPrivs": "1"}.items()
