"""What a person wants to know first of a failing case."""

import json
from dataclasses import replace

from gradegate.reporting.failing import Exchange, exchange, question, why
from gradegate.reporting.findings import Finding, fingerprint
from gradegate.values.conversation import Turn
from gradegate.values.result import GateOutcome, Outcome
from support import samples
from support.each import each

SAID = ("I moved to Oslo.", "Noted.", "Where is it?", "In Bergen.", "Thanks.", "Bye!")
TURNS = tuple(Turn("assistant" if place % 2 else "user", text) for place, text in enumerate(SAID))


def talk(*turns: int, of: tuple[Turn, ...] = TURNS) -> Exchange:
    grade = replace(samples.grade(Outcome.FAIL), turns=turns)
    return exchange(samples.row("talk", Outcome.FAIL, grade, turns=of, output="Bye!"), grade)


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
    assert talk(1, of=(Turn("assistant", "Hello!"), *TURNS)).answered == "Hello!"
    assert talk(of=(Turn("user", "Anybody?"),)) == Exchange("Anybody?", "Bye!")


def test_of_a_chat_the_last_message_of_the_user_is_what_was_asked() -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}, {"role": "assistant"}, 3]
    assert exchange(samples.row("a", Outcome.FAIL, prompt=json.dumps(chat))).asked == "Why?"
    for odd in ("[1, 2", "[]", "[[]]", '[{"role": "user", "content": 3}]', "[" * 5000):
        assert exchange(samples.row("a", Outcome.FAIL, prompt=odd)).asked == odd


def test_of_a_long_prompt_the_variables_say_which_it_was() -> None:
    row = samples.row("a", Outcome.FAIL, vars={"state": "Ohio", "n": 3})
    assert question(row, "x" * 50, 60) == "x" * 50
    assert question(row, "x" * 70, 60) == "state=Ohio, n=3"
    assert question(replace(row, vars={"q": "x" * 70}), "x" * 70 + "y", 60) == "x" * 60 + "…"
    assert question(replace(row, vars={}), "x" * 70, 60) == "x" * 60 + "…"
    assert question(replace(row, description=""), "x" * 70, 60) == "x" * 60 + "…"  # they are its name already


def test_why_is_the_first_reason_and_how_many_there_are_more() -> None:
    first, other = samples.grade(Outcome.FAIL, reason="bad"), samples.grade(Outcome.FAIL, "is-json", reason="no JSON")
    assert why(Finding(samples.row("a", Outcome.FAIL, first, other)), 80) == ("factuality", "bad (and 1 more assertion)")
    assert why(Finding(samples.row("a", Outcome.FAIL, samples.grade(Outcome.FAIL, score=0.0))), 80) == ("factuality", "failed, score 0")
    assert why(Finding(samples.unanswered("Ohio")), 80)[1].startswith("no answer: api.openai.com")
    assert why(Finding(samples.row("a", Outcome.FAIL)), 80) == ("", "no assertion gives a reason")


def test_a_fingerprint_knows_outcome_cases_and_what_fails_in_them_and_no_words() -> None:
    decision = samples.blocked()
    own = fingerprint(decision)
    rows = decision.run.rows
    same = [replace(row, output="in other words", grades=tuple(replace(it, reason="so") for it in row.grades)) for row in rows]
    again = samples.decision(decision.outcome, "for another reason", *same, rules=decision.rules)
    unlike = [
        replace(decision, outcome=GateOutcome.INCONCLUSIVE),
        samples.decision(decision.outcome, "", *rows[:-1], rules=decision.rules),
        replace(decision, blocking=frozenset()),
        replace(decision, changes=samples.weakened().changes),
    ]
    assert fingerprint(again) == own
    assert own not in {fingerprint(other) for other in unlike}
    assert len({fingerprint(other) for other in unlike}) == len(unlike)
    fingerprint(samples.odd())
