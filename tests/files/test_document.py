import json
import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import ConfigError
from gradegate.files import documents as document
from support.each import each, table

CORE = table(__file__, "CORE")


@each(("text", "expected"), CORE)
def test_yaml_is_read_by_the_core_schema(text, expected):
    assert document.read(text.encode(), "x.yaml") == expected


REFUSED = [
    (b"a: 1\nb: 2\na: 3", "x.yaml:3: the key `a` occurs twice -> merge both into one"),
    (b"a: [1\nb: 2", "x.yaml:1: not valid YAML, column 4: a list is opened here and not closed"),
    (b"a: !!python/object/apply:os.system [id]", "x.yaml:1"),
    (b"a: !ruby/object 1", "x.yaml:1: the tag `!ruby/object` is not supported"),
    (b"a: *nobody", "x.yaml:1"),
    (b"a: &a [*a]", "x.yaml:1: the alias *a has no anchor above it"),
    (b"a: 1\n---\nb: 2", "x.yaml:2: the file holds more than one YAML document"),
    (b"a: " + b"[" * 5000, "nested deeper than 64 levels"),
    (b"\xff\xfe", "x.yaml:1: the file is not UTF-8 text"),
    (b"a: \x00", "not valid YAML"),
    (b"? [1]\n: 2", "a key must be text"),
]


@each(("content", "message"), REFUSED)
def test_what_is_refused_is_said_with_its_line(content, message):
    with pytest.raises(ConfigError) as e:
        document.read(content, "x.yaml")
    assert message in str(e.value)


def test_an_alias_bomb_is_refused_at_once():
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    started = time.thread_time()  # of this thread alone, however busy the machine is
    with pytest.raises(ConfigError, match="aliases multiply this file"):
        document.read("\n".join(lines).encode(), "bomb.yaml")
    assert time.thread_time() - started < 5


def test_every_duplicate_key_is_said():
    with pytest.raises(ConfigError) as e:
        document.read(b"a: 1\na: 2\nb: {c: 1, c: 2}\n", "x.yaml")
    assert [str(m.origin) for m in e.value.mistakes] == ["x.yaml:2", "x.yaml:3"]


def test_lines_are_known_by_path():
    content = document.read(b"a:\n  - b: 1\n    c:\n      - 2\n      - d: 3\n", "x.yaml")
    paths = [(), ("a",), ("a", 0), ("a", 0, "c"), ("a", 0, "c", 1), ("a", 0, "c", 1, "d"), ("a", 0, "nope"), ("zzz",)]
    assert [document.line_of(content, path) for path in paths] == [1, 1, 2, 3, 5, 5, 2, 1]


def test_json_keeps_lines_and_joins_surrogates():
    content = document.read('{"a": [1,\n {"b": "\\ud83d\\ude00\u2028\\\\ud83d"}]}'.encode(), "x.json")
    assert content == {"a": [1, {"b": "😀\u2028\\ud83d"}]}
    assert document.line_of(content, ["a", 1]) == 2


def test_what_is_json_and_no_yaml_is_read_as_json():
    long = "k" * 2000
    content = document.read(f'{{"{long}": "\\ud83d",\n "b": NaN}}'.encode(), "x.json")
    assert next(iter(content.items())) == (long, "\ud83d")
    assert document.line_of(content, ["b"]) == 1


@each("name", ["x.json", "x.yaml"])
def test_a_number_beyond_reading_is_a_mistake(name: str):
    with pytest.raises(ConfigError, match="a number with too many digits"):
        document.read(b'{"a": ' + b"1" * 5000 + b"}", name)


@each(
    ("content", "message"),
    [
        (b'{"a": 1,}', "x.json:1: not valid JSON, column"),
        (b'{"a": yes}', "x.json:1: not valid JSON, column 7"),
        (b'{"' + b"k" * 2000 + b'": {"b": 1, "b": 2}}', "x.json:1: the key `b` occurs twice"),
        (b'{"a": 1, "a": 2}', "x.json:1: the key `a` occurs twice"),
        (b'{"a": 1,\n "b": }', "x.json:2: not valid JSON, column 7"),
        (b"[" * 5000, "nested deeper"),
    ],
)
def test_broken_json_is_said_with_its_line(content, message):
    with pytest.raises(ConfigError) as e:
        document.read(content, "x.json")
    assert message in str(e.value)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(_json)
def test_json_reads_back_as_it_was(value):
    assert document.read(json.dumps(value).encode(), "x.json") == value


@given(
    st.recursive(
        st.integers() | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])),
        lambda i: st.lists(i, max_size=3) | st.dictionaries(st.text("abc", min_size=1), i, max_size=3),
        max_leaves=10,
    )
)
def test_yaml_written_by_pyyaml_reads_back(value):
    assert document.read(yaml.safe_dump(value, allow_unicode=True).encode(), "x.yaml") == value


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_a_message(content):
    for name in ("x.yaml", "x.json"):
        try:
            document.read(content, name)
        except ConfigError as e:
            assert str(e)  # noqa: PT017  # either is fine, nothing else may come out


def test_json_knows_the_line_of_each_key():
    text = b'{\n "a": 1,\n "b": {"c":\n  [1, {"d": 2}],\n  "e": "x\\ny"},\n "f": [\n]\n}'
    found = document.read(text, "x.json")
    paths = [["a"], ["b"], ["b", "c"], ["b", "c", 1], ["b", "c", 1, "d"], ["b", "e"], ["f"]]
    assert [document.line_of(found, path) for path in paths] == [2, 3, 3, 4, 4, 5, 6]
