"""What a rule cannot see, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradegate.access.hiding import Hide
from gradegate.reporting.commands import harmless
from gradegate.reporting.wording import titled
from gradegate.values.figures import chance, many
from gradegate.values.result import Power
from gradegate.values.suite import Policy, Rule

_NOISE, _POWER = 0.01, 0.5  # from where on a gate blocks too often, or notices too little


def unseen(policies: Sequence[Policy], powers: Sequence[Power], hide: Hide, healthy: bool = True) -> list[str]:
    """What rules cannot see, a line each; without ``healthy``, only of those in which something is to be mended."""
    rules = [rule for policy in policies for rule in policy.rules]
    known = [(rule, power) for rule, power in zip(rules, powers, strict=True) if power.slack is not None]
    return [harmless(hide(line(rule, it, len(policies) > 1))) for rule, it in known if healthy or [*warnings(it)]]


def line(rule: Rule, it: Power, several: bool) -> str:
    """How much may break before the rule blocks, how often it blocks where nothing or something is broken, and what to mend."""
    mend = list(warnings(it))
    return f"{'warning: ' if mend else ''}{'; '.join([_figures(rule, it, several), *mend])}"


def _figures(rule: Rule, it: Power, several: bool) -> str:
    cases, slack, old = it.cases or 0, it.slack or 0, it.failing_before or 0
    limit = "" if rule.every_case else f" with at most {many(rule.max_new_failures or 0, 'new failure')}"
    limit = limit if rule.min_pass_rate is None else f" at {rule.min_pass_rate:g}"
    noun = "case" if rule.min_pass_rate is None else rule.counts  # new failures are cases
    about = f"rule {titled(rule, several)}: {many(cases, noun)}{limit}" + (
        f", {old:,} fail{'s' if old == 1 else ''} on the base" if old else ""
    )
    if slack < 0:
        return f"{about}: it is already missed by {many(-slack, noun)}"
    points = 100 * slack / cases
    text = f"{about}: {slack:,} more may fail ({points:.1f} points) before it blocks"
    text += f". It blocks an unchanged pull request in {chance(it.unchanged or 0.0)} of runs"
    left = cases - old
    figures = {min(number, left): share for number, share in ((1, it.one_broken), (3, it.three_broken), (it.drop, it.five_points))}
    broken = sorted((number, share or 0.0) for number, share in figures.items() if number)
    if not broken:
        return text
    return f"{text}, and notices {', '.join(f'{number:,} broken in {chance(share)}' for number, share in broken)}"


def warnings(it: Power) -> Iterator[str]:
    """Noise blocks too often, or a drop of five points goes unseen too often."""
    if it.slack is None or it.slack < 0:
        return
    if (often := it.unchanged or 0.0) > _NOISE:
        yield f"noise alone blocks {chance(often)} of runs: set `runs`, a pass rate or `confirm`"
    if (it.five_points or 0.0) < _POWER:
        yield f"{it.drop:,} of {it.cases or 0:,} can break unnoticed"
