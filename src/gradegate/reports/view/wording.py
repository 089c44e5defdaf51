"""The words that all reports share for figures, cases, rules and outcomes."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator

from gradegate.core.numbers import (
    describe_cost_increase,
    describe_latency_increase,
    format_count,
    format_number,
    format_percent,
    format_percents,
    format_scores,
    list_some,
)
from gradegate.core.policy import LIMITS, Note, Rule
from gradegate.errors import Origin
from gradegate.reports.format.escape import join_nonempty, one_line, visible
from gradegate.reports.view.findings import Effect, Finding, effects, unchecked
from gradegate.results.accounts import AskedModel, BaselineReport, KeyUse, Made
from gradegate.results.baseline import (
    NEW_FAILURE,
    PRE_EXISTING,
    UNDECIDED,
    UNSTEADY,
    of_base,
    standing,
)
from gradegate.results.gate_changes import GateChanges, done
from gradegate.results.grades import ERROR, FAIL, PASS, Grade, GradedAssertion
from gradegate.results.rows import Row, case_name, shown
from gradegate.results.run_result import Counts, Decision, GateOutcome, RuleResult
from gradegate.structs import FrozenStruct


class Head(FrozenStruct):
    """How an outcome is said at the head of a report; pages for GitHub write the words in capitals."""

    sign: str
    words: str


# By the output `decision` of the action.
HEADS = {
    "pass": Head("✅", "Passed"),
    "advisory": Head("⚠️", "Passed, with advisory findings"),
    "blocked": Head("❌", "Blocked"),
    "inconclusive": Head("❔", "Inconclusive"),
    "not-run": Head("⏸️", "Not run"),
    "mistake": Head("🛑", "Could not run"),
}
# What a row does to the check, as the lists of reports have it.
EFFECTS = {
    Effect.BLOCKS: Head("❌", "Blocks"),
    Effect.UNCLEAR: Head("❔", "Error"),
    Effect.ONCE: Head("🔁", "Failed once, not re-asked"),
    Effect.KNOWN: Head("⚠️", "Known, does not block"),
    Effect.ADVISES: Head("⚠️", "Does not block"),
    Effect.NONE: Head("✅", "Passed"),
}
OUTCOMES = {PASS: "passed", FAIL: "failed", ERROR: "error"}
_BESIDE = {
    NEW_FAILURE: "new",
    PRE_EXISTING: "also failed on the base",
    UNSTEADY: "passed on the base, but not when the base's answer was graded again",
    UNDECIDED: "the base's answer could not be graded again",
}
_FILES = 5  # with recorded answers that are named; results.json has all
_MET = {
    PASS: "met",
    FAIL: "missed",
    ERROR: "inconclusive",
    None: "not decided",
}


def headline(decision: Decision) -> str:
    """The verdict in a few words."""
    setup = decision.setup and decision.outcome is GateOutcome.INCONCLUSIVE
    if (
        decision.outcome is GateOutcome.PASS and not decision.run.rows
    ):  # a run of no case passes in no other way
        return "Nothing to check"
    part = " (a part of the gate)" if decision.run.made.only else ""
    return HEADS[decision.outcome.value].words + (": the setup is wrong" if setup else "") + part


def in_short(decision: Decision) -> str:
    """What blocks, or how many passed: ``2 new failures in 12 cases``, ``3 of 12 cases failed``; empty where no case was run."""
    cases = decision.cases
    all_cases = format_count(cases.planned, "case")
    if not decision.run.rows:
        return ""
    if decision.blocking:
        blocks = effects(decision)[Effect.BLOCKS]
        if decision.run.baseline and all(standing(it.row) == NEW_FAILURE for _, it in blocks):
            return f"{format_count(len(blocks), 'new failure')} in {all_cases}"
        did = "failed" if len(blocks) == cases.failed else "block"
        return f"{len(blocks):,} of {all_cases} {did}"
    if any(it.has_failed and it.rule.blocking for it in decision.rules):
        return ""  # for what is no case: a price, the gate itself
    if decision.outcome in (GateOutcome.BLOCKED, GateOutcome.INCONCLUSIVE) and cases.errored:
        return f"{format_count(cases.errored, 'error')} in {all_cases}"
    return f"{cases.passed:,} of {all_cases} passed"


def subjects(decision: Decision) -> list[str]:
    """What was tested: each config by its description, else by its file, in a visible line."""
    files = dict.fromkeys(row.suite for row in decision.run.rows)
    return [one_line(decision.run.made.titles.get(file) or file, 120) for file in files]


def no_model(models: tuple[AskedModel, ...]) -> str:
    """Says so when replies came from a file, and of which model where others were asked; else an empty string."""
    recorded = [model for model in models if model.replies_from == "file"]
    if not recorded:
        return ""
    if not any(model.replies_from == "model" for model in models):
        return "No model was asked: replies came from a file"
    names = ", ".join(one_line(str(model), 80) for model in recorded)
    return f"No model was asked for {names}: replies came from a file"


def recorded(made: Made) -> str:
    """Say ``Recorded answers: answers.jsonl (SHA-256 9f86...)``, made elsewhere; empty where there are none."""
    if not made.answers:
        return ""
    named = [f"{one_line(name, 120)} (SHA-256 {digest})" for name, digest in made.answers.items()]
    return f"Recorded answers, made elsewhere: {list_some(named[:_FILES], len(named), 'file')}"


def changed(changes: GateChanges) -> str:
    """Say ``This pull request weakens its own gate in 2 places``; an empty string where it leaves its gate alone."""
    if not changes.found:
        return ""
    said, other = done(changes), len(changes.parts[1].found) if changes.weakened else 0
    more = f", and changes it in {other:,} more" if other else ""
    approved = f" (approved by {one_line(changes.approved)})" if changes.approved else ""
    return f"{said[0].upper()}{said[1:]}{more}{approved}"


def cure(changes: GateChanges) -> str:
    """What to do about the findings where they are meant."""
    if changes.approved:
        return ""
    if not changes.block:
        return "If this is intended, do nothing. After the merge, this is the gate of later pull requests."
    somebody = "If this is intended, somebody other than the author must approve it"
    if changes.refused:
        return f"{somebody}: {one_line(changes.refused, 400)}."
    return f"{somebody}. Set `approve-label` in the workflow, and let that person add the label."


def inventory(keys: Iterable[KeyUse], hidden: Iterable[str]) -> Iterator[str]:
    """Which variables of the environment go where, and whose values are hidden: a line each."""
    lines = [f"  {one_line(str(use))}" for use in keys]
    if lines:
        yield "keys and where they go:"
        yield from lines
    names = ", ".join(one_line(name, 100) for name in hidden)
    if names:
        yield f"hidden in reports: {names}"


def compared(report: BaselineReport | None) -> str:
    """Say ``Compared with the base (1a2b3c4, 2 days old): 3 new failures, 4 known ones, 1 fixed``; empty where there is none."""
    if report is None:
        return ""
    parts = (
        (report.new_failures, format_count(report.new_failures, "new failure")),
        (report.pre_existing, format_count(report.pre_existing, "known failure")),
        (report.unsteady, f"{report.unsteady:,} unsteady"),
        (report.fixed, f"{report.fixed:,} fixed"),
        (report.undecided, format_count(report.undecided, "error")),
        (report.new, format_count(report.new, "new case")),
        (len(report.removed), f"{format_count(len(report.removed), 'case')} removed"),
    )
    said = ", ".join(text for number, text in parts if number) or "nothing changed"
    paces, answers = [], 0
    for words, by in (
        (describe_cost_increase, report.cost),
        (describe_latency_increase, report.latency),
    ):
        if by:
            paces.append(words(by))
            answers = max(answers, by.compared)
    over = format_count(answers, "answer")
    more = f". An answer is {' and '.join(paces)} than on the base, over {over}" if paces else ""
    return f"Compared with the base{of_base(report)}: {said}, of {format_count(report.compared, 'compared case')}{more}"


def counted(counts: Counts) -> str:
    """``9 passed, 2 failed, 1 error``; what did not happen is left out."""
    parts = (
        (counts.passed, f"{counts.passed:,} passed"),
        (counts.failed, f"{counts.failed:,} failed"),
        (counts.errored, format_count(counts.errored, "error")),
    )
    return ", ".join(text for number, text in parts if number) or "nothing was graded"


def tally(decision: Decision) -> str:
    """The counts of the run in one line."""
    cases, grades = decision.cases, decision.grades
    if not decision.run.rows:
        return "No case was run, and no model was asked"
    return f"{format_count(cases.planned, 'case')}: {counted(cases)}. {format_count(grades.planned, 'assertion')}: {counted(grades)}"


def name(row: Row) -> str:
    """The name of a case, escaped."""
    return visible(case_name(row))


def names(rows: Iterable[Row]) -> list[str]:
    """The names of cases."""
    return [name(row) for row in rows]


def remarks(row: Row) -> list[str]:
    """What is to be said of an answer as a whole: why its case failed by its own threshold, that it was cut."""
    remarks = [row.reason] if row.reason else []
    if row.metadata.get("finish_reason") == "length":
        remarks.append("the answer was cut at its token limit")
    return remarks


def place(origin: Origin | None) -> str:
    """``evals/a.yaml:12``, or an empty string."""
    return one_line(str(origin), 300) if origin and origin.file else ""


def placed(origin: Origin | None, text: str, limit: int) -> str:
    """A text behind the place that it is about: ``evals/a.yaml:12: ...``."""
    return join_nonempty(": ", place(origin), one_line(text, limit))


def spot(row: Row, grade: Grade) -> Origin:
    """The config line of an assertion, else of its case."""
    return grade.assertion.origin if grade.assertion.origin.file else row.origin


def failure_origin(row: Row) -> Origin:
    """The config line of what did not pass first, else of the case, as where there is no answer."""
    grades = [] if row.error else Finding(row).grades
    return spot(row, grades[0]) if grades else row.origin


def said(grade: Grade) -> str:
    """``failed``, ``failed, 5 of 5 asks``, ``failed once, not re-asked``, ``failed (advisory)`` or ``error``, and what the base adds."""
    beside = _BESIDE.get(grade.status, "") if grade.has_failed else ""
    advice = f"in quarantine until {grade.quarantine}" if grade.quarantine else "advisory"
    where = "in the set" if grade.inner else "" if grade.counts or grade.has_passed else advice
    once = "failed once, not re-asked" if grade.unconfirmed and not grade.votes else ""
    about = join_nonempty("; ", where, beside)
    return (once or asked(grade) or OUTCOMES[grade.outcome]) + (f" ({about})" if about else "")


def reason(grade: Grade) -> str:
    """The reason of a grade, or that there is none."""
    return grade.reason or "no reason was given"


def named(grades: Iterable[Grade], limit: int = sys.maxsize) -> str:
    """Each assertion with what became of it: ``equals failed (2 times); llm-rubric failed once, not re-asked``.

    Names that do not fit into ``limit`` characters are counted.
    """
    counts = Counter(f"{called(grade.assertion)} {said(grade)}" for grade in grades)
    names = []
    left = counts.total()
    for text, count in counts.items():
        shown = text if count == 1 else f"{text} ({count:,} times)"
        limit -= len(shown)
        if limit < 0:
            names.append(f"{left:,} more did not pass, and the log names all")
            break
        names.append(shown)
        left -= count
    return "; ".join(names)


def asked(grade: Grade) -> str:
    """``failed, 5 of 5 asks`` or ``passed, 1 of 3 asks failed``; an empty string where it was asked once."""
    if not grade.votes:
        return ""
    failing, asks = grade.failing_votes, format_count(len(grade.votes), "ask")
    before = f", {grade.history.before}" if grade.history and grade.history.before else ""
    if grade.has_passed:
        return f"passed, {failing} of {asks} failed{before}"
    if grade.has_failed:
        return f"failed, {failing} of {asks}{before}"
    return f"error, {failing} of {asks} failed{before}"


def ended(row: Row) -> str:
    """What a case came to, and how its asks went; ``not checked`` where nothing was asserted."""
    if row.verdict:
        return row.ran
    if unchecked(row):
        return "not checked"
    votes = [asked(grade) for grade in row.grades if grade.votes]
    return OUTCOMES[row.outcome] + (f" ({'; '.join(votes)})" if votes else "")


def notes(decision: Decision) -> tuple[Note, ...]:
    """The notes of the run, each once."""
    return tuple(dict.fromkeys(decision.run.notes))


def called(assertion: GradedAssertion) -> str:
    """The type of an assertion, with its metric if it has one."""
    metric = one_line(assertion.metric, 60)
    return one_line(assertion.type, 60) + (f" ({metric})" if metric else "")


def scored(grade: Grade) -> str:
    """``score 0.2, threshold 0.5``; an empty string where there is no score."""
    if grade.score is None:
        return ""
    of = "" if grade.scale == 1 else f" of {grade.scale}"
    if grade.threshold is None or grade.most:
        limit = (
            ""
            if grade.threshold is None
            else f", at most {format_number(grade.threshold)} is allowed"
        )
        return f"score {format_scores(grade.score, grade.score, grade.scale)[0]}{of}{limit}"
    score, threshold = format_scores(grade.score, grade.threshold, grade.scale)
    return f"score {score}{of}, threshold {threshold}"


def expected(assertion: GradedAssertion) -> str:
    """What was asserted, as text; empty for assertions that take no value."""
    text = shown(assertion.value)
    return f"not: {text}" if text and assertion.type.startswith("not-") else text


def verdict(result: RuleResult) -> str:
    """``met``, ``missed``, ``inconclusive`` or ``not decided``; ``met, with errors`` where the graded cases meet it and others have no grade."""
    return "met, with errors" if incomplete(result) else _MET[result.outcome]


def incomplete(result: RuleResult) -> bool:
    """Whether the graded part meets the rule, while some of what it selects has no grade."""
    return result.has_passed and result.errored > 0


def weight(rule: Rule) -> str:
    """Whether a rule can block."""
    return "blocking" if rule.blocking else "advisory"


def titled(rule: Rule, several: bool) -> str:
    """The name of a rule, with its config file where there are several."""
    text = one_line(rule.name, 100) or "every case"
    return f"{text} ({one_line(rule.suite, 100)})" if several and rule.suite else text


def has_several_suites(rules: Iterable[RuleResult]) -> bool:
    """Whether rules of several config files may have one name."""
    return len({result.rule.suite for result in rules}) > 1


def measured(result: RuleResult) -> str:
    """What a rule found, in the terms of what it requires."""
    rule, graded = result.rule, result.passed + result.failed
    if not rule.own and result.new_failures is None and result.p is None:
        return one_line(result.reason, 300)
    parts = []
    if rule.every_case or rule.min_pass_rate is not None:
        # Of every case, a rate of the others says nothing as long as they may still pass.
        open_ = result.errored if (rule.every_case or not graded) and not result.has_failed else 0
        of = f"{result.passed:,} of {graded + open_:,}{' graded' if result.errored > open_ else ''}"
        if result.pass_rate is None or open_:
            parts.append(f"{of} passed")
        else:
            parts.append(f"{_rates(rule, result.pass_rate)[0]} passed ({of})")
    if rule.min_score is not None and result.score is not None:
        parts.append(f"mean score {_scores(result)[0]}")
    if result.new_failures is not None:
        parts.append(format_count(result.new_failures, "new failure"))
    if result.worse is not None and result.better is not None and result.p is not None:
        parts.append(
            f"{result.worse:,} worse, {result.better:,} better, p = {format_number(result.p, 6)}"
        )
    parts += [
        words(by)
        for words, by in (
            (describe_cost_increase, result.cost),
            (describe_latency_increase, result.latency),
        )
        if by
    ]
    if result.errored:
        parts.append(format_count(result.errored, "error"))
    return ", ".join(parts) or "nothing was graded"


def before(result: RuleResult, report: BaselineReport) -> str:
    """What the base says of what a rule measures, with the change; empty where that is not known."""
    if result.base_rate is None:
        if result.rule.max_new_failures is None or not report.pre_existing:
            return ""
        return format_count(report.pre_existing, "known failure")
    rate = _rates(result.rule, result.base_rate)[0]
    # Not of the same grades, so no change of them.
    if result.pass_rate is None or result.errored or report.new or report.removed:
        return rate
    change = round(100 * (result.pass_rate - result.base_rate), 1)
    return f"{rate} ({f'{change:+g}'.replace('-', '−') if change else 'the same'})"


def shares(result: RuleResult) -> str:
    """The cases that a rule selects, by outcome: ``12 cases: 9 passed, 3 failed``."""
    counts = Counts(result.passed, result.failed, result.errored)
    return f"{format_count(counts.planned, 'case')}: {counted(counts)}"


def required(result: RuleResult) -> str:
    """What a rule asks for."""
    rule = result.rule
    parts = ["every case passes"] if rule.every_case else []
    for name, limit in LIMITS.items():
        value = getattr(rule, name)
        if value is None:
            continue
        if limit.counts and not value:
            parts.append(f"no {limit.counts}")
            continue
        text = f"{value:g}"
        if name == "min_pass_rate":  # with as many digits as tell it from what was measured
            text = _rates(rule, result.pass_rate)[1]
        elif name == "min_score":
            text = _scores(result)[1]
        elif limit.counts:
            text = format_count(value, limit.counts)
        elif limit.is_share:
            text = format_percent(value)
        parts.append(limit.requires.format(text))
    return ", ".join(parts) or "every grade of the base, the same or stricter"


def _scores(result: RuleResult) -> tuple[str, str]:
    rule, least = result.rule, result.rule.min_score or 0.0
    measured = least if result.score is None else result.score
    return format_scores(measured, least, rule.scale)


def _rates(rule: Rule, rate: float | None) -> tuple[str, str]:
    least = 1.0 if rule.min_pass_rate is None else rule.min_pass_rate
    return format_percents(least if rate is None else rate, least)
