"""Tests in files of their own: YAML, JSON, JSON lines and CSV; the datasets of DeepEval among them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gradegate.configs import csvtests, goldens
from gradegate.configs.dialect import Source
from gradegate.errors import ConfigError, Origin
from gradegate.files import document

TABLES = (".jsonl", ".csv")
SUFFIXES = (".yaml", ".yml", ".json", *TABLES)


def tests_in(reference: str, source: Source, origin: Origin) -> Iterator[tuple[Any, str, Any]]:
    """Each test of the files that a path or pattern matches: (test, file, the document it stands in).

    Raises ConfigError.
    """
    if reference.startswith(("huggingface://", "http://", "https://")):
        raise ConfigError.at(f"`{reference}` is not fetched", origin, "download the tests into the repository")
    for path in source.workspace.glob(reference, source.folder, origin):
        if path.suffix not in SUFFIXES:
            cure = f"give the tests as a file of one of the kinds {', '.join(SUFFIXES)}"
            raise ConfigError.at(f"`{reference}` runs code or is of a kind that is not read", origin, cure)
        empty = True
        for test in _read(path, source, origin):
            empty = False
            yield test
        if empty:
            what = "the file holds no tests, so nothing would be checked"
            raise ConfigError.at(
                what, Origin(source.workspace.name(path), 1), "add some, or take the file out of `tests`"
            )


def _read(path: Path, source: Source, origin: Origin) -> Iterator[tuple[Any, str, Any]]:
    name = source.workspace.name(path)
    content = source.workspace.read(str(path), source.folder, origin)
    if path.suffix in TABLES:
        rows = table(content, name)
        if goldens.are_complete(rows) if path.suffix == ".csv" else goldens.are_goldens(rows):
            rows = goldens.tests(rows, name, joined=True)
        elif path.suffix == ".csv":
            rows = list(csvtests.read(content, name))
        yield from ((test, name, test) for test in rows)
    else:
        found = document.read(content, name)
        found = goldens.tests(found, name, joined=False) if goldens.are_goldens(found) else found
        if not isinstance(found, list):
            if not isinstance(found, dict):
                raise ConfigError.at("the file holds no tests", Origin(name, 1), "write a list of tests")
            found = found["tests"] if isinstance(found.get("tests"), list) else [found]
        yield from ((test, name, found) for test in found)


def table(content: bytes, name: str) -> list[document.Map]:
    """The rows of a file of JSON lines or CSV, as they are, each with its line. Raises ConfigError."""
    return list(_json_lines(content, name) if name.endswith(".jsonl") else csvtests.table(content, name))


def _json_lines(content: bytes, name: str) -> Iterator[document.Map]:
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as e:
            raise ConfigError.at(f"not valid JSON: {e}", Origin(name, number), "write one JSON object a line") from e
        if not isinstance(found, dict):
            raise ConfigError.at("the line is no JSON object", Origin(name, number), "write one JSON object a line")
        yield document.at_line(found, number)
