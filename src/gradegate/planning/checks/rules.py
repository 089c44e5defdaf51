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
from gradegate.planning.plan import Job, selected_assertions
from gradegate.results.grades import GradedAssertion
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, replace
from gradegate.templating.template import is_template

MOST_SHOWN, _LONGEST = 5, 60  # values that a cure names, and characters of each
_KEYS = ("assertion", "metric", "provider", "description", "metadata")


def rules(suite: Suite, jobs: Sequence[Job], options: Sequence[str] = ()) -> Iterator[Mistake]:
    """A rule that selects nothing checks nothing, also where only the ``options`` leave out what it looks at.

    One that asks for more cases than there are could never decide.
    """
    for rule in suite.policy.rules:
        if rule.is_default or (rule.every_case and not (rule.min_score or rule.min_cases)):
            continue  # it looks at whatever there is
        looked_at = [binding for job in jobs for binding in selected_assertions(rule, job)]
        cases = [job for job in jobs if any(selected_assertions(rule, job))]
        planned = sum(1 if job.needs else job.repeats for job in cases)
        if not rule.every_case and not looked_at:
            what = f"the rule `{rule.name}` selects nothing"
            cure = f"correct `select`: {_selectable(rule, jobs)}"
            # A derived metric may be what its pattern means.
            means = Select(metric=rule.select.metric)
            metrics = [it.name for it in suite.derived if means.takes("", it.name, "", "")]
            if means.metric and metrics:
                what = (
                    f"{what}: `{metrics[0]}` is a derived metric: it is shown and decides nothing"
                )
                cure = "select the metrics that it uses"
            elif options and _would_select(rule, suite):
                what = f"the rule `{rule.name}` selects nothing of what {' and '.join(options)} leaves to ask"
                cure = "keep a test and a provider that the rule selects, or run without the option"
            yield Mistake(what, rule.origin, cure)
        elif (
            rule.min_score is not None
            and rule.min_score > 1
            and all(it.grader.scoring.share for binding in looked_at for it in binding.bounds)
        ):
            what = f"`min-score` of the rule `{rule.name}` must be at most 1, not {rule.min_score:g}: the scores are from 0 to 1"
            yield Mistake(what, rule.origin, f"write {parse_percent(rule.min_score) or 1:g}")
        if looked_at and not options and (rule.min_cases or 0) > planned:
            what = f"the rule `{rule.name}` can never decide: it requires {format_count(rule.min_cases or 0, 'case')}, but selects {planned:,}"
            yield Mistake(what, rule.origin, f"write `min-cases: {planned}` or less, or add tests")


def without_baseline(policies: Iterable[Policy]) -> Iterator[Note]:
    """Gates with rules that never look at the baseline of the run."""
    for policy in policies:
        if not any(rule.every_case or rule.uses_baseline for rule in policy.rules):
            what = "no rule of the gate uses the baseline, so old failures block like new ones"
            cure = "write `- {name: regressions, max-new-failures: 0}` under `gate.rules`"
            text = f"{what}: {cure}, in place of the rules that old failures miss"
            yield Note(text, policy.rules[0].origin)


def _would_select(rule: Rule, suite: Suite) -> bool:
    """Whether the rule looks at something of the whole suite."""
    return any(
        _filled_in(rule, case, assertion).selects(
            assertion, target.name, case.description, case.metadata
        )
        for case in suite.cases
        for assertion in case.assertions
        for target in suite.configured
    )


def _filled_in(rule: Rule, case: Case, assertion: Assertion) -> Rule:
    """The rule without its patterns for texts that are filled in only when they are planned, and may become anything."""
    metric = "" if is_template(assertion.metric) else rule.select.metric
    description = "" if is_template(case.description) else rule.select.description
    return replace(rule, select=replace(rule.select, metric=metric, description=description))


def unselected(suite: Suite, jobs: Sequence[Job]) -> Iterator[Note]:
    """Assertions that block and that no rule looks at, whichever target answers: their failure is advice alone."""
    rules = [rule for rule in suite.policy.rules if rule.judges]
    if any(rule.every_case for rule in rules):
        return
    left: dict[int, GradedAssertion] = {}
    taken = set()
    for job in jobs:
        left |= {
            id(binding.asserted): binding.asserted
            for binding in job.assertions
            if binding.asserted.counts
        }
        taken |= {
            id(binding.asserted) for rule in rules for binding in selected_assertions(rule, job)
        }
    for asserted in (asserted for key, asserted in left.items() if key not in taken):
        what = f"no rule of the gate selects this `{asserted.type}`: its failure is reported and blocks nothing"
        yield Note(what, asserted.origin)


def reasks(suite: Suite, jobs: Iterable[Job]) -> Iterator[Note]:
    """Why `reask: answers` makes no difference."""
    if suite.policy.reask == "answers" and any(job.needs for job in jobs):
        yield Note(
            "with `runs`, `reask: answers` works like `reask: grader`: each run is a new answer"
        )


def _selectable(rule: Rule, jobs: Sequence[Job]) -> str:
    """What to write in place of patterns that match nothing, or why those that match something select nothing."""
    grades: list[tuple[dict[str, Any], GradedAssertion]] = [
        (
            {
                "assertion": it.type,
                "metric": it.metric,
                "provider": job.target.name,
                "description": job.case.description,
                "metadata": job.case.metadata,
            },
            it,
        )
        for job in jobs
        for it in (binding.asserted for binding in job.assertions)
    ]
    matching = [it for names, it in grades if rule.select.takes(**names)]
    if matching and not any(it.weight for it in matching):
        return "what the rule selects has `weight: 0` and never counts: give it a weight, or remove the rule"
    if matching:
        return "what the rule selects is advisory (`blocking: false`): let it block, or add `blocking: false` to the rule"
    whole = replace(rule, select=Select())
    counting = [
        names
        for names, it in grades
        if whole.selects(it, names["provider"], names["description"], names["metadata"])
    ]
    written = [key for key in _KEYS if getattr(rule.select, key)]
    alone = {key: replace(Select(), **{key: getattr(rule.select, key)}) for key in written}
    wrong = [key for key in written if not any(alone[key].takes(**names) for names in counting)]
    if wrong == ["metadata"]:
        keys = " and ".join(f"`metadata.{key}: {text}`" for key, text in rule.select.metadata)
        return f"no test that it could select has {keys}"
    wrong = [key for key in wrong if key != "metadata"]
    if wrong:
        return "; ".join(_instead(key, getattr(rule.select, key), counting) for key in wrong)
    return f"{' and '.join(f'`{key}`' for key in written)} each select something, but no grade matches all of them"


def _instead(key: str, pattern: str, counting: Sequence[JsonObject]) -> str:
    """``metric: `tone`, `facts` and 3 more``, those nearest to the pattern first."""
    values = sorted({names[key] for names in counting if names[key]})
    if not values:
        return f"no assertion that it could select has a {key}"
    nearest = sorted(
        values[:1000],
        key=lambda value: -SequenceMatcher(None, pattern.lower(), value.lower()).ratio(),
    )
    names = [f"`{excerpt(' '.join(value.split()), _LONGEST)}`" for value in nearest + values[1000:]]
    return f"there is {key} {list_some(names[:MOST_SHOWN], len(names))}"
