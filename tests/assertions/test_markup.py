"""Answers that are XML, and that hold XML or HTML."""


def outcome(gate, kind, output):
    return gate({"tests": [{"providerOutput": output, "assert": [{"type": kind}]}]}).grades[0]["outcome"]


def test_xml_that_is_nested_too_deeply_is_no_verdict(gate):
    assert outcome(gate, "is-xml", "<a>" * 20_000 + "</a>" * 20_000) == "error"


def test_looking_for_markup_comes_to_an_end(gate):
    assert outcome(gate, "contains-xml", "<a>" * 20_000) == "error"
    assert outcome(gate, "contains-html", "<x " * 300_000) in ("error", "fail")
