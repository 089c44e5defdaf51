"""Checks the rules of a gate: a rule that selects nothing is a mistake."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

from gradegate.core.assertion import Assertion
from gradegate.core.numbers import format_count, list_some
from gradegate.core.policy import Note, Policy, Rule, Select
from gradegate.core.suite import Case, Suite
from gradegate.core.validation import parse_percent
from gradegate.errors import Mistake
from gradegate.planning.plan import Job, selected_assertions, selects
from gradegate.results.grades import GradedAssertion
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, replace
from gradegate.templating.template import is_template

MOST_SHOWN = 5  # values that a cure names
_LONGEST = 60  # characters of each
_KEYS = ("assertion", "metric", "provider", "description", "metadata")


def rule_mistakes(
    suite: Suite, jobs: Sequence[Job], options: Sequence[str] = ()
) -> Iterator[Mistake]:
    """Rules that select nothing, and rules that can never be met.

    ``options`` may leave out tests and providers. A rule that selects nothing because of them is a mistake, too.
    """
    for rule in suite.policy.rules:
        selects_all = rule.every_case and not (rule.min_score or rule.min_cases)
        if rule.is_default or selects_all:
            continue
        bindings = []
        planned = 0  # cases, or repetitions of them
        for job in jobs:
            selected = list(selected_assertions(rule, job))
            bindings += selected
            if selected:
                planned += 1 if job.needs else job.repeats

        if not rule.every_case and not bindings:
            yield _nothing_selected(rule, suite, jobs, options)
        elif rule.min_score is not None and rule.min_score > 1:
            bounds = [bound for binding in bindings for bound in binding.members]
            if all(bound.evaluator.scoring.share for bound in bounds):
                what = f"`min-score` of the rule `{rule.name}` must be at most 1, not {rule.min_score:g}: the scores are from 0 to 1"
                cure = f"write {parse_percent(rule.min_score) or 1:g}"
                yield Mistake(what, rule.origin, cure)

        min_cases = rule.min_cases or 0
        if bindings and not options and min_cases > planned:
            what = f"the rule `{rule.name}` can never decide: it requires {format_count(min_cases, 'case')}, but selects {planned:,}"
            yield Mistake(what, rule.origin, f"write `min-cases: {planned}` or less, or add tests")


def _nothing_selected(
    rule: Rule, suite: Suite, jobs: Sequence[Job], options: Sequence[str]
) -> Mistake:
    what = f"the rule `{rule.name}` selects nothing"

    # Its pattern may mean a derived metric.
    if rule.select.metric:
        only_metric = Select(metric=rule.select.metric)
        for derived in suite.derived:
            if only_metric.matches("", derived.name, "", ""):
                what += f": `{derived.name}` is a derived metric: it is shown and decides nothing"
                return Mistake(what, rule.origin, "select the metrics that it uses")

    # The options may leave out what it selects.
    if options and _selects_in_suite(rule, suite):
        what += f" of what {' and '.join(options)} leaves to ask"
        cure = "keep a test and a provider that the rule selects, or run without the option"
        return Mistake(what, rule.origin, cure)

    if rule.select == Select() and not any(job.assertions for job in jobs):
        return Mistake(what, rule.origin, "give a test an `assert`: no test has one")
    return Mistake(what, rule.origin, f"correct `select`: {_explain_select(rule, jobs)}")


def _selects_in_suite(rule: Rule, suite: Suite) -> bool:
    """Whether a rule selects anything of the whole suite."""
    for case in suite.cases:
        for assertion in case.assertions:
            without_templates = _without_template_patterns(rule, case, assertion)
            for target in suite.all_targets:
                if without_templates.selects(
                    assertion, target.name, case.description, case.metadata
                ):
                    return True
    return False


def _without_template_patterns(rule: Rule, case: Case, assertion: Assertion) -> Rule:
    """The rule without patterns for texts that are templates: once they are filled in, they may match."""
    metric = "" if is_template(assertion.metric) else rule.select.metric
    description = "" if is_template(case.description) else rule.select.description
    return replace(rule, select=replace(rule.select, metric=metric, description=description))


# --- why a pattern selects nothing ------------------------------------------------------------------------------


def _explain_select(rule: Rule, jobs: Sequence[Job]) -> str:
    """What to write in place of patterns that match nothing, or why a rule selects nothing of what they match."""
    rule_for_all = replace(rule, select=Select())
    matching = []
    candidates = []  # the properties of the grades that can decide the rule
    for job in jobs:
        for binding in job.assertions:
            properties = _selectable_properties(job, binding.assertion)
            if rule.select.matches(**properties):
                matching.append(binding.assertion)
            if selects(rule_for_all, job, binding.assertion):
                candidates.append(properties)

    # All patterns match a grade, but that cannot decide the rule.
    if matching and not any(asserted.weight for asserted in matching):
        return "what the rule selects has `weight: 0` and never counts: give it a weight, or remove the rule"
    if matching:
        return "what the rule selects is advisory (`blocking: false`): let it block, or add `blocking: false` to the rule"

    # Which patterns match none of the grades that can decide it?
    written = [key for key in _KEYS if getattr(rule.select, key)]
    wrong = [key for key in written if not _matches_any(rule.select, key, candidates)]
    if wrong == ["metadata"]:
        pairs = [f"`metadata.{key}: {text}`" for key, text in rule.select.metadata]
        return f"no test that it could select has {' and '.join(pairs)}"
    if wrong:
        texts = [key for key in wrong if key != "metadata"]
        cures = [_nearest_values(key, getattr(rule.select, key), candidates) for key in texts]
        return "; ".join(cures)
    keys = " and ".join(f"`{key}`" for key in written)
    return f"{keys} each select something, but no grade matches all of them"


def _selectable_properties(job: Job, asserted: GradedAssertion) -> dict[str, Any]:
    """What `select` of a rule is compared with, by its keys."""
    return {
        "assertion": asserted.type,
        "metric": asserted.metric,
        "provider": job.target.name,
        "description": job.case.description,
        "metadata": job.case.metadata,
    }


def _matches_any(select: Select, key: str, candidates: Iterable[dict[str, Any]]) -> bool:
    """Whether the pattern of one key matches any of these grades."""
    only_key = replace(Select(), **{key: getattr(select, key)})
    return any(only_key.matches(**properties) for properties in candidates)


def _nearest_values(key: str, pattern: str, candidates: Sequence[JsonObject]) -> str:
    """``there is metric `tone`, `facts` and 3 more``, with the values nearest to the pattern first."""
    values = sorted({properties[key] for properties in candidates if properties[key]})
    if not values:
        return f"no assertion that it could select has a {key}"
    pattern = pattern.lower()

    def measure_distance(value: str) -> float:
        return -SequenceMatcher(None, pattern, value.lower()).ratio()

    nearest = sorted(values[:1000], key=measure_distance)
    names = []
    for value in nearest[:MOST_SHOWN]:
        line = " ".join(value.split())
        names.append(f"`{excerpt(line, _LONGEST)}`")
    return f"there is {key} {list_some(names, len(values))}"


# --- notes ------------------------------------------------------------------------------------------------------


def notes_without_baseline(policies: Iterable[Policy]) -> Iterator[Note]:
    """A note on each gate that never looks at the baseline of the run."""
    for policy in policies:
        if not any(rule.every_case or rule.needs_baseline for rule in policy.rules):
            what = "no rule of the gate uses the baseline, so old failures block like new ones"
            cure = "write `- {name: regressions, max-new-failures: 0}` under `gate.rules`"
            text = f"{what}: {cure}, in place of the rules that old failures miss"
            yield Note(text, policy.rules[0].origin)


def notes_on_unselected(suite: Suite, jobs: Sequence[Job]) -> Iterator[Note]:
    """A note on each blocking assertion that no rule selects for any target: its failure only advises."""
    rules = [rule for rule in suite.policy.rules if rule.has_verdict_limit]
    if any(rule.every_case for rule in rules):
        return
    blocking = {}  # by identity: targets share them
    selected = set()
    for job in jobs:
        for binding in job.assertions:
            asserted = binding.assertion
            if asserted.counts:
                blocking[id(asserted)] = asserted
                if any(selects(rule, job, asserted) for rule in rules):
                    selected.add(id(asserted))
    for key, asserted in blocking.items():
        if key not in selected:
            what = f"no rule of the gate selects this `{asserted.type}`: its failure is reported and blocks nothing"
            yield Note(what, asserted.origin)


def notes_on_reasks(suite: Suite, jobs: Iterable[Job]) -> Iterator[Note]:
    """A note that `reask: answers` makes no difference."""
    if suite.policy.reask == "answers" and any(job.needs for job in jobs):
        yield Note(
            "with `runs`, `reask: answers` works like `reask: grader`: each run is a new answer"
        )
