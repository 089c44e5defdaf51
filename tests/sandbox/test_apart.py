"""Code that runs as a user of its own, as in the Action: what it tries against the process that judges, and gets not."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradegate.errors import Origin
from gradegate.files.workspace import Workspace
from gradegate.sandbox import keeper, permission
from gradegate.sandbox import repository_code as pool
from gradegate.sandbox.permission import NO_EXEC, ExecPolicy
from gradegate.sandbox.program import read_program
from gradegate.sandbox.repository_code import CodeError
from support.intruder import NODE, SOURCE
from support.packages import node
from support.patience import PATIENCE

PYTHON = "/usr/bin/python3"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0 or not Path(PYTHON).exists(), reason="takes root, and a Python for everybody"),
]


class Job:
    """A job's folders, readable for everybody as a runner's are."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "workspace"
        for name in ("workspace/evals", "workspace/.git", "commands", "workflow", "home", "temp"):
            (root / name).mkdir(parents=True)
        self.secret = [
            self.write("workspace/.git/config", "token"),
            self.write("workspace/.npmrc", "token"),
            self.write("commands/output_1", ""),
            self.write("commands/env_1", ""),
            self.write("workflow/event.json", "{}"),
            self.write("home/.docker/config.json", "token"),
            self.write("temp/git-credentials-1.config", "token"),
        ]
        for folder, _, files in os.walk(root):
            for path in (Path(folder), *(Path(folder, name) for name in files)):
                path.chmod(0o755 if path.is_dir() else 0o644)

    def write(self, name: str, text: str) -> str:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o644)
        return str(path)

    def begin(self, **more) -> None:
        runners = (*self.secret[2:5], str(self.root / "home"), str(self.root / "temp"))
        place = {"cwd": self.workspace / "evals", "root": self.workspace, "runner_paths": runners}
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
        pool.start_code(
            ExecPolicy(**{"is_allowed": True, "is_isolated": True, "python": PYTHON, "env": env, "seconds": 60, **place, **more})
        )

    def call(self, source: str, function: str = "f", *arguments, file: str = "x.py", **options):
        self.write(f"workspace/evals/{file}", source)
        evals = self.workspace / "evals"
        program = read_program(f"file://{file}:{function}", Workspace(self.workspace), evals, Origin("c"))
        return pool.call_function(program, list(arguments), "target", "", **options)


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    made = Job(root)
    (root / "homes").mkdir(mode=0o711)
    monkeypatch.setattr(tempfile, "tempdir", str(root / "homes"))
    made.begin()
    yield made
    pool.start_code(NO_EXEC)
    shutil.rmtree(root)


@pytest.mark.parametrize("language", ["python", "node"])
def test_an_intruder_gets_nothing(job: Job, language: str):
    sockets = [str(job.root / "docker.sock")]
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sockets[0])
        listening.listen()
        Path(sockets[0]).chmod(0o660)
        told = {
            "secret": job.secret,
            "fixed": [str(job.workspace), str(job.workspace / "evals"), str(Path(pool.__file__).parent)],
            "processes": [os.getpid(), 1],
            "sockets": sockets,
        }
        if language == "python":
            assert job.call(SOURCE, "call_api", "", {"config": {"told": told}}, {}) == {"output": "[]"}
        elif node():
            more = {"kind": "provide", "options": {"config": {"told": told}}}
            assert job.call(NODE, "callApi", "", {}, file="x.mjs", more=more) == {"output": "[]"}


def test_no_capability_is_left_to_gain(job: Job):
    status = job.call("def f(): return open('/proc/self/status').read()")
    left = {name: int(value, 16) for name, value in re.findall(r"^(Cap\w+):\s*(\w+)", status, re.MULTILINE)}
    assert left == dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), 0)


SHARED = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/var/lock")


