"""Runs code of the repository: the one module that knows whether it may run, and where its processes are.

This is module state, as the accounts of ``evaluate`` are: any reader of a config may come upon code, and all code ends together.
"""

import json
import os
import shutil
import site
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from gradegate.core.provider_spec import NOWHERE
from gradegate.errors import ConfigError, Origin
from gradegate.files.git import files_checked_out
from gradegate.files.workspace import Workspace
from gradegate.sandbox.permission import DOCS, NO_EXEC, ExecPolicy, Isolation, IsolationError
from gradegate.sandbox.program import (
    TYPESCRIPT_SUFFIXES,
    Program,
    ProgramFile,
    is_javascript,
    is_python,
    read_program,
    split_reference,
)
from gradegate.sandbox.rights import hide_process
from gradegate.sandbox.workers import Worker, WorkerDied, WorkerSetup
from gradegate.structs import FrozenStruct, JsonObject, replace

ALLOW_CODE = f"allow it to run: <--allow-exec>, see {DOCS}"
# What users can do instead, so that no code runs beside keys
USE_ANSWERS = "grade answers made elsewhere: `gradegate cases`, then `gradegate run --answers FILE`"
USE_OTHER_ASSERTION = "use an assertion that needs no code of the repository, such as contains, regex, is-json or llm-rubric"
USE_FILE = "write what it makes into a file in an earlier step"

_PYTHON_ENV = {"PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
# Neither the environment nor a file beside the code changes what Python itself loads. The harness adds the packages.
_PYTHON_OPTIONS = ("-I", "-S", "-B", "-u", "-X", "utf8")
_NODE_OPTIONS = ("--no-warnings", "--input-type=commonjs")


class CodeError(ValueError):
    """Code gave no result; the message says why, with the last lines of its traceback if it raised."""

    def __init__(self, message: str, *, has_raised: bool = False) -> None:
        super().__init__(message)
        # Whether its arguments made it raise, or return something that is not plain data
        self.has_raised = has_raised

    @property
    def line(self) -> str:
        """The message in one line."""
        return "; ".join(line.strip() for line in str(self).splitlines() if line.strip(" ^~"))


class CodePlace(FrozenStruct):
    """Where code runs. Code with the role "target" answers, code with the role "gate" judges: they share no process."""

    folder: Path
    role: str
    about: str = ""  # the file or the command: each has a process of its own
    python: str = ""  # the interpreter, if the config names one
    env: tuple[tuple[str, str], ...] = ()  # beside the variables of the policy
    node: tuple[str, ...] = ()  # the command that starts a JavaScript file


class _CodeRun(Struct):
    """What one run may do with code, and the workers that it has."""

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
        env = {**self.policy.env, **_PYTHON_ENV, **dict(place.env)}
        start = place.node
        harness = "harness.js"
        if not start:
            python = self._find_python(place, env["PATH"])
            start = (python, *_PYTHON_OPTIONS, "-c")
            harness = "harness.py"
            self._add_import_folders(Path(python), place.folder, env)
        setup = WorkerSetup(start, harness, place.folder, env)
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
            closed_paths=self.isolation.secret,
            read_only_paths=self.isolation.fixed_paths(place.folder),
        )

    def _find_python(self, place: CodePlace, path: str) -> str:
        """The interpreter that is named, else the first of PATH, else our own. Raises WorkerDied."""
        configured = place.python or self.policy.python
        if configured:
            python = _first_program([str(place.folder / configured), configured], path)
        else:
            python = _first_program(["python3", "python"], path) or sys.executable
        if not python:
            raise WorkerDied(f"there is no interpreter `{configured}`")
        return os.path.abspath(python)  # noqa: PTH100 - a link may make it that of an environment

    def _add_import_folders(self, python: Path, folder: Path, env: dict[str, str]) -> None:
        """Set the variables of ``env`` that decide what the Python harness imports.

        ``GRADEGATE_FOLDERS`` is JSON with two lists of path prefixes. From the first, the workspace, the harness imports only
        files that the gate covers. The second are the package folders in the workspace, from which it imports everything.
        ``PYTHONUSERBASE`` is where pip installs packages of the user; without the variable the harness does not use them.
        Raises WorkerDied if the interpreter may not be used.
        """
        root = self.policy.root.resolve()
        package_folders = _environment_folders(python, root)
        for name in env.get("PYTHONPATH", "").split(os.pathsep):
            if name and _is_uncommitted(folder / name, root):
                package_folders.append(folder / name)
        workspace_prefixes = [f"{root}{os.sep}"]
        package_prefixes = [f"{place.resolve()}{os.sep}" for place in package_folders]
        env["GRADEGATE_FOLDERS"] = json.dumps([workspace_prefixes, package_prefixes])

        # Never the value of the policy's environment: that could be a folder of the commit.
        env.pop("PYTHONUSERBASE", None)
        user_base = Path(site.getuserbase())
        if not self.policy.is_isolated and root not in user_base.parents:
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


