"""Tests in files of their own: YAML, JSON, JSON lines and CSV; the datasets of DeepEval among them.

CSV is read as promptfoo reads it: columns are variables, ``__expected`` columns are assertions.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gradegate.assertions.grading.evaluator import EVALUATORS, two_part_type
from gradegate.config import code as scripts
from gradegate.config import goldens
from gradegate.config.code import is_script
from gradegate.config.dialect import Source
from gradegate.core.numbers import format_count
from gradegate.errors import ConfigError, Origin
from gradegate.files import documents as document
from gradegate.files.limits import MAX_CHARACTERS, READ, TooMuch
from gradegate.files.paths import is_code
from gradegate.registry import suggest
from gradegate.sandbox.program import is_python, split_reference
from gradegate.security.redaction import excerpt

_NAME = re.compile(r"(?:not-)?[a-z][a-z0-9-]*")
_TYPED = re.compile(r"(?:\(([-+0-9.eE]+)\))?:(.*)", re.DOTALL)
# A type alone; of two words at least, because one (`moderation`) may be the answer that is expected.
_ALONE = re.compile(r"^((?:not-)?[a-z]+(?:-[a-z]+)+)(?:\(([-+0-9.eE]+)\))?$")
csv.field_size_limit(MAX_CHARACTERS)  # a cell may hold a whole document, in four bytes a character
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_TEST = 15  # more values than the same row of a table has, which is read first: mappings, their keys, a list
_LIMIT = re.compile(r"__config:(__expected\d*):threshold")
# Columns that are no variables, and what people call the one for assertions in place of its name.
_NAMES = "__expected __prefix __suffix __description __providerOutput __threshold __metric".split()
_SPECIAL = re.compile("|".join(_NAMES) + r"|__expected\d+|__metadata:.+|__config:.+")
_ASSERTED = re.compile(r"_*(?:expected|assert|asserts|assertion|assertions)\d*", re.IGNORECASE)
# What cells that name no threshold mean, as promptfoo has it
_SCORE_THRESHOLD = 0.75
_SIMILARITY_THRESHOLD = 0.8
_SCORES = frozenset(
    "answer-relevance classifier context-faithfulness context-recall context-relevance cost latency levenshtein rouge-n".split()
)
_RUBRIC = "llm-rubric"  # its text is not stripped, as promptfoo has it
_SNIPPET = re.compile(r"(?:javascript|fn|eval):(.*)", re.DOTALL)


def read_csv_tests(content: bytes, file: str) -> Iterator[document.Map]:
    """The rows as tests, each with its line. Raises ConfigError."""
    for header, row, line in _rows(content, file, _TEST):
        yield document.at_line(_test(header, row, Origin(file, line)), line)


def read_csv_rows(content: bytes, file: str) -> Iterator[document.Map]:
    """The rows as they are, cells by column, each with its line. Raises ConfigError."""
    for header, row, line in _rows(content, file, 3, 2):
        yield document.at_line(dict(zip(header, row, strict=False)), line)


def _rows(
    content: bytes, file: str, each: int, per_cell: int = 0
) -> Iterator[tuple[list[str], list[str], int]]:
    """The header, a row that is not empty, and its line; ``each`` and ``per_cell``: what a row counts."""
    try:
        text = content.decode("utf-8-sig")
        first = text.partition("\n")[0]
        sign = "," not in first and re.search(r"[;\t|]", first)
        if sign:
            named = "tabs" if sign[0] == "\t" else f"`{sign[0]}`"
            what = f"the columns are separated by {named}"
            raise ConfigError.at(what, Origin(file, 1), "separate them by commas")
        # The lines with their ends, as ``StringIO`` gives them, which takes four times the memory of the text.
        rows = csv.reader((match[0] for match in _LINE.finditer(text)), strict=True)
        header = [name.strip() for name in next(rows, [])]
        _check_columns(header, Origin(file, 1))
        line = rows.line_num + 1
        for row in rows:
            if any(cell.strip() for cell in row):
                cure = ""
                if len(row) > len(header):
                    cure = "quote the commas"
                elif any(name.startswith("__") for name in header[len(row) :]):
                    cure = "write the commas of empty cells too"
                if cure:
                    what = f"the row has {format_count(len(row), 'cell')} for {format_count(len(header), 'column')}"
                    raise ConfigError.at(what, Origin(file, line), cure)
                READ.add_values(each + per_cell * len(row))
                yield header, row, line
            line = rows.line_num + 1
    except TooMuch as e:
        raise ConfigError.at(str(e), Origin(file, line), document.FEWER) from e
    except csv.Error as e:
        what = "not valid CSV: quotation marks do not pair, or a cell is too long"
        raise ConfigError.at(what, Origin(file, rows.line_num), "correct the quotes here") from e
    except UnicodeDecodeError as e:
        raise ConfigError.at("the file is not UTF-8 text", Origin(file), "save it as UTF-8") from e


def _check_columns(header: list[str], origin: Origin) -> None:
    twice = [name for name, count in Counter(header).items() if name and count > 1]
    if twice:
        cure = "number them: __expected1, __expected2" if twice[0] == "__expected" else "keep one"
        raise ConfigError.at(f"the column `{twice[0]}` is there twice", origin, cure)
    for name in header:
        limited = _LIMIT.fullmatch(name)
        if limited and limited[1] not in header:
            what = f"the column `{name}` is for `{limited[1]}`, which is not there"
            near = suggest(limited[1], [it for it in header if it.startswith("__expected")])
            raise ConfigError.at(what, origin, near or f"add `{limited[1]}`, or remove it")


def _test(header: list[str], row: list[str], origin: Origin) -> dict[str, Any]:
    test: dict[str, Any] = {"vars": {}, "assert": [], "options": {}, "metadata": {}}
    expected = {}
    special = {}
    for name, cell in zip(header, row, strict=False):
        if not name.startswith("__"):
            # A column that is meant to assert and is a variable would leave the check out, and be green.
            if name.startswith("_") and _SPECIAL.fullmatch(f"_{name}"):
                raise ConfigError.at(
                    f"the column `{name}` is a variable", origin, f"write `_{name}`"
                )
            kind, _ = _kind(cell.strip()) if _ASSERTED.fullmatch(name) else ("", None)
            if EVALUATORS.find(kind.removeprefix("not-")):
                what = f"the column `{name}` is a variable, and `{excerpt(cell.strip(), 40)}` looks like an assertion"
                raise ConfigError.at(what, origin, "name the column `__expected`")
            test["vars"][name] = cell
        elif cell.strip() and re.fullmatch(r"__expected\d*", name):
            expected[name] = _assertion(cell, origin)
        elif cell.strip():
            special[name] = cell
    for name, cell in special.items():  # last, because some of them speak of the assertions
        if name in ("__prefix", "__suffix"):
            test["options"][name[2:]] = cell
        elif name in ("__description", "__providerOutput"):
            test[name[2:]] = cell
        elif name == "__threshold":
            test["threshold"] = _number(cell, origin)
        elif name == "__metric":
            for assertion in expected.values():
                assertion["metric"] = cell
        elif name.startswith("__metadata:"):
            key = name.removeprefix("__metadata:")
            parts = [part.replace("\\,", ",").strip() for part in re.split(r"(?<!\\),", cell)]
            test["metadata"][key.removesuffix("[]")] = parts if key.endswith("[]") else cell
        elif match := _LIMIT.fullmatch(name):
            if match[1] in expected:
                expected[match[1]]["threshold"] = _number(cell, origin)
        else:
            cure = suggest(name, _NAMES) or "columns of your own do not start with __"
            raise ConfigError.at(f"unknown column `{name}`", origin, cure)
    test["assert"] = list(expected.values())
    return test


def _assertion(cell: str, origin: Origin) -> dict[str, Any]:
    stripped = cell.strip()
    if (snippet := _SNIPPET.fullmatch(stripped)) or is_script(stripped):
        return {"type": "javascript", "value": snippet[1].strip() if snippet else stripped}
    if stripped.startswith("python:") or (stripped.startswith("file://") and is_python(stripped)):
        return {"type": "python", "value": stripped.removeprefix("python:").strip()}
    if stripped.startswith("file://"):
        cure = "assert it with another type"
        raise ConfigError.at(
            f"`{excerpt(stripped, 40)}` runs code, which gradegate does not run", origin, cure
        )
    if stripped.startswith("grade:"):
        return {"type": _RUBRIC, "value": stripped.removeprefix("grade:")}
    kind, typed = _kind(stripped)
    if typed:
        return _typed(kind, typed[1], typed[2], origin)
    alone = _ALONE.match(stripped)
    grader = EVALUATORS.find(alone[1].removeprefix("not-")) if alone else None
    if alone and grader is not None and not grader.needs_value():
        return _typed(alone[1], alone[2], "", origin)
    return {"type": "equals", "value": stripped}


def _kind(text: str) -> tuple[str, re.Match[str] | None]:
    """The type in ``TYPE(THRESHOLD):VALUE``, and the match of the rest; empty and None for another text."""
    name = two_part_type(text) or ((named := _NAME.match(text)) and named[0]) or ""
    typed = _TYPED.fullmatch(text, len(name)) if name else None
    return (name, typed) if typed else ("", None)


def _typed(kind: str, threshold: str | None, value: str, origin: Origin) -> dict[str, Any]:
    """``TYPE(THRESHOLD):VALUE`` as an assertion."""
    grader = EVALUATORS.find(kind.removeprefix("not-"))
    assertion: dict[str, Any] = {"type": kind}
    name = kind.removeprefix("not-")
    if value.strip() or grader is None or grader.needs_value():
        assertion["value"] = value if name == _RUBRIC else value.strip()
    if threshold is not None:
        assertion["threshold"] = _number(threshold, origin)
    elif name in _SCORES:
        assertion["threshold"] = _SCORE_THRESHOLD
    elif name.partition(":")[0] == "similar":
        assertion["threshold"] = _SIMILARITY_THRESHOLD
    return assertion


def _number(cell: str, origin: Origin) -> float:
    try:
        return float(cell)
    except ValueError as e:
        raise ConfigError.at(
            f"the threshold {cell!r} is not a number", origin, "write a number"
        ) from e


def cure_for_variable(variables: Iterable[str]) -> str:
    """What to write in place of a variable that is meant to assert, in a test without assertions; empty if there is none."""
    meant = next(filter(_ASSERTED.fullmatch, variables), None)
    how = "name its column `__expected`, or write `assert` into the test"
    return f"`{meant}` is only a variable: {how}" if meant else ""


TABLES = (".jsonl", ".csv")
SUFFIXES = (".yaml", ".yml", ".json", *TABLES)


def load_tests(
    reference: str,
    source: Source,
    origin: Origin,
    config: Any = None,
) -> Iterator[tuple[Any, str]]:
    """Each test of the files that a path or pattern matches, with its file. Raises ConfigError.

    ``config`` is what a function that makes tests is called with.
    """
    if reference.startswith(("huggingface://", "http://", "https://")):
        raise ConfigError.at(
            f"`{reference}` is not fetched", origin, "download the tests into the repository"
        )
    if is_code(reference):
        name = source.workspace.name(source.folder / split_reference(reference)[0])
        for test in scripts.tests_from_program(reference, config, source, origin):
            yield test, name
        return
    for path in source.workspace.glob(reference, source.folder, origin):
        if path.suffix not in SUFFIXES:
            what = f"`{reference}` is a kind of file that gradegate does not read"
            cure = f"give the tests as a file of one of the kinds {', '.join(SUFFIXES)}"
            raise ConfigError.at(what, origin, cure)
        name = source.workspace.name(path)
        tests = _read(path, name, source, origin)
        if not tests:
            what = "the file holds no tests, so nothing would be checked"
            raise ConfigError.at(what, Origin(name, 1), "add some, or take the file out of `tests`")
        for test in tests:
            yield test, name


def _read(path: Path, name: str, source: Source, origin: Origin) -> Sequence[Any]:
    content = source.read(str(path), origin)
    if path.suffix in TABLES:
        rows = read_table(content, name)
        if goldens.are_complete(rows) if path.suffix == ".csv" else goldens.are_goldens(rows):
            rows = goldens.tests_from_goldens(rows, name, joined=True)
        elif path.suffix == ".csv":
            rows = list(read_csv_tests(content, name))
        return rows
    tests = document.resolved(content, name)
    if goldens.are_goldens(tests):
        tests = goldens.tests_from_goldens(tests, name, joined=False)
    if isinstance(tests, dict):
        tests = tests["tests"] if isinstance(tests.get("tests"), list) else [tests]
    if not isinstance(tests, list):
        raise ConfigError.at("the file holds no tests", Origin(name, 1), "write a list of tests")
    return tests


def read_table(content: bytes, name: str) -> list[document.Map]:
    """The rows of a file of JSON lines or CSV, as they are, each with its line. Raises ConfigError."""
    return list(
        document.read_lines(content, name)
        if name.endswith(".jsonl")
        else read_csv_rows(content, name)
    )
