"""What asks of one grade come to, against the vectors of the specification."""

import json
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.usage import Usage
from gradegate.gate.reasks.ballot import Ballot, final_grade, is_contradicted, is_noisier, reask_remarks, undecided_grade
from gradegate.gate.reasks.stopping import BallotState, HistoryRule, LeadRule
from gradegate.results.accounts import ReaskReport
from gradegate.results.grades import Grade, GradedAssertion, Outcome, Vote
from gradegate.structs import replace
from support.each import each

CONFORMANCE = Path(__file__).parents[2] / "conformance"
VECTORS = json.loads((CONFORMANCE / "decisions.json").read_text())
OUTCOMES = {"P": Outcome.PASS, "F": Outcome.FAIL, "E": Outcome.ERROR}
CONCLUSIONS = {"pass": Outcome.PASS, "fail": Outcome.FAIL, "error": Outcome.ERROR}


def outcomes(replies):
    return [OUTCOMES[reply] for reply in replies]


def grades(replies):
    scores = {"P": 0.9, "F": 0.2, "E": None}
    return [
        Grade(GradedAssertion("llm-rubric"), OUTCOMES[reply], scores[reply], 0.5, f"{reply}{number}", usage=Usage(calls=1))
        for number, reply in enumerate(replies)
    ]


def grade_of(replies, lead):
    return concluded(grades(replies), LeadRule(lead))


def concluded(asks, rule):
    return final_grade(Ballot(tuple(asks), rule))


def state(asks, rule):
    return rule.state(Counter(asks))


@each("vector", VECTORS["confirm"], ids=lambda vector: f"{vector['lead']}-{vector['replies']}")
def test_the_vectors(vector):
    asks = outcomes(vector["replies"])
    states = [state(asks[:count], LeadRule(vector["lead"])) for count in range(1, len(asks) + 1)]
    assert BallotState.OPEN not in states[-1:]
    assert set(states[:-1]) <= {BallotState.OPEN}
    assert len(asks) == vector["asks"]
    assert grade_of(vector["replies"], vector["lead"]).outcome is CONCLUSIONS[vector["conclusion"]]


@given(st.lists(st.sampled_from("PFE"), max_size=30), st.integers(2, 8))
def test_no_verdict_is_invented(replies, lead):
    asked = ["F"]
    while state(outcomes(asked), LeadRule(lead)) is BallotState.OPEN and replies:
        asked.append(replies.pop())
    grade = grade_of(asked, lead)
    passes, fails = asked.count("P"), asked.count("F")
    assert len(asked) <= 3 * lead
    if state(outcomes(asked), LeadRule(lead)) is BallotState.OPEN:
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
    assert state(outcomes("E"), LeadRule(5)) is BallotState.UNANSWERABLE


def test_the_last_winner_gives_the_reason_and_a_contradiction_its_count():
    assert grade_of("FPFPP", 5).reason == "P4"
    assert grade_of("FPFF", 2).reason == "F3"
    assert grade_of("FPFPFP", 2).reason == "the grader contradicts itself: 3 of 6 asks failed"
    assert grade_of("FEE", 2).reason == "failed, and re-asking gave errors: E2"


@each(
    ("replies", "lead", "expected"),
    [
        ("F", 2, BallotState.OPEN),
        ("FF", 2, BallotState.FAILED),
        ("FP", 2, BallotState.OPEN),
        ("FPP", 2, BallotState.PASSED),
        ("P", 2, BallotState.PASSED),
        ("FE", 2, BallotState.OPEN),  # one error may be asked again
        ("FEE", 2, BallotState.UNANSWERABLE),
        ("EE", 2, BallotState.UNANSWERABLE),
        ("EF", 2, BallotState.OPEN),
        ("FEF", 2, BallotState.FAILED),
        ("FEEF", 2, BallotState.FAILED),  # a lead counts before errors do
        ("FPFPF", 2, BallotState.OPEN),
        ("FPFPFP", 2, BallotState.CONTRADICTORY),
        ("FPFPFF", 2, BallotState.FAILED),
    ],
)
def test_where_a_grade_stands_after_some_asks(replies, lead, expected):
    assert state(outcomes(replies), LeadRule(lead)) is expected


STEADY = HistoryRule(2, 58, 0.05, 0.1, 1)


@each(
    ("replies", "rule", "expected"),
    [
        ("P", STEADY, BallotState.PASSED),  # nothing failed
        ("F", STEADY, BallotState.OPEN),
        ("FP", STEADY, BallotState.OPEN),
        ("FPP", STEADY, BallotState.PASSED),
        ("FFF", STEADY, BallotState.FAILED),
        ("FFF", replace(STEADY, returned="2026-11-02"), BallotState.RETURNING),
        ("FPP", replace(STEADY, returned="2026-11-02"), BallotState.PASSED),
        ("FEE", STEADY, BallotState.UNANSWERABLE),
    ],
)
def test_where_a_grade_with_a_history_stands(replies, rule, expected):
    assert state(outcomes(replies), rule) is expected


