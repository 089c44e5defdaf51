"""A last line is a verdict unless the lines before it begin a sentence that denies it, excludes it or puts a condition."""

import pytest

from support.readers import PROSE, read

FORMS = ["letter", "yes", "score", "index"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "lead",
    ["I cannot say\n{}", "The answer must not be\n{}", "I rule out:\n{}", "Everything except:\n{}", "Never give\n{}", "If correct:\n\n{}", "It is not\n{}", "No voy a responder:\n{}", "Nie napiszę:\n{}",
     "我不会回答：\n{}", "Я не буду отвечать:\n{}", "Unless it names Paris:\n{}", "Was ich nicht sage:\n\n{}", "It is short. I would not write\n{}", "Anything but:\n{}"],
)  # fmt: skip
def test_a_sentence_that_goes_on_to_the_last_line_takes_it_away(form, lead):
    assert read(form, lead.format(PROSE[form])) is None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "lead",
    ["It is not wrong.\n{}", "- not rude\n- no errors\n{}", "The tone is fine, never rude\n\n{}", "My verdict:\n{}", "Although it is not polite at all, my verdict is as follows:\n\n{}",
     "## No errors\n{}", "| Tone | not rude |\n{}", "I find no fault (none at all)\n{}"],
)  # fmt: skip
def test_reasoning_with_an_end_leads_up_to_a_verdict(form, lead):
    assert read(form, lead.format(PROSE[form])) is not None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "lead", ["I cannot help with that.\n\n{}", "I refuse to answer\n\n{}", "I am sorry, I can't judge it.\n{}"]
)
def test_a_refusal_and_a_verdict_are_no_verdict(form, lead):
    assert read(form, lead.format(PROSE[form])) is None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "lead", ["I cannot find any error.\n\n{}", "The answer refuses to help, which is right.\n\n{}"]
)
def test_what_only_sounds_like_a_refusal_is_reasoning(form, lead):
    assert read(form, lead.format(PROSE[form])) is not None
