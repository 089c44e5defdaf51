"""Looks a plan over before anything is asked: what cannot work is a mistake, what cannot fail is noted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from gradegate.assertions.grading.bound import Binding, Bound
from gradegate.core.assertion import Assertion
from gradegate.core.numbers import many
from gradegate.core.policy import Note, Rule, Select
from gradegate.core.suite import Case, DerivedSpec, Suite
from gradegate.core.validation import as_share
from gradegate.errors import Mistake
from gradegate.files.limits import MAX_DERIVED_VALUES
from gradegate.planning.checks import scripts
from gradegate.planning.plan import Job
from gradegate.registry import suggest
from gradegate.results.case_outcome import CODE
from gradegate.results.grades import Asserted
from gradegate.security.redaction import excerpt
from gradegate.structs import replace
from gradegate.templating.formulas import CONSTANTS, COUNT, working
from gradegate.templating.script import ScriptError
from gradegate.templating.template import is_template

_TENTH = 0.1
_SHOWN, _LONGEST = 5, 60  # values that a cure names, and characters of each
_KEYS = ("assertion", "metric", "provider", "description")


def comparisons(jobs: Sequence[Job]) -> Iterator[Mistake]:
    """Comparing takes two outputs of a case, and comparing scores takes assertions that give some."""
    outputs = Counter(job.number for job in jobs)
    for job in jobs:
        comparing = [
            bound for binding in job.assertions for bound in binding.bounds if binding.compares
        ]
        for bound in comparing:
            asserted = bound.asserted
            if outputs[job.number] < 2:
                what = (
                    f"`{asserted.type}` compares the outputs of a test, and this test has only one"
                )
                yield Mistake(what, asserted.origin, "give the test a second provider or prompt")
            elif bound.grader.compares == "scores" and len(comparing) == len(job.case.assertions):
                what = f"`{asserted.type}` compares scores, and no other assertion of the test gives any"
                yield Mistake(what, asserted.origin, "add an assertion such as llm-rubric")


def rules(suite: Suite, jobs: Sequence[Job], options: Sequence[str] = ()) -> Iterator[Mistake]:
    """A rule that selects nothing checks nothing, also where only the ``options`` leave out what it looks at.

    One that asks for more cases than there are could never decide.
    """
    for rule in suite.policy.rules:
        if rule.every_case and not (rule.min_score or rule.min_cases):
            continue  # it looks at whatever there is
        looked_at = [binding for job in jobs for binding in selected(rule, job)]
        counts = ((job, len([*selected(rule, job)])) for job in jobs)
        planned = sum(min(count, 1) if job.needs else job.repeats * count for job, count in counts)
        if not rule.every_case and not looked_at:
            what = f"the rule `{rule.name}` selects nothing"
            cure = f"correct `select`: {_selectable(rule, jobs)}"
            # A derived metric may be what its pattern means.
            means = Select(metric=rule.select.metric)
            metric = next(
                (
                    it.name
                    for it in suite.derived
                    if means.metric and means.takes("", it.name, "", "")
                ),
                "",
            )
            if metric:
                what = f"{what}: `{metric}` is a derived metric: it is shown and decides nothing"
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
            yield Mistake(what, rule.origin, f"write {as_share(rule.min_score) or 1:g}")
        if looked_at and not options and (rule.min_cases or 0) > planned:
            what = f"the rule `{rule.name}` can never decide: it requires {many(rule.min_cases or 0, rule.counts)}, but selects {planned:,}"
            yield Mistake(what, rule.origin, f"write `min-cases: {planned}` or less, or add tests")


def selected(rule: Rule, job: Job) -> Iterator[Binding]:
    """The assertions of a job that a rule looks at."""
    return (
        it
        for it in job.assertions
        if rule.selects(it.asserted, job.target.name, job.case.description)
    )


def _would_select(rule: Rule, suite: Suite) -> bool:
    """Whether the rule looks at something of the whole suite."""
    return any(
        _filled_in(rule, case, assertion).selects(assertion, target.name, case.description)
        for case in suite.cases
        for assertion in case.assertions
        for target in (*suite.targets, *suite.others)
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
    left: dict[int, Asserted] = {}
    taken: set[int] = set()
    for job in jobs:
        left |= {
            id(binding.asserted): binding.asserted
            for binding in job.assertions
            if binding.asserted.counts
        }
        taken |= {id(binding.asserted) for rule in rules for binding in selected(rule, job)}
    for asserted in (asserted for key, asserted in left.items() if key not in taken):
        what = f"no rule of the gate selects this `{asserted.type}`: its failure is reported and blocks nothing"
        yield Note(what, asserted.origin)


def toothless(suite: Suite, jobs: Iterable[Job]) -> Iterator[Note]:
    """A gate that nothing can block: whatever the answers are, the check stays green."""
    asserted = [binding.asserted for job in jobs for binding in job.assertions]
    rules = suite.policy.rules
    if not asserted:
        return
    if all(it.weight == 0 for it in asserted):
        yield Note("every assertion has `weight: 0`, so no failure counts", asserted[0].origin)
    elif not any(it.counts for it in asserted):
        what = "every assertion only advises (`threshold: none`, `blocking: false` or `weight: 0`), so no failure blocks"
        yield Note(what, asserted[0].origin)
    elif rules and not any(rule.blocking for rule in rules):
        yield Note(
            "every rule of the gate has `blocking: false`, so no failure blocks", rules[0].origin
        )


def warnings(jobs: Sequence[Job], cases: Iterable[Case]) -> Iterator[Note]:
    """What can never fail or never pass, and what is not checked."""
    bindings = [binding for job in jobs for binding in job.assertions]
    for binding in bindings:
        limit = binding.threshold
        if (
            isinstance(binding, Bound)
            and binding.grader.scoring.share
            and limit is not None
            and limit <= 0
        ):
            what = f"`{binding.asserted.type}` can never fail: its threshold is {limit:g}"
            yield Note(what, binding.asserted.origin)
        if isinstance(binding, Bound) and (never := binding.grader.never()):
            yield Note(
                f"`{binding.asserted.type}` fails every answer, as in promptfoo: {never}",
                binding.asserted.origin,
            )
        if isinstance(binding, Bound) and (meant := _per_cent(binding, limit)):
            what = f"the threshold of `{binding.asserted.type}` is {limit:g}: if this is per cent, write {meant:g}"
            yield Note(what, binding.asserted.origin)
    for case in cases:
        if not case.assertions:
            yield Note("the test has no assertion, so its answer is not checked", case.origin)
        if case.threshold is not None and case.threshold <= 0:
            yield Note(f"the test can never fail: its threshold is {case.threshold:g}", case.origin)


def _per_cent(bound: Bound, limit: float | None) -> float | None:
    """The share that a threshold may be meant for, of an assertion whose scores may be more than 1; None for any other."""
    scoring = bound.grader.scoring
    meant = None if limit is None or scoring.share or scoring.most else as_share(limit)
    return (
        meant if meant and meant >= _TENTH else None
    )  # of a few points there may be more than one


# --- what there is to select --------------------------------------------------------------------------------------


def _selectable(rule: Rule, jobs: Sequence[Job]) -> str:
    """What to write in place of patterns that match nothing, or why those that match something select nothing."""
    grades = [
        (
            {
                "assertion": it.type,
                "metric": it.metric,
                "provider": job.target.name,
                "description": job.case.description,
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
        why = "`blocking: false` or `threshold: none`"
        return f"what the rule selects is advisory ({why}): let it block, or add `blocking: false` to the rule"
    whole = replace(rule, select=Select())
    counting = [
        names for names, it in grades if whole.selects(it, names["provider"], names["description"])
    ]
    written = [key for key in _KEYS if getattr(rule.select, key)]
    alone = {key: replace(Select(), **{key: getattr(rule.select, key)}) for key in written}
    wrong = [key for key in written if not any(alone[key].takes(**names) for names in counting)]
    if wrong:
        return "; ".join(_instead(key, getattr(rule.select, key), counting) for key in wrong)
    return f"{' and '.join(f'`{key}`' for key in written)} each select something, but no grade matches all of them"


def _instead(key: str, pattern: str, counting: Sequence[Mapping[str, str]]) -> str:
    """``metric: `tone`, `facts` and 3 more``, those nearest to the pattern first."""
    values = sorted({names[key] for names in counting if names[key]})
    if not values:
        return f"no assertion that it could select has a {key}"
    near = sorted(
        values[:1000],
        key=lambda value: -SequenceMatcher(None, pattern.lower(), value.lower()).ratio(),
    )
    shown = ", ".join(f"`{excerpt(' '.join(value.split()), _LONGEST)}`" for value in near[:_SHOWN])
    more = f" and {len(values) - _SHOWN:,} more" if len(values) > _SHOWN else ""
    return f"there is {key} {shown}{more}"


# --- derived metrics ----------------------------------------------------------------------------------------------


def derived(suite: Suite, jobs: Sequence[Job]) -> Iterator[Mistake]:
    """Expressions that are none, names that no metric has, and more values than reports show."""
    if not suite.derived:
        return
    metrics = _metrics(suite)
    for number, spec in enumerate(suite.derived):
        try:
            names = working(spec.value).names
        except ScriptError as e:
            yield scripts.mistake(e, spec.value, f"the derived metric `{spec.name}`", spec.origin)
            continue
        if (
            names is not None and metrics is not None and not suite.mistakes
        ):  # else not all assertions are read
            yield from _unknown(spec, names, metrics, suite.derived[number:])
        if metrics is not None:
            metrics[spec.name] = None
    groups = {(job.target.name, job.prompt.label) for job in jobs}
    if len(groups) * len(suite.derived) > MAX_DERIVED_VALUES:
        what = f"the derived metrics of {len(groups):,} prompts and targets are more than {MAX_DERIVED_VALUES:,} values"
        yield Mistake(what, suite.derived[0].origin, "leave some out")


def _metrics(suite: Suite) -> dict[str, None] | None:
    """The names that its assertions give, in order; None where only the answers tell."""
    found: dict[str, None] = {}
    for case in suite.cases:
        for assertion in case.assertions:
            for one in (assertion, *assertion.members):
                if is_template(one.metric) or one.type.removeprefix("not-") in CODE:
                    return None
                found[one.metric] = None
    return {name: None for name in found if name}


def _unknown(
    spec: DerivedSpec, names: frozenset[str], metrics: dict[str, None], later: Sequence[DerivedSpec]
) -> Iterator[Mistake]:
    for name in sorted(names - metrics.keys() - CONSTANTS.keys() - {COUNT}):
        what = f"the derived metric `{spec.name}` reads `{name}`, which is not a metric of any assertion"
        known = ", ".join(f"`{metric}`" for metric in list(metrics)[: _SHOWN * 2])
        cure = suggest(name, metrics) or (
            f"the metrics are {known}" if known else "give assertions a `metric`"
        )
        if any(name == other.name for other in later):
            what, cure = (
                f"the derived metric `{spec.name}` reads `{name}` before it is calculated",
                "move it further up",
            )
        yield Mistake(what, spec.origin, cure)
