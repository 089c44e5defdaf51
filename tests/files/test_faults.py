"""Why a text cannot be read: by its place, in words of ours, whatever the library says."""

import json
import re
import xml.etree.ElementTree as ET

from gradegate.files.json_text import RefusedTextError, describe_syntax_error

TEXTS = [
    (json.loads, "Answer: x", "`A` cannot stand at line 1, column 1"),
    (json.loads, " \n", "it is empty"),
    (json.loads, '{"a": 1,\n "b": }', "`}` cannot stand at line 2, column 7"),
    (json.loads, '{"a": [1', "it ends too early"),
    (json.loads, '{"a": "x\\"', "the text that begins at line 1, column 7 has no end"),
    (json.loads, '{"a" "b"}', '`"` cannot stand at line 1, column 6'),
    (json.loads, '["\x01"]', "this character cannot stand at line 1, column 3"),
    (json.loads, "[" * 100_000, "it is nested too deeply"),
    (json.loads, "1" * 5000, "it holds what cannot be read"),
    (ET.fromstring, "<a>\n</b>", "`b` cannot stand at line 2, column 3"),
    (ET.fromstring, "<a>", "it ends too early"),
    (re.compile, "a**", "`*` cannot stand at line 1, column 3"),
]


def test_a_text_is_wrong_at_a_place() -> None:
    wrong = []
    for read, text, said in TEXTS:
        try:
            read(text)
        except (ValueError, SyntaxError, RecursionError, re.error) as e:
            wrong += [] if describe_syntax_error(e, text) == said else [(text[:20], describe_syntax_error(e, text))]
    assert wrong == []
    assert describe_syntax_error(RefusedTextError("it declares entities"), "") == "it declares entities"
