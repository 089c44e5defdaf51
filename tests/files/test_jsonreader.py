"""The undocumented parts of the json module that files/jsonreader.py leans on, each by its name.

An upgrade of Python that changes one fails here first, and the message says which.
"""

import inspect
import json
import re
from json import decoder, scanner
from pathlib import Path

import pytest

from gradegate.errors import ConfigError
from gradegate.files import document, jsonreader
from gradegate.files.lines import line_of
from support.each import each


@each(
    ("module", "name", "parameters"),
    [
        (decoder, "JSONObject", ["s_and_end", "strict", "scan_once", "object_hook", "object_pairs_hook", "memo"]),
        (decoder, "JSONArray", ["s_and_end", "scan_once"]),
        (scanner, "py_make_scanner", ["context"]),
    ],
)
def test_parts_and_their_parameters(module, name: str, parameters: list[str]):
    assert hasattr(module, name), f"{module.__name__} has no `{name}` any more"
    taken = list(inspect.signature(getattr(module, name)).parameters)
    assert taken[: len(parameters)] == parameters, f"{module.__name__}.{name} takes other parameters"


def test_scanstring_reads_from_behind_the_quote():
    assert decoder.scanstring('"a\\n" x', 1, True) == ("a\n", 5), "json.decoder.scanstring reads otherwise"


def test_the_scanner_asks_the_decoder_for_its_parsers():
    calls = []

    class Context(json.JSONDecoder):
        def __init__(self) -> None:
            super().__init__()
            self.parse_object = lambda *arguments: calls.append(("object", len(arguments))) or ({}, len("{}"))
            self.parse_array = lambda *arguments: calls.append(("array", len(arguments))) or ([], len("[]"))
            self.parse_string = lambda *arguments: calls.append(("string", len(arguments))) or ("", len('""'))

    scan = scanner.py_make_scanner(Context())
    for text in ("{}", "[]", '""'):
        scan(text, 0)
    assert calls == [("object", 6), ("array", 2), ("string", 3)], (
        "json.scanner.py_make_scanner no longer calls parse_object, parse_array and parse_string as it did"
    )


def test_the_decoder_starts_at_scan_once():
    """``JSONDecoder.decode`` goes through the ``scan_once`` that we put there."""
    read = jsonreader.read('{"a":\n [1,\n {"b": 2}]}', "x.json")
    assert line_of(read, ["a", 1]) == 3, "json.JSONDecoder no longer reads through its `scan_once`"


def test_nothing_else_leans_on_parts_of_json():
    for path in Path("src/gradegate").rglob("*.py"):
        if path.name != "jsonreader.py":
            assert not re.search(r"json\.(decoder|scanner)\b", path.read_text()), path


@each("name", ["x.json", "x.yaml"])
def test_a_number_beyond_reading_is_a_mistake(name: str):
    with pytest.raises(ConfigError, match="a number with too many digits"):
        document.read(b'{"a": ' + b"1" * 5000 + b"}", name)