def _first_program(names: Sequence[str], path: str) -> str | None:
    """The first of some programs that exists; a name without a folder is searched in the folders of ``path``."""
    for name in names:
        program = shutil.which(name, path=path)
        if program:
            return program
    return None


_RUN = _CodeRun()


def start_code(policy: ExecPolicy) -> None:
    """Begin a run with what the policy allows, and end the processes of another run."""
    global _RUN  # noqa: PLW0603 - as the module says
    _RUN.end()
    _RUN = _CodeRun(policy)
    if policy.is_allowed:
        hide_process()


def stop_code() -> None:
    """End all code, and let none run any more."""
    _RUN.end()


def current_policy() -> ExecPolicy:
    """What code of the repository may use in this run."""
    return _RUN.policy


def load_program(
    reference: str, workspace: Workspace, folder: Path, origin: Origin, instead: str
) -> Program:
    """Load the file of code that a config names. Raises ConfigError if the file is missing, is not code, or may not run.

    ``instead`` is what the user can do without permission to run code.
    """
    if not is_python(reference) and not is_javascript(reference):
        alternative = "write it in Python or JavaScript"
        if instead == USE_ANSWERS:
            alternative = "start it by a command, `exec: COMMAND`"
        raise ConfigError.at(
            f"`{reference}` is code of a kind that gradegate does not run",
            origin,
            f"{instead}; or {alternative}, and {ALLOW_CODE}",
        )
    name = split_reference(reference)[0]
    if not workspace.locate(name, folder, origin).is_file():
        raise ConfigError.at(f"`{name}` does not exist", origin, "correct the path")
    check_allowed(f"`{reference}`", origin, instead)
    program = read_program(reference, workspace, folder, origin)
    _node_command(program.file, origin)  # only for its error: whether anything can run the file
    return program


def check_allowed(what: str, origin: Origin, instead: str) -> None:
    """Check that code of the repository may run. Raises ConfigError at ``origin`` if not.

    ``what`` names the code in the message. ``instead`` is what the user can do without permission to run code.
    """
    if not current_policy().is_allowed:
        raise ConfigError.at(
            f"{what} is code of the repository, which runs only when it is allowed",
            origin,
            f"{instead}; or {ALLOW_CODE}",
        )


def call_function(
    program: Program,
    arguments: list[Any],
    role: str,
    default: str,
    *,
    python: str = "",
    env: tuple[tuple[str, str], ...] = (),
    seconds: float | None = None,
    workers: int = 0,
    more: JsonObject | None = None,
) -> Any:
    """What a function of a file returns, as plain data. ``default`` is its name if the config names none.

    ``python`` and ``env`` are those of ``CodePlace``, ``seconds`` and ``workers`` those of ``ask_worker``. ``more`` are members
    of the request for JavaScript. Raises CodeError.
    """
    file = program.file
    place = CodePlace(file.folder, role, str(file.path), python, env, _node_command(file))
    request = {
        "kind": "call",
        "path": str(file.path),
        "function": file.function or default,
        "args": arguments,
        # A target is what is tested: it may import everything
        "covered": file.covered_files if role == "gate" else None,
        "root": str(_RUN.policy.root.resolve()),
        "named": bool(file.function),  # by the config, so the default export does not do
        **(more or {}),
    }
    return ask_worker(place, request, seconds, workers)


def run_snippet(code: str, arguments: list[Any], role: str) -> Any:
    """What code of a config returns: one line is an expression, more are the body of a function. Raises CodeError."""
    place = CodePlace(_RUN.policy.cwd, role)
    return ask_worker(place, {"kind": "inline", "code": code, "args": arguments})


