"""Assertions of the command line: every type can be named there, and what is none is a mistake."""

import pytest

from gradegate.errors import ConfigError
from gradegate.planning.load import parse
from support.each import each, table


@each(("written", "kind", "value", "threshold"), table(__file__, "the_longest_type_that_there_is_is_meant"))
def test_the_longest_type_that_there_is_is_meant(written, kind, value, threshold):
    found = parse(written)
    assert (found.type, found.value, found.threshold) == (kind, value, threshold)


@each("written", ["", "(0.5)", "contains(x):y", "Contains:x", "contains x"])
def test_what_is_no_assertion_is_a_mistake(written):
    with pytest.raises(ConfigError, match="is not an assertion"):
        parse(written)
