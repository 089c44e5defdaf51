"""CSV tests: what the columns and cells come to, and what is said of a cell that cannot be read."""

import pytest

from gradegate.configs import csvtests
from gradegate.errors import ConfigError
from support.each import each, table


def read(text: str) -> list[dict]:
    return [dict(test) for test in csvtests.read(text.encode(), "t.csv")]


def assertions(cell: str) -> list[dict]:
    quoted = cell.replace('"', '""')
    return read(f'x,__expected\n1,"{quoted}"\n')[0]["assert"]


@each(("cell", "assertion"), table(__file__, "a_cell_is_an_assertion"))
def test_a_cell_is_an_assertion(cell, assertion):
    assert assertions(cell) == [assertion]


@each("cell", ["", "  "])
def test_an_empty_cell_asserts_nothing(cell):
    assert assertions(cell) == []


@each(
    ("cell", "code"),
    [
        ("javascript: output.length > 1", "output.length > 1"),
        ("fn:output === 'a:b'", "output === 'a:b'"),
        ("eval:1", "1"),
        ("file://checks.js:name", "file://checks.js:name"),
    ],
)
def test_a_cell_may_be_javascript(cell, code):
    assert assertions(cell) == [{"type": "javascript", "value": code}]


@each("cell", ["file://check.rb", "file://check.sh"])
def test_a_cell_that_is_code_is_a_mistake(cell):
    with pytest.raises(ConfigError, match=r"t\.csv:2: `.*` runs code, which gradegate does not run"):
        assertions(cell)


def test_columns_of_a_test():
    (test,) = read(
        "q,__expected,__expected2,__description,__prefix,__suffix,__threshold,__metric,__providerOutput,"
        "__metadata:kind,__metadata:tags[],__config:__expected2:threshold\n"
        'Why?,a,similar:b,says why,Now: , please,0.5,reasons,Because.,k,"x, y\\,z",0.6\n'
    )
    assert test == {
        "vars": {"q": "Why?"},
        "assert": [
            {"type": "equals", "value": "a", "metric": "reasons"},
            {"type": "similar", "value": "b", "threshold": 0.6, "metric": "reasons"},
        ],
        "options": {"prefix": "Now: ", "suffix": " please"},
        "metadata": {"kind": "k", "tags": ["x", "y,z"]},
        "description": "says why",
        "threshold": 0.5,
        "providerOutput": "Because.",
    }


def test_rows_may_be_short_or_empty_or_go_over_lines():
    text = '\ufeffa, b\r\n1\r\n\r\n ,\r\n"2\r\n3",4\r\n'
    assert [test["vars"] for test in read(text)] == [{"a": "1"}, {"a": "2\r\n3", "b": "4"}]
    assert [dict(row) for row in csvtests.table(text.encode(), "t.csv")] == [{"a": "1"}, {"a": "2\r\n3", "b": "4"}]
    assert read("") == read("a,b\n") == []


@each(
    ("content", "words"),
    [
        (b"a,b\n1,2\n1,2,3\n", "t.csv:3: the row has 3 cells for 2 columns"),
        (b'a\n1\n"2\n', "t.csv:3: not valid CSV"),
        (b"a\n\xff\n", "t.csv: the file is not UTF-8 text"),
        (b"a,__other\n1,2\n", "t.csv:2: unknown column `__other`"),
        (b"a,__Expected\n1,2\n", 'unknown column `__Expected` -> did you mean "__expected"?'),
        (b"a,_expected\n1,2\n", "t.csv:2: the column `_expected` is a variable -> write `__expected`"),
        (b"a,_expected2\n1,2\n", "t.csv:2: the column `_expected2` is a variable -> write `__expected2`"),
        (b"a,_metadata:k\n1,2\n", "t.csv:2: the column `_metadata:k` is a variable"),
        (b"a,expected\n1,contains:x\n", "t.csv:2: the column `expected` is a variable, and `contains:x` reads like"),
        (b"a,Assert1\n1,not-llm-rubric(0.5): x\n", "name the column `__expected`"),
        (b"a,__threshold\n1,\n1,high\n", "t.csv:3: the threshold 'high' is not a number"),
        (b"a,__expected\n1,similar(1e):x\n", "t.csv:2: the threshold '1e' is not a number"),
    ],
)
def test_mistakes_have_their_line(content, words):
    with pytest.raises(ConfigError) as caught:
        list(csvtests.read(content, "t.csv"))
    assert words in str(caught.value)


def test_a_column_about_an_assertion_may_come_before_it():
    (test,) = read("q,__config:__expected:threshold,__metric,__expected\n1,0.9,m,llm-rubric: is kind\n")
    assert test["assert"] == [{"type": "llm-rubric", "value": " is kind", "threshold": 0.9, "metric": "m"}]


def test_a_row_with_too_few_cells_is_a_mistake():
    with pytest.raises(ConfigError, match=r"t\.csv:3: the row has 1 cell for 2 columns -> write the commas of empty"):
        read("q,__expected\n1,a\n2\n")


def test_a_cell_may_hold_a_whole_document():
    assert read("q\n" + "a" * 200_000 + "\n")[0]["vars"] == {"q": "a" * 200_000}


@each(
    ("header", "cure"),
    [
        ("x,__expected,__config:__expected2:threshold", 'did you mean "__expected"?'),
        ("x,__expected1,__config:__expected:threshold", 'did you mean "__expected1"?'),
        ("x,__config:__expected:threshold", "add `__expected`, or remove it"),
    ],
)
def test_a_threshold_needs_the_column_that_it_is_for(header, cure):
    with pytest.raises(ConfigError) as caught:
        read(f"{header}\n1{',0.5' * header.count(',')}\n")
    (mistake,) = caught.value.mistakes
    assert "which is not there" in mistake.what
    assert mistake.cure == cure


@each(("name", "cell"), [("expected", "Paris"), ("expected", "note: Paris"), ("_conversation", "x"), ("_own", "x"), ("answer", "equals:x")])
def test_other_columns_are_variables(name, cell):
    assert read(f"q,{name}\n1,{cell}\n")[0]["vars"] == {"q": "1", name: cell}
