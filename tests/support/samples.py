"""Decisions as a gate would hand them to the reports: one of each result, and one made of the oddest data."""

from collections.abc import Iterable
from dataclasses import replace

from gradegate.deciding.gate import blamed
from gradegate.errors import Origin
from gradegate.reporting.report import Links
from gradegate.values.account import AskedModel, DerivedMetric
from gradegate.values.changes import ChangeKind, GateChange, GateChanges
from gradegate.values.conversation import Turn, Usage
from gradegate.values.result import Asserted, Counts, Decision, GateOutcome, Grade, Outcome, Row, RuleResult, RunResult, cases_of
from gradegate.values.suite import Note, Rule, Select

CONFIG = "evals/capitals.yaml"
LINKS = Links("https://github.com", "octo/shop", "0123abc", "https://github.com/octo/shop/actions/runs/7")
TARGET = Usage(calls=5, prompt_tokens=210, completion_tokens=88, cost=0.00123, seconds=2.5)
GRADER = Usage(calls=6, prompt_tokens=1900, completion_tokens=240, unpriced=6, seconds=4.25, reasks=1)


def grade(outcome: Outcome, kind: str = "factuality", line: int = 12, **options: object) -> Grade:
    """A grade of one assertion; ``value`` and ``blocking`` belong to the assertion, the rest to the grade."""
    own = {key: options.pop(key) for key in ("value", "blocking", "weight") if key in options}
    assertion = Asserted(kind, origin=Origin(CONFIG, line), **own)  # type: ignore[arg-type]
    return Grade(assertion, outcome, **options)  # type: ignore[arg-type]


def row(description: str, outcome: Outcome, *grades: Grade, **options: object) -> Row:
    """An answer to one case."""
    given = {
        "suite": CONFIG,
        "description": description,
        "provider": "openai:chat:gpt-5",
        "prompt_label": "What is the capital of {{state}}?",
        "prompt": "What is the capital of California?",
        "vars": {"state": "California"},
        "outcome": outcome,
        "output": "The capital of California is Sacramento.",
        "grades": grades,
        "usage": Usage(calls=1, seconds=0.4999999),
        "origin": Origin(CONFIG, 10),
        **options,
    }
    return Row(**given)  # type: ignore[arg-type]


def passing() -> Row:
    """Every assertion passed."""
    good = grade(Outcome.PASS, value="Sacramento is the capital of California", score=1.0, reason="Category C: agrees.")
    return row("California", Outcome.PASS, good)


def failing() -> Row:
    """A wrong answer, in the grader's words."""
    wrong = grade(
        Outcome.FAIL,
        line=21,
        value="Albany is the capital city of New York state",
        score=0.0,
        reason="The answer names New York City as the capital, while the reference says that it is Albany (category D).",
        evidence={"category": "D", "reply": '{"category": "D",\n "reason": "names New York City"}'},
        threshold=0.5,
    )
    return row(
        "New York",
        Outcome.FAIL,
        wrong,
        vars={"state": "New York"},
        prompt="What is the capital of New York?",
        output="The capital of New York is New York City, the largest city of the United States.",
        origin=Origin(CONFIG, 18),
    )


def unclear() -> Row:
    """The grader answered without a verdict."""
    vague = grade(
        Outcome.ERROR,
        line=30,
        value="Austin is the capital of Texas",
        reason='no verdict after asking again: no category from A to E in "I am not sure"',
        evidence={"replies": ["I am not sure", "I am not sure"]},
    )
    return row("Texas", Outcome.ERROR, vague, vars={"state": "Texas"}, output="Austin.", origin=Origin(CONFIG, 27))


def unanswered(state: str) -> Row:
    """The target is down."""
    why = "api.openai.com answered 503 after 4 attempts: The server is overloaded"
    missing = grade(Outcome.ERROR, line=39, value="Juneau", reason=f"the target gave no answer: {why}")
    return row(state, Outcome.ERROR, missing, output=None, error=why, vars={"state": state}, origin=Origin(CONFIG, 36))