def test_what_code_leaves_where_everybody_may_write_is_removed(job: Job):
    kept = Path(tempfile.mkdtemp(dir="/tmp"))
    (kept / "file").write_text("of another")
    kept.chmod(0o777)
    source = (
        "import os, tempfile\n"
        f"def f(kept):\n    found = []\n    for place in {SHARED}:\n"
        "        if not os.path.isdir(place): continue\n"
        "        folder = tempfile.mkdtemp(dir=place)\n"
        "        os.makedirs(folder + '/a/b')\n        os.symlink(kept, folder + '/link')\n"
        "        open(folder + '/a/b/x', 'w').close()\n"
        "        os.symlink(kept, folder + '.link')\n        open(folder + '.file', 'w').close()\n"
        "        found += [folder, folder + '.link', folder + '.file']\n"
        "    deep = tempfile.mkdtemp(dir='/tmp')\n    os.chdir(deep)\n"
        "    for _ in range(1500):\n        os.mkdir('d')\n        os.chdir('d')\n"
        "    return [deep, *found]\n"
    )
    deep, *left = job.call(source, "f", str(kept))
    assert len(left) >= 6
    assert all(map(os.path.lexists, left))
    pool.stop_code()
    assert not any(map(os.path.lexists, left))
    assert (kept / "file").read_text() == "of another"
    subprocess.run(["rm", "-rf", deep, kept], check=True)  # too deep for the keeper, and what is another's


def test_every_file_has_another_user_so_that_none_reaches_another(job: Job):
    pool.run_snippet("1", ["", {}], "gate")
    other = pool.run_snippet("__import__('os').getpid()", ["", {}], "gate")
    assert pool.run_snippet("__import__('os').getuid()", ["", {}], "gate") >= permission.FIRST_USER
    for attempt in (f"os.kill({other}, 9)", f"open('/proc/{other}/environ').read()", f"open('/proc/{other}/fd/4', 'w')"):
        with pytest.raises(CodeError, match="PermissionError"):
            job.call(f"import os\ndef f(): {attempt}")


def test_folders_are_given_back_as_they_were(job: Job):
    before = {path: Path(path).stat().st_mode for path in (str(job.workspace / ".git"), str(job.root / "commands"))}
    job.call("def f(): return 1")
    assert all(Path(path).stat().st_mode & 0o077 == 0 for path in before)
    pool.stop_code()
    assert {path: Path(path).stat().st_mode for path in before} == before


def test_code_is_refused_where_it_could_write_to_the_workspace(job: Job):
    (job.root / "workspace").chmod(0o777)
    with pytest.raises(CodeError, match="was not started: it could write to"):
        job.call("def f(): return 1")


def test_reports_of_an_earlier_step_stay_as_they_are(job: Job):
    """The Action leaves them open to all, for steps that are not root."""
    report = job.workspace / "evals" / "junit.xml"
    report.write_text("<x/>")
    report.chmod(0o666)
    report.parent.chmod(0o777)
    for attempt in (f"open({str(report)!r}, 'a')", f"open({str(report) + '.new'!r}, 'w')", f"__import__('os').unlink({str(report)!r})"):
        with pytest.raises(CodeError, match="PermissionError"):
            job.call(f"def f(): {attempt}")
    pool.stop_code()
    assert (report.stat().st_mode & 0o777, report.parent.stat().st_mode & 0o777) == (0o666, 0o777)


def test_code_is_refused_where_a_secret_of_the_runner_stays_open(job: Job):
    job.begin(root=job.root, cwd=job.workspace / "evals", runner_paths=(job.write("event.json", "{}"),))  # beside the workspace
    with pytest.raises(CodeError, match=r"was not started: it could read or write .*event\.json"):
        job.call("def f(): return 1")


def test_code_is_refused_where_it_cannot_be_another_user(job: Job, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CodeError, match="needs root on Linux"):
        job.call("def f(): return 1")


def test_a_link_under_the_name_of_a_credential_closes_nothing_else(job: Job):
    target = job.write("open.txt", "x")
    (job.workspace / ".env").symlink_to(target)
    job.call("def f(): return 1")
    assert Path(target).stat().st_mode & 0o777 == 0o644


