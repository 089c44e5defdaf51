"""Code that a config names, if it may run: else one mistake that says that it is there, and the ways to go."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from gradegate.errors import ConfigError, Origin
from gradegate.files.workspace import Workspace
from gradegate.processes import pool
from gradegate.processes.permission import DOCS
from gradegate.processes.program import Program, is_python, read, split

FLAG = f"allow it to run: --allow-exec (input `allow-exec`), see {DOCS}"
# What else there is in place of code that answers, by which no code runs beside keys.
ANSWERS = "grade answers made elsewhere: `gradegate cases`, then `gradegate run --answers`"
INSTEAD = "use an assertion that needs no code of the repository, such as contains, regex, is-json or llm-rubric"
SOURCE = "write what it makes into a file in an earlier step"


def program(reference: str, workspace: Workspace, folder: Path, origin: Origin, instead: str) -> Program:
    """The Python program that a config names. Raises ConfigError where it is none, is not there, or may not run.

    ``instead`` is a way that needs no leave.
    """
    name = split(reference)[0]
    if not is_python(reference):
        way = f"start it by a command, such as `exec: node {PurePosixPath(name).name}`" if instead == ANSWERS else "write it in Python"
        cure = f"{instead}; or {way}, and {FLAG}"
        raise ConfigError.at(f"`{reference}` is code, of a kind that gradegate does not run", origin, cure)
    if not workspace.locate(name, folder, origin).is_file():
        raise ConfigError.at(f"`{name}` does not exist", origin, "correct the path")
    check(f"`{reference}`", origin, instead)
    return read(reference, workspace, folder, origin)


def check(what: str, origin: Origin, instead: str) -> None:
    """Raises ConfigError where code of the repository may not run."""
    if not pool.leave().granted:
        raise ConfigError.at(f"{what} is code of the repository, which runs only by leave", origin, f"{instead}; or {FLAG}")