def advised() -> Row:
    """Passes; a test that does not block has something to say."""
    good = grade(Outcome.PASS, line=48, value="Salem", score=1.0, reason="Category A.")
    wordy = grade(
        Outcome.FAIL,
        "llm-rubric",
        49,
        value="Answers in at most ten words",
        blocking=False,
        score=0.4,
        threshold=0.8,
        reason="The answer has 23 words.",
    )
    return row("Oregon", Outcome.PASS, good, wordy, vars={"state": "Oregon"}, output="Salem, " + "as you know, " * 6)


def counted(rows: Iterable[Row]) -> tuple[Counts, Counts]:
    """Counts of grades and of rows."""
    rows = tuple(rows)
    return _counts([grade.outcome for row in rows for grade in row.grades]), _counts([row.outcome for row in rows])


def decision(result: GateOutcome, reason: str, *rows: Row, rules: tuple[RuleResult, ...] = (), **options: object) -> Decision:
    """A decision about these rows; ``options`` are those of the run."""
    given = {"target_usage": TARGET, "grader_usage": GRADER, "seconds": 6.789, "models": (AskedModel("openai:chat:gpt-5"),), **options}
    run = RunResult(cases_of(rows), **given)  # type: ignore[arg-type]
    blocking = blamed(run.rows, rules) if result is GateOutcome.BLOCKED else frozenset()
    return Decision(result, reason, rules, run, *counted(rows), blocking=blocking)


FACTS = Rule("facts", Select(assertion="factuality"), min_pass_rate=0.95, suite=CONFIG, origin=Origin(CONFIG, 4))
STYLE = Rule("style", Select(assertion="llm-rubric"), min_score=0.8, blocking=False, suite=CONFIG)
EVERY = Rule("every case", every_case=True, suite=CONFIG)
MISSED = RuleResult(EVERY, Outcome.FAIL, "a case fails", failed=1, pass_rate=0.0)  # whatever fails blocks


def passed() -> Decision:
    """Everything is well."""
    rule = RuleResult(EVERY, Outcome.PASS, "every case passes", passed=2, pass_rate=1.0, score=1.0)
    other = replace(passing(), description="Nevada", case=1)
    return decision(GateOutcome.PASS, "Every case passes.", passing(), other, rules=(rule,))


def blocked() -> Decision:
    """Something of everything; the facts are missed."""
    rules = (
        RuleResult(FACTS, Outcome.FAIL, "66.6% of 95% pass", passed=2, failed=1, errored=3, pass_rate=2 / 3, score=2 / 3),
        RuleResult(STYLE, Outcome.FAIL, "mean score 0.4 of 0.8", failed=1, pass_rate=0.0, score=0.4),
    )
    rows = (passing(), failing(), unclear(), unanswered("Alaska"), unanswered("Hawaii"), advised())
    notes = (Note("the threshold 0 can never fail", Origin(CONFIG, 55)),)
    reason = 'The rule "facts" is missed: 66.6% of its assertions pass, and 95% must.'
    models = tuple(AskedModel(f"openai:chat:{name}", "api.openai.com") for name in ("gpt-5", "gpt-5-mini"))
    return decision(GateOutcome.BLOCKED, reason, *rows, rules=rules, notes=notes, models=models, derived=derived())


def derived() -> tuple[DerivedMetric, ...]:
    """One that is known, over some of the answers, and one that is not."""
    of = (CONFIG, "openai:chat:gpt-5", "What is the capital of {{state}}?")
    whole = DerivedMetric("f1", *of, 6 / 7, answers=3, left_out=3)
    return whole, DerivedMetric("f2", *of, error="it gives NaN, as 0 / 0 does", answers=6)


def advisory() -> Decision:
    """Passes with something to read."""
    rule = RuleResult(STYLE, Outcome.FAIL, "mean score 0.4 of 0.8", failed=1, pass_rate=0.0, score=0.4)
    return decision(GateOutcome.ADVISORY, 'The advisory rule "style" is missed.', passing(), advised(), rules=(rule,))


CHANGES = (
    GateChange(ChangeKind.REMOVED, "the rule `style` is gone", Origin(CONFIG)),
    GateChange(ChangeKind.WEAKER, "`factuality` of `New York`: no longer blocks", Origin(CONFIG, 21)),
    GateChange(ChangeKind.CHANGED, "`llm-rubric` of `Oregon`: has a different value", Origin(CONFIG, 49)),
)


