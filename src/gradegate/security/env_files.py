"""Reads files with environment variables (``.env``)."""

from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

from gradegate.errors import ConfigError, Mistake, Origin

_MOST_BYTES = 1024 * 1024  # of a file


def with_env_files(environ: Mapping[str, str], written: Sequence[str], cwd: Path) -> dict[str, str]:
    """The environment with the variables of the files, which win; a later file wins. Raises ConfigError with every mistake.

    On GitHub no file is read: its variables may be keys and hosts, and a pull request could write the files.
    """
    paths = [path.strip() for text in written for path in text.split(",") if path.strip()]
    if paths and environ.get("GITHUB_ACTIONS") == "true":
        what = "--env-file is not allowed on GitHub, where a pull request could write the file"
        cure = "set the variables by `env:` of the workflow's step, from its secrets"
        raise ConfigError.at(what, None, cure)
    merged = dict(environ)
    mistakes: list[Mistake] = []
    for path in paths:
        try:
            merged |= parse_env_file(_read_text(cwd / path, path), path)
        except OSError as e:
            what = f"--env-file `{path}` cannot be read: {e.strerror}"
            mistakes.append(Mistake(what, None, "correct the path"))
        except ConfigError as e:
            mistakes += e.mistakes
    if mistakes:
        raise ConfigError(*mistakes)
    return merged


def _read_text(path: Path, name: str) -> str:
    """The text of a file, as UTF-8. ``name`` is for messages. Raises OSError, and ConfigError if it is no file or too large."""
    with path.open("rb") as file:
        raw = file.read(_MOST_BYTES + 1) if path.is_file() else None
    if raw is None or len(raw) > _MOST_BYTES:
        what = f"--env-file `{name}` is not a file of at most 1 MiB"
        raise ConfigError.at(what, None, "name a .env file")
    return raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def parse_env_file(text: str, file: str) -> dict[str, str]:
    """The variables of a file, read as python-dotenv does. Raises ConfigError with every line that sets no variable."""
    from dotenv.parser import parse_stream

    variables = {}
    mistakes = []
    for line in parse_stream(StringIO(text)):
        origin = Origin(file, line.original.line)
        if line.value and line.value.startswith("`"):
            mistakes.append(Mistake("the value is in backticks", origin, "put it in single quotes"))
        elif line.key and line.value is not None:
            variables[line.key] = line.value
        elif line.key or line.error:
            mistakes.append(Mistake("the line does not set a variable", origin, "write NAME=value"))
    if mistakes:
        raise ConfigError(*mistakes)
    return variables
