"""What is said of types of assertions that there are no graders for."""

import pytest

from gradegate.grading.grader import GRADERS
from gradegate.planning import foreign
from gradegate.planning.types import _MEANT
from support.graded import mistakes


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("min-length", 'did you mean "word-count" with `value: {min: N, max: N}`, or char_ct_match for characters?'),
        ("not-empty", 'did you mean "is_string"; or `regex` with the value `\\S` for an answer that is not empty?'),
        ("valid-json", 'did you mean "is-json"'),
        ("relevance", 'did you mean "answer-relevance"?'),
        ("contians", 'did you mean "contains"?'),
        ("not-contain", 'did you mean "not-contains"?'),
        ("not-null", 'did you mean "regex"?'),
        ("js", 'did you mean "javascript"?'),
        ("not-js", 'did you mean "not-javascript"?'),
        ("py", 'did you mean "python"?'),
        ("eq", 'did you mean "equals"?'),
        ("endsWith", 'did you mean "regex"?'),
        ("not_empty_word", "`gradegate list` has all"),
        ("is-sql", "is promptfoo's, and gradegate does not have it -> use regex or llm-rubric"),
        ("perplexity", "remove it here, or keep it for promptfoo"),
        ("fluency", "`gradegate list` has all"),  # whose letters are near those of `latency`
        ("whatever", "`gradegate list` has all"),
    ],
)
def test_a_type_without_a_grader_is_a_mistake_that_names_what_is_meant(gate, kind, said):
    assert said in mistakes(gate({"tests": [{"providerOutput": "x", "assert": [{"type": kind, "value": "x"}]}]}))


def test_what_is_named_is_there():
    assert set(_MEANT) <= set(GRADERS.names())
    assert not {name for names in _MEANT.values() for name in names.split()} & set(GRADERS.names())
    assert not [name for names in _MEANT.values() for name in names.split() if foreign.find(name)]


@pytest.mark.parametrize(
    ("kind", "right"),
    [
        ("not_contains", "not-contains"),
        ("NOT-contains", "not-contains"),
        ("Not contains", "not-contains"),
        ("notcontains", "not-contains"),
        ("notContains", "not-contains"),
        ("doesNotContain", "not-contains"),
        ("does not contain", "not-contains"),
        ("doesn't-contain", "not-contains"),
        ("isNotJson", "not-is-json"),
        ("not_goal_accuracy", "not-goal-accuracy"),
        ("not_includes", "not-contains"),
        ("notEqual", "not-equals"),
    ],
)
def test_the_opposite_in_other_words_is_never_answered_with_the_type_itself(gate, kind, right):
    said = mistakes(gate({"tests": [{"providerOutput": "x", "assert": [{"type": kind, "value": "x"}]}]}))
    assert f"write `type: {right}`" in said


def test_a_word_that_begins_like_a_denial_is_none(gate):
    said = mistakes(gate({"tests": [{"providerOutput": "x", "assert": [{"type": "noteworthy", "value": "x"}]}]}))
    assert "not-" not in said