def test_a_bomb_of_processes_ends_with_its_call(job: Job):
    source = "import os\ndef f():\n    while True:\n        try: os.fork()\n        except OSError: pass\n"
    with pytest.raises(CodeError, match="takes more than 3 seconds"):
        job.call(source, seconds=3)
    assert processes_of_users(job) == []
    assert job.call("def f(): return 1") == 1


def processes_of_users(job: Job) -> list[str]:
    """What is left of a job, by the folder that stands in its environment."""
    found = []
    for entry in filter(lambda entry: entry.name.isdigit(), Path("/proc").iterdir()):
        try:
            ours = str(job.root).encode() in (entry / "environ").read_bytes()
            if ours and "\nState:\tZ" not in (entry / "status").read_text():
                found.append(f"{entry.name} {(entry / 'cmdline').read_text()[:80]}")
        except OSError:
            continue
    return found


def test_daemons_of_every_kind_end_with_their_worker(job: Job):
    source = (
        "import os, signal, subprocess, sys\n"
        "def f():\n"
        "    for name in ('SIGTERM', 'SIGHUP', 'SIGINT'): signal.signal(getattr(signal, name), signal.SIG_IGN)\n"
        "    subprocess.run(['setsid', '-f', 'setsid', '-f', 'sh', '-c', 'trap \"\" TERM; while :; do sleep 1; done'])\n"
        "    if not os.fork():\n        os.setsid()\n        if not os.fork():\n            while True: signal.pause()\n        os._exit(0)\n"
        "    return 1\n"
    )
    assert job.call(source) == 1
    pool.stop_code()
    until = time.monotonic() + PATIENCE
    while processes_of_users(job) and time.monotonic() < until:
        time.sleep(0.05)
    assert processes_of_users(job) == []


def test_memory_and_files_are_bounded(job: Job):
    with pytest.raises(CodeError, match="MemoryError"):
        job.call("def f(): return len(bytearray(5 << 30))")
    pool.stop_code()
    job.begin()
    source = "import os\ndef f():\n    with open(os.environ['HOME'] + '/x', 'wb') as file:\n        for _ in range(300): file.write(bytes(1 << 20))\n"
    with pytest.raises(CodeError, match=r"File too large|ended with -25"):
        job.call(source)


def test_node_is_bounded_and_leaves_nothing(job: Job):
    node()
    with pytest.raises(CodeError, match="allocation failed"):
        job.call("export const f = () => { const all = []; for (;;) all.push(Buffer.allocUnsafeSlow(1 << 30)) }", file="x.mjs")
    bomb = "import { Worker } from 'node:worker_threads';\nexport const f = () => { for (;;) new Worker('for (;;);', { eval: true }) }\n"
    with pytest.raises(CodeError):
        job.call(bomb, file="y.mjs", seconds=5)
    source = (
        "import { spawn } from 'node:child_process';\nexport const f = () => { spawn('setsid', ['-f', 'sleep', '600'], "
        "{ detached: true, stdio: 'ignore' }).unref(); return process.memoryUsage().rss > 0 }\n"
    )
    assert job.call(source, file="z.mjs") is True
    pool.stop_code()
    until = time.monotonic() + PATIENCE
    while processes_of_users(job) and time.monotonic() < until:
        time.sleep(0.05)
    assert processes_of_users(job) == []


def test_a_keeper_that_is_killed_takes_its_worker_with_it(job: Job):
    pid = pool.run_snippet("__import__('os').getpid()", ["", {}], "gate")
    parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    assert keeper.__name__.encode() in Path(f"/proc/{parent}/cmdline").read_bytes()
    os.kill(parent, 9)
    until = time.monotonic() + PATIENCE
    while processes_of_users(job) and time.monotonic() < until:
        time.sleep(0.05)
    assert processes_of_users(job) == []
    with pytest.raises(CodeError, match="ended from outside"):
        pool.run_snippet("1", ["", {}], "gate")
