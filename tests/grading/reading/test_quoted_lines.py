"""A line that is quoted with ``>`` is nobody's own verdict, in every form; before a verdict it is evidence."""

import pytest

from support.readers import PROSE, read

QUOTABLE = sorted(set(PROSE) - {"quoted"})  # to quote is the form of context-relevance


@pytest.mark.parametrize("form", QUOTABLE)
@pytest.mark.parametrize("quoted", ["> {}", ">{}", "> > {}", "It says:\n\n> {}", "- > {}", "**> {}**"])
def test_a_quoted_line_is_no_verdict(form, quoted):
    assert read(form, quoted.format(PROSE[form])) is None


@pytest.mark.parametrize(
    ("form", "reply"),
    [("letter", "> The answer is (C)."), ("yes", "> Answer: Y"), ("score", "> 9/10"), ("index", "> Index: 0"), ("marked", "> x y z [Attributed]"), ("in order", "> 1. yes\n> 2. yes")],
)  # fmt: skip
def test_a_quoted_label_is_no_verdict(form, reply):
    assert read(form, reply) is None


@pytest.mark.parametrize("form", ["letter", "yes", "score", "index"])
def test_a_quotation_before_the_verdict_is_evidence(form):
    assert read(form, f"> The capital is Paris.\n\nIt says so.\n\n{PROSE[form]}") is not None
