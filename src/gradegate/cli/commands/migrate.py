"""``gradegate migrate``: shows as a diff what promptfoo configs and workflows need to run here."""

import argparse
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import unified_diff
from pathlib import Path

from gradegate.cli.migration.migration import Migration
from gradegate.cli.output import print_line, working_folder
from gradegate.config.load import DEFAULT_CONFIGS
from gradegate.core.numbers import format_count
from gradegate.errors import ConfigError, Mistake, Origin, gather_mistakes
from gradegate.files.edits import Edits
from gradegate.files.git import repository_of
from gradegate.files.plain_files import Place, replace_file
from gradegate.gate.exit_codes import PASS

ABOUT = "show as a diff what promptfoo configs and workflows need; makes no call"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    about = "configs, and workflows that run promptfoo; default is the config of the folder and all such workflows of the repository"
    parser.add_argument("file", nargs="*", help=about)
    parser.add_argument(
        "--write",
        action="store_true",
        help="write the changes; without this option they are only shown",
    )
    parser.add_argument(
        "--grader",
        metavar="ID",
        default="",
        help="the model that grades, if a config names none; default is the one that the run's key chooses",
    )


def run(args: argparse.Namespace) -> int:
    cwd = working_folder().resolve()
    migration = Migration(repository_of(cwd) or cwd, args.grader)
    files = [cwd / name for name in args.file]

    workflows = _find_workflows(migration, files)
    for path, change in workflows.items():
        _read_workflow(migration, path, change)

    default_configs = [cwd / name for name in DEFAULT_CONFIGS if (cwd / name).is_file()][:1]
    for path in files or default_configs:
        if path.resolve() not in workflows:
            migration.add_config(path)

    validation = migration.finish()
    return _report(migration, args.write, validation)


def _find_workflows(migration: Migration, files: Sequence[Path]) -> dict[Path, bool]:
    """Find the workflows to read, and say of each whether it is changed.

    All workflows of the repository are read, since they say how a config is run. If the user names ``files``, only these are
    changed. Raises ConfigError for a named file that cannot be read.
    """
    workflows: dict[Path, bool] = {}
    for path in sorted(migration.root.glob(".github/workflows/*.y*ml")):
        workflows[path.resolve()] = not files
    mistakes: list[Mistake] = []
    for path in files:
        with gather_mistakes(mistakes):
            if "jobs" in (migration.open_file(path).values or ()):
                workflows[path.resolve()] = True
    if mistakes:
        raise ConfigError(*dict.fromkeys(mistakes))
    return workflows


def _read_workflow(migration: Migration, path: Path, change: bool) -> None:
    """Read a workflow. The mistakes of one that nobody named matter only if it may run promptfoo."""
    try:
        migration.read_workflow(path, change)
    except ConfigError as e:
        with suppress(OSError):
            if path.is_relative_to(migration.root) and b"promptfoo" in path.read_bytes():
                migration.notes += e.mistakes


def _report(migration: Migration, write: bool, validation: str) -> int:
    """Show the changes, or make them, and list the notes. Raises ConfigError for a file that cannot be written.

    ``validation`` is the last line, which may be empty.
    """
    texts = {}  # of changed files, by their names
    for edits in migration.files.values():
        with gather_mistakes(migration.notes):
            text = edits.result()
            if text != edits.mark + edits.text:
                texts[edits.file] = text
                _print_difference(edits, text)
    if write:
        _write_files(migration.root, texts)

    notes = dict.fromkeys(migration.notes)
    if notes:
        print_line("Notes, and what you need to change by hand:")
        for note in sorted(notes, key=_position):
            print_line(f"  {note}")

    names = ", ".join(texts)
    if not texts:
        files_read = format_count(len(migration.files), "file")
        print_line(f"{files_read} read, nothing to change automatically")
    elif write:
        print_line(f"written: {names}")
    else:
        print_line(f"nothing was written; --write changes {names}")
    if validation:
        print_line(validation)
    return PASS


def _print_difference(edits: Edits, text: str) -> None:
    """Print how a file changes."""
    old_lines = (edits.mark + edits.text).splitlines(keepends=True)
    new_lines = text.splitlines(keepends=True)
    for line in unified_diff(old_lines, new_lines, f"a/{edits.file}", f"b/{edits.file}"):
        end = "" if line.endswith("\n") else "\n\\ No newline at end of file"
        print_line(line.removesuffix("\n").removesuffix("\r") + end)


def _position(note: Mistake) -> tuple[str, int]:
    """The file and line by which notes are sorted, those without a place first."""
    return (note.origin.file, note.origin.line) if note.origin else ("", 0)


def _write_files(root: Path, texts: Mapping[str, str]) -> None:
    """Write the texts of files, by their names from the root. If one file is read-only, none is written. Raises ConfigError."""
    modes = {}
    mistakes = []
    for name in texts:
        modes[name] = stat.S_IMODE((root / name).stat().st_mode)
        if not modes[name] & stat.S_IWUSR:
            mistakes.append(Mistake("the file may only be read", Origin(name), "allow writing it"))
    if mistakes:
        raise ConfigError(*mistakes)

    for name, text in texts.items():
        place = Place(root, tuple(name.split("/")))
        try:
            with replace_file(place) as file:  # a file is written completely or not at all
                os.fchmod(file.fileno(), modes[name])
                file.write(text)
        except OSError as e:
            what = f"it could not be written: {e.strerror or e}"
            raise ConfigError.at(what, Origin(name), "start again") from e
