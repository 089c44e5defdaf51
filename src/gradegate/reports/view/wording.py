"""The words that all reports share for runs, cases, assertions and rules, so that each says the same in the same words.

A text from here is one visible line, and may contain anybody's words: a report escapes it for its format. Templates know the module
as ``words``.
"""

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
from gradegate.reports.view.findings import Effect, Finding, group_by_effect, is_unchecked
from gradegate.results.accounts import AskedModel, BaselineReport, KeyUse, Made
from gradegate.results.baseline import (
    NEW_FAILURE,
    PRE_EXISTING,
    UNDECIDED,
    UNSTEADY,
    case_status,
    describe_base,
)
from gradegate.results.gate_changes import GateChanges, describe_changes
from gradegate.results.grades import ERROR, FAIL, PASS, Grade, GradedAssertion
from gradegate.results.rows import Row, case_name, format_value
from gradegate.results.run_result import Counts, Decision, GateOutcome, RuleResult
from gradegate.structs import FrozenStruct


class Heading(FrozenStruct):
    """An outcome at the head of a report or a list. Pages for GitHub write the words in capitals."""

    sign: str
    words: str


# By the output `decision` of the action.
OUTCOME_HEADINGS = {
    "pass": Heading("✅", "Passed"),
    "advisory": Heading("⚠️", "Passed, with advisory findings"),
    "blocked": Heading("❌", "Blocked"),
    "inconclusive": Heading("❔", "Inconclusive"),
    "not-run": Heading("⏸️", "Not run"),
    "mistake": Heading("🛑", "Could not run"),
}
EFFECT_HEADINGS = {
    Effect.BLOCKS: Heading("❌", "Blocks"),
    Effect.UNCLEAR: Heading("❔", "Error"),
    Effect.ONCE: Heading("🔁", "Failed once, not re-asked"),
    Effect.KNOWN: Heading("⚠️", "Known, does not block"),
    Effect.ADVISES: Heading("⚠️", "Does not block"),
    Effect.NONE: Heading("✅", "Passed"),
}
OUTCOME_WORDS = {PASS: "passed", FAIL: "failed", ERROR: "error"}
_STATUS_WORDS = {
    NEW_FAILURE: "new",
    PRE_EXISTING: "also failed on the base",
    UNSTEADY: "passed on the base, but not when the base's answer was graded again",
    UNDECIDED: "the base's answer could not be graded again",
}
_RULE_WORDS = {PASS: "met", FAIL: "missed", ERROR: "inconclusive", None: "not decided"}
_MOST_FILES = 5  # with recorded answers that are named; results.json has all


# --- the run --------------------------------------------------------------------------------------------------------


def headline(decision: Decision) -> str:
    """The decision in a few words."""
    outcome = decision.outcome
    if outcome is GateOutcome.PASS and not decision.run.rows:
        return "Nothing to check"
    words = OUTCOME_HEADINGS[outcome.value].words
    if decision.setup and outcome is GateOutcome.INCONCLUSIVE:
        words += ": the setup is wrong"
    if decision.run.made.only:
        words += " (a part of the gate)"
    return words


def short_result(decision: Decision) -> str:
    """``2 new failures in 12 cases``, ``3 of 12 cases failed``: what blocks, or how many passed.

    Empty if no case was run, and if something else than a case blocks.
    """
    cases = decision.cases
    all_cases = format_count(cases.planned, "case")
    if not decision.run.rows:
        return ""

    if decision.blocking:
        findings = group_by_effect(decision)[Effect.BLOCKS]
        statuses = {case_status(finding.row) for finding in findings}
        if decision.run.baseline and statuses <= {NEW_FAILURE}:
            return f"{format_count(len(findings), 'new failure')} in {all_cases}"
        verb = "failed" if len(findings) == cases.failed else "block"
        return f"{len(findings):,} of {all_cases} {verb}"

    if any(result.has_failed and result.rule.blocking for result in decision.rules):
        return ""  # a price blocks, or the gate itself
    if decision.outcome in (GateOutcome.BLOCKED, GateOutcome.INCONCLUSIVE) and cases.errored:
        return f"{format_count(cases.errored, 'error')} in {all_cases}"
    return f"{cases.passed:,} of {all_cases} passed"


