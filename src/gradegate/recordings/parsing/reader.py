"""Reads files with answers made elsewhere, which anybody may have written: each is recognised by what it holds."""

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
from gradegate.files.workspace import Workspace, searched
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

MOST = 50  # mistakes of one file that are said
LINES_SHAPE = "lines"  # the shape of gradegate's own lines
_FORM = 'write a line such as {"id": "...", "output": "..."} for each line of `gradegate cases`'


class Recordings(FrozenStruct):
    """The answers of all files, the SHA-256 of each file by its name, and what could not be read."""

    answers: tuple[RecordedAnswer, ...] = ()
    digests: NamedTexts = {}
    mistakes: tuple[Mistake, ...] = ()
    opened: frozenset[Path] = frozenset()


def load_recordings(context: Context) -> Recordings:
    """The answers that the settings name. What is wrong with the files is in ``mistakes``."""
    mistakes: list[Mistake] = []
    digests: dict[str, str] = {}
    opened = {}
    shaped = defaultdict(list)
    for written in dict.fromkeys(context.settings.answers):
        try:
            opened.update(_files(written, context))
        except ConfigError as e:
            mistakes += e.mistakes
    for path, workspace in opened.items():
        name = workspace.name(path)
        if name in digests:  # of another folder outside of the workspace
            name = f"{name} ({len(digests) + 1})"
        try:
            raw = workspace.read(path.name, path.parent, Origin(name))
            digests[name] = hashlib.sha256(raw).hexdigest()
            file = RecordingFile(name, _rows(raw, name))
            shaped[_shape(file)].append(file)
        except ConfigError as e:
            mistakes += _few(e.mistakes)
    answers: list[RecordedAnswer] = []
    for shape, files in shaped.items():
        try:
            answers += shape.read(files)
        except ConfigError as e:
            mistakes += _few(e.mistakes)
    return Recordings(tuple(answers), digests, tuple(mistakes), frozenset(opened))


def _files(written: str, context: Context) -> dict[Path, Workspace]:
    """The files that a path or pattern names. Raises ConfigError.

    What lies below the working directory by its name may not lead out of the workspace by a link: whoever may commit
    files could have put it there.
    """
    path = Path(os.path.abspath(context.cwd / written))  # noqa: PTH100  # links stay as they are
    inside = path.is_relative_to(context.cwd.absolute())
    folder = searched(path)
    around = context.cwd if inside else folder.parent
    workspace = Workspace.around(
        around / "answers", context.cwd if inside else around, context.environment
    )
    try:
        found = (
            [path] if folder == path else workspace.glob(str(path), folder.parent, Origin(written))
        )
        return {
            workspace.locate(str(file), path.parent, Origin(written)): workspace for file in found
        }
    except ConfigError as e:
        cure = "name the file that the application's job wrote"
        raise ConfigError(*(Mistake(it.what, None, it.cure or cure) for it in e.mistakes)) from e


def _shape(file: RecordingFile) -> RecordingFormat:
    """The shape of the rows; what no shape recognises is a line of gradegate's own. Raises ConfigError."""
    found, mistakes = "", list[Mistake]()
    shapes = dict(FORMATS)
    for row in file.rows:
        names = [name for name, shape in shapes.items() if shape.recognises(row)]
        origin = Origin(file.name, row.line)
        if len(names) > 1:
            what = f"the row has two shapes at once: {names[0]} and {names[1]}"
            mistakes.append(
                Mistake(
                    what,
                    origin,
                    "leave out the keys of one shape: they could contradict each other",
                )
            )
        elif names and found and names[0] != found:
            what = f"the row has the shape {names[0]}, and the ones before it have {found}"
            mistakes.append(Mistake(what, origin, "write a file for each shape"))
        found = found or "".join(names[:1])
    if mistakes:
        raise ConfigError(*mistakes)
    return shapes[found or LINES_SHAPE]


def _rows(raw: bytes, name: str) -> Rows:
    """The objects of JSON lines, or of a JSON document: its items, or itself. Raises ConfigError."""
    first = raw.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n", 1)[0].strip()
    try:
        if first.startswith(b"{") and first.endswith(b"}"):
            content: Any = document.read_lines(raw, name)
        else:
            text = raw.decode("utf-8-sig")
            content = document.read_json(text, name) if text.strip() else []
    except UnicodeDecodeError as e:
        raise ConfigError.at("the file is not UTF-8 text", Origin(name), "save it as UTF-8") from e
    except TooMuch as e:
        raise ConfigError.at(str(e), Origin(name), "grade fewer answers in one run") from e
    rows: Rows = content if isinstance(content, list) else [content]
    wrong = next((row for row in rows if not isinstance(row, Map)), None)
    if wrong is not None:
        what = f"an answer is an object, and not {excerpt(repr(wrong), 40)}"
        raise ConfigError.at(what, Origin(name), _FORM)
    if not rows:
        raise ConfigError.at("the file holds no answers", Origin(name), _FORM)
    odd = [
        Mistake(what, Origin(name, row.line), "write plain JSON")
        for row in rows
        if (what := unwritable_part(row))
    ]
    if odd:
        raise ConfigError(*odd)
    return rows


def _few(mistakes: Iterable[Mistake]) -> Iterator[Mistake]:
    """The first mistakes of each file, and how many there are more."""
    of_files = defaultdict(list)
    for mistake in mistakes:
        of_files[mistake.origin.file if mistake.origin else ""].append(mistake)
    for of_file in of_files.values():
        yield from of_file[:MOST]
        if len(of_file) > MOST:
            what = f"{len(of_file) - MOST:,} more mistakes are in this file"
            yield Mistake(what, of_file[MOST].origin, "correct these first")
