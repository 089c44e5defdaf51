"""The file with the answers of a shard: JSON lines between a header and a footer. Finds the parts of a run in a folder.

The footer has the number of lines and their digest, so a cut file is noticed. The files come from other jobs, and anybody may
have written them: they are read strictly and within limits.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from msgspec import Meta

from gradegate import __version__
from gradegate.core.options import MOST_SHARDS
from gradegate.errors import ConfigError, NoPartsError
from gradegate.files.limits import MAX_ANSWERS, MAX_BASELINE, MAX_FILE
from gradegate.files.plain_files import UnusableError, open_plain_file
from gradegate.results.encoding import MisfitError, decode, encode
from gradegate.security.redaction import excerpt
from gradegate.structs import Count, FrozenStruct, Sha256

FORMAT = 6  # increased when a line changes its meaning
FOLDER = "gradegate-parts"  # where a shard writes its part
MOST_FILES = 10_000
_MOST_LINES = MAX_ANSWERS + 10  # a line for each answer, and a few more
_SHOWN = 40  # characters of a text in the header
_FORM = "<--shard 1/8> writes one, for each of 8 jobs"
M = TypeVar("M")
N = TypeVar("N")


class DamagedPartError(ValueError):
    """The file cannot be used. The message says why, and at which line."""


class Writer(FrozenStruct):
    """What the first line of every format says: who wrote the file."""

    gradegate: Literal["part"]
    format: Annotated[int, Meta(ge=1, le=9999)]
    version: str

    @property
    def reason_to_refuse(self) -> str:
        """Why this version cannot use the file. An empty string if it can."""
        if (self.version, self.format) == (__version__, FORMAT):
            return ""
        version = excerpt(self.version, _SHOWN)
        return (
            f"it was written by version {version} (format {self.format}), and this is {__version__} "
            f"(format {FORMAT}): run shards and merge with one version"
        )


class Header(FrozenStruct, forbid_unknown_fields=True, kw_only=True):
    """The first line: what the file is a part of."""

    gradegate: Literal["part"] = "part"
    format: int = FORMAT
    version: str = __version__
    plan: Sha256
    commit: str
    run: (
        str  # the id of the workflow run, so that parts of other runs are refused; empty off GitHub
    )
    shard: Count
    of: Annotated[int, Meta(ge=1, le=MOST_SHARDS)]
    attempt: Annotated[int, Meta(ge=1)]
    default_grader_key: str = ""  # the variable that chose the default grader of the shard
    unasked: str = ""  # why the shard asked nothing; such a part has no further lines

    def difference(self, expected: Header) -> str:
        """Why a file is not a part of the expected run. An empty string if it is one."""
        if self.commit != expected.commit:
            return f"it is of commit {self.commit[:7] or 'unknown'}, and this is {expected.commit[:7] or 'unknown'}"
        if self.run != expected.run:
            return f"it is of the workflow run {excerpt(self.run, _SHOWN) or 'of nobody'}, and this is {expected.run or 'none'}"
        if self.plan != expected.plan:
            return "it is of another plan: give shards and merge the same configs and options"
        return ""


class Footer(FrozenStruct, forbid_unknown_fields=True):
    """The last line: the number of lines before it, and the SHA-256 of their bytes."""

    lines: int
    sha256: Sha256


class Part(FrozenStruct):
    """A complete file: its first and its last line."""

    path: Path
    header: Header
    footer: Footer

    def read_lines(
        self, answer_model: type[M], take_answer: Callable[[M], None], last_model: type[N]
    ) -> N:
        """Pass each answer of the file to ``take_answer``, and return the line after the answers. Raises DamagedPartError.

        The lines are: the header, a line for each answer, a line as ``last_model``, and the footer.
        """
        last_number = self.footer.lines  # the footer does not count itself
        if last_number < 2:
            raise DamagedPartError("it has no lines between the first and the last")
        with _open_part(self.path) as file:
            file.readline(MAX_FILE)  # the header
            for number in range(2, last_number):
                try:
                    take_answer(_parse_line(answer_model, file.readline(MAX_FILE)))
                except DamagedPartError as e:
                    raise DamagedPartError(f"line {number}: {e}") from e
            return _parse_line(last_model, file.readline(MAX_FILE), f"line {last_number}: ")


def with_footer(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a file, each with its end, and then the footer."""
    digest = hashlib.sha256()
    count = 0
    for line in lines:
        digest.update(f"{line}\n".encode())
        count += 1
        yield line + "\n"
    yield encode(Footer(count, digest.hexdigest())) + "\n"


