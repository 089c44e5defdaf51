"""Reads files of environment variables as dotenv does: ``NAME=value`` a line, ``export`` before it, quotes around the value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gradegate.errors import ConfigError, Mistake, Origin

MAX_SIZE = 1024 * 1024  # bytes
_LINE = re.compile(
    r"""[^\S\n]*(?:export[^\S\n]+)?(?P<name>[A-Za-z_][\w.-]*)[^\S\n]*[=:][^\S\n]*
    (?:"(?P<double>(?:[^"\\]|\\.)*+)"|'(?P<single>[^']*+)'|`(?P<back>[^`]*+)`|(?P<plain>[^\n#]*+))
    [^\S\n]*(?:\#[^\n]*)?(?:\n|\Z)""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_BLANK = re.compile(r"[^\S\n]*(?:#[^\n]*)?(?:\n|\Z)")


def with_files(environ: Mapping[str, str], written: Sequence[str], cwd: Path) -> dict[str, str]:
    """The environment under the variables of the files; a later file wins. Raises ConfigError with every mistake.

    On GitHub no file is read: its variables may be keys and hosts, and the files there are a pull request's.
    """
    paths = [path.strip() for text in written for path in text.split(",") if path.strip()]
    if paths and environ.get("GITHUB_ACTIONS") == "true":
        cure = "set the variables by `env:` of the workflow's step, from its secrets"
        raise ConfigError.at("--env-file is not read on GitHub, where a pull request writes the files", None, cure)
    merged = dict(environ)
    mistakes: list[Mistake] = []
    for path in paths:
        try:
            merged |= parse(_read(cwd / path, path), path)
        except ConfigError as e:
            mistakes += e.mistakes
    if mistakes:
        raise ConfigError(*mistakes)
    return merged


def _read(path: Path, written: str) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_SIZE + 1) if path.is_file() else None
    except OSError as e:
        raise ConfigError.at(f"--env-file `{written}` cannot be read: {e.strerror}", None, "correct the path") from e
    if raw is None or len(raw) > MAX_SIZE:
        raise ConfigError.at(f"--env-file `{written}` is no file of up to 1 MiB", None, "name a .env file")
    return raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def parse(text: str, file: str) -> dict[str, str]:
    """The variables of a file. Raises ConfigError with every line that is none."""
    found: dict[str, str] = {}
    mistakes: list[Mistake] = []
    at = line = counted = 0
    while at < len(text):
        match = _LINE.match(text, at) or _BLANK.match(text, at)
        if match is None or match.end() == at:
            line, counted = line + text.count("\n", counted, at), at
            mistakes.append(Mistake("the line is no variable", Origin(file, line + 1), "write NAME=value"))
            at = (text.find("\n", at) + 1) or len(text)
            continue
        at = match.end()
        found |= dict(_variable(match))
    if mistakes:
        raise ConfigError(*mistakes)
    return found


def _variable(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    groups = match.groupdict()
    if "name" not in groups:
        return
    value = next(groups[kind] for kind in ("double", "single", "back", "plain") if groups[kind] is not None)
    if groups["double"] is not None:
        value = value.replace("\\n", "\n").replace("\\r", "\r")
    yield groups["name"], value.strip() if groups["plain"] is not None else value
