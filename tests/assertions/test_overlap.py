"""BLEU, GLEU and ROUGE-N against numbers that promptfoo 0.123 gives for the same pairs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.assertions import overlap
from support.each import table


@pytest.mark.parametrize(("kind", "value", "outcome"), table(__file__, "a_reference_is_reached_or_not"))
def test_a_reference_is_reached_or_not(gate, kind, value, outcome):
    test = {"providerOutput": "the cat sat on the mat", "assert": [{"type": kind, "value": value}]}
    assert gate({"tests": [test]}).grades[0]["outcome"] == outcome


@pytest.mark.parametrize(("answer", "reference", "bleu", "gleu", "rouge"), table(__file__, "the_formulas"))
def test_the_formulas(answer, reference, bleu, gleu, rouge):
    if bleu is not None:
        assert overlap.bleu(answer, [reference]) == pytest.approx(bleu)
    assert overlap.gleu(answer, [reference]) == pytest.approx(gleu)
    assert overlap.rouge(answer, reference) == pytest.approx(rouge)


@pytest.mark.parametrize(("text", "tokens"), table(__file__, "tokens_are_parted_as_in_the_penn_treebank"))
def test_tokens_are_parted_as_in_the_penn_treebank(text, tokens):
    assert overlap.tokens(text) == tokens


@given(st.text(alphabet="ab .'\"(", max_size=60), st.text(alphabet="ab .'\"(", min_size=1, max_size=60))
def test_scores_are_shares_and_the_same_text_has_all(answer, reference):
    for score in (overlap.bleu(answer, [reference]), overlap.gleu(answer, [reference]), overlap.rouge(answer, reference)):
        assert 0 <= score <= 1 + 1e-9
    if reference.split():
        assert overlap.bleu(reference, [reference]) == pytest.approx(1)
