"""What all reports say about a run as a whole: budget, cache, usage, rules, derived metrics, and what rules cannot notice."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import asdict

from gradegate.core.numbers import (
    describe_usage,
    format_chance,
    format_count,
    format_dollars,
    format_number,
    list_some,
)
from gradegate.core.policy import Policy, Rule
from gradegate.core.usage import BudgetReport, CacheReport, Usage
from gradegate.reports.format.escape import harmless, join_nonempty, one_line
from gradegate.reports.view.wording import (
    has_several_suites,
    is_met_with_errors,
    rule_outcome,
    rule_title,
)
from gradegate.results.accounts import DerivedMetric, Made
from gradegate.results.gate_changes import GUARD, describe_changes, guard_reason
from gradegate.results.grades import ERROR, FAIL, PASS
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, GateOutcome, Power, RuleResult, RunResult
from gradegate.security.redaction import Redact

_MOST_NOISE = 0.01  # a rule that blocks more unchanged pull requests than this gets a warning
_LEAST_POWER = 0.5  # and so does a rule that notices fewer drops of five points than this


# --- what a run used and saved ------------------------------------------------------------------------------------------


def cache_and_budget(run: RunResult) -> Iterator[str]:
    """A sentence on the cache and one on the budget, without a full stop, if the run has them."""
    if run.cache:
        yield _cache_sentence(run.cache)
    if run.budget:
        parts = _budget_parts(run.budget, run.seconds)
        if parts:
            used_up = f"; {run.budget.used_up} are used up" if run.budget.used_up else ""
            yield f"budget: {', '.join(parts)}{used_up}"


def _cache_sentence(cache: CacheReport) -> str:
    """``3 of 12 answers from the cache, the oldest 2 days old, 0.01 USD saved``."""
    text = f"{cache.hits:,} of {format_count(cache.looked_up, 'answer')} from the cache"
    if cache.hits:
        hours = int(cache.oldest // 3600)
        age = format_count(hours, "hour") if hours else "less than an hour"
        if hours >= 24:
            age = format_count(hours // 24, "day")
        text += f", the oldest {age} old"
    if cache.saved_usd:
        text += f", {format_dollars(cache.saved_usd)} saved"
    return text


def _budget_parts(budget: BudgetReport, seconds: float) -> list[str]:
    """``3 of 12 calls``, ``0.01 USD of 1 USD``, ``12.5 of 60 s``: what has a limit."""
    limits = budget.limits
    parts = []
    if limits.calls is not None:
        parts.append(f"{budget.calls:,} of {format_count(limits.calls, 'call')}")
    if limits.usd is not None:
        parts.append(f"{format_dollars(budget.usd)} of {format_dollars(limits.usd)}")
    if limits.seconds is not None:
        parts.append(f"{seconds:,.1f} of {format_number(limits.seconds)} s")
    return parts


def target_and_grader_usage(run: RunResult) -> tuple[str, str]:
    """What the target used, and what the graders used."""
    unanswered = 0
    ungraded = 0
    for row in run.rows:
        if not row.error:
            ungraded += sum(grade.unheard or grade.setup for grade in row.grades)
        elif not row.undone:
            unanswered += 1
    target = describe_usage(run.target_usage, unanswered, _has_only_recordings(run, graders=False))
    return target, describe_usage(
        run.grader_usage, ungraded, _has_only_recordings(run, graders=True)
    )


def _has_only_recordings(run: RunResult, graders: bool) -> bool:
    """Whether all replies of targets, or of graders, come from files."""
    return {model.replies_from for model in run.models if model.grades is graders} == {"file"}


def reply_counts(usage: Usage) -> list[str]:
    """How many replies were read in each form: ``12 constrained``."""
    forms = asdict(usage.readings).items()
    return [f"{count:,} {form.replace('_', ' ')}" for form, count in forms if count]


def provenance(made: Made) -> Iterator[tuple[str, str]]:
    """Name and value of what is known about how the results were made."""
    facts = {
        "commit": made.commit,
        "config-sha256": made.digest,
        "gradegate-version": made.tool,
        "part-of-the-gate": made.only,
    }
    for name, value in facts.items():
        if value:
            yield name, one_line(value, 100)


# --- the decision and the rules -----------------------------------------------------------------------------------------


def decision_reason(decision: Decision, has_rules: bool) -> str:
    """Why the gate decided so, without what the table of rules or the warning about the gate already says."""
    reason = decision.reason
    missed = any(result.rule.blocking and result.has_failed for result in decision.rules)
    if has_rules and (missed or decision.outcome is GateOutcome.PASS):
        return ""
    if not decision.changes.has_weakening:
        return reason
    for text in (f"{GUARD}: {guard_reason(decision.changes)}", describe_changes(decision.changes)):
        reason = reason.replace(text, "")
    return reason.strip("; ")


def sort_rules(rules: Iterable[RuleResult]) -> list[RuleResult]:
    """Missed rules first, then those with errors, those not decided, and those met. Blocking rules go before advisory ones."""
    order = (FAIL, ERROR, None, PASS)

    def rank(result: RuleResult) -> tuple[int, bool]:
        outcome = ERROR if is_met_with_errors(result) else result.outcome
        return order.index(outcome), not result.rule.blocking

    return sorted(rules, key=rank)


def rules_to_show(decision: Decision) -> list[RuleResult]:
    """The rules that say more than the rest of the page, sorted."""
    rules = decision.rules
    if decision.changes.has_weakening:
        # A warning at the top says all that the rule about the gate would.
        rules = tuple(result for result in rules if result.rule != Rule(GUARD))
    # Without a gate block the one rule is that every case passes. The counts of a passing run say that.
    if all(result.rule.every_case and result.has_passed and not result.errored for result in rules):
        return []
    return sort_rules(rules)


def rule_remarks(rules: Iterable[RuleResult], several_files: bool) -> Iterator[tuple[str, str]]:
    """For each rule its title and why it is not met, and what it cannot notice. That text has no title."""
    for result in rules:
        if not result.has_passed and result.rule != Rule(GUARD):
            title = f"{rule_title(result.rule, several_files)} – {rule_outcome(result)}"
            yield title, result.reason
        if result.slack is not None:
            yield "", power_line(result.rule, result, several_files)


# --- derived metrics ----------------------------------------------------------------------------------------------------


def metric_value(metric: DerivedMetric) -> str:
    """``0.8571``, or why there is no value. If some answers have no grade, it says over how many it is."""
    if metric.value is None:
        value = f"could not be calculated: {one_line(metric.error, 300)}"
    else:
        value = format_number(metric.value)
    if not metric.left_out:
        return value
    answers = format_count(metric.answers + metric.left_out, "answer")
    return f"{value} (over {metric.answers:,} of {answers}; the others have no grade)"


def provider_and_prompt(source: DerivedMetric | Row) -> str:
    """The target and the prompt of an answer or a metric."""
    return join_nonempty(", ", one_line(source.provider, 80), one_line(source.prompt_label, 60))


# --- what a rule cannot notice ------------------------------------------------------------------------------------------


def power_lines(policies: Sequence[Policy], powers: Sequence[Power], hide: Redact) -> list[str]:
    """A line for each rule of which the power is known, without secrets."""
    rules = [rule for policy in policies for rule in policy.rules]
    lines: list[str] = []
    for rule, power in zip(rules, powers, strict=True):
        if power.slack is not None:
            lines.append(harmless(hide(power_line(rule, power, len(policies) > 1))))
    return lines


def power_warning(decision: Decision) -> str:
    """Names the rules that block by chance or notice too little. Empty if there is no such rule."""
    weak = [result.rule for result in decision.rules if _power_cures(result)]
    if not weak:
        return ""
    names = list_some([rule_title(weak[0], has_several_suites(decision.rules))], len(weak), "rule")
    return f"rule {names} may block by chance or miss a change: `gradegate validate` says how often"


def power_line(rule: Rule, power: Power, several_files: bool) -> str:
    """How many more cases may fail before a rule blocks, how often it blocks, and what to change in the config."""
    cases = power.cases or 0
    slack = power.slack or 0
    failing_before = power.failing_before or 0

    text = f"rule {rule_title(rule, several_files)}: {format_count(cases, 'case')}"
    if rule.min_pass_rate is not None:
        text += f" at {rule.min_pass_rate:g}"
    elif not rule.every_case:
        text += f" with at most {format_count(rule.max_new_failures or 0, 'new failure')}"
    if failing_before:
        verb = "fails" if failing_before == 1 else "fail"
        text += f", {failing_before:,} {verb} on the base"
    if slack < 0:
        return f"{text}: it is already missed by {format_count(-slack, 'case')}"

    points = 100 * slack / max(cases, 1)
    blocked_runs = format_chance(power.unchanged or 0.0)
    text += f": {slack:,} more may fail ({points:.1f} points) before it blocks"
    text += f". It blocks an unchanged pull request in {blocked_runs} of runs"

    # How often the rule notices that one case breaks, three, and five percent of all. No more can break than pass now.
    chances = {}  # by the number of cases
    for broken, chance in (
        (1, power.one_broken),
        (3, power.three_broken),
        (power.five_percent, power.five_points),
    ):
        chances[min(broken, cases - failing_before)] = chance or 0.0
    chances.pop(0, None)
    notices = [
        f"{broken:,} broken in {format_chance(chances[broken])}" for broken in sorted(chances)
    ]
    if notices:
        text += f", and notices {', '.join(notices)}"

    cures = _power_cures(power)
    if cures:
        text = f"warning: {text}"
    return "; ".join([text, *cures])


def _power_cures(power: Power) -> list[str]:
    """What to do if noise blocks too often, or if a drop of five points is often not noticed."""
    cures: list[str] = []
    if power.slack is None or power.slack < 0:
        return cures
    unchanged = power.unchanged or 0.0
    if unchanged > _MOST_NOISE:
        runs = "" if power.by_runs else "`runs`, "
        cures.append(
            f"noise alone blocks {format_chance(unchanged)} of runs: set {runs}a pass rate or `reask`"
        )
    if (power.five_points or 0.0) < _LEAST_POWER:
        cures.append(f"{power.five_percent:,} of {power.cases or 0:,} can break unnoticed")
    return cures