def config_titles(decision: Decision) -> list[str]:
    """What was tested: the description of each config, or its file."""
    files = dict.fromkeys(row.suite for row in decision.run.rows)
    return [one_line(decision.run.made.titles.get(file) or file, 120) for file in files]


def recorded_models_notice(models: tuple[AskedModel, ...]) -> str:
    """Say that replies came from a file, and for which models if others were asked. Empty if all were asked."""
    recorded = [model for model in models if model.replies_from == "file"]
    if not recorded:
        return ""
    subject = ""
    if any(model.replies_from == "model" for model in models):
        subject = " for " + ", ".join(one_line(str(model), 80) for model in recorded)
    return f"No model was asked{subject}: replies came from a file"


def recorded_files_notice(made: Made) -> str:
    """``Recorded answers, made elsewhere: answers.jsonl (SHA-256 9f86...)``. Empty if targets were asked."""
    if not made.answers:
        return ""
    files = [f"{one_line(file, 120)} (SHA-256 {digest})" for file, digest in made.answers.items()]
    names = list_some(files[:_MOST_FILES], len(files), "file")
    return f"Recorded answers, made elsewhere: {names}"


def outcome_counts(counts: Counts) -> str:
    """``9 passed, 2 failed, 1 error``, without what did not happen."""
    return (
        _join_counts(
            (counts.passed, f"{counts.passed:,} passed"),
            (counts.failed, f"{counts.failed:,} failed"),
            (counts.errored, format_count(counts.errored, "error")),
        )
        or "nothing was graded"
    )


def _join_counts(*counts: tuple[int, str]) -> str:
    """The texts of numbers that are not 0."""
    return ", ".join(text for number, text in counts if number)


def run_counts(decision: Decision) -> str:
    """The outcomes of cases and assertions in one line."""
    cases = decision.cases
    grades = decision.grades
    if not decision.run.rows:
        return "No case was run, and no model was asked"
    of_cases = f"{format_count(cases.planned, 'case')}: {outcome_counts(cases)}"
    of_grades = f"{format_count(grades.planned, 'assertion')}: {outcome_counts(grades)}"
    return f"{of_cases}. {of_grades}"


def base_comparison(report: BaselineReport | None) -> str:
    """``Compared with the base (1a2b3c4, 2 days old): 3 new failures, 1 fixed, of 12 compared cases``.

    Empty if there is nothing to compare with.
    """
    if report is None:
        return ""
    changes = _join_counts(
        (report.new_failures, format_count(report.new_failures, "new failure")),
        (report.pre_existing, format_count(report.pre_existing, "known failure")),
        (report.unsteady, f"{report.unsteady:,} unsteady"),
        (report.fixed, f"{report.fixed:,} fixed"),
        (report.undecided, format_count(report.undecided, "error")),
        (report.new, format_count(report.new, "new case")),
        (len(report.removed), f"{format_count(len(report.removed), 'case')} removed"),
    )
    text = f"Compared with the base{describe_base(report)}: {changes or 'nothing changed'}"
    text += f", of {format_count(report.compared, 'compared case')}"

    increases = []
    answers = 0
    for describe, increase in (
        (describe_cost_increase, report.cost),
        (describe_latency_increase, report.latency),
    ):
        if increase:
            increases.append(describe(increase))
            answers = max(answers, increase.compared)
    if increases:
        text += f". An answer is {' and '.join(increases)} than on the base"
        text += f", over {format_count(answers, 'answer')}"
    return text


