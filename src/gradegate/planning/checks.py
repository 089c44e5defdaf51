"""Looks a plan over before anything is asked: what cannot work is a mistake, what cannot fail is noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gradegate.asking import unknown_ids
from gradegate.asking.provider import PROVIDERS, Provider, split_id
from gradegate.asking.toolcalls import declared
from gradegate.errors import Mistake
from gradegate.files.code import runs_code
from gradegate.files.document import to_json
from gradegate.files.validation import as_share
from gradegate.grading.conclude import Binding, Bound
from gradegate.planning.job import Job
from gradegate.planning.selectable import selectable
from gradegate.texts import schemas
from gradegate.texts.template import is_template
from gradegate.values.conversation import Image
from gradegate.values.result import Asserted
from gradegate.values.suite import Assertion, Case, Limits, Note, Rule, Select, Suite

_TENTH = 0.1


def comparisons(jobs: Sequence[Job]) -> Iterator[Mistake]:
    """Comparing takes two outputs of a case, and comparing scores takes assertions that give some."""
    outputs = Counter(job.number for job in jobs)
    for job in jobs:
        comparing = [bound for binding in job.assertions for bound in binding.bounds if binding.compares]
        for bound in comparing:
            asserted = bound.asserted
            if outputs[job.number] < 2:
                what = f"`{asserted.type}` compares the outputs of a test, and this test has only one"
                yield Mistake(what, asserted.origin, "give the test a second provider or prompt")
            elif bound.grader.compares == "scores" and len(comparing) == len(job.case.assertions):
                what = f"`{asserted.type}` compares scores, and no other assertion of the test gives any"
                yield Mistake(what, asserted.origin, "add an assertion such as llm-rubric")


def rules(suite: Suite, jobs: Sequence[Job], options: Sequence[str] = ()) -> Iterator[Mistake]:
    """A rule that selects nothing checks nothing, also where only the ``options`` leave out what it looks at."""
    for rule in suite.policy.rules:
        if not rule.every_case and not any(_selects(rule, job) for job in jobs):
            what = f"the rule `{rule.name}` selects nothing"
            cure = f"correct `select`: {selectable(rule, jobs)}"
            if metric := _derived(rule, suite):
                what = f"{what}: `{metric}` is a derived metric, which is shown and decides nothing"
                cure = "select the metrics that it is made of"
            elif options and _would_select(rule, suite):
                what = f"the rule `{rule.name}` selects nothing of what {' and '.join(options)} leaves to ask"
                cure = "keep a test and a provider that it looks at, or run without the option"
            yield Mistake(what, rule.origin, cure)
        elif rule.min_score is not None and rule.min_score > 1 and all(map(_of_shares, _selected(rule, jobs))):
            what = f"`min-score` of the rule `{rule.name}` must be at most 1, not {rule.min_score:g}: the scores are from 0 to 1"
            yield Mistake(what, rule.origin, f"write {as_share(rule.min_score) or 1:g}")


def _selected(rule: Rule, jobs: Iterable[Job]) -> Iterator[Binding]:
    return (binding for job in jobs for binding in job.assertions if selects(rule, job, binding.asserted))


def _of_shares(binding: Binding) -> bool:
    """Whether the scores of an assertion are from 0 to 1."""
    return all(bound.grader.scoring.share for bound in binding.bounds)


def graders(suite: Suite) -> Iterator[Mistake]:
    """A grader of the command line that cannot be what it is named for, though no assertion asks it."""
    configured = {name for spec in (*suite.targets, *suite.others) for name in (spec.id, spec.label)}
    for kind, spec in suite.given.items():
        if kind == "*" or spec.id in configured:
            continue
        parts = split_id(spec.id)
        kinds = getattr(PROVIDERS.find(parts[0]), "kinds", ()) if parts else ()
        if parts is None and not runs_code(spec.id):
            yield Mistake(f"no such provider `{spec.id}`", spec.origin, unknown_ids.nearest(spec.id))
        elif kinds and kind not in kinds:
            what = f"`{spec.id}` is named for the kind {kind}, and is of the kind {' or '.join(kinds)}"
            yield Mistake(what, spec.origin, f"name a model of that kind, or write {kinds[0]}={spec.id}")


def _would_select(rule: Rule, suite: Suite) -> bool:
    """Whether the rule looks at something of the whole suite."""
    return any(
        _filled_in(rule.select, case, assertion).takes(assertion.type, assertion.metric, target.name, case.description)
        for case in suite.cases
        for assertion in case.assertions
        if assertion.blocking or not rule.blocking
        for target in (*suite.targets, *suite.others)
    )


def _filled_in(select: Select, case: Case, assertion: Assertion) -> Select:
    """The selection without its patterns for texts that are filled in only when they are planned, and may become anything."""
    metric = "" if is_template(assertion.metric) else select.metric
    return replace(select, metric=metric, description="" if is_template(case.description) else select.description)


def _derived(rule: Rule, suite: Suite) -> str:
    """The derived metric that the pattern of a rule means; empty where it means none."""
    means = Select(metric=rule.select.metric)
    return next((it.name for it in suite.derived if means.metric and means.takes("", it.name, "", "")), "")


def _selects(rule: Rule, job: Job) -> bool:
    return any(selects(rule, job, binding.asserted) for binding in job.assertions)


def selects(rule: Rule, job: Job, asserted: Asserted) -> bool:
    """Whether the rule looks at the grades of an assertion."""
    if rule.blocking and not asserted.blocking:
        return False
    chosen = rule.select.takes(asserted.type, asserted.metric, job.target.name, job.case.description)
    return rule.every_case or chosen


def unselected(suite: Suite, jobs: Sequence[Job]) -> Iterator[Note]:
    """Assertions that block and that no rule looks at, whichever target answers: their failure is advice alone."""
    rules = suite.policy.rules
    if any(rule.every_case for rule in rules):
        return
    left: dict[int, Asserted] = {}
    taken: set[int] = set()
    for job in jobs:
        for asserted in (binding.asserted for binding in job.assertions if binding.asserted.counts):
            if any(selects(rule, job, asserted) for rule in rules):
                taken.add(id(asserted))
            else:
                left[id(asserted)] = asserted
    for asserted in (asserted for key, asserted in left.items() if key not in taken):
        what = f"no rule of the gate looks at this `{asserted.type}`: its failure is reported and blocks nothing"
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
        yield Note("every rule of the gate has `blocking: false`, so no failure blocks", rules[0].origin)


def warnings(jobs: Sequence[Job], cases: Iterable[Case]) -> Iterator[Note]:
    """What can never fail, and what is not checked."""
    bindings = [binding for job in jobs for binding in job.assertions]
    for binding in bindings:
        limit = binding.threshold
        if isinstance(binding, Bound) and binding.grader.scoring.share and limit is not None and limit <= 0:
            what = f"`{binding.asserted.type}` can never fail: its threshold is {limit:g}"
            yield Note(what, binding.asserted.origin)
        if isinstance(binding, Bound) and (meant := _per_cent(binding, limit)):
            what = f"the threshold of `{binding.asserted.type}` is {limit:g}: where that is per cent, write {meant:g}"
            yield Note(what, binding.asserted.origin)
    for case in cases:
        if not case.assertions:
            yield Note("the test asserts nothing: its answer is not checked", case.origin)
        if case.threshold is not None and case.threshold <= 0:
            yield Note(f"the test can never fail: its threshold is {case.threshold:g}", case.origin)


def _per_cent(bound: Bound, limit: float | None) -> float | None:
    """The share that a threshold may be meant for, of an assertion whose scores may be more than 1; None for any other."""
    scoring = bound.grader.scoring
    meant = None if limit is None or scoring.share or scoring.most else as_share(limit)
    return meant if meant and meant >= _TENTH else None  # of a few points there may be more than one


# --- models without a price -----------------------------------------------------------------------------------


def prices(limits: Limits, jobs: Iterable[Job]) -> Iterator[Mistake]:
    """A budget in dollars is kept only where each call's cost is known."""
    models = dict.fromkeys(model for job in jobs for model in _asked(job)) if limits.usd is not None else ()
    for model in models:
        if not model.priced:
            what = f"what `{model.name}` costs is not known, so a budget of {limits.usd:g} USD cannot be kept"
            cure = "give `inputCost` and `outputCost`, in US dollars per token, in its `config`, or limit `calls`"
            web = "limit `calls` instead: an application does not say what it spends"
            yield Mistake(what, model.origin, cure if model.names_model else web)


