"""What a person wants to know first of a failing case: its list, why it failed, and the claims of its graders."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.conversation import Turn
from gradegate.reports.view.case import Exchange, first_failure, further_failures, question_line, relevant_exchange
from gradegate.reports.view.claims import ClaimVerdict, grade_claims
from gradegate.reports.view.findings import Effect, Finding, classify_row, findings_to_read, fingerprint
from gradegate.results.grades import Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import GateOutcome
from gradegate.structs import replace
from support import samples
from support.each import each
from support.samples import MISSED, advised, decision, failing, grade, passing, row, unanswered, unclear

PASS, FAIL, ERROR = Outcome.PASS, Outcome.FAIL, Outcome.ERROR


@each(
    ("of", "where"),
    [
        (passing(), Effect.NONE),
        (failing(), Effect.ADVISES),
        (unclear(), Effect.UNCLEAR),
        (unanswered("Alaska"), Effect.UNCLEAR),
        (advised(), Effect.ADVISES),
        (row("both", FAIL, grade(FAIL), grade(ERROR)), Effect.ADVISES),
        (row("both", ERROR, grade(FAIL), grade(ERROR)), Effect.UNCLEAR),
        (row("tolerated by the threshold of the case", PASS, grade(FAIL), grade(PASS)), Effect.ADVISES),
        (row("advice with an error", PASS, grade(ERROR, blocking=False)), Effect.UNCLEAR),
        (row("without weight", PASS, grade(FAIL, weight=0)), Effect.ADVISES),
        (row("without grades", ERROR), Effect.UNCLEAR),
        (row("nothing asserted", PASS), Effect.NONE),
        (row("tolerated by its set", PASS, grade(PASS, "assert-set"), grade(FAIL, inner=True)), Effect.ADVISES),
        (row("missed by its set", FAIL, grade(FAIL, "assert-set"), grade(FAIL, inner=True)), Effect.ADVISES),
    ],
)
def test_a_row_is_in_one_list(of: Row, where: Effect) -> None:
    assert classify_row(of, blocks=False).effect is where
    assert classify_row(of, blocks=True).effect is Effect.BLOCKS


def test_like_errors_are_one_finding() -> None:
    rows = [unanswered("Alaska"), unclear(), unanswered("Hawaii"), replace(unclear(), description="Utah"), failing()]
    found = findings_to_read(decision(GateOutcome.BLOCKED, "", *rows, rules=(MISSED,)))
    assert [[it.row.description, *(row.description for row in it.similar)] for it in found[Effect.UNCLEAR]] == [
        ["Alaska", "Hawaii"],
        ["Texas", "Utah"],
    ]
    assert [it.row.description for it in found[Effect.BLOCKS]] == ["New York"]
    assert found[Effect.ADVISES] == []


def test_errors_beside_failures_and_errors_without_a_word_stay_apart() -> None:
    mixed = row("a", ERROR, grade(FAIL, reason="x"), grade(ERROR, reason="y"))
    apart = decision(GateOutcome.INCONCLUSIVE, "", mixed, replace(mixed, description="b"), row("c", ERROR), row("d", ERROR))
    assert len(findings_to_read(apart)[Effect.UNCLEAR]) == 4


def test_what_decides_comes_first() -> None:
    advice, error, failure = grade(FAIL, "a", blocking=False), grade(ERROR, "b"), grade(FAIL, "c")
    found = classify_row(row("all", FAIL, advice, grade(PASS), error, failure), blocks=False)
    assert [told.assertion.type for told in found.grades] == ["c", "b", "a"]


def test_members_follow_their_set_and_decide_as_it_does() -> None:
    grades = (
        grade(ERROR, "a"),
        grade(FAIL, "assert-set"),
        grade(PASS, "b", inner=True),
        grade(ERROR, "c", inner=True),
        grade(PASS, "assert-set"),
        grade(FAIL, "d", inner=True),
        grade(FAIL, "advisory-set", blocking=False),
        grade(FAIL, "e", inner=True),
    )
    found = classify_row(row("sets", FAIL, *grades), blocks=False)
    assert [told.assertion.type for told in found.decisive] == ["assert-set", "c", "a"]
    assert [told.assertion.type for told in found.grades] == ["assert-set", "c", "a", "advisory-set", "e", "d"]


# --- failing --------------------------------------------------------------------------------------------------
SAID = ("I moved to Oslo.", "Noted.", "Where is it?", "In Bergen.", "Thanks.", "Bye!")
TURNS = tuple(Turn("assistant" if place % 2 else "user", text) for place, text in enumerate(SAID))


def talk(*turns: int, of: tuple[Turn, ...] = TURNS) -> Exchange:
    grade = replace(samples.grade(Outcome.FAIL), turns=turns)
    return relevant_exchange(samples.row("talk", Outcome.FAIL, grade, turns=of, output="Bye!"), [grade])


@each(
    ("turns", "told"),
    [
        ((4,), Exchange("Where is it?", "In Bergen.", 4)),
        ((2, 4), Exchange("I moved to Oslo.", "Noted.", 2)),
        ((), Exchange("Thanks.", "Bye!", 6)),  # nobody says, so it is the last
        ((99, -1), Exchange("Thanks.", "Bye!", 6)),
    ],
)
def test_the_turn_that_failed_is_told_and_not_the_last(turns: tuple[int, ...], told: Exchange) -> None:
    assert talk(*turns) == told


def test_a_conversation_that_the_assistant_begins_or_that_got_no_answer() -> None:
    assert talk(1, of=(Turn("assistant", "Hello!"), *TURNS)).answer == "Hello!"
    assert talk(of=(Turn("user", "Anybody?"),)) == Exchange("Anybody?", "Bye!")


def test_of_a_chat_the_last_message_of_the_user_is_what_was_asked() -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}, {"role": "assistant"}, 3]
    assert relevant_exchange(samples.row("a", Outcome.FAIL, prompt=json.dumps(chat))).question == "Why?"
    for odd in ("[1, 2", "[]", "[[]]", '[{"role": "user", "content": 3}]', "[" * 5000):
        assert relevant_exchange(samples.row("a", Outcome.FAIL, prompt=odd)).question == odd


def test_of_a_long_prompt_the_variables_say_which_it_was() -> None:
    row = samples.row("a", Outcome.FAIL, vars={"state": "Ohio", "n": 3})
    assert question_line(row, "x" * 50, 60) == "x" * 50
    assert question_line(row, "x" * 70, 60) == "state=Ohio, n=3"
    assert question_line(replace(row, vars={"q": "x" * 70}), "x" * 70 + "y", 60) == "x" * 60 + "…"
    assert question_line(replace(row, vars={}), "x" * 70, 60) == "x" * 60 + "…"
    assert question_line(replace(row, description=""), "x" * 70, 60) == "x" * 60 + "…"  # they are its name already


def test_why_is_the_first_reason_and_the_further_assertions_are_named() -> None:
    first, other = samples.grade(Outcome.FAIL, reason="bad"), samples.grade(Outcome.FAIL, "is-json", reason="no JSON")
    two = Finding(samples.row("a", Outcome.FAIL, first, other, other))
    assert (first_failure(two, 80), further_failures(two)) == (("factuality", "bad"), "also: is-json failed (2 times)")
    assert further_failures(Finding(samples.row("a", Outcome.FAIL, first))) == further_failures(Finding(samples.unanswered("Ohio"))) == ""
    assert first_failure(Finding(samples.row("a", Outcome.FAIL, samples.grade(Outcome.FAIL, score=0.0))), 80) == (
        "factuality",
        "failed, score 0",
    )
    assert first_failure(Finding(samples.unanswered("Ohio")), 80)[1].startswith("no answer: api.openai.com")
    assert first_failure(Finding(samples.row("a", Outcome.FAIL)), 80) == ("", "no assertion gives a reason")


def test_a_fingerprint_knows_outcome_cases_and_what_fails_in_them_and_no_words() -> None:
    decision = samples.blocked_decision()
    own = fingerprint(decision)
    rows = decision.run.rows
    same = [replace(row, output="in other words", grades=tuple(replace(it, reason="so") for it in row.grades)) for row in rows]
    again = samples.decision(decision.outcome, "for another reason", *same, rules=decision.rules)
    unlike = [
        replace(decision, outcome=GateOutcome.INCONCLUSIVE),
        samples.decision(decision.outcome, "", *rows[:-1], rules=decision.rules),
        replace(decision, blocking=frozenset()),
        replace(decision, changes=samples.weakened_decision().changes),
    ]
    assert fingerprint(again) == own
    assert own not in {fingerprint(other) for other in unlike}
    assert len({fingerprint(other) for other in unlike}) == len(unlike)
    fingerprint(samples.odd())


# --- claims ---------------------------------------------------------------------------------------------------
SHOPS = "The shop opens at ten. It closes at six on Sundays.\nDogs are welcome"


def find_claims(evidence: dict[str, Any], **row: Any) -> list[tuple[str, str, str, str, int]]:
    grade = samples.grade(Outcome.FAIL, "faithfulness", evidence=evidence)
    listed = grade_claims(samples.row("x", Outcome.FAIL, grade, **{"vars": {"context": SHOPS}, **row}), grade)
    return [(it.text, it.verdict.value, it.reason, it.nearest, it.turn) for it in listed]


def test_those_that_do_not_hold_come_first_each_beside_its_sentence() -> None:
    evidence = {
        "claims": [
            {"claim": "The shop opens at ten", "verdict": "yes", "reason": ""},
            {"claim": "It closes at eight on Sundays", "verdict": "no", "reason": "At six."},
            {"claim": "Parking costs nothing", "verdict": "idk", "reason": ""},
        ]
    }
    assert find_claims(evidence) == [
        ("It closes at eight on Sundays", "contradicted", "At six.", "It closes at six on Sundays.", 0),
        ("Parking costs nothing", "not verified", "", "", 0),
        ("The shop opens at ten", "holds", "", "The shop opens at ten.", 0),
    ]


@each(
    ("evidence", "holds"),
    [
        ({"statements": [{"statement": "Dogs are welcome", "supported": True}]}, ClaimVerdict.YES),
        ({"statements": [{"statement": "Dogs are welcome", "supported": False}]}, ClaimVerdict.NO),
        ({"sentences": [{"sentence": "Dogs are welcome", "attributed": False}]}, ClaimVerdict.NO),
        ({"votes": [{"id": 1, "claim": "Dogs are welcome", "outcome": "tie", "first": ["true", "false"]}]}, ClaimVerdict.UNKNOWN),
        ({"contradicted": [{"turn": 2, "claim": "Dogs are welcome", "reason": "no"}]}, ClaimVerdict.NO),
        ({"ambiguous": [{"turn": 2, "claim": "Dogs are welcome", "reason": "?"}]}, ClaimVerdict.UNKNOWN),
    ],
)
def test_the_shapes_of_the_graders(evidence: dict[str, Any], holds: ClaimVerdict) -> None:
    (claim,) = find_claims(evidence)
    assert (claim[0], claim[1], claim[3]) == ("Dogs are welcome", holds.value, "Dogs are welcome")


def test_a_claim_that_is_told_twice_is_one_with_its_reason() -> None:
    evidence = {
        "votes": [{"id": 1, "claim": "Dogs are welcome", "outcome": "false", "first": ["false"]}],
        "false_details": [{"claim": "Dogs are welcome", "reason": "They are not."}],
    }
    assert find_claims(evidence) == [("Dogs are welcome", "contradicted", "They are not.", "Dogs are welcome", 0)]


def test_truths_of_the_grader_come_before_the_documents() -> None:
    evidence = {"claims": [{"claim": "Dogs may come", "verdict": "yes"}], "truths": ["All dogs may come in"]}
    assert find_claims(evidence)[0][3] == "All dogs may come in"


def test_documents_of_a_conversation_are_sources() -> None:
    turns = (Turn("user", "Dogs?"), Turn("assistant", "Yes.", ("Dogs may come in.",)))
    evidence = {"contradicted": [{"turn": 2, "claim": "Dogs may come", "reason": ""}]}
    assert find_claims(evidence, vars={}, turns=turns) == [("Dogs may come", "contradicted", "", "Dogs may come in.", 2)]


def test_of_hundreds_some_are_kept() -> None:
    evidence = {"claims": [{"claim": f"claim {n}", "verdict": "no"} for n in range(500)]}
    assert len(find_claims(evidence)) == 40


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["claim", "no", "yes", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["claim", "verdict", "truths", "claims", "turn", "reason", "contradicted"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON, JSON)
def test_no_evidence_is_a_defect(value: Any, context: Any) -> None:
    find_claims({"claims": value, "truths": context}, vars={"context": context})