def gate_changes_sentence(changes: GateChanges) -> str:
    """Say ``This pull request weakens its own gate in 2 places``. Empty if the gate stays as it is."""
    if not changes.found:
        return ""
    text = describe_changes(changes)
    text = text[0].upper() + text[1:]
    more = len(changes.parts[1].found)
    if changes.has_weakening and more:
        text += f", and changes it in {more:,} more"
    if changes.approved:
        text += f" (approved by {one_line(changes.approved)})"
    return text


def advice_on_changes(changes: GateChanges) -> str:
    """What to do if the changes of the gate are intended. Empty if they are approved."""
    if changes.approved:
        return ""
    if not changes.block:
        return "If this is intended, do nothing. After the merge, this is the gate of later pull requests."
    text = "If this is intended, somebody other than the author must approve it"
    if changes.refused:
        return f"{text}: {one_line(changes.refused, 400)}."
    return f"{text}. Set `approve-label` in the workflow, and let that person add the label."


def distinct_notes(decision: Decision) -> tuple[Note, ...]:
    """The notes of the run, each once."""
    return tuple(dict.fromkeys(decision.run.notes))


def key_inventory(keys: Iterable[KeyUse], hidden: Iterable[str]) -> Iterator[str]:
    """Lines that say where the variables of the environment go, and which values reports hide."""
    lines = [f"  {one_line(str(use))}" for use in keys]
    if lines:
        yield "keys and where they go:"
        yield from lines
    names = ", ".join(one_line(variable, 100) for variable in hidden)
    if names:
        yield f"hidden in reports: {names}"


# --- cases ----------------------------------------------------------------------------------------------------------


def visible_name(row: Row) -> str:
    """The name of a case in a visible line."""
    return visible(case_name(row))


def visible_names(rows: Iterable[Row]) -> list[str]:
    """The names of cases."""
    return [visible_name(row) for row in rows]


def row_remarks(row: Row) -> list[str]:
    """Why a case failed by its own threshold, and whether its answer was cut."""
    remarks = [row.reason] if row.reason else []
    if row.metadata.get("finish_reason") == "length":
        remarks.append("the answer was cut at its token limit")
    return remarks


def case_result(row: Row) -> str:
    """The outcome of a case and the counts of its asks; ``not checked`` if nothing was asserted."""
    if row.verdict:
        return row.runs_summary
    if is_unchecked(row):
        return "not checked"
    votes = "; ".join(ask_counts(grade) for grade in row.grades if grade.votes)
    return OUTCOME_WORDS[row.outcome] + (f" ({votes})" if votes else "")


def origin_text(origin: Origin | None) -> str:
    """``evals/a.yaml:12``, or an empty string."""
    return one_line(str(origin), 300) if origin and origin.file else ""


def text_at_origin(origin: Origin | None, text: str, limit: int) -> str:
    """A text of at most ``limit`` characters behind its place: ``evals/a.yaml:12: ...``."""
    return join_nonempty(": ", origin_text(origin), one_line(text, limit))


def grade_origin(row: Row, grade: Grade) -> Origin:
    """The config line of an assertion, or of its case."""
    return grade.assertion.origin if grade.assertion.origin.file else row.origin


def failure_origin(row: Row) -> Origin:
    """The config line of the first assertion that did not pass, or of the case if there is no answer."""
    grades = [] if row.error else Finding(row).grades
    return grade_origin(row, grades[0]) if grades else row.origin


# --- assertions and grades ------------------------------------------------------------------------------------------


def assertion_name(assertion: GradedAssertion) -> str:
    """The type of an assertion, and its metric if it has one."""
    metric = one_line(assertion.metric, 60)
    return one_line(assertion.type, 60) + (f" ({metric})" if metric else "")


def expected_text(assertion: GradedAssertion) -> str:
    """What was asserted, as text. Empty for assertions that take no value."""
    text = format_value(assertion.value)
    return f"not: {text}" if text and assertion.type.startswith("not-") else text


