import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import Unreadable
from gradegate.graders.factuality import FORM
from support.readers import read
from support.scenes import scenes

test_a_scene = scenes(__file__)


@given(st.text(st.characters(blacklist_characters="abcdeABCDE{")))
def test_text_without_one_of_the_letters_is_no_category(text):
    with pytest.raises(Unreadable):
        read(FORM, text)
