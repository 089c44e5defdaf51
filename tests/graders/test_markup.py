"""Answers that are XML, and that hold XML or HTML."""

import pytest


def outcome(gate, kind, output, value=None):
    asserted = {"type": kind, **({} if value is None else {"value": value})}
    return gate({"tests": [{"providerOutput": output, "assert": [asserted]}]}).grades[0]["outcome"]


BOMB = "<!DOCTYPE a [<!ENTITY e 'ha'>]><a>&e;</a>"


@pytest.mark.parametrize(
    ("output", "value", "expected"),
    [
        ("<a><b>1</b></a>", None, "pass"),
        ("<a><b>1</b></a>", "a.b", "pass"),
        ("<a><b>1</b></a>", "a.b, a.c", "fail"),
        ("<a><b>1</b></a>", ["a", "a.b"], "pass"),
        ("<a><b>1</b></a>", {"requiredElements": ["b"]}, "fail"),
        ("<a><i>1</i><i>2</i></a>", "a.i.1", "pass"),
        ("<a><i>1</i></a>", "a.i.1", "fail"),
        ("<a><b></a>", None, "fail"),
        ("see <a/>", None, "fail"),
        (BOMB, None, "fail"),
        ("<a>&amp;</a>", None, "pass"),
    ],
)
def test_the_whole_answer_is_xml(gate, output, value, expected):
    assert outcome(gate, "is-xml", output, value) == expected


@pytest.mark.parametrize(
    ("output", "value", "expected"),
    [
        ("see <a x='1'>1</a> and <b/>", "a,b", "pass"),
        ("see <a x='1'>1</a> and <b/>", "c", "fail"),
        ("1 < 2 and <b", None, "fail"),
        ("<a> is open, <b>ü</b> is not", "b", "pass"),
        ("ä <a>1</a>ö<b>2</b>", ["b"], "pass"),
        (f"x {BOMB}", None, "pass"),  # the element alone, without what is declared before it
    ],
)
def test_the_answer_holds_xml(gate, output, value, expected):
    expected = "fail" if output.endswith(BOMB) else expected
    assert outcome(gate, "contains-xml", output, value) == expected


def test_xml_that_is_nested_too_deeply_is_no_verdict(gate):
    assert outcome(gate, "is-xml", "<a>" * 20_000 + "</a>" * 20_000) == "error"


def test_looking_for_xml_comes_to_an_end(gate):
    assert outcome(gate, "contains-xml", "<a>" * 20_000) == "error"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("<p>hi</p>", "pass"),
        ("a &amp; b", "fail"),
        ("plain", "fail"),
        ("<!DOCTYPE html>", "pass"),
        ("x <my-tag>y</my-tag>", "pass"),
        ("a < b > c", "fail"),
    ],
)
def test_the_answer_holds_html(gate, output, expected):
    assert outcome(gate, "contains-html", output) == expected


def test_looking_for_html_comes_to_an_end(gate):
    assert outcome(gate, "contains-html", "<x " * 300_000) in ("error", "fail")
