"""What asks of one grade come to, against the vectors of the specification."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.conversation import Usage
from gradegate.gate.reasks.ballot import DISAGREEMENT, Standing, concluded, standing, turn
from gradegate.gate.statistics import Lead
from gradegate.results.grades import Asserted, Grade, Outcome
from support.each import each

CONFORMANCE = Path(__file__).parents[2] / "conformance"
VECTORS = json.loads((CONFORMANCE / "decisions.json").read_text())
OPINIONS = json.loads((CONFORMANCE / "history.json").read_text())["opinions"]
OUTCOMES = {"P": Outcome.PASS, "F": Outcome.FAIL, "E": Outcome.ERROR}
CONCLUSIONS = {"pass": Outcome.PASS, "fail": Outcome.FAIL, "error": Outcome.ERROR}


def outcomes(replies):
    return [OUTCOMES[reply] for reply in replies]


def grades(replies):
    scores = {"P": 0.9, "F": 0.2, "E": None}
    return [
        Grade(Asserted("llm-rubric"), OUTCOMES[reply], scores[reply], 0.5, f"{reply}{number}", usage=Usage(calls=1))
        for number, reply in enumerate(replies)
    ]


def grade_of(replies, lead):
    return concluded(grades(replies), ["judge"] * len(replies), Lead(lead))


@each("vector", VECTORS["confirm"], ids=lambda vector: f"{vector['lead']}-{vector['replies']}")
def test_the_vectors(vector):
    asks = outcomes(vector["replies"])
    stands = [standing(asks[:count], Lead(vector["lead"])) for count in range(1, len(asks) + 1)]
    assert Standing.OPEN not in stands[-1:]
    assert set(stands[:-1]) <= {Standing.OPEN}
    assert len(asks) == vector["asks"]
    assert grade_of(vector["replies"], vector["lead"]).outcome is CONCLUSIONS[vector["conclusion"]]


@each("vector", OPINIONS, ids=lambda vector: f"{vector['opinions']}-{vector['replies']}")
def test_second_opinions(vector):
    asks, opinions = outcomes(vector["replies"]), vector["opinions"]
    lead = Lead(vector["lead"], sure=vector["sure_votes"])
    stands = [standing(asks[:count], lead, opinions) for count in range(1, len(asks) + 1)]
    asked = [turn(number, opinions) for number in range(len(asks))]
    assert (asked, len(asks)) == (vector["asked"], vector["asks"])
    assert (set(stands[:-1]) <= {Standing.OPEN}, stands[-1] is not Standing.OPEN) == (True, True)
    grade = concluded(grades(vector["replies"]), [f"m{it}" for it in asked], lead, opinions)
    why = (
        "disagree" if grade.reason.startswith(f"{DISAGREEMENT}: m") else "contradicts" if "contradicts itself" in grade.reason else "errors"
    )
    found = grade.outcome if len(asks) > 1 else asks[0]
    assert (found, why if found is Outcome.ERROR else "") == (CONCLUSIONS[vector["conclusion"]], vector["why"])


@given(st.lists(st.sampled_from("PFE"), max_size=30), st.integers(2, 8))
def test_no_verdict_is_invented(replies, lead):
    asked = ["F"]
    while standing(outcomes(asked), Lead(lead)) is Standing.OPEN and replies:
        asked.append(replies.pop())
    grade = grade_of(asked, lead)
    passes, fails = asked.count("P"), asked.count("F")
    assert len(asked) <= 3 * lead
    if standing(outcomes(asked), Lead(lead)) is Standing.OPEN:
        assert (grade.outcome, grade.confirmed) == (Outcome.FAIL, None)
    elif grade.outcome is Outcome.PASS:
        assert (passes - fails, grade.score, grade.confirmed) == (1, 0.9, False)
    elif grade.outcome is Outcome.FAIL:
        assert (fails - passes, grade.score, grade.confirmed) == (lead, 0.2, True)
    else:
        assert (grade.score, grade.confirmed) == (None, False)
    assert [vote.outcome for vote in grade.votes] == outcomes(asked)
    assert grade.usage.calls == len(asked)


def test_a_first_error_is_asked_no_more():
    assert standing(outcomes("E"), Lead(5)) is Standing.UNASKABLE


def test_the_last_winner_gives_the_reason_and_a_contradiction_its_count():
    assert grade_of("FPFPP", 5).reason == "P4"
    assert grade_of("FPFF", 2).reason == "F3"
    assert grade_of("FPFPFP", 2).reason == "the grader contradicts itself: 3 of 6 asks failed"
    assert grade_of("FEE", 2).reason == "failed, and re-asking gave errors: E2"
