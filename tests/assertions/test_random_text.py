"""Of no grader does text without the letters or digits of its verdicts say anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.assertions import answer_relevance, closedqa, conversation_relevance, factuality, g_eval
from gradegate.assertions.judge.verdict_forms import items_form
from gradegate.assertions.select_best import index_form
from gradegate.errors import Unreadable
from support.readers import read

NO_DIGIT = st.characters(exclude_categories=["Nd"])
NEITHER = {  # a form, and the signs of which none is in the text
    "question": (answer_relevance.FORM_OF_USER_PROMPT, st.characters(exclude_categories=["L", "N"])),
    "criterion": (closedqa.FORM, st.characters(exclude_characters="yYnN{")),
    "window": (conversation_relevance.FORM, st.characters(exclude_characters="yYnN{")),
    "category": (factuality.FORM, st.characters(exclude_characters="abcdeABCDE{")),
    "score": (g_eval.SCORE, NO_DIGIT),
    "index": (index_form(3), NO_DIGIT),
    "steps": (items_form("steps"), st.characters(categories=["L", "Zs"])),  # prose is no list
}


@pytest.mark.parametrize("name", NEITHER)
@given(st.data())
def test_text_without_the_signs_says_nothing(name, data):
    form, signs = NEITHER[name]
    with pytest.raises(Unreadable):
        read(form, data.draw(st.text(signs)))
