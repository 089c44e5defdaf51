"""Has code of the repository run: the one place that knows whether it may, and where its processes are.

It is module state, as the accounts of ``bounded`` are: whoever reads a config may come upon code, and it ends once.
"""

import json
import os
import shutil
import site
import sys
import threading
from collections import Counter, defaultdict
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
from gradegate.structs import FrozenStruct, JsonObject

_PLAIN = ("--no-warnings", "--input-type=commonjs")


ALLOW_CODE = f"allow it to run: <--allow-exec>, see {DOCS}"
# What else there is in place of code that answers, by which no code runs beside keys.
USE_ANSWERS = "grade answers made elsewhere: `gradegate cases`, then `gradegate run --answers FILE`"
USE_OTHER_ASSERTION = "use an assertion that needs no code of the repository, such as contains, regex, is-json or llm-rubric"
USE_FILE = "write what it makes into a file in an earlier step"


class CodeError(ValueError):
    """Code gave no result; the message says why, with the last lines of its traceback where it raised."""

    def __init__(self, message: str, *, has_raised: bool = False) -> None:
        super().__init__(message)
        # What it was called with made it raise, or return what is no plain data
        self.has_raised = has_raised

    @property
    def line(self) -> str:
        """The message in one line."""
        return "; ".join(line.strip() for line in str(self).splitlines() if line.strip(" ^~"))


class CodePlace(FrozenStruct):
    """Where code runs. ``role`` keeps apart what answers ("target") and what judges ("gate"): they share no process."""

    folder: Path
    role: str
    about: str = ""  # the file or the command: each has a process of its own
    python: str = ""  # the interpreter where the config names one
    env: tuple[tuple[str, str], ...] = ()  # beside what the leave gives
    node: tuple[str, ...] = ()  # what starts the file where it is JavaScript


class _Desk(Struct):
    leave: ExecPolicy = NO_EXEC
    seclusion: Isolation | None = None
    waiting: dict[CodePlace, list[Worker]] = field(default_factory=lambda: defaultdict(list))
    # How many workers there are, those that are busy among them
    started: Counter[CodePlace] = field(default_factory=Counter)
    busy: set[Worker] = set()
    ended: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)
    # Files of JavaScript, with what starts them
    starts: dict[tuple[Path, Path], tuple[str, ...]] = {}

    def take(self, place: CodePlace, most: int) -> Worker:
        """A worker that nobody uses, started where there may be one more. Raises Died and Impossible."""
        with self.changed:
            while (
                not self.waiting[place] and self.started[place] >= max(most, 1) and not self.ended
            ):
                self.changed.wait()
            if self.ended:
                raise WorkerDied("the run ended")
            if self.waiting[place]:
                worker = self.waiting[place].pop()
            else:
                worker = Worker(self._post(place))
                self.started[place] += 1
            self.busy.add(worker)
            return worker

    def give_back(self, place: CodePlace, worker: Worker, sound: bool) -> None:
        """A worker that answered is used again; any other is ended."""
        with self.changed:
            self.busy.discard(worker)
            keep = sound and not self.ended
            if keep:
                self.waiting[place].append(worker)
            else:
                self.started[place] -= 1
            self.changed.notify_all()
        if not keep:
            worker.end()

    def end(self) -> None:
        """End every process. Those that are busy end under whoever waits for them."""
        with self.changed:
            self.ended = True
            workers = [worker for waiting in self.waiting.values() for worker in waiting]
            self.waiting.clear()
            self.started.clear()
            busy = list(self.busy)
            self.changed.notify_all()
        for worker in busy:
            worker.stop()
        for worker in workers:
            worker.end()
        if self.seclusion:
            self.seclusion.end()
            self.seclusion = None

    def _post(self, place: CodePlace) -> WorkerSetup:
        env = {**self.leave.env, **_ALWAYS, **dict(place.env)}
        start = place.node
        harness = "harness.js"
        if not start:  # the interpreter that is named, else that of PATH, else our own
            named = place.python or self.leave.python
            names = (str(place.folder / named), named) if named else ("python3", "python")
            programs = filter(None, (shutil.which(name, path=env["PATH"]) for name in names))
            python = next(programs, "" if named else sys.executable)
            if not python:
                raise WorkerDied(f"there is no interpreter `{named}`")
            python = os.path.abspath(python)  # noqa: PTH100 - a link may be what makes it that of an environment
            start = (python, *_ISOLATED, "-c")
            harness = "harness.py"
            self._name_folders(Path(python), place.folder, env)
        if not self.leave.is_isolated:
            return WorkerSetup(start, harness, place.folder, env)
        if self.seclusion is None:
            seclusion = Isolation(self.leave)
            try:
                seclusion.begin()
            except IsolationError:
                seclusion.end()
                raise
            self.seclusion = seclusion
        hidden = self.seclusion
        return WorkerSetup(
            start,
            harness,
            place.folder,
            env,
            hidden.user(),
            hidden.secret,
            tuple(hidden.fixed(place.folder)),
        )

    def _name_folders(self, python: Path, folder: Path, env: dict[str, str]) -> None:
        """Name the workspace to the harness, and the folders in it from which packages are imported.

        Of these, the commit that is checked out has nothing. Raises Died where the interpreter is in no such folder.
        """
        root = self.leave.root.resolve()
        interpreters = [it for it in (python, python.resolve()) if root in it.parents]
        places = [it.parent.parent for it in interpreters]
        places += [folder / name for name in env.get("PYTHONPATH", "").split(os.pathsep) if name]
        installed = [it for it in places if root in it.parents and not files_checked_out(it)]
        if any(it.parent.parent not in installed for it in interpreters):
            raise WorkerDied(
                f"the interpreter `{python}` is in the workspace: it needs a folder of its own there,"
                " such as `.venv`, of which nothing is in the commit"
            )
        env.pop("PYTHONUSERBASE", None)
        user_base = Path(site.getuserbase())
        if not self.leave.is_isolated and root not in user_base.parents:
            env["PYTHONUSERBASE"] = str(user_base)
        folders = ([f"{it.resolve()}{os.sep}" for it in paths] for paths in ([root], installed))
        env["GRADEGATE_FOLDERS"] = json.dumps(list(folders))


