"""Reads files of variables (``.env``)."""

from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

from gradegate.errors import ConfigError, Mistake, Origin

_MOST = 1024 * 1024  # bytes of a file


def with_env_files(environ: Mapping[str, str], written: Sequence[str], cwd: Path) -> dict[str, str]:
    """The environment under the variables of the files; a later file wins. Raises ConfigError with every mistake.

    On GitHub no file is read: its variables may be keys and hosts, and the files there are a pull request's.
    """
    paths = [path.strip() for text in written for path in text.split(",") if path.strip()]
    if paths and environ.get("GITHUB_ACTIONS") == "true":
        cure = "set the variables by `env:` of the workflow's step, from its secrets"
        raise ConfigError.at(
            "--env-file is not allowed on GitHub, where a pull request could write the file",
            None,
            cure,
        )
    merged = dict(environ)
    mistakes = []
    for path in paths:
        try:
            with (cwd / path).open("rb") as file:
                raw = file.read(_MOST + 1) if (cwd / path).is_file() else None
            if raw is None or len(raw) > _MOST:
                raise ConfigError.at(
                    f"--env-file `{path}` is not a file of at most 1 MiB", None, "name a .env file"
                )
            merged |= parse_env_file(raw.decode("utf-8-sig", "replace").replace("\r\n", "\n"), path)
        except OSError as e:
            mistakes.append(
                Mistake(
                    f"--env-file `{path}` cannot be read: {e.strerror}", None, "correct the path"
                )
            )
        except ConfigError as e:
            mistakes += e.mistakes
    if mistakes:
        raise ConfigError(*mistakes)
    return merged


def parse_env_file(text: str, file: str) -> dict[str, str]:
    """The variables of a file, read as python-dotenv does. Raises ConfigError with every line that is none."""
    from dotenv.parser import parse_stream

    variables = {}
    mistakes = []
    for line in parse_stream(StringIO(text)):
        at = Origin(file, line.original.line)
        if line.value and line.value.startswith("`"):
            mistakes.append(Mistake("the value is in backticks", at, "put it in single quotes"))
        elif line.key and line.value is not None:
            variables[line.key] = line.value
        elif line.key or line.error:
            mistakes.append(Mistake("the line does not set a variable", at, "write NAME=value"))
    if mistakes:
        raise ConfigError(*mistakes)
    return variables
