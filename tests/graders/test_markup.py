"""Answers that are XML, and that hold XML or HTML."""

import pytest

from support.each import table


def outcome(gate, kind, output, value=None):
    asserted = {"type": kind, **({} if value is None else {"value": value})}
    return gate({"tests": [{"providerOutput": output, "assert": [asserted]}]}).grades[0]["outcome"]


BOMB = "<!DOCTYPE a [<!ENTITY e 'ha'>]><a>&e;</a>"


@pytest.mark.parametrize(("output", "value", "expected"), table(__file__, "the_whole_answer_is_xml"))
def test_the_whole_answer_is_xml(gate, output, value, expected):
    assert outcome(gate, "is-xml", output, value) == expected


@pytest.mark.parametrize(("output", "value", "expected"), table(__file__, "the_answer_holds_xml"))
def test_the_answer_holds_xml(gate, output, value, expected):
    expected = "fail" if output.endswith(BOMB) else expected
    assert outcome(gate, "contains-xml", output, value) == expected


def test_xml_that_is_nested_too_deeply_is_no_verdict(gate):
    assert outcome(gate, "is-xml", "<a>" * 20_000 + "</a>" * 20_000) == "error"


def test_looking_for_xml_comes_to_an_end(gate):
    assert outcome(gate, "contains-xml", "<a>" * 20_000) == "error"


@pytest.mark.parametrize(("output", "expected"), table(__file__, "the_answer_holds_html"))
def test_the_answer_holds_html(gate, output, expected):
    assert outcome(gate, "contains-html", output) == expected


def test_looking_for_html_comes_to_an_end(gate):
    assert outcome(gate, "contains-html", "<x " * 300_000) in ("error", "fail")
