import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import ConfigError
from gradegate.files import documents as document
from support.each import each

ODD_ENDS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\r"  # line ends for str.splitlines, and no line feed
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8") | st.sampled_from(ODD_ENDS)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
_rows = st.dictionaries(st.text(st.characters(codec="utf-8") | st.sampled_from(ODD_ENDS), max_size=3), _values, max_size=3)


def refused(content: bytes) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        document.read_lines(content, "x.jsonl")
    return [str(mistake) for mistake in caught.value.mistakes]


@given(st.lists(_rows, max_size=5), st.sampled_from(["\n", "\r\n", "\n\n", "\n \t\r\n"]), st.booleans(), st.booleans())
def test_objects_read_back_as_they_were(rows: list[dict], end: str, escaped: bool, marked: bool):
    text = "".join(json.dumps(row, ensure_ascii=escaped) + end for row in rows)
    content = text.encode("utf-8-sig" if marked else "utf-8")
    read = document.read_lines(content, "x.jsonl")
    assert read == rows
    starts = end.count("\n")
    assert [row.line for row in read] == [1 + starts * number for number in range(len(rows))]


@each("character", [*ODD_ENDS[:5], "\t"])
def test_only_a_line_feed_ends_a_line(character: str):
    content = f'{{"a": "x{character}y"}}\n{{"b": 1}}'.encode()
    assert document.read_lines(content, "x.jsonl") == [{"a": f"x{character}y"}, {"b": 1}]


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_a_line(content: bytes):
    try:
        read = document.read_lines(content, "x.jsonl")
    except ConfigError as e:
        assert all(mistake.origin.line for mistake in e.mistakes)  # noqa: PT017  # either is fine
    else:
        assert all(isinstance(row, dict) for row in read)


@each(
    ("line", "message"),
    [
        (b'{"a": }', "not valid JSON, column 7: `}` cannot stand -> write one JSON object a line"),
        (b'{"a": 1} {"b": 2}', "not valid JSON, column 10: `{` cannot stand -> write one JSON object a line"),
        (b'{"a": 1}\r{"b": 2}', "not valid JSON, column 10: `{` cannot stand -> write one JSON object a line"),
        (b"[1]", "the line is not a JSON object -> write one JSON object a line"),
        (b'"text"', "the line is not a JSON object -> write one JSON object a line"),
        (b"null", "the line is not a JSON object -> write one JSON object a line"),
        (b'{"a": "\xff"}', "the line is not UTF-8 text -> save the file as UTF-8"),
        (b'{"a": 1, "a": 2}', "the key `a` occurs twice in this object -> merge both into one"),
        (b'{"a": [{"b": {"c": 1, "c": 1}}]}', "the key `c` occurs twice in this object -> merge both into one"),
        (b'{"a": ' + b"[" * 64 + b"]" * 64 + b"}", "nested deeper than 64 levels -> flatten it"),
        (b'{"a": ' + b"[" * 100_000, "nested deeper than 64 levels -> flatten it"),
        (b'{"a": ' + b"1" * 5000 + b"}", "a number with too many digits -> quote it if it is text"),
        (b'\xef\xbb\xbf{"a": 1}', "not valid JSON, column 1"),  # a byte-order mark stands at the start of a file
    ],
)
def test_a_mistake_is_said_at_its_line(line: bytes, message: str):
    (said,) = refused(b'{"fine": true}\n\n' + line + b'\n{"fine": true}\n')
    assert said.startswith(f"x.jsonl:3: {message}")


def test_every_mistake_is_said():
    said = refused(b'{"a": 1}\n[]\n{"b": \xff}\n{"c": 1}\nnope')
    assert [text.partition(": ")[0] for text in said] == ["x.jsonl:2", "x.jsonl:3", "x.jsonl:5"]


def test_nesting_up_to_the_limit_is_read():
    deep = b'{"a": ' + b"[" * 63 + b"]" * 63 + b"}"
    assert document.read_lines(deep, "x.jsonl")


# --- in configs -----------------------------------------------------------------------------------------------------


def test_tests_and_turns_with_odd_line_ends(gate):
    tests = [{"vars": {"n": f"a\u2028b{n}"}, "assert": [{"type": "contains", "value": "\u2028b"}]} for n in range(2)]
    lines = "\n".join(json.dumps(test, ensure_ascii=False) for test in tests)
    ran = gate({"prompts": ["{{n}}"], "providers": ["echo"], "tests": "file://t.jsonl"}, **{"t.jsonl": lines})
    assert ran.code == 0
    assert [case["output"] for case in ran.cases] == ["a\u2028b0", "a\u2028b1"]
    said = [{"role": "user", "content": "one\x85two"}, {"role": "assistant", "content": "three\u2029four"}]
    lines = "\n".join(json.dumps(turn, ensure_ascii=False) for turn in said)
    test = {"turns": "file://talk.jsonl", "assert": [{"type": "contains", "value": "three\u2029four"}]}
    ran = gate({"tests": [test]}, **{"talk.jsonl": lines})
    assert (ran.code, ran.grades[0]["outcome"]) == (0, "pass")


@each("name", ["tests", "turns"])
def test_a_line_that_cannot_be_read_is_a_mistake_of_the_config(gate, name: str):
    config = {"prompts": ["{{n}}"], "providers": ["echo"]}
    if name == "tests":
        config["tests"] = "file://x.jsonl"
    else:
        config["tests"] = [{"turns": "file://x.jsonl", "assert": [{"type": "contains", "value": "a"}]}]
    ran = gate(config, **{"x.jsonl": '{"vars": {}}\n{"vars": {"n": 1, "n": 2}}\n'})
    assert ran.code == 2
    assert "x.jsonl:2: the key `n` occurs twice in this object -> merge both into one" in ran.err
