"""Decisions as a gate would hand them to the reports: one of each result, and one made of the oddest data."""

import functools
from collections.abc import Iterable

from gradegate.core.conversation import Turn
from gradegate.core.policy import Note, Rule, Select
from gradegate.core.usage import Usage
from gradegate.errors import Origin
from gradegate.gate.decision import blocking_rows
from gradegate.reports.delivery.report import REPORTS, Links
from gradegate.results.accounts import AskedModel, DerivedMetric
from gradegate.results.gate_changes import ChangeKind, GateChange, GateChanges
from gradegate.results.grades import Grade, GradedAssertion, Outcome, Vote
from gradegate.results.rows import Row
from gradegate.results.run_result import Counts, Decision, GateOutcome, RuleResult, RunResult
from gradegate.structs import replace
from support.each import table

CONFIG = "evals/capitals.yaml"
LINKS = Links("https://github.com", "octo/shop", "0123abc", "https://github.com/octo/shop/actions/runs/7", results="results.json")
TARGET = Usage(calls=5, prompt_tokens=210, completion_tokens=88, cost=0.00123, seconds=2.5)
GRADER = Usage(calls=6, prompt_tokens=1900, completion_tokens=240, unpriced=6, seconds=4.25, reasks=1)


def render_report(report: str, decision: Decision, links: Links = LINKS) -> str:
    """What a report makes of a decision."""
    return REPORTS.find(report).render(decision, links).text  # type: ignore[union-attr]


def grade(outcome: Outcome | str, kind: str = "factuality", line: int = 12, suite: str = CONFIG, **options: object) -> Grade:
    """A grade of one assertion; ``value`` and ``blocking`` belong to the assertion, the rest to the grade."""
    own = {key: options.pop(key) for key in ("value", "blocking", "weight") if key in options}
    assertion = GradedAssertion(kind, origin=Origin(suite, line), **own)  # type: ignore[arg-type]
    return Grade(assertion, Outcome(outcome), **options)  # type: ignore[arg-type]


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


def grades(written: Iterable[dict], suite: str = CONFIG) -> list[Grade]:
    """Grades as a table has them: values of their own are mappings, and lists of their members."""
    kinds = {"usage": lambda it: Usage(**it), "votes": lambda it: tuple(Vote(Outcome(word), *more) for word, *more in it)}
    return [grade(**{"suite": suite, **it, **{key: make(it[key]) for key, make in kinds.items() if key in it}}) for it in written]


def sample(name: str, **more: object) -> Row:
    """An answer as samples.yaml has it."""
    about = {**table(__file__, name), **more}
    origin = Origin(CONFIG, about.pop("line", 10))
    return row(about.pop("description"), Outcome(about.pop("outcome")), *grades(about.pop("grades")), origin=origin, **about)


passing = functools.partial(sample, "passing")  # every assertion passed
failing = functools.partial(sample, "failing")  # a wrong answer, in the grader's words
unclear = functools.partial(sample, "unclear")  # the grader answered without a verdict
advised = functools.partial(sample, "advised")  # passes; a test that does not block has something to say


def unanswered(state: str) -> Row:
    """The target is down."""
    return sample("unanswered", description=state, vars={"state": state})


def decision(result: GateOutcome, reason: str, *rows: Row, rules: tuple[RuleResult, ...] = (), **options: object) -> Decision:
    """A decision about these rows; ``options`` are those of the run."""
    given = {"target_usage": TARGET, "grader_usage": GRADER, "seconds": 6.789, "models": (AskedModel("openai:chat:gpt-5"),), **options}
    run = RunResult(tuple(rows), **given)  # type: ignore[arg-type]
    blocking = blocking_rows(run.rows, rules) if result is GateOutcome.BLOCKED else frozenset()
    outcomes = [grade.outcome for row in rows for grade in row.grades], [row.outcome for row in rows]
    return Decision(result, reason, rules, run, *(Counts(*map(of.count, Outcome)) for of in outcomes), blocking=blocking)


FACTS = Rule("facts", Select(assertion="factuality"), min_pass_rate=0.95, suite=CONFIG, origin=Origin(CONFIG, 4))
STYLE = Rule("style", Select(assertion="llm-rubric"), min_score=0.8, blocking=False, suite=CONFIG)
EVERY = Rule("every case", every_case=True, suite=CONFIG)
MISSED = RuleResult(EVERY, Outcome.FAIL, "a case fails", failed=1, pass_rate=0.0)  # whatever fails blocks


def passed_decision() -> Decision:
    """Everything is well."""
    rule = RuleResult(EVERY, Outcome.PASS, "every case passes", passed=2, pass_rate=1.0, score=1.0)
    other = replace(passing(), description="Nevada", case=1)
    return decision(GateOutcome.PASS, "Every case passes.", passing(), other, rules=(rule,))


