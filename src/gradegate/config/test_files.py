"""Loads tests from files: YAML, JSON, JSON lines and CSV, among them the datasets of DeepEval, and programs that make tests."""

from collections.abc import Iterator, Sequence
from typing import Any

from gradegate.config.code import tests_from_program
from gradegate.config.csv_tests import read_csv_rows, read_csv_tests
from gradegate.config.dialect import Source
from gradegate.config.goldens import are_complete_goldens, are_goldens, tests_from_goldens
from gradegate.errors import ConfigError, Origin
from gradegate.files import documents as document
from gradegate.files.paths import is_code
from gradegate.files.references import read_with_references
from gradegate.sandbox.program import split_reference

TABLES = (".jsonl", ".csv")
_SUFFIXES = (".yaml", ".yml", ".json", *TABLES)


def load_tests(
    reference: str, source: Source, origin: Origin, config: Any = None
) -> Iterator[tuple[Any, str]]:
    """Each test of the files that a path or pattern matches, with the name of its file. Raises ConfigError.

    ``config`` is the argument for a function that makes tests.
    """
    if reference.startswith(("huggingface://", "http://", "https://")):
        what = f"`{reference}` is not fetched"
        raise ConfigError.at(what, origin, "download the tests into the repository")

    if is_code(reference):
        program, _ = split_reference(reference)
        name = source.workspace.name(source.folder / program)
        for test in tests_from_program(reference, config, source, origin):
            yield test, name
        return

    for path in source.workspace.glob(reference, source.folder, origin):
        if path.suffix not in _SUFFIXES:
            what = f"`{reference}` is a kind of file that gradegate does not read"
            cure = f"give the tests as a file of one of the kinds {', '.join(_SUFFIXES)}"
            raise ConfigError.at(what, origin, cure)
        name = source.workspace.name(path)
        tests = _read_tests(source.read(str(path), origin), path.suffix, name)
        if not tests:
            what = "the file holds no tests, so nothing would be checked"
            raise ConfigError.at(what, Origin(name, 1), "add some, or take the file out of `tests`")
        for test in tests:
            yield test, name


def _read_tests(content: bytes, suffix: str, name: str) -> Sequence[Any]:
    """The tests in the content of a file, as they are written. Raises ConfigError."""
    if suffix == ".jsonl":
        rows = read_table(content, name)
        if are_goldens(rows):
            return tests_from_goldens(rows, name, has_joined_lists=True)
        return rows
    if suffix == ".csv":
        rows = read_table(content, name)
        if are_complete_goldens(rows):
            return tests_from_goldens(rows, name, has_joined_lists=True)
        return list(read_csv_tests(content, name))

    tests = read_with_references(content, name)
    if are_goldens(tests):
        return tests_from_goldens(tests, name, has_joined_lists=False)
    if isinstance(tests, dict):
        tests = tests["tests"] if isinstance(tests.get("tests"), list) else [tests]
    if not isinstance(tests, list):
        raise ConfigError.at("the file holds no tests", Origin(name, 1), "write a list of tests")
    return tests


def read_table(content: bytes, name: str) -> list[document.Map]:
    """The rows of a file of JSON lines or CSV, as they are, each with its line. Raises ConfigError."""
    if name.endswith(".jsonl"):
        return list(document.read_lines(content, name))
    return list(read_csv_rows(content, name))
