"""Tests in CSV files, as promptfoo reads them: columns are variables, ``__expected`` columns are assertions."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gradegate.assertions.grading.evaluator import EVALUATORS, two_part_type
from gradegate.config.code import is_script
from gradegate.core.numbers import format_count
from gradegate.errors import ConfigError, Origin
from gradegate.files import documents as document
from gradegate.files.limits import MAX_TEXT_CHARACTERS, READ, TooMuch
from gradegate.registry import suggest
from gradegate.sandbox.program import is_python
from gradegate.security.redaction import excerpt

# A cell may contain a whole document, in four bytes a character
csv.field_size_limit(MAX_TEXT_CHARACTERS)
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")

# Columns that are no variables
_COLUMNS = (
    "__expected __prefix __suffix __description __providerOutput __threshold __metric".split()
)
_SPECIAL_COLUMN = re.compile("|".join(_COLUMNS) + r"|__expected\d+|__metadata:.+|__config:.+")
_EXPECTED_COLUMN = re.compile(r"__expected\d*")
_THRESHOLD_COLUMN = re.compile(r"__config:(__expected\d*):threshold")
# What people call a column of assertions in place of `__expected`
_MISNAMED_COLUMN = re.compile(
    r"_*(?:expected|assert|asserts|assertion|assertions)\d*", re.IGNORECASE
)

# Values that count for the limit of a run. A test has more values than its row: mappings, their keys, a list.
_VALUES_OF_TEST = 15
_VALUES_OF_ROW = 3
_VALUES_OF_CELL = 2


def read_csv_tests(content: bytes, file: str) -> Iterator[document.Map]:
    """The rows as tests, each with its line. Raises ConfigError."""
    for row in _read_rows(content, file, _VALUES_OF_TEST):
        yield document.at_line(_read_test(row, Origin(file, row.line)), row.line)


def read_csv_rows(content: bytes, file: str) -> Iterator[document.Map]:
    """The rows as they are, cells by column, each with its line. Raises ConfigError."""
    for row in _read_rows(content, file, _VALUES_OF_ROW, _VALUES_OF_CELL):
        yield document.at_line(dict(row.cells_by_column()), row.line)


def cure_for_variable(variables: Iterable[str]) -> str:
    """What to write instead of a variable that is meant to assert, in a test without assertions. Empty if there is none."""
    for name in variables:
        if _MISNAMED_COLUMN.fullmatch(name):
            return f"`{name}` is only a variable: name its column `__expected`, or write `assert` into the test"
    return ""


# --- rows -------------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """A row that is not empty, with the header of its file, and its line, from 1."""

    header: list[str]
    cells: list[str]
    line: int

    def cells_by_column(self) -> Iterator[tuple[str, str]]:
        """Each column with its cell. Empty cells at the end may be missing."""
        return zip(self.header, self.cells, strict=False)


def _read_rows(
    content: bytes, file: str, values_per_row: int, values_per_cell: int = 0
) -> Iterator[_Row]:
    """Read the rows one by one. Raises ConfigError, also if the run reads more values than allowed."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise ConfigError.at("the file is not UTF-8 text", Origin(file), "save it as UTF-8") from e
    _check_separator(text, Origin(file, 1))

    # The lines as `StringIO` gives them, which takes four times the memory of the text.
    lines = (match[0] for match in _LINE.finditer(text))
    rows = csv.reader(lines, strict=True)
    try:
        header = [name.strip() for name in next(rows, [])]
        _check_columns(header, Origin(file, 1))
        line = rows.line_num + 1
        for cells in rows:
            if any(cell.strip() for cell in cells):
                origin = Origin(file, line)
                _check_length(cells, header, origin)
                _count_values(values_per_row + values_per_cell * len(cells), origin)
                yield _Row(header, cells, line)
            line = rows.line_num + 1
    except csv.Error as e:
        what = "not valid CSV: quotation marks do not pair, or a cell is too long"
        raise ConfigError.at(what, Origin(file, rows.line_num), "correct the quotes here") from e


def _check_separator(text: str, origin: Origin) -> None:
    """Raises ConfigError if the header has other separators than commas."""
    header = text.partition("\n")[0]
    separator = re.search(r"[;\t|]", header)
    if separator and "," not in header:
        name = "tabs" if separator[0] == "\t" else f"`{separator[0]}`"
        what = f"the columns are separated by {name}"
        raise ConfigError.at(what, origin, "separate them by commas")