def _asked(job: Job) -> Iterator[Provider]:
    """The models that a job may ask: not the target of a recorded answer."""
    if not job.case.recorded:
        yield job.target
    for bound in (bound for binding in job.assertions for bound in binding.bounds):
        yield from bound.models.values()
        yield from bound.again.opinions


# --- targets without tools ------------------------------------------------------------------------------------


def untooled(bindings: Iterable[Binding], targets: Iterable[Provider]) -> Iterator[Mistake]:
    """The mistake of judging calls by tools that a target does not have, or by a schema that is none."""
    judging = [bound for binding in bindings for bound in binding.bounds if bound.grader.asks.tools]
    for target in targets if judging else ():
        for bound in judging:
            own = getattr(bound.grader, "tools", None)
            known = target.tools if own is None else declared({"tools": own})
            if not known and own is None and target.lacking:
                yield from target.lacking
            elif not known:
                what = f"`{bound.asserted.type}` checks calls by the `tools` of `{target.name}`, which names none"
                cure = "give them in the `config` of the target, or in that of the assertion as `tools`"
                yield Mistake(what, bound.asserted.origin, cure)
            for name, schema in (known or {}).items():
                try:
                    schemas.check(to_json(schema))
                except ValueError as e:
                    what = f"the parameters of the tool `{name}` of `{target.name}`: {e}"
                    yield Mistake(what, bound.asserted.origin if own is not None else target.origin, "correct them")


# --- models that cannot see -----------------------------------------------------------------------------------


def blind_target(case: Case, target: Provider) -> Iterator[Mistake]:
    """The mistake of holding a conversation with images with a target that takes none."""
    if any(turn.images for turn in case.turns) and not case.recorded and not target.sees:
        what = f"the conversation has images, and the target `{target.name}` takes none"
        yield Mistake(what, case.origin, "name a target that takes images, or leave them out")


def blind_graders(case: Case, bindings: Iterable[Binding]) -> Iterator[Mistake]:
    """The mistake of each assertion whose grader is shown images and whose model takes none."""
    for bound in (bound for binding in bindings for bound in binding.bounds):
        models = [bound.models["text"], *bound.again.opinions] if "text" in bound.models else []
        shown = bound.rubric.images or (bound.grader.asks.sees and has_images(case))
        for model in (model for model in models if shown and not model.sees):
            what = f"`{bound.asserted.type}` shows images to `{model.name}`, which takes none"
            yield Mistake(what, bound.asserted.origin, "name a grader that takes images")


def has_images(case: Case) -> bool:
    """Whether any turn holds an image, in its message or among its documents."""
    return any(turn.images or any(isinstance(d, Image) for d in turn.retrieval_context) for turn in case.turns)
