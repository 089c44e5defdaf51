"""One letter with its reason: read whatever words the reason uses, unless the reason speaks of the letter."""

from functools import partial

import pytest

from gradegate.errors import Unreadable
from gradegate.grading.reading import letters
from gradegate.grading.reading.answer import parse

CATEGORIES = {
    "A": "The answer is part of the reference and consistent with it.",
    "B": "The answer is a superset of the reference and is fully consistent with it.",
    "C": "The answer holds the same details as the reference.",
    "D": "There is a disagreement between the answer and the reference.",
    "E": "The two differ, but these differences don't matter for the facts.",
}
FORMS = [
    "({0}) {1}", "{0}) {1}", "{0}: {1}", "{0}. {1}", "{0}\n{1}", "**({0})** {1}", "({0})\n\n{1}", "Let me compare.\n\n({0}) {1}", "Answer: ({0}) {1}",
    "The answer is ({0}). {1}", "Answer: {0}. {1}", "Answer: {0} - {1}", "Compared.\n\nAnswer: ({0}) {1}", "My answer is:\n({0}) {1}",
    '{{"category": "({0}) {1}"}}', '{{"category": "{0}: {1}"}}', "The answer is ({0}) because the year is only in one of them.", "Category: {0} (see the year)",
]  # fmt: skip
ALONE = [
    "Therefore: ({})", "Hence ({}).", "I would choose ({}).", "I'd go with ({}).", "Die richtige Antwort ist ({}).", "정답: {}", "정답은 ({})입니다.", "答案是（{}）。",
    "答えは（{}）です。", "This corresponds to option ({}).", "The submitted answer falls under category ({}).",
]  # fmt: skip
read = partial(letters.category, choices="ABCDE", negative="D")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("letter", CATEGORIES)
def test_a_letter_is_read_with_the_text_of_its_category(letter, form):
    assert read(parse(form.format(letter, CATEGORIES[letter]))).verdict == letter


@pytest.mark.parametrize("form", ALONE)
@pytest.mark.parametrize("letter", CATEGORIES)
def test_a_letter_is_read_after_what_introduces_an_answer(letter, form):
    assert read(parse(form.format(letter))).verdict == letter


@pytest.mark.parametrize(
    "reply",
    [
        "(D) The submission says Lyon; the expert says Paris.",
        "(D) Not the same city.",
        "D) Incorrect: it names Lyon.",
        "(D) It states that the year is wrong.",
        "(D) Instead of Paris it names Lyon.",
        "(D) The submission is mistaken about the capital.",
        "(D) It actually says the opposite of the reference.",
        "(D) Wrong city.",
        "(D) The expert answer is a year older.",
        "(C) The answer is a match.",
        "(C) It claims what the reference claims.",
        "(C) Nothing in it is wrong.",
        "(A) It fails to mention the year.",
        "(B) It doesn't contradict the reference and adds the year.",
        "(E) The wording differs, but no fact is incorrect.",
    ],
)
def test_a_reason_may_use_everyday_words(reply):
    assert read(parse(reply)).verdict == reply.strip("(")[0]


@pytest.mark.parametrize(
    "reply",
    [
        "A: subset\nB: superset\nC: same\nD: contradiction\nE: differences",
        "A: no\nB: no\nC: no\nD: yes\nE: no",
        "A. B. C.",
        "C: tempting, but the submission contradicts the reference, so D.",
        "A: it leaves nothing out, so no.\nD: they contradict each other: yes.",
        "A: 1/5\nB: 2/5\nC: 5/5",
        "Options:\n(C) The same details.",
        "(A) A part of it.\n(C) The same details.",
        "C: same?\nD: it is.",
    ],
)
def test_a_walk_through_the_letters_is_no_answer(reply):
    with pytest.raises(Unreadable):
        read(parse(reply))


@pytest.mark.parametrize(
    "reply",
    [
        "C: this one does not fit.",
        "B: Lyon contradicts Paris.",
        "C: They contradict each other.",
        "(C)\nVerdict: FAIL",
        "C: I am not able to compare these.",
        "E: timeout",
        "C: pending",
        "C\nI cannot see the submission.",
        "(C) değil",
        "(C) That option is out.",
        "A: Internal server error",
        "(B)\nThe two disagree on the capital.",
        "(C) The city is wrong.",
        "The answer is (C). Wait, no.",
        "Answer: (C) is wrong.",
        "Category: C (not)",
        "Answer: (C) or (D)",
        "Answer: (C) I take that back.",
        "Compared.\n\n(C) does not apply.",
        "Compared.\n\nAnswer: (C) cannot be right",
        "(D)\nI was not able to read the submission.",
    ],
)
def test_a_letter_that_its_reason_denies_is_no_answer(reply):
    with pytest.raises(Unreadable):
        read(parse(reply))
