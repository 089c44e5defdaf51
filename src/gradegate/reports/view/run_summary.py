"""What all reports say about a run as a whole: its budget, its cache, its cost, its derived metrics, what its rules cannot see."""

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
from gradegate.core.usage import Usage
from gradegate.reports.format.escape import harmless, join_nonempty, one_line
from gradegate.reports.view.wording import has_several_suites, incomplete, titled, verdict
from gradegate.results.accounts import DerivedMetric, Made
from gradegate.results.gate_changes import GUARD, done, guarded
from gradegate.results.grades import ERROR, FAIL, PASS
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, GateOutcome, Power, RuleResult, RunResult
from gradegate.security.redaction import Hide
from gradegate.structs import FrozenStruct

HOUR, DAY = 3600, 86_400
_NOISE, _POWER = 0.01, 0.5  # from where on a gate blocks too often, or notices too little


def saved(run: RunResult) -> Iterator[str]:
    """A sentence on the cache and one on the budget, without a full stop, where the run has them."""
    if cache := run.cache:
        old = cache.oldest  # what has begun does not count
        age = "less than an hour"
        if old >= DAY:
            age = format_count(int(old // DAY), "day")
        elif old >= HOUR:
            age = format_count(int(old // HOUR), "hour")
        oldest = f", the oldest {age} old" if cache.hits else ""
        usd = f", {format_dollars(cache.saved_usd)} saved" if cache.saved_usd else ""
        yield f"{cache.hits:,} of {format_count(cache.looked_up, 'answer')} from the cache{oldest}{usd}"
    if budget := run.budget:
        limits = budget.limits
        parts = []
        if limits.calls is not None:
            parts.append(f"{budget.calls:,} of {format_count(limits.calls, 'call')}")
        if limits.usd is not None:
            parts.append(f"{format_dollars(budget.usd)} of {format_dollars(limits.usd)}")
        if limits.seconds is not None:
            parts.append(f"{run.seconds:,.1f} of {format_number(limits.seconds)} s")
        if parts:
            used_up = f"; {budget.used_up} are used up" if budget.used_up else ""
            yield f"budget: {', '.join(parts)}{used_up}"


def took(run: RunResult) -> tuple[str, str]:
    """What the target took, and what the graders did."""
    targets = sum(bool(row.error) and not row.undone for row in run.rows)
    graders = sum(
        not row.error and (grade.unheard or grade.setup) for row in run.rows for grade in row.grades
    )
    recorded = [
        {model.replies_from for model in run.models if model.grades is grades} == {"file"}
        for grades in (False, True)
    ]
    return describe_usage(run.target_usage, targets, recorded[0]), describe_usage(
        run.grader_usage, graders, recorded[1]
    )


def replies(usage: Usage) -> list[str]:
    """How many replies were read in which way: ``12 strict``."""
    readings = asdict(usage.readings).items()
    return [f"{count:,} {name.replace('_', ' ')}" for name, count in readings if count]


def provenance(made: Made) -> Iterator[tuple[str, str]]:
    """Name and value of each that is known; the values are one visible line."""
    names = ("commit", "config-sha256", "gradegate-version", "part-of-the-gate")
    for name, value in zip(names, (made.commit, made.digest, made.tool, made.only), strict=True):
        if value:
            yield name, one_line(value, 100)


# --- why, and the rules -----------------------------------------------------------------------------------------------


class RuleRemark(FrozenStruct):
    """What is to be said of a rule: why it is not met, or what it cannot see, which names the rule itself."""

    rule: str
    text: str


def why_decided(decision: Decision, ruled: bool) -> str:
    """Why, without what the table of rules (``ruled``) or the warning about the gate says already."""
    missed = any(result.rule.blocking and result.has_failed for result in decision.rules)
    if ruled and (missed or decision.outcome is GateOutcome.PASS):
        return ""
    if not decision.changes.weakened:
        return decision.reason
    reason = decision.reason
    for text in (f"{GUARD}: {guarded(decision.changes)}", done(decision.changes)):
        reason = reason.replace(text, "")
    return reason.strip("; ")


def in_order(rules: Iterable[RuleResult]) -> list[RuleResult]:
    """Rules that are missed first, then those with errors, those that wait, and those that are met; of each the blocking ones first."""
    order = (FAIL, ERROR, None, PASS)
    kinds = {id(result): ERROR if incomplete(result) else result.outcome for result in rules}
    return sorted(
        rules, key=lambda result: (order.index(kinds[id(result)]), not result.rule.blocking)
    )


def shown_rules(decision: Decision) -> list[RuleResult]:
    """The rules that say more than the rest of the page, in order."""
    # A warning at the top says of a gate that is weakened all that its rule would.
    warned = decision.changes.weakened
    rules = [result for result in decision.rules if not (warned and result.rule == Rule(GUARD))]
    # Without a gate block the one rule is that every case passes, which the counts of a passing run already say.
    if all(result.rule.every_case and result.has_passed and not result.errored for result in rules):
        return []
    return in_order(rules)


def rule_remarks(rules: Iterable[RuleResult], several: bool) -> Iterator[RuleRemark]:
    """Of each rule why it is missed or cannot be told, and what it cannot see."""
    for result in rules:
        if not result.has_passed and result.rule != Rule(GUARD):
            title = f"{titled(result.rule, several)} – {verdict(result)}"
            yield RuleRemark(title, result.reason)
        if result.slack is not None:
            yield RuleRemark("", power_line(result.rule, result, several))


# --- derived metrics ----------------------------------------------------------------------------------------------------


def worth(metric: DerivedMetric) -> str:
    """``0.8571``, or why there is no value; and over how many answers, where not all could be told."""
    if metric.value is None:
        value = f"could not be calculated: {one_line(metric.error, 300)}"
    else:
        value = format_number(metric.value)
    if not metric.left_out:
        return value
    answers = format_count(metric.answers + metric.left_out, "answer")
    return f"{value} (over {metric.answers:,} of {answers}; the others have no grade)"


def of(asked: DerivedMetric | Row) -> str:
    """Of whose answers, and to which prompt."""
    return join_nonempty(", ", one_line(asked.provider, 80), one_line(asked.prompt_label, 60))


# --- what a rule cannot see ---------------------------------------------------------------------------------------------


def unseen(policies: Sequence[Policy], powers: Sequence[Power], hide: Hide) -> list[str]:
    """What rules cannot see, a line each."""
    rules = [rule for policy in policies for rule in policy.rules]
    return [
        harmless(hide(power_line(rule, power, len(policies) > 1)))
        for rule, power in zip(rules, powers, strict=True)
        if power.slack is not None
    ]


def blind_spots(decision: Decision) -> str:
    """One line at the end of a run: which rules block by chance or notice too little; empty where none does."""
    several = has_several_suites(decision.rules)
    names = [titled(result.rule, several) for result in decision.rules if [*_warnings(result)]]
    if not names:
        return ""
    return f"rule {list_some(names[:1], len(names), 'rule')} may block by chance or miss a change: `gradegate validate` says how often"


def power_line(rule: Rule, it: Power, several: bool) -> str:
    """How much may break before the rule blocks, how often it blocks where nothing or something is broken, and what to mend."""
    cases, slack, old = it.cases or 0, it.slack or 0, it.failing_before or 0
    limit = ""
    if rule.min_pass_rate is not None:
        limit = f" at {rule.min_pass_rate:g}"
    elif not rule.every_case:
        limit = f" with at most {format_count(rule.max_new_failures or 0, 'new failure')}"
    text = f"rule {titled(rule, several)}: {format_count(cases, 'case')}{limit}"
    text += f", {old:,} fail{'s' if old == 1 else ''} on the base" if old else ""
    if slack < 0:
        return f"{text}: it is already missed by {format_count(-slack, 'case')}"
    points = 100 * slack / max(cases, 1)
    text += f": {slack:,} more may fail ({points:.1f} points) before it blocks"
    text += f". It blocks an unchanged pull request in {format_chance(it.unchanged or 0.0)} of runs"
    figures = {
        min(number, cases - old): share
        for number, share in ((1, it.one_broken), (3, it.three_broken), (it.drop, it.five_points))
    }
    broken = [
        f"{number:,} broken in {format_chance(share or 0.0)}"
        for number, share in sorted(figures.items())
        if number
    ]
    if broken:
        text += f", and notices {', '.join(broken)}"
    mend = [*_warnings(it)]
    return "; ".join([f"{'warning: ' if mend else ''}{text}", *mend])


def _warnings(it: Power) -> Iterator[str]:
    """Noise blocks too often, or a drop of five points goes unseen too often."""
    if it.slack is None or it.slack < 0:
        return
    if (often := it.unchanged or 0.0) > _NOISE:
        runs = "" if it.by_runs else "`runs`, "
        yield f"noise alone blocks {format_chance(often)} of runs: set {runs}a pass rate or `reask`"
    if (it.five_points or 0.0) < _POWER:
        yield f"{it.drop:,} of {it.cases or 0:,} can break unnoticed"
