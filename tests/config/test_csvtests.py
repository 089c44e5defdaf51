"""CSV tests: what the columns and cells come to, and what is said of a cell that cannot be read."""

import pytest

from gradegate.config.csv_tests import read_csv_rows, read_csv_tests
from gradegate.errors import ConfigError
from support.each import each, table


def read(text: str) -> list[dict]:
    return [dict(test) for test in read_csv_tests(text.encode(), "t.csv")]


def assertions(cell: str) -> list[dict]:
    quoted = cell.replace('"', '""')
    return read(f'x,__expected\n1,"{quoted}"\n')[0]["assert"]


@each(("cell", "assertion"), table(__file__, "a_cell_is_an_assertion"))
def test_a_cell_is_an_assertion(cell, assertion):
    assert assertions(cell) == [assertion]


@each("cell", ["", "  "])
def test_an_empty_cell_asserts_nothing(cell):
    assert assertions(cell) == []


@each(("cell", "code"), table(__file__, "a_cell_may_be_javascript"))
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
    assert [dict(row) for row in read_csv_rows(text.encode(), "t.csv")] == [{"a": "1"}, {"a": "2\r\n3", "b": "4"}]
    assert read("") == read("a,b\n") == []


@each(("content", "words"), [*table(__file__, "mistakes_have_their_line"), (b"a\n\xff\n", "t.csv: the file is not UTF-8 text")])
def test_mistakes_have_their_line(content, words):
    with pytest.raises(ConfigError) as caught:
        list(read_csv_tests(content.encode() if isinstance(content, str) else content, "t.csv"))
    assert words in str(caught.value)


def test_a_column_about_an_assertion_may_come_before_it():
    (test,) = read("q,__config:__expected:threshold,__metric,__expected\n1,0.9,m,llm-rubric: is kind\n")
    assert test["assert"] == [{"type": "llm-rubric", "value": " is kind", "threshold": 0.9, "metric": "m"}]


def test_a_row_with_too_few_cells_is_a_mistake():
    with pytest.raises(ConfigError, match=r"t\.csv:3: the row has 1 cell for 2 columns -> write the commas of empty"):
        read("q,__expected\n1,a\n2\n")


def test_a_cell_may_hold_a_whole_document():
    assert read("q\n" + "a" * 200_000 + "\n")[0]["vars"] == {"q": "a" * 200_000}


@each(("header", "cure"), table(__file__, "a_threshold_needs_the_column_that_it_is_for"))
def test_a_threshold_needs_the_column_that_it_is_for(header, cure):
    with pytest.raises(ConfigError) as caught:
        read(f"{header}\n1{',0.5' * header.count(',')}\n")
    (mistake,) = caught.value.mistakes
    assert "which is not there" in mistake.what
    assert mistake.cure == cure


@each(("name", "cell"), [("expected", "Paris"), ("expected", "note: Paris"), ("_conversation", "x"), ("_own", "x"), ("answer", "equals:x")])
def test_other_columns_are_variables(name, cell):
    assert read(f"q,{name}\n1,{cell}\n")[0]["vars"] == {"q": "1", name: cell}
