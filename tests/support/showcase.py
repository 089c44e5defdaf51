"""A run with something of everything that the page for a browser can show, and one of 2,000 cases."""

import random
from dataclasses import replace

from gradegate.deciding.gate import decide
from gradegate.errors import Origin
from gradegate.values.account import BaselineReport
from gradegate.values.conversation import Turn, Usage
from gradegate.values.result import Decision, Grade, Outcome, Row
from gradegate.values.suite import Policy, Rule, Select
from support import samples, screens
from support.screens import CONFIG

DOCUMENTS = (
    "Espresso machines carry a warranty of three years from the day of purchase. Grinders carry two years.",
    "A receipt is needed for every claim. The buyer pays for sending a machine in; the shop pays for sending it back.",
    "Descaling is not covered.",
)
_ASKED = "How long is the warranty of an espresso machine, and who pays for sending it in?"
_ANSWER = "The warranty is three years from the day of purchase. We pay for sending it in. Descaling is covered, too."
_SPENT = Usage(calls=1, prompt_tokens=310, completion_tokens=42, cost=0.0007, seconds=1.24)
_JUDGED = Usage(calls=3, prompt_tokens=1210, completion_tokens=160, cost=0.0031, seconds=2.61)


def _grade(outcome: Outcome, kind: str, line: int, **more: object) -> Grade:
    made = samples.grade(outcome, kind, line, **more)
    return replace(made, assertion=replace(made.assertion, origin=Origin(CONFIG, line)))


def faithfulness() -> Row:
    """Claims beside what the documents say."""
    claims = [
        {"claim": "The warranty is three years from the day of purchase.", "verdict": "yes", "reason": ""},
        {
            "claim": "The shop pays for sending the machine in.",
            "verdict": "no",
            "reason": "The documents say that the buyer pays for sending it in.",
        },
        {"claim": "Descaling is covered.", "verdict": "no", "reason": "Descaling is not covered."},
        {"claim": "The staff is friendly.", "verdict": "idk", "reason": "No document says anything about it."},
    ]
    grade = _grade(
        Outcome.FAIL,
        "faithfulness",
        44,
        score=0.5,
        threshold=0.8,
        reason='2 of 4 claims hold; "The shop pays for sending the machine in." is contradicted',
        evidence={"claims": claims, "truths": [*". ".join(DOCUMENTS).split(". ")]},
        usage=_JUDGED,
        status="new-failure",
    )
    return screens._row(
        5,
        Outcome.FAIL,
        grade,
        prompt=f"Answer by these documents alone.\n\n{' '.join(DOCUMENTS)}\n\nQuestion: {_ASKED}",
        vars={"question": _ASKED, "context": list(DOCUMENTS)},
        output=_ANSWER,
        usage=_SPENT,
    )


def nearly_equal() -> Row:
    """A few words apart from what is expected, asked three times."""
    votes = screens_votes()
    grade = _grade(
        Outcome.FAIL,
        "factuality",
        62,
        value="Returns are taken for 30 days after delivery, in the original packaging, and the way back is free.",
        score=0.0,
        threshold=0.5,
        reason="(D) The answer says 60 days and unpacked, where the reference says 30 days and in the packaging.",
        evidence={"category": "D"},
        usage=_JUDGED,
        votes=votes,
        confirmed=True,
        status="new-failure",
    )
    style = _grade(Outcome.PASS, "llm-rubric", 63, value="Is polite", score=0.9, threshold=0.8, reason="Polite.")
    answer = "Returns are taken for 60 days after delivery, also without the original packaging, and the way back is free."
    return screens._row(0, Outcome.FAIL, grade, style, output=answer, usage=_SPENT)


def screens_votes() -> tuple:
    """Three asks of which one passes."""
    from gradegate.values.result import Vote

    return (
        Vote(Outcome.FAIL, 0.0, "(D) 60 days is not 30 days.", "openai:chat:gpt-5-mini"),
        Vote(Outcome.PASS, 1.0, "(E) The difference does not matter.", "openai:chat:gpt-5-mini"),
        Vote(Outcome.FAIL, 0.0, "(D) The packaging is needed.", "anthropic:messages:claude-sonnet-5"),
    )


def conversation() -> Row:
    """Forgets in turn 4 what it was told in turn 1."""
    row = screens.conversation(3)
    turns = list(row.turns)
    turns[3] = replace(turns[3], retrieval_context=("Parcels go to the address of the order.",))
    return replace(row, turns=tuple(turns), usage=_SPENT)


def long_answer() -> Row:
    """Nobody reads all of it at once."""
    text = "The machine has to be filled, heated and rinsed before the first cup is drawn. " * 60
    grade = _grade(Outcome.FAIL, "llm-rubric", 71, value="At most 40 words", blocking=False, score=0.1, threshold=0.8, reason="Long.")
    good = _grade(Outcome.PASS, "factuality", 70, value="It is rinsed first.", score=1.0, status="ok")
    return screens._row(2, Outcome.PASS, good, grade, output=text, provider="anthropic:messages:claude-sonnet-5")


def _passing(number: int, score: float) -> Row:
    row = screens.passing(number)
    style = _grade(Outcome.PASS, "llm-rubric", 65, score=score, threshold=0.8, reason="Polite, and to the point.")
    return replace(row, grades=(*row.grades, style), usage=_SPENT)


RULES = (
    *screens.RULES[:2],
    Rule("grounded", Select(assertion="faithfulness"), min_score=0.9, suite=CONFIG),
    Rule("memory", Select(assertion="knowledge-retention"), min_pass_rate=1.0, suite=CONFIG),
    screens.RULES[2],
)


def showcase() -> Decision:
    """Something of everything."""
    rows = [nearly_equal(), faithfulness(), conversation(), screens.unclear(4), screens.failing(8, "pre-existing")]
    rows += [long_answer(), screens.passing(10, "fixed"), *(_passing(n, 0.8 + (n % 5) / 25) for n in range(12, 30))]
    made = screens.decided(rows, RULES)
    beside = BaselineReport("9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c", 2, len(rows), 3, 1, 1)
    return decide(replace(made.run, baseline=beside, derived=()), (Policy(RULES),))


def large(cases: int = 2000) -> Decision:
    """As many cases as a page shows of a kind, a tenth of them failing, with texts of the usual length."""
    draw = random.Random(7)
    words = "the a of to machine warranty years shop order parcel water cup button light clean heat press before".split()

    def sentence(length: int) -> str:
        return " ".join(draw.choice(words) for _ in range(length)).capitalize() + "."

    def graded(number: int, outcome: Outcome, kind: str) -> Grade:
        score = round(draw.uniform(0, 0.7) if outcome is Outcome.FAIL else draw.uniform(0.7, 1), 2)
        return _grade(outcome, kind, 20 + number, value=sentence(25), score=score, threshold=0.7, reason=sentence(30), usage=_JUDGED)

    def row(number: int) -> Row:
        outcome = Outcome.FAIL if number % 10 == 0 else Outcome.PASS
        return screens._row(
            number,
            outcome,
            graded(number, outcome, "factuality"),
            graded(number, Outcome.PASS, "llm-rubric"),
            prompt=sentence(120),
            vars={"question": sentence(12), "context": [sentence(60), sentence(60)]},
            output=sentence(90),
            turns=tuple(Turn("assistant" if n % 2 else "user", sentence(20)) for n in range(6)) if number % 7 == 0 else (),
        )

    return screens.decided([row(number) for number in range(cases)], screens.RULES[:2])
