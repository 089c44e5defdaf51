"""A run with something of everything that the page for a browser can show, and one of 2,000 cases."""

import random

from gradegate.core.conversation import Turn
from gradegate.core.policy import Policy, Rule, Select
from gradegate.core.usage import Usage
from gradegate.gate.decision import decide
from gradegate.results.accounts import BaselineReport
from gradegate.results.grades import Grade, Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision
from gradegate.structs import replace
from support import samples, screens
from support.each import table
from support.screens import CONFIG

_SPENT = Usage(calls=1, prompt_tokens=310, completion_tokens=42, cost=0.0007, seconds=1.24)
_JUDGED = Usage(calls=3, prompt_tokens=1210, completion_tokens=160, cost=0.0031, seconds=2.61)


def _row(name: str, number: int, **more: object) -> Row:
    """An answer as showcase.yaml has it, about the topic of that number."""
    about = {"usage": _SPENT, **table(__file__, name), **more}
    listed = samples.grades(about.pop("grades"), CONFIG)
    return screens.row(number, Outcome(about.pop("outcome")), *listed, **about)


def _conversation() -> Row:
    """Forgets in turn 4 what it was told in turn 1."""
    row = screens.conversation(3)
    turns = list(row.turns)
    turns[3] = replace(turns[3], retrieval_context=("Parcels go to the address of the order.",))
    return replace(row, turns=tuple(turns), usage=_SPENT)


def _passing(number: int, score: float) -> Row:
    row = screens.passing(number)
    style = samples.grade("pass", "llm-rubric", 65, CONFIG, score=score, threshold=0.8, reason="Polite, and to the point.")
    return replace(row, grades=(*row.grades, style), usage=_SPENT)


RULES = (
    *screens.RULES[:2],
    Rule("grounded", Select(assertion="faithfulness"), min_score=0.9, suite=CONFIG),
    Rule("memory", Select(assertion="knowledge-retention"), min_pass_rate=1.0, suite=CONFIG),
    screens.RULES[2],
)


def showcase() -> Decision:
    """Something of everything."""
    rows = [_row("nearly equal", 0), _row("faithfulness", 5), _conversation(), screens.unclear(4), screens.failing(8, "pre-existing")]
    long = "The machine has to be filled, heated and rinsed before the first cup is drawn. " * 60
    rows += [
        _row("long answer", 2, output=long, usage=samples.passing().usage),
        screens.passing(10, "fixed"),
        *(_passing(n, 0.8 + (n % 5) / 25) for n in range(12, 30)),
    ]
    made = screens.decide_rows(rows, RULES)
    beside = BaselineReport(screens.BASE, 2, len(rows), 3, 1, 1)
    return decide(replace(made.run, baseline=beside, derived=()), (Policy(RULES),))


def large(cases: int = 2000) -> Decision:
    """As many cases as a page shows of a kind, a tenth of them failing, with texts of the usual length."""
    draw = random.Random(7)
    words = "the a of to machine warranty years shop order parcel water cup button light clean heat press before".split()

    def sentence(length: int) -> str:
        return " ".join(draw.choice(words) for _ in range(length)).capitalize() + "."

    def graded(number: int, outcome: Outcome, kind: str) -> Grade:
        score = round(draw.uniform(0, 0.7) if outcome is Outcome.FAIL else draw.uniform(0.7, 1), 2)
        texts = {"value": sentence(25), "score": score, "threshold": 0.7, "reason": sentence(30)}
        return samples.grade(outcome, kind, 20 + number, CONFIG, usage=_JUDGED, **texts)

    def row(number: int) -> Row:
        outcome = Outcome.FAIL if number % 10 == 0 else Outcome.PASS
        return screens.row(
            number,
            outcome,
            graded(number, outcome, "factuality"),
            graded(number, Outcome.PASS, "llm-rubric"),
            prompt=sentence(120),
            vars={"question": sentence(12), "context": [sentence(60), sentence(60)]},
            output=sentence(90),
            turns=tuple(Turn("assistant" if n % 2 else "user", sentence(20)) for n in range(6)) if number % 7 == 0 else (),
        )

    return screens.decide_rows([row(number) for number in range(cases)], screens.RULES[:2])
