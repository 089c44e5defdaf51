"""What a pull request does to its own gate: the plan of its base compared with its own.

Every planned grade of the base must stand in the head, the same or stricter. Additions and other texts of prompts are no
findings, and order never matters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace

from gradegate.access.hiding import excerpt
from gradegate.base.answers import Lost, Match, compare_answers
from gradegate.base.snapshot import GateSnapshot, ModelTerms
from gradegate.base.weakening import CHANGED, REMOVED, WEAKER, Found, compare_models, milder
from gradegate.errors import Mistake, Origin
from gradegate.http.budget import strictest
from gradegate.values.changes import ChangeKind, GateChange
from gradegate.values.figures import figure, many
from gradegate.values.suite import Limits, Policy, Rule

_NAMELESS = "a test without description and variables"
_NAMED = 3  # tests that a finding names
_STRICTNESS = {"block": 2.0, "inconclusive": 1.0}


def compare(base: Sequence[GateSnapshot], head: Sequence[GateSnapshot], problems: Sequence[Mistake]) -> tuple[GateChange, ...]:
    """Every finding, once: what is gone, then what asks for less, then what is only another.

    ``problems`` are why the base could not be compared as a whole; they are one finding.
    """
    found = [_unknown(problems)] if problems else []
    by_file = {suite.file: suite for suite in head}
    files = {suite.file for suite in base}
    others = [suite for suite in head if suite.file not in files]
    for old in base:
        new = by_file.get(old.file)
        if new is None:
            new = next((suite for suite in others if suite.digest == old.digest), None)
            others = [suite for suite in others if suite is not new]
            what = "is run no more" if new is None else f"is named `{new.file}` now"
            kind = REMOVED if new is None else CHANGED
            found.append(GateChange(kind, f"the config `{old.file}` {what}", Origin(new.file if new else old.file)))
        if new is not None:
            found += _suites(old, new)
    if base and not problems:
        found += _budgets(base, head)
    kinds = list(ChangeKind)
    return tuple(sorted(dict.fromkeys(found), key=lambda change: kinds.index(change.kind)))


def _unknown(problems: Sequence[Mistake]) -> GateChange:
    first, others = problems[0], len(problems) - 1
    where = f" ({first.origin})" if first.origin else ""
    more = f", and {many(others, 'more mistake')}" if others else ""
    return GateChange(WEAKER, f"not all of the base can be compared: {first.what}{where}{more}")


def _suites(old: GateSnapshot, new: GateSnapshot) -> Iterator[GateChange]:
    """What one config does to itself."""
    yield from _policies(old, new)
    yield from _beside(old, new)
    targets, prompts = _targets(old.targets, new.targets), _prompts(old.prompts, new.prompts)
    yield from _retargeted(old, new, targets)
    for number, label in enumerate(old.prompts):
        if number not in prompts:
            yield GateChange(REMOVED, f"the prompt `{_short(label)}` is asked no more", Origin(new.file))
    rules = tuple(rule for policy in old.policies for rule in policy.rules if rule.blocking and not rule.every_case)
    match = Match(targets, prompts, (old.targets, new.targets), rules)
    yield from _grouped(compare_answers(old.answers, new.answers, match), new.file)


def _beside(old: GateSnapshot, new: GateSnapshot) -> Iterator[GateChange]:
    """What steers a run apart from its tests."""
    names = sorted(name for name in old.env.keys() | new.env.keys() if old.env.get(name) != new.env.get(name))
    if names:
        listed = ", ".join(f"`{name}`" for name in names)
        yield GateChange(CHANGED, f"`env` sets {listed} otherwise", Origin(new.file))
    for name in old.apart:
        if old.apart[name] != new.apart[name]:
            yield GateChange(CHANGED, f"`{name}` is another", Origin(new.file))


def _retargeted(old: GateSnapshot, new: GateSnapshot, match: Mapping[int, int]) -> Iterator[GateChange]:
    for number, target in enumerate(old.targets):
        if number not in match:
            yield GateChange(REMOVED, f"the target `{target.name}` is asked no more", Origin(new.file))
            continue
        now = new.targets[match[number]]
        where = now.origin if now.origin.file else Origin(new.file)
        for kind, what in compare_models(target, now):
            yield GateChange(kind, f"the target is another: {what}", where)


def _grouped(lost: Iterable[Lost], file: str) -> Iterator[GateChange]:
    """Differences that read the same at the same line are one finding with the names of their tests."""
    groups: dict[Found, dict[str, Origin | None]] = {}
    for item in lost:
        groups.setdefault(item.found, {}).setdefault(item.test, item.origin)
    for found, tests in groups.items():
        origin = found.origin or next(iter(tests.values()))
        names = ", ".join(f"`{_short(test)}`" if test.strip() else _NAMELESS for test in list(tests)[:_NAMED])
        more = f" and {len(tests) - _NAMED:,} more tests" if len(tests) > _NAMED else ""
        of = f"{found.subject} of " if found.subject else ""
        yield GateChange(found.kind, f"{of}{names}{more}: {found.what}", origin if origin and origin.file else Origin(file))


def _short(text: str) -> str:
    return excerpt(" ".join(text.split()), 60)


# --- targets and prompts --------------------------------------------------------------------------------------


def _targets(old: Sequence[ModelTerms], new: Sequence[ModelTerms]) -> dict[int, int]:
    """Which target of the head stands for which of the base: the same one, else that of its name or id, else the next."""
    keys = (
        lambda model: model,
        lambda model: (model.id, model.options),
        lambda model: (model.name, model.id),
        lambda model: model.name,
        lambda model: model.id,
        lambda _: None,
    )
    match: dict[int, int] = {}
    for key in keys:
        match |= _matched([key(model) for model in old], [key(model) for model in new], match)
    return match


def _prompts(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """The same for prompts: that of the same label or file, else the next."""
    match = _matched(old, new, {})
    return match | _matched([None] * len(old), [None] * len(new), match)


def _matched(old: Sequence[object], new: Sequence[object], match: dict[int, int]) -> dict[int, int]:
    """Pairs of equal keys, in order, among those that have no partner yet."""
    free: dict[object, list[int]] = {}
    taken = set(match.values())
    for number in reversed(range(len(new))):
        if number not in taken:
            free.setdefault(new[number], []).append(number)
    return {number: free[key].pop() for number, key in enumerate(old) if number not in match and free.get(key)}


# --- the gate's own rules -------------------------------------------------------------------------------------


def _policies(old: GateSnapshot, new: GateSnapshot) -> Iterator[GateChange]:
    # The strictest first: of several rules of one name, it is held against the strictest.
    before, now = (sorted((rule for policy in suite.policies for rule in policy.rules), key=_asks, reverse=True) for suite in (old, new))
    yield from _rules(before, now, new.file)
    if min(map(_strictness, new.policies)) < min(map(_strictness, old.policies)):
        yield GateChange(WEAKER, "errors weigh less than before (`gate.errors`)", Origin(new.file))
    if any(policy.compare for policy in old.policies) and not all(policy.compare for policy in new.policies):
        yield GateChange(WEAKER, "the base is no longer asked beside it (`gate.compare`)", Origin(new.file))
    yield from _asked_again(old, new)
    if blocks(old.policies) and not blocks(new.policies):
        yield GateChange(WEAKER, "a weaker gate no longer blocks (`gate.changes`)", Origin(new.file))


def _asked_again(old: GateSnapshot, new: GateSnapshot) -> Iterator[GateChange]:
    """Whether asking failures again forgives more."""
    before, now = old.policies[0], new.policies[0]
    if milder(before.confirm, now.confirm):
        what = f"failures are asked again in a milder way: `gate.confirm` {before.confirm} became {now.confirm}"
        yield GateChange(WEAKER, what, Origin(new.file))
    if now.noise > before.noise:
        what = f"more flips of the grader are forgiven: `gate.noise` {before.noise:g} became {now.noise:g}"
        yield GateChange(WEAKER, what, Origin(new.file))


def _budgets(base: Sequence[GateSnapshot], head: Sequence[GateSnapshot]) -> Iterator[GateChange]:
    """Whether less may be asked: of all configs of a run the lowest limit counts."""
    policies = [policy for suite in (*base, *head) for policy in suite.policies]
    kind = WEAKER if any(policy.errors == "ignore" and policy.errors_up_to for policy in policies) else CHANGED
    before, now = (strictest(policy.budget for suite in it for policy in suite.policies) for it in (base, head))
    for name in (field.name for field in fields(Limits)):
        most, less = getattr(before, name), getattr(now, name)
        if less is not None and (most is None or less < most):
            file = next(suite.file for suite in head for it in suite.policies if getattr(it.budget, name) == less)
            what = f"less may be asked: `gate.budget.{name}` {'none' if most is None else figure(most)} became {figure(less)}"
            yield GateChange(kind, what, Origin(file))


def blocks(policies: Iterable[Policy]) -> bool:
    """Whether any policy says that findings block."""
    return any(policy.changes == "block" for policy in policies)


def _asks(rule: Rule) -> tuple[bool, float, float, float, int, float, float]:
    limits = rule.min_pass_rate or 0.0, rule.min_score or 0.0, rule.confidence or 0.0, rule.min_cases or 0
    few, little = (-math.inf if most is None else -most for most in (rule.max_new_failures, rule.max_drop))
    return rule.blocking, *limits, few, little


def _strictness(policy: Policy) -> float:
    return _STRICTNESS.get(policy.errors, 1.0 if policy.errors_up_to == 0 else -policy.errors_up_to)


def _rules(old: Sequence[Rule], new: Sequence[Rule], file: str) -> Iterator[GateChange]:
    keys = (
        lambda rule: replace(rule, suite="", origin=Origin("")),
        lambda rule: (rule.name, rule.select, rule.every_case),
        lambda rule: (rule.select, rule.every_case, rule.by_metric),
        lambda rule: (rule.name, rule.every_case),
    )
    match: dict[int, int] = {}
    for key in keys:
        match |= _matched([key(rule) for rule in old], [key(rule) for rule in new], match)
    for number, rule in enumerate(old):
        if number not in match:
            yield GateChange(REMOVED, f"the rule `{rule.name}` is gone", Origin(file))
            continue
        now = new[match[number]]
        where = now.origin if now.origin.file else Origin(file)
        if rule.name != now.name:
            yield GateChange(CHANGED, f"the rule `{rule.name}` is named `{now.name}` now", where)
        yield from (GateChange(WEAKER, f"the rule `{rule.name}` {what}", where) for what in _loosened(rule, now))


def _loosened(old: Rule, new: Rule) -> Iterator[str]:
    for name, before, now in (
        ("min-pass-rate", old.min_pass_rate, new.min_pass_rate),
        ("min-score", old.min_score, new.min_score),
        ("min-cases", old.min_cases, new.min_cases),
        ("confidence", old.confidence, new.confidence),
    ):
        if before is not None and (now is None or now < before):
            yield f"asks for less: {name} {before:g} became {'nothing' if now is None else f'{now:g}'}"
    for name, most, more in (
        ("max-new-failures", old.max_new_failures, new.max_new_failures),
        ("max-drop", old.max_drop, new.max_drop),
    ):
        if most is not None and (more is None or more > most):
            yield f"lets more through: {name} {most:g} became {'nothing' if more is None else f'{more:g}'}"
    if old.blocking and not new.blocking:
        yield "no longer blocks"
    if old.select != new.select or old.by_metric != new.by_metric:
        yield "looks at other grades"
