"""The workers of one run for code of the repository: which are idle, and with which interpreter and folders each begins."""

import json
import os
import shutil
import site
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from gradegate.files.git import files_checked_out
from gradegate.sandbox.permission import NO_EXEC, ExecPolicy, Isolation, IsolationError
from gradegate.sandbox.workers import Worker, WorkerDied, WorkerSetup
from gradegate.structs import FrozenStruct, replace

_PYTHON_ENV = {"PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
# Neither the environment nor a file beside the code changes what Python itself loads. The harness adds the packages.
_PYTHON_OPTIONS = ("-I", "-S", "-B", "-u", "-X", "utf8")


class CodePlace(FrozenStruct):
    """Where code runs. Code with the role "target" answers, code with the role "gate" judges: they share no process."""

    folder: Path
    role: str
    about: str = ""  # the file or the command: each has a process of its own
    python: str = ""  # the interpreter, if the config names one
    env: tuple[tuple[str, str], ...] = ()  # beside the variables of the policy
    node: tuple[str, ...] = ()  # the command that starts a JavaScript file


class CodeRun(Struct):
    """What one run may do with code of the repository, and the workers that it has."""

    policy: ExecPolicy = NO_EXEC
    isolation: Isolation | None = None
    idle_workers: dict[CodePlace, list[Worker]] = field(default_factory=lambda: defaultdict(list))
    busy_workers: set[Worker] = set()
    started: Counter[CodePlace] = field(default_factory=Counter)  # idle and busy workers
    has_ended: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)
    # The commands that start JavaScript files, by file and folder of the config
    node_commands: dict[tuple[Path, Path], tuple[str, ...]] = {}

    def take_worker(self, place: CodePlace, max_workers: int) -> Worker:
        """An idle worker, or a new one if there may be one more. Raises WorkerDied and IsolationError."""
        with self.changed:
            idle = self.idle_workers[place]
            while not idle and self.started[place] >= max(max_workers, 1) and not self.has_ended:
                self.changed.wait()
            if self.has_ended:
                raise WorkerDied("the run ended")
            if idle:
                worker = idle.pop()
            else:
                worker = Worker(self._worker_setup(place))
                self.started[place] += 1
            self.busy_workers.add(worker)
            return worker

    def return_worker(self, place: CodePlace, worker: Worker, has_answered: bool) -> None:
        """Keep a worker that answered for the next request; end any other."""
        with self.changed:
            self.busy_workers.discard(worker)
            is_kept = has_answered and not self.has_ended
            if is_kept:
                self.idle_workers[place].append(worker)
            else:
                self.started[place] -= 1
            self.changed.notify_all()
        if not is_kept:
            worker.end()

    def end(self) -> None:
        """End every process.

        A busy worker is only stopped here. The thread that waits for its answer then ends it in ``return_worker``.
        """
        with self.changed:
            self.has_ended = True
            idle: list[Worker] = []
            for workers in self.idle_workers.values():
                idle += workers
            self.idle_workers.clear()
            self.started.clear()
            busy = list(self.busy_workers)
            self.changed.notify_all()
        for worker in busy:
            worker.stop()
        for worker in idle:
            worker.end()
        if self.isolation:
            self.isolation.end()
            self.isolation = None

    def _worker_setup(self, place: CodePlace) -> WorkerSetup:
        """What a worker of this place runs, as which user. Raises WorkerDied and IsolationError."""
        env = {**self.policy.env, **_PYTHON_ENV, **dict(place.env)}
        if place.node:
            setup = WorkerSetup(place.node, "harness.js", place.folder, env)
        else:
            python = _find_python(place.python or self.policy.python, place.folder, env["PATH"])
            _add_import_folders(env, python, place.folder, self.policy)
            start = (python, *_PYTHON_OPTIONS, "-c")
            setup = WorkerSetup(start, "harness.py", place.folder, env)
        if not self.policy.is_isolated:
            return setup

        if self.isolation is None:
            isolation = Isolation(self.policy)
            try:
                isolation.begin()
            except IsolationError:
                isolation.end()
                raise
            self.isolation = isolation
        return replace(
            setup,
            user=self.isolation.next_user(),
            closed_paths=self.isolation.closed_paths,
            read_only_paths=self.isolation.read_only_paths(place.folder),
        )


# --- the interpreter of Python, and what it may import ----------------------------------------------------------


def _find_python(configured: str, folder: Path, path: str) -> str:
    """The interpreter that is configured, in ``folder`` or in ``path``; else the first of ``path``, else our own.

    Raises WorkerDied if the configured interpreter does not exist.
    """
    if configured:
        python = first_program([str(folder / configured), configured], path)
        if python is None:
            raise WorkerDied(f"there is no interpreter `{configured}`")
    else:
        python = first_program(["python3", "python"], path) or sys.executable
    return os.path.abspath(python)  # noqa: PTH100 - a link may make it that of an environment


def first_program(names: Sequence[str], path: str) -> str | None:
    """The first of some programs that exists; a name without a folder is searched in the folders of ``path``."""
    for name in names:
        program = shutil.which(name, path=path)
        if program:
            return program
    return None


def _add_import_folders(env: dict[str, str], python: str, folder: Path, policy: ExecPolicy) -> None:
    """Set the variables of ``env`` that decide what the Python harness imports.

    ``GRADEGATE_FOLDERS`` is JSON with two lists of path prefixes. From the first, the workspace, the harness imports only
    files that the gate covers. The second are the package folders in the workspace, from which it imports everything.
    ``PYTHONUSERBASE`` is where pip installs packages of the user; without the variable the harness does not use them.
    Raises WorkerDied if the interpreter may not be used.
    """
    root = policy.root.resolve()
    package_folders = _environment_folders(Path(python), root)
    for name in env.get("PYTHONPATH", "").split(os.pathsep):
        if name and _is_uncommitted(folder / name, root):
            package_folders.append(folder / name)
    workspace_prefixes = [f"{root}{os.sep}"]
    package_prefixes = [f"{place.resolve()}{os.sep}" for place in package_folders]
    env["GRADEGATE_FOLDERS"] = json.dumps([workspace_prefixes, package_prefixes])

    # Never the value of the policy's environment: that could be a folder of the commit.
    env.pop("PYTHONUSERBASE", None)
    user_base = Path(site.getuserbase())
    if not policy.is_isolated and root not in user_base.parents:
        env["PYTHONUSERBASE"] = str(user_base)


def _environment_folders(python: Path, root: Path) -> list[Path]:
    """The folders of the workspace ``root`` that contain an interpreter and its packages, such as ``.venv``.

    Two if the interpreter is a link to another folder of the workspace, none if it is outside. Raises WorkerDied if the commit
    has files of such a folder: then a pull request could bring its own interpreter.
    """
    environments = []
    for path in (python, python.resolve()):
        if root not in path.parents:
            continue
        environment = path.parent.parent  # of `.venv/bin/python`
        if not _is_uncommitted(environment, root):
            raise WorkerDied(
                f"the interpreter `{python}` is in the workspace: it needs a folder of its own there,"
                " such as `.venv`, of which nothing is in the commit"
            )
        environments.append(environment)
    return environments


def _is_uncommitted(folder: Path, root: Path) -> bool:
    """Whether a folder is inside the workspace ``root``, and the commit has no file of it."""
    return root in folder.parents and not files_checked_out(folder)
