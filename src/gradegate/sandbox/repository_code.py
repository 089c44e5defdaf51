"""Runs code of the repository: the one module that knows whether it may run, and where its processes are.

This is module state, as the accounts of ``evaluate`` are: any reader of a config may come upon code, and all code ends together.
"""

from pathlib import Path
from typing import Any

from gradegate.core.provider_spec import NOWHERE
from gradegate.errors import ConfigError, Origin
from gradegate.files.git import files_checked_out
from gradegate.files.workspace import Workspace
from gradegate.sandbox.code_run import CodePlace, CodeRun, first_program
from gradegate.sandbox.permission import DOCS, ExecPolicy, IsolationError
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
from gradegate.sandbox.workers import WorkerDied
from gradegate.structs import JsonObject

ALLOW_CODE = f"allow it to run: <--allow-exec>, see {DOCS}"
# What users can do instead, so that no code runs beside keys
USE_ANSWERS = "grade answers made elsewhere: `gradegate cases`, then `gradegate run --answers FILE`"
USE_OTHER_ASSERTION = "use an assertion that needs no code of the repository, such as contains, regex, is-json or llm-rubric"
USE_FILE = "write what it makes into a file in an earlier step"

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


_RUN = CodeRun()


def start_code(policy: ExecPolicy) -> None:
    """Begin a run with what the policy allows, and end the processes of another run."""
    global _RUN  # noqa: PLW0603 - as the module says
    _RUN.end()
    _RUN = CodeRun(policy)
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
        return first_program(["node"], path)
    place = policy.cwd / policy.node
    files = [str(place), str(place / "bin" / "node"), str(place / "node")]
    return first_program([*files, policy.node], path)


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