def weakened() -> Decision:
    """Passes, and makes the gate easier to pass."""
    reason = "this pull request weakens its own gate in 2 places"
    return replace(decision(GateOutcome.ADVISORY, reason, passing()), changes=GateChanges(CHANGES))


def inconclusive() -> Decision:
    """No failure, but nobody could tell."""
    rule = RuleResult(EVERY, Outcome.ERROR, "3 cases have no verdict", passed=1, errored=3, pass_rate=1.0)
    rows = (passing(), unclear(), unanswered("Alaska"), unanswered("Hawaii"))
    reason = "3 of 4 cases have no verdict."
    return decision(GateOutcome.INCONCLUSIVE, reason, *rows, rules=(rule,), interrupted="the budget of 0.01 USD is spent")


NASTY = (
    "",
    "\x00\x1b[31m\ud800\u202egnp.exe\u2028\r\n::error::x\n##[error]y",
    "@octocat &#64;octocat &commat;octocat a@example.com #12 GH-12 octo/shop#3 :tada: www.example.com https://x.test/",
    "| a | b |\n|---|---|\n<!-- gradegate: --> <img src=x> <script>alert(1)</script> ![i](http://x.test/i.png) [l](http://x.test)",
    "````\n```\n~~~\n</code></pre></details></summary>]]> --> {{ 7*7 }} {% raw %} $a$ \\| `x` \\` | `",
    "x" * 300_000,
    "1. one\n- two\n# three\n> four\n    five\n===\n---\n[a]: http://x.test",
)


def odd() -> Decision:
    """Every field holds something that it should not."""
    rows = [_odd_row(text, number) for number, text in enumerate(NASTY)]
    rules = tuple(RuleResult(Rule(text, min_score=1e308, suite=text), Outcome.ERROR, text, score=float("nan")) for text in NASTY)
    notes = (*(Note(text, Origin(text, 3)) for text in NASTY), Note(NASTY[2]))
    changed = tuple(GateChange(ChangeKind.WEAKER, text, Origin(text, 3)) for text in NASTY)
    made = decision(
        GateOutcome.BLOCKED,
        NASTY[3],
        *rows,
        rules=rules,
        notes=notes,
        models=tuple(AskedModel(text, text) for text in NASTY),
        interrupted=NASTY[1],
        derived=tuple(DerivedMetric(*[text] * 4, float("nan"), text, 10**9, 3) for text in NASTY),
    )
    blocking = frozenset(place for place, row in enumerate(rows) if row.outcome is Outcome.FAIL)
    return replace(made, blocking=blocking, changes=GateChanges(changed, approved=NASTY[2], refused=NASTY[3]))


def _odd_row(text: str, number: int) -> Row:
    huge = {text: [text, {text: float("inf")}], "bytes": b"\xff", "deep": _deep(100), "big": 10**5000, 3: {1, 2}}
    failed = Grade(Asserted(text or "x", huge, metric=text), Outcome.FAIL, 1e308, float("inf"), text, huge)
    error = Grade(Asserted("llm-rubric", text, blocking=False, origin=Origin(text)), Outcome.ERROR, reason=text)
    outcome = (Outcome.FAIL, Outcome.ERROR, Outcome.PASS)[number % 3]
    usage = Usage(1, 1, 1, float("nan"), 0, float("inf"))
    return Row(
        suite=text,
        description=text,
        provider=text,
        prompt_label=text,
        prompt=text,
        vars=huge,
        outcome=outcome,
        output=None if number % 2 else text,
        error=text if number % 2 else "",
        grades=(failed, error) if number % 4 else (),
        usage=usage,
        turns=(Turn("user", text), Turn("assistant", text), Turn("user", text)),
        repeat=number,
        origin=Origin(text, 1),
    )


def _deep(levels: int) -> object:
    value: object = "end"
    for _ in range(levels):
        value = [value]
    return value


def _counts(outcomes: list[Outcome]) -> Counts:
    return Counts(*(outcomes.count(which) for which in (Outcome.PASS, Outcome.FAIL, Outcome.ERROR)))