def grade_outcome(grade: Grade) -> str:
    """``failed, 5 of 5 asks``, ``failed (advisory; new)``, ``failed once, not re-asked`` or ``error``."""
    if grade.unconfirmed and not grade.votes:
        outcome = "failed once, not re-asked"
    else:
        outcome = ask_counts(grade) or OUTCOME_WORDS[grade.outcome]

    role = ""
    if grade.inner:
        role = "in the set"
    elif not grade.counts and not grade.has_passed:
        role = f"in quarantine until {grade.quarantine}" if grade.quarantine else "advisory"
    status = _STATUS_WORDS.get(grade.status, "") if grade.has_failed else ""
    details = join_nonempty("; ", role, status)
    return f"{outcome} ({details})" if details else outcome


def ask_counts(grade: Grade) -> str:
    """``failed, 5 of 5 asks``, ``passed, 1 of 3 asks failed``. Empty for a grade that was asked once."""
    if not grade.votes:
        return ""
    counts = f"{grade.failing_votes} of {format_count(len(grade.votes), 'ask')}"
    if not grade.has_failed:
        counts += " failed"
    if grade.history and grade.history.earlier_votes:
        counts += f", {grade.history.earlier_votes}"
    return f"{OUTCOME_WORDS[grade.outcome]}, {counts}"


def grade_reason(grade: Grade) -> str:
    """The reason of a grade, or that there is no reason."""
    return grade.reason or "no reason was given"


def score_text(grade: Grade) -> str:
    """``score 0.2, threshold 0.5``. Empty if there is no score."""
    if grade.score is None:
        return ""
    of_scale = "" if grade.scale == 1 else f" of {grade.scale}"
    if grade.threshold is not None and not grade.most:
        score, threshold = format_scores(grade.score, grade.threshold, grade.scale)
        return f"score {score}{of_scale}, threshold {threshold}"
    text = f"score {format_scores(grade.score, grade.score, grade.scale)[0]}{of_scale}"
    if grade.threshold is not None:
        text += f", at most {format_number(grade.threshold)} is allowed"
    return text


def assertion_outcomes(grades: Iterable[Grade], limit: int = sys.maxsize) -> str:
    """``equals failed (2 times); llm-rubric failed once, not re-asked``.

    Assertions that do not fit into ``limit`` characters are counted.
    """
    counts = Counter(
        f"{assertion_name(grade.assertion)} {grade_outcome(grade)}" for grade in grades
    )
    texts = []
    remaining = counts.total()
    for outcome, count in counts.items():
        text = outcome if count == 1 else f"{outcome} ({count:,} times)"
        limit -= len(text)
        if limit < 0:
            texts.append(f"{remaining:,} more did not pass, and the log names all")
            break
        texts.append(text)
        remaining -= count
    return "; ".join(texts)


# --- rules ----------------------------------------------------------------------------------------------------------


def rule_title(rule: Rule, several_files: bool) -> str:
    """The name of a rule, with its config file if there are several."""
    title = one_line(rule.name, 100) or "every case"
    return f"{title} ({one_line(rule.suite, 100)})" if several_files and rule.suite else title


def has_several_suites(rules: Iterable[RuleResult]) -> bool:
    """Whether rules come from several config files, so that two of them may have one name."""
    return len({result.rule.suite for result in rules}) > 1


def rule_outcome(result: RuleResult) -> str:
    """``met``, ``met, with errors``, ``missed``, ``inconclusive`` or ``not decided``."""
    return "met, with errors" if is_met_with_errors(result) else _RULE_WORDS[result.outcome]


def is_met_with_errors(result: RuleResult) -> bool:
    """Whether the graded cases meet a rule while other cases of it have no grade."""
    return result.has_passed and result.errored > 0


