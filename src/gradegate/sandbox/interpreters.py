"""Finds the Python that runs code of the repository, and decides what that code may import."""

import json
import os
import shutil
import site
import sys
from collections.abc import Sequence
from pathlib import Path

from gradegate.files.git import files_checked_out
from gradegate.sandbox.permission import ExecPolicy
from gradegate.sandbox.workers import WorkerDied


def find_python(configured: str, folder: Path, path: str) -> str:
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


def add_import_folders(env: dict[str, str], python: str, folder: Path, policy: ExecPolicy) -> None:
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
