"""Tests in files of their own: YAML, JSON, JSON lines and CSV; the datasets of DeepEval among them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gradegate.configs import csvtests, generators, goldens
from gradegate.configs.dialect import Source
from gradegate.errors import ConfigError, Origin
from gradegate.files import document
from gradegate.files.kinds import is_code
from gradegate.processes.program import split

TABLES = (".jsonl", ".csv")
SUFFIXES = (".yaml", ".yml", ".json", *TABLES)


def tests_in(reference: str, source: Source, origin: Origin, config: Any = None) -> Iterator[tuple[Any, str, Any]]:  # noqa: PT028 - no test
    """Each test of the files that a path or pattern matches: (test, file, the document it is in).

    ``config`` is what a function that makes tests is called with.

    Raises ConfigError.
    """
    if reference.startswith(("huggingface://", "http://", "https://")):
        raise ConfigError.at(f"`{reference}` is not fetched", origin, "download the tests into the repository")
    cure = f"give the tests as a file of one of the kinds {', '.join(SUFFIXES)}"
    if is_code(reference):
        name = source.workspace.name(source.folder / split(reference)[0])
        yield from ((test, name, test) for test in generators.tests(reference, config, source, origin))
        return
    for path in source.workspace.glob(reference, source.folder, origin):
        if path.suffix not in SUFFIXES:
            raise ConfigError.at(f"`{reference}` is a kind of file that gradegate does not read", origin, cure)
        empty = True
        for test in _read(path, source, origin):
            empty = False
            yield test
        if empty:
            what = "the file holds no tests, so nothing would be checked"
            raise ConfigError.at(what, Origin(source.workspace.name(path), 1), "add some, or take the file out of `tests`")


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
        tests = document.resolved(content, name)
        tests = goldens.tests(tests, name, joined=False) if goldens.are_goldens(tests) else tests
        if not isinstance(tests, list):
            if not isinstance(tests, dict):
                raise ConfigError.at("the file holds no tests", Origin(name, 1), "write a list of tests")
            tests = tests["tests"] if isinstance(tests.get("tests"), list) else [tests]
        yield from ((test, name, tests) for test in tests)


def table(content: bytes, name: str) -> list[document.Map]:
    """The rows of a file of JSON lines or CSV, as they are, each with its line. Raises ConfigError."""
    return list(document.read_lines(content, name) if name.endswith(".jsonl") else csvtests.table(content, name))