def _check_columns(header: list[str], origin: Origin) -> None:
    """Raises ConfigError for a column that is there twice, and for a threshold without its assertion."""
    for name, count in Counter(header).items():
        if name and count > 1:
            cure = "keep one"
            if name == "__expected":
                cure = "number them: __expected1, __expected2"
            raise ConfigError.at(f"the column `{name}` is there twice", origin, cure)

    assertion_columns = [name for name in header if name.startswith("__expected")]
    for name in header:
        match = _THRESHOLD_COLUMN.fullmatch(name)
        if match and match[1] not in header:
            what = f"the column `{name}` is for `{match[1]}`, which is not there"
            cure = suggest(match[1], assertion_columns) or f"add `{match[1]}`, or remove it"
            raise ConfigError.at(what, origin, cure)


def _check_length(cells: list[str], header: list[str], origin: Origin) -> None:
    """Raises ConfigError if a row has too many cells, or too few for columns that are no variables."""
    if len(cells) > len(header):
        cure = "quote the commas"
    elif any(name.startswith("__") for name in header[len(cells) :]):
        cure = "write the commas of empty cells too"
    else:
        return
    cell_count = format_count(len(cells), "cell")
    column_count = format_count(len(header), "column")
    raise ConfigError.at(f"the row has {cell_count} for {column_count}", origin, cure)


def _count_values(number: int, origin: Origin) -> None:
    try:
        READ.add_values(number)
    except TooMuch as e:
        raise ConfigError.at(str(e), origin, document.FEWER) from e


# --- a row as a test --------------------------------------------------------------------------------------


def _read_test(row: _Row, origin: Origin) -> dict[str, Any]:
    """A row as a test, as it is written in YAML. Raises ConfigError."""
    test: dict[str, Any] = {"vars": {}, "assert": [], "options": {}, "metadata": {}}
    assertions = {}  # by column
    special_cells = {}
    for column, cell in row.cells_by_column():
        if not column.startswith("__"):
            _check_variable(column, cell, origin)
            test["vars"][column] = cell
        elif not cell.strip():
            continue
        elif _EXPECTED_COLUMN.fullmatch(column):
            assertions[column] = _parse_assertion(cell, origin)
        else:
            special_cells[column] = cell

    # Some of these columns change the assertions, so they come last.
    for column, cell in special_cells.items():
        _apply_special_cell(column, cell, test, assertions, origin)
    test["assert"] = list(assertions.values())
    return test


def _check_variable(column: str, cell: str, origin: Origin) -> None:
    """Raises ConfigError if a variable is meant to assert: the check would be left out, and the run would be green."""
    if column.startswith("_") and _SPECIAL_COLUMN.fullmatch(f"_{column}"):
        what = f"the column `{column}` is a variable"
        raise ConfigError.at(what, origin, f"write `_{column}`")
    if _MISNAMED_COLUMN.fullmatch(column):
        typed = _split_typed_text(cell.strip())
        if typed and EVALUATORS.find(typed.type.removeprefix("not-")):
            what = f"the column `{column}` is a variable, and `{excerpt(cell.strip(), 40)}` looks like an assertion"
            raise ConfigError.at(what, origin, "name the column `__expected`")


def _apply_special_cell(
    column: str, cell: str, test: dict[str, Any], assertions: dict[str, Any], origin: Origin
) -> None:
    """Put a cell into the test, or into its assertions, which are listed by column. Raises ConfigError."""
    threshold_column = _THRESHOLD_COLUMN.fullmatch(column)
    if column in ("__prefix", "__suffix"):
        test["options"][column.removeprefix("__")] = cell
    elif column in ("__description", "__providerOutput"):
        test[column.removeprefix("__")] = cell
    elif column == "__threshold":
        test["threshold"] = _parse_threshold(cell, origin)
    elif column == "__metric":
        for assertion in assertions.values():
            assertion["metric"] = cell
    elif column.startswith("__metadata:"):
        key = column.removeprefix("__metadata:")
        if key.endswith("[]"):
            test["metadata"][key.removesuffix("[]")] = _split_at_commas(cell)
        else:
            test["metadata"][key] = cell
    elif threshold_column:
        assertion_column = threshold_column[1]
        if assertion_column in assertions:
            assertions[assertion_column]["threshold"] = _parse_threshold(cell, origin)
    else:
        cure = suggest(column, _COLUMNS) or "columns of your own do not start with __"
        raise ConfigError.at(f"unknown column `{column}`", origin, cure)