_ALWAYS = {"PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
# Neither the environment nor a file beside the code changes what Python itself loads; the harness adds the packages.
_ISOLATED = ("-I", "-S", "-B", "-u", "-X", "utf8")
_DESK = _Desk()


def start_code(leave: ExecPolicy) -> None:
    """A new run with what the policy allows; processes of another run are ended."""
    global _DESK  # noqa: PLW0603 - as the module says
    _DESK.end()
    _DESK = _Desk(leave)
    if leave.is_allowed:
        hide_process()


def stop_code() -> None:
    """No code runs any more."""
    _DESK.end()


def current_policy() -> ExecPolicy:
    """What code of the repository may in this run."""
    return _DESK.leave


def load_program(
    reference: str, workspace: Workspace, folder: Path, origin: Origin, instead: str
) -> Program:
    """The file of code that a config names. Raises ConfigError where it is none, is not there, or may not run.

    ``instead`` is a way that needs no leave.
    """
    name = split_reference(reference)[0]
    if not is_python(reference) and not is_javascript(reference):
        way = (
            "start it by a command, `exec: COMMAND`"
            if instead == USE_ANSWERS
            else "write it in Python or JavaScript"
        )
        cure = f"{instead}; or {way}, and {ALLOW_CODE}"
        raise ConfigError.at(
            f"`{reference}` is code of a kind that gradegate does not run", origin, cure
        )
    if not workspace.locate(name, folder, origin).is_file():
        raise ConfigError.at(f"`{name}` does not exist", origin, "correct the path")
    check_allowed(f"`{reference}`", origin, instead)
    made = read_program(reference, workspace, folder, origin)
    _start(made.file, origin)
    return made


def check_allowed(what: str, origin: Origin, instead: str) -> None:
    """Raises ConfigError where code of the repository may not run."""
    if not current_policy().is_allowed:
        raise ConfigError.at(
            f"{what} is code of the repository, which runs only when it is allowed",
            origin,
            f"{instead}; or {ALLOW_CODE}",
        )


def call_function(
    program: Program, arguments: list[Any], role: str, default: str, **options: Any
) -> Any:
    """What a function of a file returns: plain data. ``default`` is its name where the config names none.

    ``options`` are those of ``ask``, and ``python`` and ``env`` of the place. ``more`` is what the harness of JavaScript
    is told besides. Raises Failed.
    """
    file = program.file
    place = CodePlace(
        file.folder,
        role,
        str(file.path),
        options.pop("python", ""),
        options.pop("env", ()),
        _start(file),
    )
    called = {
        "kind": "call",
        "path": str(file.path),
        "function": file.function or default,
        "args": arguments,
        # What answers is what is tested: it may import all that is there
        "covered": file.covered_files if role == "gate" else None,
        "root": str(_DESK.leave.root.resolve()),
    }
    return ask_worker(
        place, {**called, "named": bool(file.function), **options.pop("more", {})}, **options
    )


def _start(file: ProgramFile, origin: Origin = NOWHERE) -> tuple[str, ...]:
    """The command that runs a text as JavaScript which may import the file, and is its last argument; empty for Python.

    TypeScript runs as in promptfoo where the repository has tsx, which promptfoo itself takes; else node reads it.
    Raises ConfigError where nothing here runs the file.
    """
    leave = _DESK.leave
    key = (file.path, file.folder)
    name = file.path.name
    if file.is_python or key in _DESK.starts:
        return _DESK.starts.get(key, ())
    typed = file.path.suffix.lower() in TYPESCRIPT_SUFFIXES
    packages = (
        [above / "node_modules" for above in (file.folder, *file.folder.parents)] if typed else []
    )
    if any(place.exists() and files_checked_out(place) for place in packages):
        packages = []  # a pull request that brings what TypeScript runs in, or a part of it, would judge itself
    named = leave.cwd / leave.node  # a file, a folder that holds it, or a name on PATH
    places = (
        (named, named / "bin" / "node", named / "node", leave.node) if leave.node else ("node",)
    )
    node = next(
        filter(None, (shutil.which(str(place), path=leave.env["PATH"]) for place in places)), None
    )
    cure = "install Node.js{}, or name it by <--node PATH>"
    if leave.is_isolated:
        cure = "name the folder of a Node.js{} of an earlier step by the input `node`, or give `node: official` (docs/exec.md)"
    if node is None:
        raise ConfigError.at(
            f"there is no `{leave.node or 'node'}` that runs `{name}`", origin, cure.format("")
        )
    has_tsx = any((place / "tsx" / "package.json").is_file() for place in packages)
    start = (node, *(("--import", "tsx") if has_tsx else ()), *_PLAIN, "--eval")
    if typed and not has_tsx and (version := _untyped_version(start)):
        what = f"`{name}` is TypeScript, and node is {version}, which does not read it"
        other = "or have a step install `tsx`, which must not be in the commit"
        raise ConfigError.at(what, origin, f"{cure.format(' 22.18 or later')}; {other}")
    return _DESK.starts.setdefault(key, start)


def _untyped_version(start: tuple[str, ...]) -> str:
    """The version of a node that reads no TypeScript, which its own process tells; empty for another, and where it does not run."""
    try:
        return str(ask_worker(CodePlace(_DESK.leave.cwd, "gate", node=start), {"kind": "untyped"}))
    except CodeError:
        return ""


def run_snippet(code: str, arguments: list[Any], role: str) -> Any:
    """What code of a config returns: one line is an expression, more are the body of a function. Raises Failed."""
    return ask_worker(
        CodePlace(_DESK.leave.cwd, role), {"kind": "inline", "code": code, "args": arguments}
    )


def ask_worker(
    place: CodePlace, request: JsonObject, seconds: float | None = None, workers: int = 0
) -> Any:
    """The result of a request to a worker of a place; no more than ``workers`` are at it at once. Raises Failed."""
    desk = _DESK
    if not desk.leave.is_allowed:
        raise CodeError("code of the repository may not run: `allow-exec` was not given")
    try:
        worker = desk.take(place, workers or desk.leave.calls)
    except (WorkerDied, IsolationError) as e:
        raise CodeError(str(e)) from e
    answer: JsonObject | None = None
    try:
        answer = worker.ask(dict(request), min(seconds or desk.leave.seconds, desk.leave.seconds))
    except (WorkerDied, RecursionError) as e:
        raise CodeError(
            str(e) if isinstance(e, WorkerDied) else "its input is nested too deeply"
        ) from e
    finally:
        desk.give_back(place, worker, answer is not None)
    if "error" in answer:
        raise CodeError(str(answer["error"]), has_raised=bool(answer.get("raised")))
    return answer["value"]