def read_part(path: Path) -> Part:
    """Read the first and the last line of a file, and check that the file is complete. Raises DamagedPartError."""
    digest = hashlib.sha256()
    number = 0
    first = last = b""
    with _open_part(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_FILE), b""), 1):
            if number > _MOST_LINES:
                raise DamagedPartError(f"it has more than {_MOST_LINES:,} lines")
            if not line.endswith(b"\n"):
                raise DamagedPartError(f"it is cut: line {number} has no end")
            digest.update(last)  # all lines but the footer
            first = first or last
            last = line
    footer = _parse_line(Footer, last, otherwise="it is cut: the last line is not a footer")
    if footer.lines != number - 1:
        raise DamagedPartError(f"it is cut: it has {number - 1:,} of {footer.lines:,} lines")
    if footer.sha256 != digest.hexdigest():
        raise DamagedPartError("it was changed after it was written: its digest is another")
    if reason := _parse_line(Writer, first, "line 1: ").reason_to_refuse:
        raise DamagedPartError(reason)
    return Part(path, _parse_line(Header, first, "line 1: "), footer)


@contextmanager
def _open_part(path: Path) -> Iterator[BufferedReader]:
    try:
        with open_plain_file(path, MAX_BASELINE) as file:
            yield file
    except UnusableError as e:
        raise DamagedPartError(str(e)) from e


def _parse_line(model: type[M], line: bytes, where: str = "", otherwise: str = "") -> M:
    """A line as that model. Raises DamagedPartError with ``where`` and the mistake, or with ``otherwise`` instead."""
    try:
        return decode(line, model)
    except MisfitError as e:
        raise DamagedPartError(otherwise or f"{where}{e}") from e


# --- the files of a folder ------------------------------------------------------------------------------------


def find_parts(folder: Path, expected: Header, problems: list[str]) -> list[Part]:
    """The parts in a folder, or in folders below it, of the expected run, plan, commit and version.

    Their number of shards is the most frequent one. ``problems`` gets a sentence for each other file. Raises ConfigError.
    """
    if not folder.is_dir():
        cure = "name the one that the shards' files are in"
        raise NoPartsError.at(f"`{folder}` is not a folder with parts", None, cure)
    paths = _find_files(folder)
    if len(paths) > MOST_FILES:
        what = f"`{folder}` has more than {MOST_FILES:,} files"
        raise ConfigError.at(what, None, "keep the parts of one run in it")
    parts = []
    for path in paths:
        try:
            parts.append(read_part(path))
        except DamagedPartError as e:
            problems.append(f"{path.relative_to(folder).as_posix()}: {e}")

    counts = Counter(part.header.of for part in parts)
    of = max(counts, key=lambda number: (counts[number], number), default=0)
    fitting = []
    for part in parts:
        header = part.header
        problem = header.difference(expected)
        if not problem and not (header.of == of and 1 <= header.shard <= of):
            problem = f"it is shard {header.shard}/{header.of}, and the others are of {of}"
        if problem:
            problems.append(f"{part_name(folder, part)}: {problem}")
        else:
            fitting.append(part)
    if not fitting and not problems:
        raise NoPartsError.at(f"there is no part in `{folder.name}`", None, _FORM)
    return fitting


def find_default_grader_key(folder: Path) -> str:
    """The variable that chose the default grader in the shards, by the first readable part; else an empty text.

    A merge needs it before it plans, because its own job may have other keys.
    """
    for path in _find_files(folder):
        try:
            with _open_part(path) as file:
                return _parse_line(Header, file.readline(MAX_FILE)).default_grader_key
        except DamagedPartError:  # reported when the part is read
            continue
    return ""


def _find_files(folder: Path) -> list[Path]:
    """The files that may be parts, and links to folders. A link is not followed, and reading it reports that."""
    paths = {*folder.glob("*.jsonl")}
    for child in folder.glob("*"):
        if child.is_symlink() and child.is_dir():
            paths.add(child)
        elif child.is_dir():
            paths.update(child.glob("*.jsonl"))
    return sorted(paths)


def part_name(folder: Path, part: Part) -> str:
    """The path of a part below its folder."""
    return part.path.relative_to(folder).as_posix()
