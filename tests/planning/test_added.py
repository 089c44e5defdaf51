"""Assertions of the command line: every type can be named there, and what is none is a mistake."""

import pytest

from gradegate.errors import ConfigError
from gradegate.planning.added import parse


@pytest.mark.parametrize(
    ("written", "kind", "value", "threshold"),
    [
        ("contains:Rome: the city", "contains", "Rome: the city", None),
        ("turn-relevancy(0.8)", "turn-relevancy", None, 0.8),
        ("not-trajectory:tool-used:refund", "not-trajectory:tool-used", "refund", None),
        ("similar:dot(0.5):Rome", "similar:dot", "Rome", 0.5),
        ("similar:dots", "similar", "dots", None),  # no type is called so
        ("tool-call-f1(0.5):search, book", "tool-call-f1", "search, book", 0.5),
    ],
)
def test_the_longest_type_that_there_is_is_meant(written, kind, value, threshold):
    found = parse(written)
    assert (found.type, found.value, found.threshold) == (kind, value, threshold)


@pytest.mark.parametrize("written", ["", "(0.5)", "contains(x):y", "Contains:x", "contains x"])
def test_what_is_no_assertion_is_a_mistake(written):
    with pytest.raises(ConfigError, match="is not an assertion"):
        parse(written)
