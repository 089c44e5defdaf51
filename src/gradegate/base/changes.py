"""What a pull request does to its own gate: the plan of its base compared with its own.

Every planned grade of the base must stand in the head, the same or stricter. Additions and other texts of prompts are no
findings, and order never matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import TypeVar

from gradegate.access.hiding import excerpt
from gradegate.base.answers import Lost, Match, compare_answers
from gradegate.base.snapshot import GateSnapshot, ModelTerms
from gradegate.base.weakening import CHANGED, REMOVED, WEAKER, Found, compare_models, milder
from gradegate.configs.keys import LIMITS
from gradegate.errors import Mistake, Origin
from gradegate.http.budget import strictest
from gradegate.planning.identity import digest
from gradegate.values.changes import ChangeKind, GateChange
from gradegate.values.figures import figure, many
from gradegate.values.suite import Limits, Policy, Rule

T = TypeVar("T")
_NAMELESS = "a test without description and variables"
_NAMED = 3  # tests that a finding names
# Limits of a rule: those that ask for as much, and those that let as much through.
_LEAST = ("min-pass-rate", "min-score", "min-cases", "confidence")
_MOST = tuple(name for name in LIMITS if name.startswith("max-"))
_STRICTNESS = {"block": 2.0, "inconclusive": 1.0}


def compare(base: Sequence[GateSnapshot], head: Sequence[GateSnapshot], problems: Sequence[Mistake]) -> tuple[GateChange, ...]:
    """Every finding, once: what is gone, then what asks for less, then what is only another.

    ``problems`` are why the base could not be compared as a whole; they are one finding.
    """
    found = []
    if problems:
        first, others = problems[0], len(problems) - 1
        where = f" ({first.origin})" if first.origin else ""
        more = f", and {many(others, 'more mistake')}" if others else ""
        found.append(GateChange(WEAKER, f"not all of the base can be compared: {first.what}{where}{more}"))
    by_file = {suite.file: suite for suite in head}
    files = {suite.file for suite in base}
    others_of_head = [suite for suite in head if suite.file not in files]
    for old in base:
        new = by_file.get(old.file)
        if new is None:
            new = next((suite for suite in others_of_head if suite.digest == old.digest), None)
            others_of_head = [suite for suite in others_of_head if suite is not new]
            what = "no longer runs" if new is None else f"is now named `{new.file}`"
            kind = REMOVED if new is None else CHANGED
            found.append(GateChange(kind, f"the config `{old.file}` {what}", Origin(new.file if new else old.file)))
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
    names = sorted(name for name in old.env.keys() | new.env.keys() if old.env.get(name) != new.env.get(name))
    if names:
        yield GateChange(CHANGED, f"`env` sets {', '.join(f'`{name}`' for name in names)} differently", file)
    yield from (GateChange(CHANGED, f"`{name}` changed", file) for name in old.apart if old.apart[name] != new.apart[name])
    targets = _matched(old.targets, new.targets, _SAME_TARGET)
    prompts = _matched(old.prompts, new.prompts, (str, lambda _: None))
    for number, target in enumerate(old.targets):
        if number not in targets:
            yield GateChange(REMOVED, f"the target `{target.name}` is no longer used", file)
            continue
        now = new.targets[targets[number]]
        ways = compare_models(target, now)
        yield from (GateChange(kind, f"the target changed: {what}", _at(now.origin, file)) for kind, what in ways)
    for number, label in enumerate(old.prompts):
        if number not in prompts:
            yield GateChange(REMOVED, f"the prompt `{_short(label)}` is no longer used", file)
    rules = tuple(rule for policy in old.policies for rule in policy.rules if rule.blocking and not rule.every_case)
    match = Match(targets, prompts, (old.targets, new.targets), rules)
    yield from _grouped(compare_answers(old.answers, new.answers, match), file)


def _grouped(lost: Iterable[Lost], file: Origin) -> Iterator[GateChange]:
    """Differences that read the same at the same line are one finding with the names of their tests."""
    groups: dict[Found, dict[str, Origin | None]] = {}
    for item in lost:
        groups.setdefault(item.found, {}).setdefault(item.test, item.origin)
    for found, tests in groups.items():
        names = ", ".join(f"`{_short(test)}`" if test.strip() else _NAMELESS for test in list(tests)[:_NAMED])
        more = f" and {len(tests) - _NAMED:,} more tests" if len(tests) > _NAMED else ""
        of = f"{found.subject} of " if found.subject else ""
        origin = _at(found.origin or next(iter(tests.values())), file)
        yield GateChange(found.kind, f"{of}{names}{more}: {found.what}", origin)


def _short(text: str) -> str:
    return excerpt(" ".join(text.split()), 60)


def _at(origin: Origin | None, file: Origin) -> Origin:
    return origin if origin and origin.file else file


# --- what stands for what -------------------------------------------------------------------------------------

_Keys = Sequence[Callable[[T], object]]  # what makes two the same, from the most to the least alike
_SAME_TARGET: _Keys[ModelTerms] = (
    lambda model: model,
    lambda model: (model.id, model.options),
    lambda model: (model.name, model.id),
    lambda model: model.name,
    lambda model: model.id,
    lambda _: None,
)
_SAME_RULE: _Keys[Rule] = (
    lambda rule: replace(rule, suite="", origin=Origin("")),
    lambda rule: (rule.name, rule.select, rule.every_case),
    lambda rule: (rule.select, rule.every_case, rule.by_metric),
    lambda rule: (rule.name, rule.every_case),
)


def _matched(old: Sequence[T], new: Sequence[T], keys: _Keys[T]) -> dict[int, int]:
    """Which of the head stands for which of the base, by number: for each key in turn, in order, among those that are left."""
    match: dict[int, int] = {}
    for key in keys:
        free: dict[object, list[int]] = {}
        for number in sorted({*range(len(new))}.difference(match.values()), reverse=True):
            free.setdefault(key(new[number]), []).append(number)
        for number, one in enumerate(old):
            if number not in match and (same := free.get(key(one))):
                match[number] = same.pop()
    return match


# --- the gate's own rules -------------------------------------------------------------------------------------


def _policies(old: GateSnapshot, new: GateSnapshot) -> Iterator[GateChange]:
    file, before, now = Origin(new.file), old.policies[0], new.policies[0]
    yield from _rules(old, new, file)
    less = []
    if min(map(_strictness, new.policies)) < min(map(_strictness, old.policies)):
        less.append("errors count for less than before (`gate.errors`)")
    if any(policy.compare for policy in old.policies) and not all(policy.compare for policy in new.policies):
        less.append("answers are no longer compared with those of the base (`gate.compare`)")
    if milder(before.confirm, now.confirm):
        less.append(f"failures are re-asked in a milder way: `gate.confirm` {before.confirm} became {now.confirm}")
    if now.noise > before.noise:
        less.append(f"more flips of the grader are allowed: `gate.noise` {before.noise:g} became {now.noise:g}")
    asked, asks = (
        {digest([spec.id, spec.label, dict(spec.config), dict(spec.env)]) for spec in policy.second_opinions} for policy in (before, now)
    )
    if asks - asked:
        less.append("further models are re-asked about failures: `gate.second-opinions`")
    elif asks != asked:
        yield GateChange(CHANGED, "`gate.second-opinions` changed", file)
    if before.sentinels and not now.sentinels:
        less.append("a grader that moves is no longer noticed: `gate.sentinels` is gone")
    elif before.sentinels and before.sentinels != now.sentinels:
        yield GateChange(CHANGED, "`gate.sentinels` or its file changed", file)
    if blocks(old.policies) and not blocks(new.policies):
        less.append("a weaker gate no longer blocks (`gate.changes`)")
    yield from (GateChange(WEAKER, what, file) for what in less)


def _budgets(base: Sequence[GateSnapshot], head: Sequence[GateSnapshot]) -> Iterator[GateChange]:
    """Whether less may be asked: of all configs of a run the lowest limit counts."""
    policies = [policy for suite in (*base, *head) for policy in suite.policies]
    kind = WEAKER if any(policy.errors == "ignore" and policy.errors_up_to for policy in policies) else CHANGED
    before, now = (strictest(policy.budget for suite in it for policy in suite.policies) for it in (base, head))
    for name in (field.name for field in fields(Limits)):
        most, less = getattr(before, name), getattr(now, name)
        if less is not None and (most is None or less < most):
            file = next(suite.file for suite in head for it in suite.policies if getattr(it.budget, name) == less)
            what = f"the budget is smaller: `gate.budget.{name}` {'none' if most is None else figure(most)} became {figure(less)}"
            yield GateChange(kind, what, Origin(file))


def blocks(policies: Iterable[Policy]) -> bool:
    """Whether any policy says that findings block."""
    return any(policy.changes == "block" for policy in policies)


def _strictness(policy: Policy) -> float:
    return _STRICTNESS.get(policy.errors, 1.0 if policy.errors_up_to == 0 else -policy.errors_up_to)


def _rules(base: GateSnapshot, head: GateSnapshot, file: Origin) -> Iterator[GateChange]:
    # The strictest first: of several rules of one name, it is held against the strictest.
    old, new = (sorted((it for policy in one.policies for it in policy.rules), key=_asks, reverse=True) for one in (base, head))
    match = _matched(old, new, _SAME_RULE)
    for number, rule in enumerate(old):
        if number not in match:
            yield GateChange(REMOVED, f"the rule `{rule.name}` is gone", file)
            continue
        now = new[match[number]]
        where = _at(now.origin, file)
        if rule.name != now.name:
            yield GateChange(CHANGED, f"the rule `{rule.name}` is now named `{now.name}`", where)
        yield from (GateChange(WEAKER, f"the rule `{rule.name}` {what}", where) for what in _loosened(rule, now))


def _limit(rule: Rule, name: str) -> float | None:
    return attrgetter(name.replace("-", "_"))(rule)  # type: ignore[no-any-return]


def _asks(rule: Rule) -> tuple[float, ...]:
    """How much a rule asks for: more is stricter."""
    most = (_limit(rule, name) for name in _MOST)
    return rule.blocking, *(_limit(rule, name) or 0.0 for name in _LEAST), *(float("-inf") if it is None else -it for it in most)


def _loosened(old: Rule, new: Rule) -> Iterator[str]:
    for name in (*_LEAST, *_MOST):
        before, now = _limit(old, name), _limit(new, name)
        if before is not None and (now is None or (now < before if name in _LEAST else now > before)):
            yield f"is weaker: {name} {before:g} became {'nothing' if now is None else f'{now:g}'}"
    if old.blocking and not new.blocking:
        yield "no longer blocks"
    if old.runs and new.runs and new.runs.milder(old.runs):
        was, become = (f"{runs.passes}/{runs.of or 'repeat'}" for runs in (old.runs, new.runs))
        yield f"is weaker: runs {was} became {become}"
    if old.select != new.select or old.by_metric != new.by_metric:
        yield "selects other grades"