def rule_measure(result: RuleResult) -> str:
    """What was measured for a rule, in the terms of what it requires."""
    rule = result.rule
    if not rule.has_run_limit and result.new_failures is None and result.p is None:
        return one_line(result.reason, 300)

    parts = []
    if rule.every_case or rule.min_pass_rate is not None:
        parts.append(_passes(result))
    if rule.min_score is not None and result.score is not None:
        parts.append(f"mean score {_score_and_limit(result)[0]}")
    if result.new_failures is not None:
        parts.append(format_count(result.new_failures, "new failure"))
    if result.worse is not None and result.better is not None and result.p is not None:
        parts.append(
            f"{result.worse:,} worse, {result.better:,} better, p = {format_number(result.p, 6)}"
        )
    if result.cost:
        parts.append(describe_cost_increase(result.cost))
    if result.latency:
        parts.append(describe_latency_increase(result.latency))
    if result.errored:
        parts.append(format_count(result.errored, "error"))
    return ", ".join(parts) or "nothing was graded"


def _passes(result: RuleResult) -> str:
    """``9 of 12 passed``, ``75% passed (9 of 12 graded)``."""
    graded = result.passed + result.failed
    # A rate of the graded cases says nothing about a rule for every case while the others may still pass.
    undecided = 0
    if (result.rule.every_case or not graded) and not result.has_failed:
        undecided = result.errored
    counts = f"{result.passed:,} of {graded + undecided:,}"
    if result.errored > undecided:
        counts += " graded"
    if result.pass_rate is None or undecided:
        return f"{counts} passed"
    return f"{_rate_and_limit(result.rule, result.pass_rate)[0]} passed ({counts})"


def rule_on_base(result: RuleResult, report: BaselineReport) -> str:
    """What the base has for a rule: its pass rate with the change in points, or the number of its failures.

    ``90% (+2)``, ``90%``, ``3 known failures``. Empty if neither is known.
    """
    if result.base_rate is None:
        limits_new_failures = result.rule.max_new_failures is not None
        if limits_new_failures and report.pre_existing:
            return format_count(report.pre_existing, "known failure")
        return ""

    rate, _ = _rate_and_limit(result.rule, result.base_rate)
    if result.pass_rate is None:
        return rate
    # With errors, or with new or removed grades, the two rates are not of the same grades: their difference is no change.
    if result.errored or report.new or report.removed:
        return rate
    points = round(100 * (result.pass_rate - result.base_rate), 1)
    change = f"{points:+g}".replace("-", "−") if points else "the same"
    return f"{rate} ({change})"


def rule_counts(result: RuleResult) -> str:
    """The cases that a rule selects, by outcome: ``12 cases: 9 passed, 3 failed``."""
    counts = Counts(result.passed, result.failed, result.errored)
    return f"{format_count(counts.planned, 'case')}: {outcome_counts(counts)}"


def rule_requirement(result: RuleResult) -> str:
    """What a rule requires: ``at least 90% pass, no new failure``."""
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
        if name == "min_pass_rate":
            text = _rate_and_limit(rule, result.pass_rate)[1]
        elif name == "min_score":
            text = _score_and_limit(result)[1]
        elif limit.counts:
            text = format_count(value, limit.counts)
        elif limit.is_share:
            text = format_percent(value)
        parts.append(limit.requires.format(text))
    return ", ".join(parts) or "every grade of the base, the same or stricter"


def _score_and_limit(result: RuleResult) -> tuple[str, str]:
    """The mean score and the required one, with the digits that tell them apart."""
    limit = result.rule.min_score or 0.0
    score = limit if result.score is None else result.score
    return format_scores(score, limit, result.rule.scale)


def _rate_and_limit(rule: Rule, rate: float | None) -> tuple[str, str]:
    """A pass rate and the required one, with the digits that tell them apart."""
    limit = 1.0 if rule.min_pass_rate is None else rule.min_pass_rate
    return format_percents(limit if rate is None else rate, limit)