def ask_worker(
    place: CodePlace, request: JsonObject, seconds: float | None = None, workers: int = 0
) -> Any:
    """The result of a request to a worker of a place, where at most ``workers`` run at once. Raises CodeError."""
    run = _RUN
    policy = run.policy
    if not policy.is_allowed:
        raise CodeError("code of the repository may not run: `allow-exec` was not given")
    try:
        worker = run.take_worker(place, workers or policy.calls)
    except (WorkerDied, IsolationError) as e:
        raise CodeError(str(e)) from e
    answer: JsonObject | None = None
    try:
        answer = worker.send_request(request, min(seconds or policy.seconds, policy.seconds))
    except WorkerDied as e:
        raise CodeError(str(e)) from e
    except RecursionError as e:
        raise CodeError("its input is nested too deeply") from e
    finally:
        run.return_worker(place, worker, answer is not None)
    if "error" in answer:
        raise CodeError(str(answer["error"]), has_raised=bool(answer.get("raised")))
    return answer["value"]


def _node_command(file: ProgramFile, origin: Origin = NOWHERE) -> tuple[str, ...]:
    """The command that runs its last argument as JavaScript which may import the file; empty for Python.

    Raises ConfigError if nothing runs the file.
    """
    if file.is_python:
        return ()
    commands = _RUN.node_commands
    key = (file.path, file.folder)
    if key not in commands:
        commands[key] = _build_node_command(file, origin)
    return commands[key]


def _build_node_command(file: ProgramFile, origin: Origin) -> tuple[str, ...]:
    """TypeScript runs with the repository's tsx, as in promptfoo, or else by node itself. Raises ConfigError."""
    name = file.path.name
    is_typescript = file.path.suffix.lower() in TYPESCRIPT_SUFFIXES
    has_tsx = is_typescript and _has_uncommitted_tsx(file.folder)

    node = _find_node()
    if node is None:
        program = _RUN.policy.node or "node"
        what = f"there is no `{program}` that runs `{name}`"
        raise ConfigError.at(what, origin, _how_to_get_node())

    if has_tsx:
        return (node, "--import", "tsx", *_NODE_OPTIONS, "--eval")
    command = (node, *_NODE_OPTIONS, "--eval")
    if is_typescript:
        old_version = _version_without_typescript(command)
        if old_version:
            raise ConfigError.at(
                f"`{name}` is TypeScript, and node is {old_version}, which does not read it",
                origin,
                f"{_how_to_get_node(' 22.18 or later')};"
                " or have a step install `tsx`, which must not be in the commit",
            )
    return command


def _has_uncommitted_tsx(folder: Path) -> bool:
    """Whether code in ``folder`` can use an installed tsx.

    It cannot if the commit has files of any ``node_modules`` that node searches: with its own tsx, a pull request could change
    the code that judges it.
    """
    package_folders = [above / "node_modules" for above in (folder, *folder.parents)]
    if any(place.exists() and files_checked_out(place) for place in package_folders):
        return False
    return any((place / "tsx" / "package.json").is_file() for place in package_folders)


def _find_node() -> str | None:
    """The program that the policy names: a file, a folder that contains it, or a name on PATH."""
    policy = _RUN.policy
    path = policy.env["PATH"]
    if not policy.node:
        return _first_program(["node"], path)
    place = policy.cwd / policy.node
    files = [str(place), str(place / "bin" / "node"), str(place / "node")]
    return _first_program([*files, policy.node], path)


def _how_to_get_node(version: str = "") -> str:
    """The cure for a node that is missing or too old. ``version`` follows its name, with a space before."""
    if _RUN.policy.is_isolated:
        return (
            f"name the folder of a Node.js{version} of an earlier step by the input `node`,"
            " or give `node: official` (docs/code.md)"
        )
    return f"install Node.js{version}, or name it by <--node PATH>"


def _version_without_typescript(command: tuple[str, ...]) -> str:
    """The version of a node that reads no TypeScript; empty for any other, and for one that does not run."""
    place = CodePlace(_RUN.policy.cwd, "gate", node=command)
    try:
        return str(ask_worker(place, {"kind": "untyped"}))
    except CodeError:
        return ""
