"""``gradegate migrate``: what a promptfoo config or a workflow that runs promptfoo lacks here, as a diff."""

from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from difflib import unified_diff
from pathlib import Path

from gradegate.commands.migration import Migration
from gradegate.commands.telling import here, say
from gradegate.deciding.exit import PASS
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.checkout import repository_of
from gradegate.files.plain_files import Place, replacing
from gradegate.planning.load import DEFAULT_CONFIGS
from gradegate.values.figures import many

ABOUT = "show as a diff what promptfoo configs and workflows need; makes no call"
_END = "\\ No newline at end of file"


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    about = "configs, and workflows that run promptfoo; default is the config of the folder and all such workflows of the repository"
    parser.add_argument("file", nargs="*", help=about)
    parser.add_argument("--write", action="store_true", help="write the changes; without this option they are only shown")
    parser.add_argument("--grader", metavar="ID", default="", help="the model that grades; default is the model that answers")


def run(args: argparse.Namespace) -> int:
    """Give the exit code."""
    cwd = here().resolve()
    migration = Migration(repository_of(cwd) or cwd, args.grader)
    default = [cwd / name for name in DEFAULT_CONFIGS if (cwd / name).is_file()][:1]
    named = [cwd / name for name in args.file]
    errors = []
    workflows = {path.resolve(): not named for path in sorted((migration.root / ".github" / "workflows").glob("*.y*ml"))}
    for path in named:
        try:
            if "jobs" in (migration.opened(path).values or ()):
                workflows[path.resolve()] = True
        except ConfigError as e:
            errors.append(e)
    if errors:
        raise ConfigError.join(errors)
    for path, change in workflows.items():
        try:
            migration.workflow(path, change)
        except ConfigError as e:  # of a file that nobody named
            with suppress(OSError):
                migration.left += e.mistakes if path.is_relative_to(migration.root) and b"promptfoo" in path.read_bytes() else ()
    for path in named or default:
        if path.resolve() not in workflows:
            migration.config(path)
    migration.gates()
    return _tell(migration, args.write)


def _tell(migration: Migration, write: bool) -> int:
    """Show the changes, or make them, and what is left."""
    changed = {}
    for path, edits in migration.files.items():
        try:
            text = edits.result()
        except ConfigError as e:
            migration.left += e.mistakes
            continue
        if text != edits.mark + edits.text:
            changed[path] = text
            old, new = (it.splitlines(keepends=True) for it in (edits.mark + edits.text, text))
            for line in unified_diff(old, new, f"a/{edits.file}", f"b/{edits.file}"):
                say(line.removesuffix("\n").removesuffix("\r") + ("" if line.endswith("\n") else f"\n{_END}"))
    if write:
        _write(migration.root, changed)
    if left := dict.fromkeys(migration.left):
        say("Notes, and what you need to change by hand:")
        for mistake in sorted(left, key=lambda it: (it.origin.file, it.origin.line) if it.origin else ("", 0)):
            say(f"  {mistake}")
    names = ", ".join(path.relative_to(migration.root).as_posix() for path in changed)
    if not changed:
        say("no further change can be made automatically" if left else f"nothing is lacking in {many(len(migration.files), 'file')}")
    else:
        say(f"written: {names}" if write else f"nothing was written; --write changes {names}")
    return PASS


def _write(root: Path, changed: Mapping[Path, str]) -> None:
    """Each file whole or not at all, and none where one cannot be written. Raises ConfigError."""
    if closed := [path for path in changed if not path.stat().st_mode & stat.S_IWUSR]:
        raise ConfigError(
            *(Mistake("the file may only be read", Origin(path.relative_to(root).as_posix()), "allow writing it") for path in closed)
        )
    for path, text in changed.items():
        parts = path.relative_to(root).parts
        try:
            with replacing(Place(root, parts)) as file:
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
                file.write(text)
        except OSError as e:
            raise ConfigError.at(f"it could not be written: {e.strerror or e}", Origin("/".join(parts)), "start again") from e