def test_a_grade_with_a_history_is_asked_twenty_times():
    flaky = HistoryRule(30, 30, 0.25, 0.5, 100_000)
    replies = ("FFFP" * 5)[:20]
    assert [state(outcomes(replies[:number]), flaky).value for number in (19, 20)] == ["open", "contradictory"]


def test_a_concluded_grade_has_the_mean_score_of_the_votes_that_won():
    asks = [replace(ask, score=score, model=f"m{n}") for n, (ask, score) in enumerate(zip(grades("FPP"), (0.0, 0.75, 1.0), strict=True))]
    found = concluded(asks, LeadRule(2))
    assert (found.outcome, found.score, found.reason, found.model, found.confirmed) == (Outcome.PASS, 0.875, "P2", "m0", False)
    silent = concluded([replace(ask, score=None) for ask in asks], LeadRule(2))
    assert silent.score is None
    partly = concluded([asks[0], replace(asks[1], score=None), asks[2]], LeadRule(2))
    assert partly.score == 1.0


def test_an_unreadable_score_is_the_first_of_the_votes_that_won():
    asks = [replace(ask, unread=unread) for ask, unread in zip(grades("FPFPP"), ("1", "", "3", "4", "5"), strict=True)]
    assert concluded(asks, LeadRule(2)).unread == "4"
    assert concluded(asks[:3:2], LeadRule(2)).unread == "1"


def test_an_undecided_grade_is_one_of_setup_if_any_ask_was():
    asks = grades("FEE")
    assert not concluded(asks, LeadRule(2)).setup
    assert concluded([asks[0], asks[1], replace(asks[2], setup=True)], LeadRule(2)).setup


@each(("before", "now", "expected"), [(False, False, False), (True, False, True), (False, True, True)])
def test_what_was_undone_stays_undone(before, now, expected):
    assert undecided_grade(Grade(GradedAssertion("contains"), Outcome.FAIL, undone=before), "why", now).undone is expected


@each(
    ("outcome", "votes", "undone", "expected"),
    [
        ("E", "FPFP", False, True),
        ("E", "FEPFP", False, True),  # one ask without a verdict
        ("E", "FEE", False, False),
        ("E", "", False, False),
        ("E", "FPFP", True, False),
        ("F", "FPFP", False, False),
    ],
)
def test_a_grader_contradicts_itself_with_at_most_one_error(outcome, votes, undone, expected):
    asked = tuple(Vote(it) for it in outcomes(votes))
    assert is_contradicted(Grade(GradedAssertion("llm-rubric"), OUTCOMES[outcome], votes=asked, undone=undone)) is expected


def test_a_history_is_named_where_it_leaves_a_grade_undecided():
    flaky, asks = HistoryRule(30, 30, 0.25, 0.5, 100_000), grades("FFFP" * 5)
    found = concluded(asks, flaky)
    assert found.reason == "the re-asks cannot tell a broken case from a flaky one: 15 of 20 asks failed, and 30 of 60 before"
    back = concluded(grades("FFF"), replace(STEADY, returned="2026-11-02 without a change"))
    assert back.reason == "the failure comes and goes: it failed here, and also on 2026-11-02 without a change"


@each(("overturned", "graded", "noise", "expected"), [(0, 10, 0.0, False), (1, 10, 0.0, True), (1, 1, 0.01, False), (1, 1, 0.009, True)])
def test_more_are_overturned_than_noise_explains_below_one_percent(overturned, graded, noise, expected):
    assert is_noisier(overturned, graded, noise) is expected


def asked_again(*words):
    """Grades with their votes, which differ only in their outcomes."""
    return [
        Grade(GradedAssertion("llm-rubric"), Outcome.FAIL, votes=tuple(Vote(it, 0.2, "same") for it in outcomes(word))) for word in words
    ]


@each(
    ("report", "asked", "held", "begins"),
    [
        ({"grades": 9, "lead": 8}, [], False, ["re-asking 9 grades up to a lead of 8"]),
        ({"grades": 9, "lead": 8}, [], True, []),
        ({"grades": 0}, [], False, []),
        ({"grades": 9, "overturned": 9}, [], True, ["the grader changed its mind on 9 of 9 grades"]),
        ({"grades": 9, "overturned": 1}, [], True, []),
        ({}, ["FF", "FF", "FF"], True, ["every re-ask returned the same reply"]),
        ({}, ["FF", "FF"], True, []),  # two may be alike by chance
        ({}, ["FF", "FF", "FP"], True, []),
    ],
)
def test_what_a_user_should_know_of_re_asks(report, asked, held, begins):
    said = reask_remarks(ReaskReport(**report), asked_again(*asked), held)
    assert [line[: len(begin)] for line, begin in zip(said, begins, strict=True)] == begins
