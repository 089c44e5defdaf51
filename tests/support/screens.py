"""The pages that reviewers see, of decisions as a gate would hand them to reports: docs/screens holds them."""

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

from gradegate.core.conversation import Turn
from gradegate.core.policy import Policy, Rule, Select
from gradegate.errors import Origin
from gradegate.gate.decision import decide
from gradegate.github import action
from gradegate.reports.delivery.report import Links
from gradegate.results.accounts import AskedModel, BaselineReport, KeyUse, Made
from gradegate.results.baseline import FIXED, NEW_FAILURE, PRE_EXISTING
from gradegate.results.gate_changes import GateChanges
from gradegate.results.grades import Counterpart, Grade, Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, GateOutcome, RunResult
from gradegate.runner.session import decision_without_calls
from gradegate.structs import replace
from support import samples
from support.each import table

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "screens"
CONFIG = "evals/support.yaml"
COMMIT = "1f3a9c0d4be75162a8c9d0e1f2a3b4c5d6e7f809"
BASE = "9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c"
RUN = "https://github.com/octo/shop/actions/runs/4711/attempts/1"
LINKS = Links(
    "https://github.com",
    "octo/shop",
    COMMIT,
    RUN,
    f"{RUN.partition('/attempts')[0]}#artifacts",
    "nightly",
    results="gradegate-results.json",
)
RULES = (
    Rule("facts", Select(assertion="factuality"), min_pass_rate=0.9, suite=CONFIG, origin=Origin(CONFIG, 4)),
    Rule("regressions", max_new_failures=0, suite=CONFIG, origin=Origin(CONFIG, 5)),
    Rule("style", Select(assertion="llm-rubric"), min_score=0.8, blocking=False, suite=CONFIG),
)
_ABOUT = {"titles": {CONFIG: "Answers of the support desk"}, "options": ("--grader", "openai:chat:gpt-5-mini")}
MADE = Made("0.1.0", COMMIT, "2026-01-01T00:00:00+00:00", {CONFIG: "0" * 64}, **_ABOUT)  # type: ignore[arg-type]
TOPICS = table(__file__, "TOPICS")


def _grade(outcome: Outcome, line: int, kind: str = "factuality", status: str = "", **more: object) -> Grade:
    base = {NEW_FAILURE: Outcome.PASS, PRE_EXISTING: Outcome.FAIL, FIXED: Outcome.FAIL, "ok": Outcome.PASS}.get(status)
    return samples.grade(outcome, kind, line, CONFIG, status=status, base=Counterpart(base, base) if base else None, **more)


def row(number: int, outcome: Outcome, *grades: Grade, **more: object) -> Row:
    name, asked, *_ = TOPICS[number % len(TOPICS)]
    count = number // len(TOPICS)
    given = {
        "suite": CONFIG,
        "prompt_label": "Answer as the support desk",
        "prompt": asked,
        "vars": {"question": asked},
        "origin": Origin(CONFIG, 20 + 8 * number),
        "case": number,
        **more,
    }
    return samples.row(f"{name} {count + 1}" if count else name, outcome, *grades, **given)


def passing(number: int, status: str = "ok") -> Row:
    said = TOPICS[number % len(TOPICS)][2]
    return row(number, Outcome.PASS, _grade(Outcome.PASS, 24 + 8 * number, status=status, value=said, score=1.0))


def failing(number: int, status: str = NEW_FAILURE) -> Row:
    *_, said, answer, reason = TOPICS[number % len(TOPICS)]
    wrong = _grade(Outcome.FAIL, 24 + 8 * number, status=status, value=said, score=0.0, threshold=0.5, reason=reason)
    return row(number, Outcome.FAIL, wrong, output=answer, usage=samples.TARGET)


def conversation(number: int) -> Row:
    said = ("I moved to Oslo.", "Noted: Oslo.", "Where does my parcel go?", "To Bergen.", "Thanks.", "You are welcome!")
    turns = tuple(Turn("assistant" if place % 2 else "user", text) for place, text in enumerate(said))
    reason = "1 of 2 answers forget nothing; turn 4 forgets what the user said: The user lives in Oslo"
    about = {"score": 0.5, "reason": reason, "threshold": 0.8, "turns": (4,)}
    forgot = _grade(Outcome.FAIL, 24 + 8 * number, "knowledge-retention", NEW_FAILURE, **about)
    return replace(row(number, Outcome.FAIL, forgot, output=said[-1], turns=turns), description="Moves to Oslo")


