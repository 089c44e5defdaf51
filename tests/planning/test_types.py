"""What is said of types of assertions that there are no graders for."""

from gradegate.grading.grader import GRADERS
from gradegate.planning.types import _MEANT, folded, known
from support.each import each, table
from support.graded import mistakes


@each(("kind", "said"), table(__file__, "a_type_without_a_grader_is_a_mistake_that_names_what_is_meant"))
def test_a_type_without_a_grader_is_a_mistake_that_names_what_is_meant(gate, kind, said):
    assert said in mistakes(gate({"tests": [{"providerOutput": "x", "assert": [{"type": kind, "value": "x"}]}]}))


def test_what_is_named_is_there():
    assert set(_MEANT) <= set(GRADERS.names())
    assert not {name for names in _MEANT.values() for name in names.split()} & set(GRADERS.names())
    others = {folded(it.name) for it in known()}
    assert not [name for names in _MEANT.values() for name in names.split() if folded(name) in others]


@each(("kind", "right"), table(__file__, "the_opposite_in_other_words_is_never_answered_with_the_type_itself"))
def test_the_opposite_in_other_words_is_never_answered_with_the_type_itself(gate, kind, right):
    said = mistakes(gate({"tests": [{"providerOutput": "x", "assert": [{"type": kind, "value": "x"}]}]}))
    assert f"write `type: {right}`" in said


def test_a_word_that_begins_like_a_denial_is_none(gate):
    said = mistakes(gate({"tests": [{"providerOutput": "x", "assert": [{"type": "noteworthy", "value": "x"}]}]}))
    assert "not-" not in said
