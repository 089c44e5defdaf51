"""What a pull request does to its own gate: every planned grade of the base must stand in the head, the same or stricter.

Additions and other texts of prompts are no findings, and order never matters.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from gradegate.core.numbers import format_count, format_number
from gradegate.core.policy import LIMITS, Limits, Policy, Rule, limit_key, strictest_budget
from gradegate.errors import Mistake, Origin
from gradegate.gate.changes.weakening import (
    CHANGED,
    REMOVED,
    WEAKER,
    Found,
    Ledger,
    Match,
    compare_models,
    differing_keys,
    milder,
)
from gradegate.planning.counterparts import Keys, match_by_keys
from gradegate.planning.snapshot import GateSnapshot, ModelTerms
from gradegate.results.gate_changes import ChangeKind, GateChange
from gradegate.security.redaction import excerpt
from gradegate.structs import NamedTexts, names, replace

_NAMED = 3  # tests that a finding names
_SAME_TARGET: Keys[ModelTerms] = (
    lambda model: model,
    lambda model: (model.id, model.options),
    lambda model: (model.name, model.id),
    lambda model: model.name,
    lambda model: model.id,
    lambda _: None,
)
_SAME_RULE: Keys[Rule] = (
    lambda rule: replace(rule, suite="", origin=Origin("")),
    lambda rule: (rule.name, rule.select, rule.every_case),
    lambda rule: (rule.select, rule.every_case, rule.by_metric),
    lambda rule: (rule.name, rule.every_case),
)


def compare(
    base: Sequence[GateSnapshot],
    head: Sequence[GateSnapshot],
    problems: Sequence[Mistake],
    renames: NamedTexts,
) -> tuple[GateChange, ...]:
    """Every finding, once: what is gone, then what asks for less, then what is only another."""
    found = []
    if problems:  # why the base could not be compared as a whole: one finding
        first, others = problems[0], len(problems) - 1
        where = f" ({first.origin})" if first.origin else ""
        more = f", and {format_count(others, 'more mistake')}" if others else ""
        found.append(
            GateChange(WEAKER, f"not all of the base can be compared: {first.what}{where}{more}")
        )
    by_file = {suite.file: suite for suite in head}
    files = {suite.file for suite in base}
    others_of_head = [suite for suite in head if suite.file not in files]
    for old in base:
        new = by_file.get(old.file)
        if new is None:
            new = by_file.get(renames.get(old.file, ""))
            new = new or next((it for it in others_of_head if it.digest == old.digest), None)
            others_of_head = [suite for suite in others_of_head if suite is not new]
            if new:
                what = f"the config `{old.file}` is now named `{new.file}`"
                found.append(GateChange(CHANGED, what, Origin(new.file)))
            else:
                what = f"the config `{old.file}` no longer runs"
                found.append(GateChange(REMOVED, what, Origin(old.file)))
        if new is not None:
            found += _suites(old, new)
    if base and not problems:
        found += _budgets(base, head)
    kinds = list(ChangeKind)
    return tuple(sorted(dict.fromkeys(found), key=lambda change: kinds.index(change.kind)))


def _suites(old: GateSnapshot, new: GateSnapshot) -> Iterator[GateChange]:
    """What one config does to itself."""
    file = Origin(new.file)
    yield from _policies(old, new)
    if names := differing_keys(old.env, new.env):
        yield GateChange(CHANGED, f"`env` sets {names} differently", file)
    yield from (
        GateChange(CHANGED, f"`{name}` changed", file)
        for name in old.apart
        if old.apart[name] != new.apart[name]
    )
    targets = match_by_keys(old.targets, new.targets, _SAME_TARGET)
    prompts = match_by_keys(old.prompts, new.prompts, (str, lambda _: None))
    for number, target in enumerate(old.targets):
        if number not in targets:
            yield GateChange(REMOVED, f"the target `{target.name}` is no longer used", file)
            continue
        now = new.targets[targets[number]]
        for kind, what in compare_models(target, now):
            yield GateChange(kind, f"the target changed: {what}", _at(now.origin, file))
    for number, label in enumerate(old.prompts):
        if number not in prompts:
            yield GateChange(REMOVED, f"the prompt `{_short(label)}` is no longer used", file)
    rules = tuple(
        rule
        for policy in old.policies
        for rule in policy.rules
        if rule.blocking and not rule.every_case
    )
    match = Match(targets, prompts, (old.targets, new.targets), rules)
    groups: dict[
        Found, dict[str, Origin | None]
    ] = {}  # what reads the same at the same line is one finding with the names of its tests
    for item in Ledger(old.answers, new.answers, match).lost():
        groups.setdefault(item.found, {}).setdefault(item.test, item.origin)
    for found, tests in groups.items():
        shown = ", ".join(f"`{_short(test)}`" for test in list(tests)[:_NAMED])
        more = f" and {len(tests) - _NAMED:,} more tests" if len(tests) > _NAMED else ""
        of = f"{found.subject} of " if found.subject else ""
        origin = _at(found.origin or next(iter(tests.values())), file)
        yield GateChange(found.kind, f"{of}{shown}{more}: {found.what}", origin)


def _short(text: str) -> str:
    return excerpt(" ".join(text.split()), 60)


def _at(origin: Origin | None, file: Origin) -> Origin:
    return origin if origin and origin.file else file


def _policies(old: GateSnapshot, new: GateSnapshot) -> Iterator[GateChange]:
    file, before, now = Origin(new.file), old.policies[0], new.policies[0]
    yield from _rules(old, new, file)
    lenient = min(map(_strictness, new.policies)) < min(map(_strictness, old.policies))
    reask = f"failures are re-asked in a milder way: `gate.reask` {before.reask} became {now.reask}"
    noise = f"more flips of the grader are allowed: `gate.reask.noise` {before.noise:g} became {now.noise:g}"
    labels = now.labels and before.labels and before.labels != now.labels
    ways = (
        (lenient, WEAKER, "errors count for less than before (`gate.errors`)"),
        (milder(before.reask, now.reask), WEAKER, reask),
        (now.noise > before.noise, WEAKER, noise),
        (
            before.labels and not now.labels,
            WEAKER,
            "a grader that moves is no longer noticed: `gate.labels` is gone",
        ),
        (labels, CHANGED, "`gate.labels` or its file changed"),
        (
            blocks(old.policies) and not blocks(new.policies),
            WEAKER,
            "a weaker gate no longer blocks (`gate.weakening`)",
        ),
    )
    yield from (GateChange(kind, what, file) for holds, kind, what in ways if holds)


def _budgets(base: Sequence[GateSnapshot], head: Sequence[GateSnapshot]) -> Iterator[GateChange]:
    """Whether less may be asked: of all configs of a run the lowest limit counts."""
    policies = [policy for suite in (*base, *head) for policy in suite.policies]
    lenient = any(policy.errors == "ignore" and policy.errors_up_to for policy in policies)
    kind = WEAKER if lenient else CHANGED
    before, now = (
        strictest_budget(policy.budget for suite in it for policy in suite.policies)
        for it in (base, head)
    )
    for name in names(Limits):
        most, less = getattr(before, name), getattr(now, name)
        if less is not None and (most is None or less < most):
            file = next(
                suite.file
                for suite in head
                for it in suite.policies
                if getattr(it.budget, name) == less
            )
            what = f"the budget is smaller: `gate.budget.{name}` {'none' if most is None else format_number(most)} became {format_number(less)}"
            yield GateChange(kind, what, Origin(file))


def blocks(policies: Iterable[Policy]) -> bool:
    """Whether any policy says that findings block."""
    return any(policy.weakening == "block" for policy in policies)


def _strictness(policy: Policy) -> float:
    if policy.errors == "block":
        return 2.0
    if policy.errors == "inconclusive" or not policy.errors_up_to:
        return 1.0
    return -policy.errors_up_to


def _rules(base: GateSnapshot, head: GateSnapshot, file: Origin) -> Iterator[GateChange]:
    # The strictest first: of several rules of one name, it is held against the strictest.
    old, new = (
        sorted((it for policy in one.policies for it in policy.rules), key=_asks, reverse=True)
        for one in (base, head)
    )
    match = match_by_keys(old, new, _SAME_RULE)
    for number, rule in enumerate(old):
        if number not in match:
            yield GateChange(REMOVED, f"the rule `{rule.name}` is gone", file)
            continue
        now = new[match[number]]
        where, less = _at(now.origin, file), []
        if rule.name != now.name:
            yield GateChange(CHANGED, f"the rule `{rule.name}` is now named `{now.name}`", where)
        for name, limit in LIMITS.items():
            before, after = getattr(rule, name), getattr(now, name)
            if before is None:
                continue
            if after is None:
                less.append(f"is weaker: {limit_key(name)} {before:g} became nothing")
            elif after < before if limit.is_minimum else after > before:
                less.append(f"is weaker: {limit_key(name)} {before:g} became {after:g}")
        if rule.blocking and not now.blocking:
            less.append("no longer blocks")
        if rule.runs and now.runs and now.runs.milder(rule.runs):
            was, are = (f"{runs.passes}/{runs.of}" for runs in (rule.runs, now.runs))
            less.append(f"is weaker: runs {was} became {are}")
        if rule.select != now.select or rule.by_metric != now.by_metric:
            less.append("selects other assertions")
        yield from (GateChange(WEAKER, f"the rule `{rule.name}` {what}", where) for what in less)


def _asks(rule: Rule) -> tuple[float, ...]:
    """How much a rule asks for: more is stricter."""
    strictness = [float(rule.blocking)]
    for name, limit in LIMITS.items():
        value = getattr(rule, name)
        if value is None:
            strictness.append(-math.inf)
        else:
            strictness.append(value if limit.is_minimum else -value)
    return tuple(strictness)