def unclear(number: int) -> Row:
    reason = "the grader's reply contains no verdict: it is not a JSON object (asked 2 times). It began: 'I would rather not say'"
    return row(number, Outcome.ERROR, _grade(Outcome.ERROR, 24 + 8 * number, reason=reason), output=TOPICS[number % len(TOPICS)][3])


def wordy(number: int) -> Row:
    good = _grade(Outcome.PASS, 24 + 8 * number, status="ok", score=1.0)
    about = {"value": "At most 40 words", "score": 0.4, "threshold": 0.8, "reason": "The answer takes 74 words for a yes."}
    long = _grade(Outcome.FAIL, 25 + 8 * number, "llm-rubric", blocking=False, **about)
    return row(number, Outcome.PASS, good, long, output="Yes, and thank you for asking. " + "It is a pleasure to help with that. " * 8)


def decide_rows(rows: list[Row], rules: tuple[Rule, ...] = RULES, **more: object) -> Decision:
    """What the gate makes of these answers."""
    statuses = [grade.status for row in rows for grade in row.grades]
    baseline = BaselineReport(BASE, 2, len(rows), *map(statuses.count, (NEW_FAILURE, PRE_EXISTING, FIXED)))
    host = "api.openai.com"
    models = (AskedModel("openai:chat:gpt-5", host), AskedModel("openai:chat:gpt-5-mini", host, grades=True))
    about = {"seconds": 41.5, "models": models, "keys": (KeyUse("OPENAI_API_KEY", host),), "made": MADE, "baseline": baseline}
    run = RunResult(tuple(rows), samples.TARGET, samples.GRADER, **about)  # type: ignore[arg-type]
    return decide(run, (Policy(rules, **more),))  # type: ignore[arg-type]


def mixed() -> Decision:
    """Twelve cases of every kind."""
    rows = [failing(0), failing(1), failing(2, PRE_EXISTING), conversation(3), unclear(4), unclear(5), wordy(6), wordy(7)]
    return decide_rows([*rows, failing(8, PRE_EXISTING), failing(9), passing(10, FIXED), passing(11)])


def many() -> Decision:
    """Three hundred cases of which forty fail."""
    rows = [failing(n, NEW_FAILURE if n % 4 else PRE_EXISTING) if n < 40 else passing(n) for n in range(300)]
    return decide_rows(rows)


def beside_the_base() -> Decision:
    """Failures that the base has, too, and two that the pull request mends."""
    rows = [failing(0, PRE_EXISTING), failing(1, PRE_EXISTING), failing(3, PRE_EXISTING), passing(2, FIXED), passing(4, FIXED)]
    return decide_rows([*rows, *map(passing, range(5, 12))], (replace(RULES[0], min_pass_rate=0.7), RULES[1]))


def weakened() -> Decision:
    """All passes, after the pull request took from its gate."""
    made = decide_rows([passing(number) for number in range(12)])
    found = tuple(replace(it, origin=Origin(CONFIG, it.origin.line if it.origin else 0)) for it in samples.CHANGES)
    return decide(made.run, (Policy(RULES[:2]),), GateChanges(found))


def inconclusive() -> Decision:
    """The target was down for most of it."""
    why = "api.openai.com answered 503: The server is overloaded"
    down = _grade(Outcome.ERROR, 30, reason=f"the target gave no answer: {why}", unheard=True)
    rows = [row(n, Outcome.ERROR, down, output=None, error=why) for n in range(9)]
    return decide_rows([*rows, passing(9), passing(10), unclear(11)])


def not_run() -> Decision:
    """A fork's run, to which GitHub gives no key."""
    why = "the pull request comes from a fork: GitHub gives its workflow no secrets, and OPENAI_API_KEY is not set"
    return decision_without_calls(GateOutcome.NOT_RUN, why, COMMIT, notes=[action.TWO_STAGES])


def untouched() -> Decision:
    """A run with `when: changed` of a pull request that changes a page of docs."""
    why = "no case depends on the 3 files that the pull request changes"
    return decision_without_calls(GateOutcome.PASS, why, COMMIT)


DECISIONS: Mapping[str, Callable[[], Decision]] = {
    "12-mixed": mixed,
    "300-with-40-failures": many,
    "base-comparison": beside_the_base,
    "weakened-gate": weakened,
    "inconclusive": inconclusive,
    "not-run": not_run,
    "nothing-to-check": untouched,
}


def screens() -> dict[str, str]:
    """The pages by the names of their files."""
    made = {name: make() for name, make in DECISIONS.items()}
    reports = itertools.product(made, ("comment", "summary", "agent"))
    return {f"{report}-{name}.md": samples.render_report(report, made[name], LINKS) for name, report in reports}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in screens().items():
        (FOLDER / name).write_text(text)
