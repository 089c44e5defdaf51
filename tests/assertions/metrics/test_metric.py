"""What holds for every metric of the family."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.assertions.grading.evaluator import EVALUATORS, Scoring
from gradegate.assertions.judge.judge import Judge
from gradegate.assertions.metrics.conversation import Metric
from gradegate.core.conversation import Transcript, Turn
from gradegate.errors import NoVerdict
from support.readers import Says

KINDS = sorted((name for name, kind in EVALUATORS if issubclass(kind, Metric)))
OPTIONS = {
    "role-adherence": {"value": "a pirate"},
    "conversational-g-eval": {"value": "is kind"},
    "contextual-precision": {"value": "e"},
    "contextual-recall": {"value": "e"},
    "hallucination": {"value": ["x"]},
    "topic-adherence": {"value": ["x"]},
}
SEEN = Transcript("q", (Turn("user", "q"), Turn("assistant", "a", ("d1", "d2"))))
# A reply with one of these may hold what is asked for; random text without them never does.
KEYS = ("truths", "claims", "verdict", "intentions", "facts", "steps", "score", "questions")


def grade(kind: str, text: str):
    grader = EVALUATORS.find(kind)
    assert grader is not None
    return grader(**OPTIONS.get(kind, {})).grade(SEEN, Judge({"text": Says(text)}, grader_retries=0))


def test_the_family_is_complete():
    assert KINDS == [
        "contextual-precision",
        "contextual-recall",
        "contextual-relevancy",
        "conversation-completeness",
        "conversational-g-eval",
        "faithfulness",
        "goal-accuracy",
        "hallucination",
        "knowledge-retention",
        "role-adherence",
        "topic-adherence",
        "turn-faithfulness",
        "turn-relevancy",
    ]


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text() | st.sampled_from(["yes", "no", "1", "{}", "[]", "null", '{"pass": true}', "```json\n{}\n```"]))
def test_random_text_never_yields_a_grade(kind, text):
    if any(key in text.lower() for key in KEYS):
        return
    with pytest.raises(NoVerdict):
        grade(kind, text)


@pytest.mark.parametrize("kind", KINDS)
@given(
    found=st.dictionaries(
        st.sampled_from([*KEYS, "verdicts", "reason"]),
        st.none()
        | st.booleans()
        | st.text(max_size=4)
        | st.integers(-3, 12)
        | st.lists(st.sampled_from(["yes", "no", "x", "", {"verdict": "yes"}, {"verdict": "maybe"}, {}]), max_size=3),
    )
)
def test_a_score_is_a_share_or_there_is_none(kind, found):
    try:
        verdict = grade(kind, json.dumps(found))
    except NoVerdict:
        return
    assert 0 <= verdict.score <= 1
    assert verdict.reason


@pytest.mark.parametrize("kind", KINDS)
def test_a_threshold_that_can_never_fail_is_known_as_such(kind):
    assert EVALUATORS.find(kind).scoring == Scoring(0.5, share=True)
