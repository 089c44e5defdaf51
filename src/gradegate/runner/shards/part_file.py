"""The replies of a shard on their way to other jobs: a file of JSON lines, and which files of a folder belong to one run.

The last line says how many there are, and their digest: what is cut is seen to be. The files come from other jobs, and anybody may
have written them: they are read strictly, and within bounds.
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
from gradegate.files.plain_files import UnusableError, regular
from gradegate.results.encoding import MisfitError, decode, encode
from gradegate.security.redaction import excerpt
from gradegate.structs import Count, FrozenStruct, Sha256

FORMAT = 5  # grows when a line changes its meaning
FOLDER = "gradegate-parts"  # where a shard writes its part
MOST_FILES = 10_000
_MOST = MAX_ANSWERS + 10  # lines: an answer each, and what stands around them
_SHOWN = 40  # characters of what a header says
_FORM = "<--shard 1/8> writes one, for each of 8 jobs"
M = TypeVar("M")
N = TypeVar("N")


class DamagedPartError(ValueError):
    """The file cannot be used; the message says why, and at which line."""


class Writer(FrozenStruct):
    """What every first line says, whatever its format is: who wrote the file."""

    gradegate: Literal["part"]
    format: Annotated[int, Meta(ge=1, le=9999)]
    version: str

    @property
    def objection(self) -> str:
        """Why this version cannot use the file; an empty string if it can."""
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
    run: str  # the id of the workflow run, so that no other run, such as a stranger's, has a part in it; empty elsewhere
    shard: Count
    of: Annotated[int, Meta(ge=1, le=MOST_SHARDS)]
    attempt: Annotated[int, Meta(ge=1)]
    default_grader_key: str = (
        ""  # the variable that chooses the default grader in the job of the shard
    )
    unasked: str = ""  # why the shard asked nothing at all; such a part has no further lines

    def unlike(self, own: Header) -> str:
        """Why a file is none of one's own run, an empty string where it is one."""
        if self.commit != own.commit:
            return f"it is of commit {self.commit[:7] or 'unknown'}, and this is {own.commit[:7] or 'unknown'}"
        if self.run != own.run:
            return f"it is of the workflow run {excerpt(self.run, _SHOWN) or 'of nobody'}, and this is {own.run or 'none'}"
        return (
            ""
            if self.plan == own.plan
            else "it is of another plan: give shards and merge the same configs and options"
        )


class Footer(FrozenStruct, forbid_unknown_fields=True):
    """The last line: how many there are before it, and the SHA-256 of all their bytes."""

    lines: int
    sha256: Sha256


class Part(FrozenStruct):
    """A file that is whole: its first and its last line."""

    path: Path
    header: Header
    footer: Footer

    def read(self, model: type[M], take: Callable[[M], None], last: type[N]) -> N:
        """Have the lines between the first and the last taken one by one, as that model; gives the last of them. Raises Damaged."""
        if self.footer.lines < 2:
            raise DamagedPartError("it has no lines between the first and the last")
        with _opened(self.path) as file:
            file.readline(MAX_FILE)
            for number in range(2, self.footer.lines):
                try:
                    take(_parsed(model, file.readline(MAX_FILE)))
                except DamagedPartError as e:
                    raise DamagedPartError(f"line {number}: {e}") from e
            return _parsed(last, file.readline(MAX_FILE), f"line {self.footer.lines}: ")


def with_footer(lines: Iterable[str]) -> Iterator[str]:
    """These lines, each without its end, as those of a file, and the footer."""
    digest, count = hashlib.sha256(), 0
    for line in lines:
        digest.update(f"{line}\n".encode())
        count += 1
        yield line + "\n"
    yield encode(Footer(count, digest.hexdigest())) + "\n"


def read_part(path: Path) -> Part:
    """A file, once all in it is what its last line says. Raises Damaged."""
    digest, number, first, last = hashlib.sha256(), 0, b"", b""
    with _opened(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_FILE), b""), 1):
            if number > _MOST:
                raise DamagedPartError(f"it has more than {_MOST:,} lines")
            if not line.endswith(b"\n"):
                raise DamagedPartError(f"it is cut: line {number} has no end")
            digest.update(last)
            first, last = (first or last), line
    footer = _parsed(Footer, last, otherwise="it is cut: the last line is not a footer")
    if footer.lines != number - 1:
        raise DamagedPartError(f"it is cut: it has {number - 1:,} of {footer.lines:,} lines")
    if footer.sha256 != digest.hexdigest():
        raise DamagedPartError("it was changed after it was written: its digest is another")
    if objection := _parsed(Writer, first, "line 1: ").objection:
        raise DamagedPartError(objection)
    return Part(path, _parsed(Header, first, "line 1: "), footer)


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    try:
        with regular(path, MAX_BASELINE) as file:
            yield file
    except UnusableError as e:
        raise DamagedPartError(str(e)) from e


def _parsed(model: type[M], line: bytes, where: str = "", otherwise: str = "") -> M:
    """A line as that model. Raises Damaged: ``where``, and what is wrong; or, in place of both, ``otherwise``."""
    try:
        return decode(line, model)
    except MisfitError as e:
        raise DamagedPartError(otherwise or f"{where}{e}") from e


# --- the files of a folder ------------------------------------------------------------------------------------


def find_parts(folder: Path, own: Header, problems: list[str]) -> list[Part]:
    """The parts in a folder, or in folders below it, of one's own run, plan, commit and version.

    They have the number of shards that most of them have. The others are named in ``problems``. Raises ConfigError.
    """
    if not folder.is_dir():
        raise NoPartsError.at(
            f"`{folder}` is not a folder with parts",
            None,
            "name the one that the shards' files are in",
        )
    paths = _files_in(folder)
    if len(paths) > MOST_FILES:
        raise ConfigError.at(
            f"`{folder}` has more than {MOST_FILES:,} files",
            None,
            "keep the parts of one run in it",
        )
    parts = []
    for path in paths:
        try:
            parts.append(read_part(path))
        except DamagedPartError as e:
            problems.append(f"{path.relative_to(folder).as_posix()}: {e}")
    numbers = Counter(part.header.of for part in parts)
    of = max(numbers, key=lambda number: (numbers[number], number), default=0)
    fitting = []
    for part in parts:
        head, fits = part.header, part.header.of == of and 1 <= part.header.shard <= of
        if wrong := head.unlike(own) or (
            "" if fits else f"it is shard {head.shard}/{head.of}, and the others are of {of}"
        ):
            problems.append(f"{part_name(folder, part)}: {wrong}")
        else:
            fitting.append(part)
    if not fitting and not problems:
        raise NoPartsError.at(f"there is no part in `{folder.name}`", None, _FORM)
    return fitting


def default_grader_key_in(folder: Path) -> str:
    """The variable that chose the default grader in the shards, by the first part that can be read; else an empty text.

    A merge has to know it before it plans, because its own job may have other keys.
    """
    for path in _files_in(folder):
        try:
            with _opened(path) as file:
                return _parsed(Header, file.readline(MAX_FILE)).default_grader_key
        except DamagedPartError:  # said when the part is read
            continue
    return ""


def _files_in(folder: Path) -> list[Path]:
    """The files that may be parts, and links to folders: these are not followed, and reading one says so."""
    paths = {*folder.glob("*.jsonl")}
    for below in folder.glob("*"):
        if below.is_dir():
            paths |= {below} if below.is_symlink() else {*below.glob("*.jsonl")}
    return sorted(paths)


def part_name(folder: Path, part: Part) -> str:
    """What a part is called among those of a folder."""
    return part.path.relative_to(folder).as_posix()
