"""Finds what a pull request weakens, removes or changes in its own gate, by comparing its plan with that of the base.

Each planned grade of the base must be in the head, as strict or stricter. Additions and new texts of prompts are no findings,
and the order of things never matters.
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
    AnswerComparison,
    Change,
    Difference,
    SideMatch,
    compare_models,
    differing_keys,
    is_milder_mode,
)
from gradegate.planning.counterparts import Keys, match_by_keys
from gradegate.planning.snapshot import GateSnapshot, ModelTerms
from gradegate.results.gate_changes import ChangeKind, GateChange
from gradegate.security.redaction import excerpt
from gradegate.structs import NamedTexts, field_names, replace

_NAMED_TESTS = 3  # in a finding
_TARGET_KEYS: Keys[ModelTerms] = (
    lambda model: model,
    lambda model: (model.id, model.options),
    lambda model: (model.name, model.id),
    lambda model: model.name,
    lambda model: model.id,
    lambda _: None,
)
_RULE_KEYS: Keys[Rule] = (
    lambda rule: replace(rule, suite="", origin=Origin("")),
    lambda rule: (rule.name, rule.select, rule.every_case),
    lambda rule: (rule.select, rule.every_case, rule.by_metric),
    lambda rule: (rule.name, rule.every_case),
)


def compare_gates(
    base: Sequence[GateSnapshot],
    head: Sequence[GateSnapshot],
    problems: Sequence[Mistake],
    renames: NamedTexts,
) -> tuple[GateChange, ...]:
    """All findings, each once: first what is gone, then what is weaker, then what only changed.

    ``problems`` are the mistakes for which not all of the base could be planned.
    """
    findings = []
    if problems:
        findings.append(_base_is_incomplete(problems))
    findings += _compare_configs(base, head, renames)
    if base and not problems:
        findings += _compare_budgets(base, head)
    kinds = list(ChangeKind)
    findings.sort(key=lambda change: kinds.index(change.kind))
    return tuple(dict.fromkeys(findings))


def blocks_weakening(policies: Iterable[Policy]) -> bool:
    """Whether any policy says that a weaker gate blocks."""
    return any(policy.weakening == "block" for policy in policies)


def _base_is_incomplete(problems: Sequence[Mistake]) -> GateChange:
    """The finding that not all of the base could be planned: the first mistake, and how many more there are."""
    first = problems[0]
    where = f" ({first.origin})" if first.origin else ""
    more = ""
    if len(problems) > 1:
        more = f", and {format_count(len(problems) - 1, 'more mistake')}"
    text = f"not all of the base can be compared: {first.what}{where}{more}"
    return GateChange(WEAKER, text)


# --- configs --------------------------------------------------------------------------------------------------


def _compare_configs(
    base: Sequence[GateSnapshot], head: Sequence[GateSnapshot], renames: NamedTexts
) -> Iterator[GateChange]:
    """What the pull request does to each config of the base. ``renames`` are new names of files by their old names."""
    head_by_file = {suite.file: suite for suite in head}
    base_files = {suite.file for suite in base}
    added = [suite for suite in head if suite.file not in base_files]
    for old in base:
        new = head_by_file.get(old.file)
        if new is not None:
            yield from _compare_config(old, new)
            continue

        new = head_by_file.get(renames.get(old.file, ""))
        if new is None:
            new = _find_by_digest(old.digest, added)
        if new is None:
            text = f"the config `{old.file}` no longer runs"
            yield GateChange(REMOVED, text, Origin(old.file))
            continue
        added = [suite for suite in added if suite is not new]
        text = f"the config `{old.file}` is now named `{new.file}`"
        yield GateChange(CHANGED, text, Origin(new.file))
        yield from _compare_config(old, new)


def _find_by_digest(digest: str, suites: Iterable[GateSnapshot]) -> GateSnapshot | None:
    """The first config with exactly this content."""
    for suite in suites:
        if suite.digest == digest:
            return suite
    return None


def _compare_config(old: GateSnapshot, new: GateSnapshot) -> Iterator[GateChange]:
    """What the pull request does to one config."""
    file = Origin(new.file)
    yield from _compare_rules(old, new)
    for kind, text in _compare_policies(old.policies, new.policies):
        yield GateChange(kind, text, file)
    variables = differing_keys(old.env, new.env)
    if variables:
        yield GateChange(CHANGED, f"`env` sets {variables} differently", file)
    for key, digest in old.apart.items():
        if digest != new.apart[key]:
            yield GateChange(CHANGED, f"`{key}` changed", file)

    targets = match_by_keys(old.targets, new.targets, _TARGET_KEYS)
    for number, target in enumerate(old.targets):
        if number not in targets:
            yield GateChange(REMOVED, f"the target `{target.name}` is no longer used", file)
            continue
        new_target = new.targets[targets[number]]
        for kind, text in compare_models(target, new_target):
            origin = _origin_or(file, new_target.origin)
            yield GateChange(kind, f"the target changed: {text}", origin)

    prompts = match_by_keys(old.prompts, new.prompts, (str, lambda _: None))
    for number, label in enumerate(old.prompts):
        if number not in prompts:
            yield GateChange(REMOVED, f"the prompt `{_one_line(label)}` is no longer used", file)

    rules = [rule for rule in _rules_of(old) if rule.blocking and not rule.every_case]
    match = SideMatch(targets, prompts, old.targets, new.targets, tuple(rules))
    yield from _compare_tests(old, new, match)


def _compare_tests(old: GateSnapshot, new: GateSnapshot, match: SideMatch) -> Iterator[GateChange]:
    """What the pull request does to the tests. Equal differences at one line are one finding for all their tests."""
    # The origin of each test by its name, for each difference
    tests_by_difference: dict[Difference, dict[str, Origin | None]] = {}
    comparison = AnswerComparison(old.answers, new.answers, match)
    for test in comparison.differences():
        tests = tests_by_difference.setdefault(test.difference, {})
        tests.setdefault(test.name, test.origin)

    for difference, tests in tests_by_difference.items():
        names = list(tests)
        subject = _list_tests(names)
        if difference.subject:
            subject = f"{difference.subject} of {subject}"
        origin = _origin_or(Origin(new.file), difference.origin or tests[names[0]])
        yield GateChange(difference.kind, f"{subject}: {difference.text}", origin)


def _list_tests(names: Sequence[str]) -> str:
    """The names of the first tests, and how many more there are."""
    shown = ", ".join(f"`{_one_line(name)}`" for name in names[:_NAMED_TESTS])
    omitted = len(names) - _NAMED_TESTS
    return f"{shown} and {omitted:,} more tests" if omitted > 0 else shown


def _one_line(text: str) -> str:
    return excerpt(" ".join(text.split()), 60)


def _origin_or(file: Origin, origin: Origin | None) -> Origin:
    """The origin, or the file if the origin names none."""
    return origin if origin and origin.file else file


# --- policies and budgets -------------------------------------------------------------------------------------


def _compare_policies(old: Sequence[Policy], new: Sequence[Policy]) -> Iterator[Change]:
    """What changed in the policy of a config, apart from its rules and its budget."""
    before = old[0]
    now = new[0]
    old_strictness = min(_error_strictness(policy) for policy in old)
    new_strictness = min(_error_strictness(policy) for policy in new)
    if new_strictness < old_strictness:
        yield WEAKER, "errors count for less than before (`gate.errors`)"
    if is_milder_mode(before.reask, now.reask):
        change = f"`gate.reask` {before.reask} became {now.reask}"
        yield WEAKER, f"failures are re-asked in a milder way: {change}"
    if now.noise > before.noise:
        change = f"`gate.reask.noise` {before.noise:g} became {now.noise:g}"
        yield WEAKER, f"more flips of the grader are allowed: {change}"
    if before.labels and not now.labels:
        yield WEAKER, "a grader that moves is no longer noticed: `gate.labels` is gone"
    if before.labels and now.labels and before.labels != now.labels:
        yield CHANGED, "`gate.labels` or its file changed"
    if blocks_weakening(old) and not blocks_weakening(new):
        yield WEAKER, "a weaker gate no longer blocks (`gate.weakening`)"


def _error_strictness(policy: Policy) -> float:
    """How strict a policy is with errors: a larger number is stricter. The more errors it ignores, the milder it is."""
    if policy.errors == "block":
        return 2.0
    if policy.errors == "inconclusive" or not policy.errors_up_to:
        return 1.0
    return -policy.errors_up_to


def _compare_budgets(
    base: Sequence[GateSnapshot], head: Sequence[GateSnapshot]
) -> Iterator[GateChange]:
    """Whether the run may use less. The lowest limit of all configs counts."""
    old_policies = _policies_of(base)
    new_policies = _policies_of(head)
    # If errors are ignored, cases beyond the budget pass unseen.
    kind = CHANGED
    for policy in old_policies + new_policies:
        if policy.errors == "ignore" and policy.errors_up_to:
            kind = WEAKER

    old_budget = strictest_budget(policy.budget for policy in old_policies)
    new_budget = strictest_budget(policy.budget for policy in new_policies)
    for name in field_names(Limits):
        before = getattr(old_budget, name)
        now = getattr(new_budget, name)
        is_lower = now is not None and (before is None or now < before)
        if not is_lower:
            continue
        shown_before = "none" if before is None else format_number(before)
        change = f"`gate.budget.{name}` {shown_before} became {format_number(now)}"
        origin = Origin(_file_with_limit(head, name, now))
        yield GateChange(kind, f"the budget is smaller: {change}", origin)


def _policies_of(suites: Iterable[GateSnapshot]) -> list[Policy]:
    policies: list[Policy] = []
    for suite in suites:
        policies += suite.policies
    return policies


def _file_with_limit(head: Iterable[GateSnapshot], name: str, limit: float) -> str:
    """The first config that has this limit in its budget."""
    for suite in head:
        for policy in suite.policies:
            if getattr(policy.budget, name) == limit:
                return suite.file
    return ""


# --- rules ----------------------------------------------------------------------------------------------------


def _rules_of(suite: GateSnapshot) -> list[Rule]:
    return [rule for policy in suite.policies for rule in policy.rules]


def _compare_rules(base: GateSnapshot, head: GateSnapshot) -> Iterator[GateChange]:
    """What the pull request does to the rules of a config."""
    file = Origin(head.file)
    # The strictest rules come first, so that of several rules with one name the strictest are compared.
    old_rules = sorted(_rules_of(base), key=_rule_strictness, reverse=True)
    new_rules = sorted(_rules_of(head), key=_rule_strictness, reverse=True)
    match = match_by_keys(old_rules, new_rules, _RULE_KEYS)
    for number, old in enumerate(old_rules):
        if number not in match:
            yield GateChange(REMOVED, f"the rule `{old.name}` is gone", file)
            continue
        new = new_rules[match[number]]
        origin = _origin_or(file, new.origin)
        if old.name != new.name:
            text = f"the rule `{old.name}` is now named `{new.name}`"
            yield GateChange(CHANGED, text, origin)
        for weakness in _weaknesses(old, new):
            yield GateChange(WEAKER, f"the rule `{old.name}` {weakness}", origin)


def _weaknesses(old: Rule, new: Rule) -> Iterator[str]:
    """In which ways a rule asks for less than before."""
    for name, limit in LIMITS.items():
        before = getattr(old, name)
        now = getattr(new, name)
        if before is None:
            continue
        if now is None:
            yield f"is weaker: {limit_key(name)} {before:g} became nothing"
            continue
        is_weaker = now < before if limit.is_minimum else now > before
        if is_weaker:
            yield f"is weaker: {limit_key(name)} {before:g} became {now:g}"
    if old.blocking and not new.blocking:
        yield "no longer blocks"
    if old.runs and new.runs and new.runs.is_milder_than(old.runs):
        before_runs = f"{old.runs.passes}/{old.runs.of}"
        yield f"is weaker: runs {before_runs} became {new.runs.passes}/{new.runs.of}"
    if old.select != new.select or old.by_metric != new.by_metric:
        yield "selects other assertions"


def _rule_strictness(rule: Rule) -> tuple[float, ...]:
    """A sort key: whether the rule blocks, then each of its limits. The larger key belongs to the stricter rule."""
    strictness = [float(rule.blocking)]
    for name, limit in LIMITS.items():
        value = getattr(rule, name)
        if value is None:
            strictness.append(-math.inf)
        else:
            strictness.append(value if limit.is_minimum else -value)
    return tuple(strictness)
