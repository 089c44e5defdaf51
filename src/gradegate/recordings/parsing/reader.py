"""Opens the files with recorded answers, and chooses the format of each file from its rows."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gradegate.config.context import Context
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files import documents as document
from gradegate.files.documents import Map
from gradegate.files.limits import TooMuch
from gradegate.files.patterns import folder_of_pattern
from gradegate.files.workspace import Workspace
from gradegate.recordings.parsing.fields import unwritable_part
from gradegate.recordings.parsing.recorded_answer import (
    FORMATS,
    RecordedAnswer,
    RecordingFile,
    RecordingFormat,
    Rows,
)
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, NamedTexts

MOST_MISTAKES = 50  # of one file that are shown
_OWN_FORMAT = "lines"
_LINE_CURE = (
    'write a line such as {"id": "...", "output": "..."} for each line of `gradegate cases`'
)


class Recordings(FrozenStruct):
    """The answers of all files."""

    answers: tuple[RecordedAnswer, ...] = ()
    digests: NamedTexts = {}  # the SHA-256 of each file, by its name in messages
    mistakes: tuple[Mistake, ...] = ()
    opened: frozenset[Path] = frozenset()


def load_recordings(context: Context) -> Recordings:
    """Read the answers in all files that the settings name. ``mistakes`` says what is wrong with the files."""
    mistakes: list[Mistake] = []
    workspaces: dict[Path, Workspace] = {}  # by the file that is read from it
    for written in dict.fromkeys(context.settings.answers):
        try:
            workspaces.update(_locate_files(written, context))
        except ConfigError as e:
            mistakes += e.mistakes

    digests: dict[str, str] = {}
    files_by_format: dict[RecordingFormat, list[RecordingFile]] = defaultdict(list)
    for path, workspace in workspaces.items():
        name = workspace.name(path)
        if name in digests:  # a file outside of the workspace has only the name of its last part
            name = f"{name} ({len(digests) + 1})"
        try:
            content = workspace.read(path.name, path.parent, Origin(name))
            digests[name] = hashlib.sha256(content).hexdigest()
            file = RecordingFile(name, _parse_rows(content, name))
            files_by_format[_choose_format(file)].append(file)
        except ConfigError as e:
            mistakes += _limit_mistakes(e.mistakes)

    answers: list[RecordedAnswer] = []
    for recording_format, files in files_by_format.items():
        try:
            answers += recording_format.read(files)
        except ConfigError as e:
            mistakes += _limit_mistakes(e.mistakes)
    return Recordings(tuple(answers), digests, tuple(mistakes), frozenset(workspaces))


def _locate_files(written: str, context: Context) -> dict[Path, Workspace]:
    """The files of a path or pattern, each with the workspace that it is read from. Raises ConfigError.

    A path below the working directory must not lead out of the workspace by a link: everybody who can commit files could
    have put the link there.
    """
    path = Path(os.path.abspath(context.cwd / written))  # noqa: PTH100  # links stay as they are
    folder = folder_of_pattern(path)
    is_below_cwd = path.is_relative_to(context.cwd.absolute())
    around = context.cwd if is_below_cwd else folder.parent
    workspace = Workspace.around(around / "answers", around, context.environment)
    origin = Origin(written)
    try:
        paths = [path]
        if folder != path:  # it is a pattern
            paths = workspace.glob(str(path), folder.parent, origin)
        located = [workspace.locate(str(file), path.parent, origin) for file in paths]
    except ConfigError as e:
        mistakes = []
        for mistake in e.mistakes:
            cure = mistake.cure or "name the file that the application's job wrote"
            mistakes.append(Mistake(mistake.what, None, cure))
        raise ConfigError(*mistakes) from e
    return dict.fromkeys(located, workspace)


def _parse_rows(content: bytes, name: str) -> Rows:
    """The objects in JSON lines, in a list, or a single object. Raises ConfigError."""
    first_line = content.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n", 1)[0].strip()
    try:
        if first_line.startswith(b"{") and first_line.endswith(b"}"):
            value: Any = document.read_lines(content, name)
        else:
            text = content.decode("utf-8-sig")
            value = document.read_json(text, name) if text.strip() else []
    except UnicodeDecodeError as e:
        raise ConfigError.at("the file is not UTF-8 text", Origin(name), "save it as UTF-8") from e
    except TooMuch as e:
        raise ConfigError.at(str(e), Origin(name), "grade fewer answers in one run") from e

    rows = value if isinstance(value, list) else [value]
    for row in rows:
        if not isinstance(row, Map):
            what = f"an answer is an object, and not {excerpt(repr(row), 40)}"
            raise ConfigError.at(what, Origin(name), _LINE_CURE)
    if not rows:
        raise ConfigError.at("the file holds no answers", Origin(name), _LINE_CURE)
    mistakes = []
    for row in rows:
        problem = unwritable_part(row)
        if problem:
            mistakes.append(Mistake(problem, Origin(name, row.line), "write plain JSON"))
    if mistakes:
        raise ConfigError(*mistakes)
    return rows


def _choose_format(file: RecordingFile) -> RecordingFormat:
    """The format that recognises the rows of a file, else the format of gradegate's own lines. Raises ConfigError."""
    formats = dict(FORMATS)
    chosen = ""
    mistakes = []
    for row in file.rows:
        names = [name for name, candidate in formats.items() if candidate.recognises(row)]
        origin = Origin(file.name, row.line)
        if len(names) > 1:
            what = f"the row has two shapes at once: {names[0]} and {names[1]}"
            cure = "leave out the keys of one shape: they could contradict each other"
            mistakes.append(Mistake(what, origin, cure))
        elif names and chosen and names[0] != chosen:
            what = f"the row has the shape {names[0]}, and the ones before it have {chosen}"
            mistakes.append(Mistake(what, origin, "write a file for each shape"))
        if names and not chosen:
            chosen = names[0]
    if mistakes:
        raise ConfigError(*mistakes)
    return formats[chosen or _OWN_FORMAT]


def _limit_mistakes(mistakes: Iterable[Mistake]) -> Iterator[Mistake]:
    """The first mistakes of each file, and how many more there are."""
    by_file = defaultdict(list)
    for mistake in mistakes:
        name = mistake.origin.file if mistake.origin else ""
        by_file[name].append(mistake)
    for of_file in by_file.values():
        yield from of_file[:MOST_MISTAKES]
        if len(of_file) > MOST_MISTAKES:
            what = f"{len(of_file) - MOST_MISTAKES:,} more mistakes are in this file"
            yield Mistake(what, of_file[MOST_MISTAKES].origin, "correct these first")