def _split_at_commas(cell: str) -> list[str]:
    r"""The items of a list in a cell. A comma inside of an item is written as ``\,``."""
    return [item.replace("\\,", ",").strip() for item in re.split(r"(?<!\\),", cell)]


def _parse_threshold(text: str, origin: Origin) -> float:
    try:
        return float(text)
    except ValueError as e:
        what = f"the threshold {text!r} is not a number"
        raise ConfigError.at(what, origin, "write a number") from e


# --- a cell as an assertion -------------------------------------------------------------------------------


_SNIPPET = re.compile(r"(?:javascript|fn|eval):(.*)", re.DOTALL)
_TYPE = re.compile(r"(?:not-)?[a-z][a-z0-9-]*")
_THRESHOLD_AND_VALUE = re.compile(r"(?:\(([-+0-9.eE]+)\))?:(.*)", re.DOTALL)
# A type without a value has at least two words: one word (`moderation`) may be the answer that is expected.
_TYPE_WITHOUT_VALUE = re.compile(r"^((?:not-)?[a-z]+(?:-[a-z]+)+)(?:\(([-+0-9.eE]+)\))?$")
_RUBRIC = "llm-rubric"  # promptfoo does not strip its text
# The thresholds of cells without one, as in promptfoo
_SCORE_THRESHOLD = 0.75
_SCORE_TYPES = frozenset(
    {
        "answer-relevance",
        "classifier",
        "context-faithfulness",
        "context-recall",
        "context-relevance",
        "cost",
        "latency",
        "levenshtein",
        "rouge-n",
    }
)
_SIMILARITY_THRESHOLD = 0.8


def _parse_assertion(cell: str, origin: Origin) -> dict[str, Any]:
    """A cell as an assertion, as it is written in YAML. Raises ConfigError."""
    text = cell.strip()

    # Code
    snippet = _SNIPPET.fullmatch(text)
    if snippet:
        return {"type": "javascript", "value": snippet[1].strip()}
    if is_script(text):
        return {"type": "javascript", "value": text}
    if text.startswith("python:") or (text.startswith("file://") and is_python(text)):
        return {"type": "python", "value": text.removeprefix("python:").strip()}
    if text.startswith("file://"):
        what = f"`{excerpt(text, 40)}` runs code, which gradegate does not run"
        raise ConfigError.at(what, origin, "assert it with another type")

    # A type, or else the answer that is expected
    if text.startswith("grade:"):
        return {"type": _RUBRIC, "value": text.removeprefix("grade:")}
    typed = _split_typed_text(text)
    if typed is None:
        match = _TYPE_WITHOUT_VALUE.match(text)
        evaluator = EVALUATORS.find(match[1].removeprefix("not-")) if match else None
        if match and evaluator and not evaluator.needs_value():
            typed = _TypedText(match[1], match[2], "")
    if typed is None:
        return {"type": "equals", "value": text}
    return _assertion_of_type(typed, origin)


class _TypedText(NamedTuple):
    """The parts of ``TYPE(THRESHOLD):VALUE``."""

    type: str
    threshold: str | None
    value: str


def _split_typed_text(text: str) -> _TypedText | None:
    """Split ``TYPE(THRESHOLD):VALUE`` or ``TYPE:VALUE`` into its parts. None for another text."""
    name = two_part_type(text)
    if not name:
        match = _TYPE.match(text)
        if match is None:
            return None
        name = match[0]
    rest = _THRESHOLD_AND_VALUE.fullmatch(text, len(name))
    return _TypedText(name, rest[1], rest[2]) if rest else None


def _assertion_of_type(typed: _TypedText, origin: Origin) -> dict[str, Any]:
    """The assertion, with promptfoo's threshold if there is none. Raises ConfigError."""
    name = typed.type.removeprefix("not-")
    evaluator = EVALUATORS.find(name)
    assertion: dict[str, Any] = {"type": typed.type}
    if typed.value.strip() or evaluator is None or evaluator.needs_value():
        assertion["value"] = typed.value if name == _RUBRIC else typed.value.strip()

    if typed.threshold is not None:
        assertion["threshold"] = _parse_threshold(typed.threshold, origin)
    elif name in _SCORE_TYPES:
        assertion["threshold"] = _SCORE_THRESHOLD
    elif name.partition(":")[0] == "similar":
        assertion["threshold"] = _SIMILARITY_THRESHOLD
    return assertion
