import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.assertions.metrics.quotations import QuotationFinder, split_units
from gradegate.errors import Unreadable

CONTEXT = "The sky is blue. Grass is green. Snow is white. Coal is black."
WORDLESS = st.text(st.characters(blacklist_characters=set((CONTEXT + "insufficient").lower() + CONTEXT.upper())))


@given(WORDLESS, st.sampled_from(["The", "is", "sky is", "blue", "white"]))
def test_text_that_is_not_in_the_context_says_nothing(text, word):
    with pytest.raises(Unreadable):
        QuotationFinder(CONTEXT, split_units(CONTEXT)).quoted_units([f"{text} {word} {text}"])


def test_whole_units_are_quoted_in_any_order_and_parts_of_them_out_of_order_only_so_often():
    rows = [f"Thing {number} is blue and warm." for number in range(1000)]
    context = QuotationFinder("\n".join(rows), rows)
    assert context.quoted_units(rows[::-1]) == tuple(rows)
    parts = [f"thing {number} is blue" for number in range(1000)]
    assert context.quoted_units(parts) == context.quoted_units(parts[100::-1] + parts[101:]) == tuple(rows)
    with pytest.raises(Unreadable, match="not quoted"):
        context.quoted_units(parts[::-1])
    assert [context.contains(text) for text in ("warm", "war", "")] == [True, False, False]
