"""Which answers a run is blocked for, and which failures only advise."""

from __future__ import annotations

from gradegate.core.policy import Policy, Rule, Select
from gradegate.gate.decision import blocking_rows, decide
from gradegate.results.gate_changes import ChangeKind, GateChange, GateChanges
from gradegate.results.grades import Counterpart, Grade, Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import GateOutcome, RunResult
from gradegate.structs import replace
from support import samples
from support.each import each

FACTS = Select(assertion="factuality")
STYLE = Select(assertion="llm-rubric")
BASES = {"new-failure": Outcome.PASS, "pre-existing": Outcome.FAIL}


def grade(outcome: Outcome, kind: str, status: str) -> Grade:
    base = Counterpart(BASES[status], BASES[status]) if status else None
    made = samples.grade(outcome, kind, score=float(outcome is Outcome.PASS))
    return replace(made, status=status, base=base)


def fails(kind: str, status: str = "", **more: object) -> Row:
    return samples.row(f"{kind} {status}", Outcome.FAIL, grade(Outcome.FAIL, kind, status), **more)


def rule(name: str, **more: object) -> Rule:
    return Rule(name, suite=samples.CONFIG, **more)  # type: ignore[arg-type]


def blocks(rows: list[Row], *rules: Rule) -> tuple[GateOutcome, list[int]]:
    decision = decide(RunResult(tuple(rows)), (Policy(rules),))
    return decision.outcome, sorted(decision.blocking)


ROWS = [samples.passing(), fails("factuality", "new-failure"), fails("factuality", "pre-existing"), fails("llm-rubric")]


@each(
    ("rules", "outcome", "places"),
    [
        ([rule("every", every_case=True)], GateOutcome.BLOCKED, [1, 2, 3]),
        ([rule("facts", select=FACTS, min_pass_rate=0.9)], GateOutcome.BLOCKED, [1, 2]),
        ([rule("facts", select=FACTS, min_score=0.9)], GateOutcome.BLOCKED, [1, 2]),
        ([rule("style", select=STYLE, min_pass_rate=0.5)], GateOutcome.BLOCKED, [3]),
        ([rule("base", select=FACTS, max_new_failures=0)], GateOutcome.BLOCKED, [1]),
        # What the rule asks of the run itself is met, so that the old failure is none of its reasons; then it is not.
        ([rule("both", select=FACTS, min_pass_rate=0.3, max_new_failures=0)], GateOutcome.BLOCKED, [1]),
        ([rule("both", select=FACTS, min_pass_rate=0.9, max_new_failures=0)], GateOutcome.BLOCKED, [1, 2]),
        ([rule("facts", select=FACTS, min_pass_rate=0.3)], GateOutcome.ADVISORY, []),
        ([rule("facts", select=FACTS, min_pass_rate=0.9, blocking=False)], GateOutcome.ADVISORY, []),
    ],
)
def test_a_missed_rule_blames_what_it_counts(rules: list[Rule], outcome: GateOutcome, places: list[int]) -> None:
    found, blamed_for = blocks(ROWS, *rules)
    assert blamed_for == places
    assert (found is GateOutcome.BLOCKED) is (outcome is GateOutcome.BLOCKED)


def test_another_configs_rows_are_not_blamed() -> None:
    other = fails("factuality", suite="other.yaml")
    assert blocks([samples.failing(), other], rule("every", every_case=True)) == (GateOutcome.BLOCKED, [0])


def test_a_gate_that_is_weakened_blames_no_case() -> None:
    changes = GateChanges((GateChange(ChangeKind.REMOVED, "x"),), block=True)
    policy = Policy((rule("facts", select=FACTS, min_pass_rate=0.1),))
    decision = decide(RunResult(tuple(ROWS)), (policy,), changes)
    assert (decision.outcome, decision.blocking) == (GateOutcome.BLOCKED, frozenset())
    assert blocking_rows(ROWS, decision.rules) == frozenset()