def blocked_decision() -> Decision:
    """Something of everything; the facts are missed."""
    rules = (
        RuleResult(FACTS, Outcome.FAIL, "pass rate 66.6% is below 95%", passed=2, failed=1, errored=3, pass_rate=2 / 3, score=2 / 3),
        RuleResult(STYLE, Outcome.FAIL, "mean score 0.4 is below 0.8", failed=1, pass_rate=0.0, score=0.4),
    )
    rows = (passing(), failing(), unclear(), unanswered("Alaska"), unanswered("Hawaii"), advised())
    notes = (Note("`llm-rubric` can never fail: its threshold is 0", Origin(CONFIG, 55)),)
    reason = "facts: pass rate 66.6% is below 95%"
    models = tuple(AskedModel(f"openai:chat:{name}", "api.openai.com") for name in ("gpt-5", "gpt-5-mini"))
    return decision(GateOutcome.BLOCKED, reason, *rows, rules=rules, notes=notes, models=models, derived=derived())


def derived() -> tuple[DerivedMetric, ...]:
    """One that is known, over some of the answers, and one that is not."""
    of = (CONFIG, "openai:chat:gpt-5", "What is the capital of {{state}}?")
    whole = DerivedMetric("f1", *of, 6 / 7, answers=3, left_out=3)
    return whole, DerivedMetric("f2", *of, error="it gives NaN, as 0 / 0 does", answers=6)


def advisory() -> Decision:
    """Passes with something to read."""
    rule = RuleResult(STYLE, Outcome.FAIL, "mean score 0.4 is below 0.8", failed=1, pass_rate=0.0, score=0.4)
    return decision(GateOutcome.ADVISORY, "style: mean score 0.4 is below 0.8", passing(), advised(), rules=(rule,))


CHANGES = (
    GateChange(ChangeKind.REMOVED, "the rule `style` is gone", Origin(CONFIG)),
    GateChange(ChangeKind.WEAKER, "`factuality` of `New York`: no longer blocks", Origin(CONFIG, 21)),
    GateChange(ChangeKind.CHANGED, "`llm-rubric` of `Oregon`: has a different value", Origin(CONFIG, 49)),
)


def weakened_decision() -> Decision:
    """Passes, and makes the gate easier to pass."""
    reason = "this pull request weakens its own gate in 2 places"
    return replace(decision(GateOutcome.ADVISORY, reason, passing()), changes=GateChanges(CHANGES))


def inconclusive() -> Decision:
    """No failure, but nobody could tell."""
    rule = RuleResult(EVERY, Outcome.ERROR, "3 errors", passed=1, errored=3, pass_rate=1.0)
    rows = (passing(), unclear(), unanswered("Alaska"), unanswered("Hawaii"))
    reason = "3 errors; the first: the grader's reply contains no verdict: it is not a JSON object"
    return decision(GateOutcome.INCONCLUSIVE, reason, *rows, rules=(rule,), interrupted="the budget of 0.01 USD is used up")


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
    models = tuple(AskedModel(text, text) for text in NASTY)
    metrics = tuple(DerivedMetric(*[text] * 4, float("nan"), text, 10**9, 3) for text in NASTY)
    about = {"rules": rules, "notes": notes, "models": models, "interrupted": NASTY[1], "derived": metrics}
    blocking = frozenset(place for place, row in enumerate(rows) if row.outcome is Outcome.FAIL)
    changes = GateChanges(changed, approved=NASTY[2], refused=NASTY[3])
    return replace(decision(GateOutcome.BLOCKED, NASTY[3], *rows, **about), blocking=blocking, changes=changes)


def _odd_row(text: str, number: int) -> Row:
    deep = functools.reduce(lambda value, _: [value], range(100), "end")  # type: ignore[arg-type,return-value]
    huge = {text: [text, {text: float("inf")}], "bytes": b"\xff", "deep": deep, "big": 10**5000, 3: {1, 2}}
    failed = Grade(GradedAssertion(text or "x", huge, metric=text), Outcome.FAIL, 1e308, float("inf"), text, huge)
    error = Grade(GradedAssertion("llm-rubric", text, blocking=False, origin=Origin(text)), Outcome.ERROR, reason=text)
    return Row(
        **dict.fromkeys(("suite", "description", "provider", "prompt_label", "prompt"), text),
        vars=huge,
        outcome=(Outcome.FAIL, Outcome.ERROR, Outcome.PASS)[number % 3],
        output=None if number % 2 else text,
        error=text if number % 2 else "",
        grades=(failed, error) if number % 4 else (),
        usage=Usage(1, 1, 1, float("nan"), 0, float("inf")),
        turns=(Turn("user", text), Turn("assistant", text), Turn("user", text)),
        repeat=number,
        origin=Origin(text, 1),
    )
