"""Checks assertions as a whole: comparisons with other answers, and what can never fail."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gradegate.assertions.grading.bound import Bound
from gradegate.config.test_files import cure_for_variable
from gradegate.core.policy import Note
from gradegate.core.suite import Case, Suite
from gradegate.core.validation import parse_percent
from gradegate.errors import Mistake, gather_mistakes
from gradegate.planning.binding.assertions import check_share
from gradegate.planning.checks.scripts import check
from gradegate.planning.plan import Job
from gradegate.templating.script import transform_script

_TENTH = 0.1


def of_case(case: Case) -> list[Mistake]:
    """A threshold of a test that is no share, and a `transform` that cannot be used."""
    mistakes = list[Mistake]()
    with gather_mistakes(mistakes):
        check_share("the test", case.threshold, case.origin)
    with gather_mistakes(mistakes):
        check(transform_script, case.options.transform, "`transform`", case.origin)
    return mistakes


def comparisons(jobs: Sequence[Job]) -> Iterator[Mistake]:
    """Comparing takes two outputs of a case, and comparing scores takes assertions that give some."""
    outputs = Counter(job.number for job in jobs)
    for job in jobs:
        comparing = [bound for bound in job.bounds if bound.compares]
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


def toothless(suite: Suite, jobs: Iterable[Job]) -> Iterator[Note]:
    """A gate that nothing can block: whatever the answers are, the check stays green."""
    asserted = [binding.asserted for job in jobs for binding in job.assertions]
    rules = suite.policy.rules
    if not asserted:
        return
    if all(it.weight == 0 for it in asserted):
        yield Note("every assertion has `weight: 0`, so no failure counts", asserted[0].origin)
    elif not any(it.counts for it in asserted):
        what = (
            "every assertion only advises (`blocking: false` or `weight: 0`), so no failure blocks"
        )
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
    for job in jobs:
        for bound in job.bounds:
            if ignored := bound.grader.ignores(job.case.turns):
                yield Note(f"`{bound.asserted.type}`: {ignored}", bound.asserted.origin)
    for case in cases:
        if not case.assertions:
            what = "the test has no assertion, so its answer is not checked"
            cure = cure_for_variable(case.vars)
            yield Note(f"{what}; {cure}" if cure else what, case.origin)
        if case.threshold is not None and case.threshold <= 0:
            yield Note(f"the test can never fail: its threshold is {case.threshold:g}", case.origin)


def _per_cent(bound: Bound, limit: float | None) -> float | None:
    """The share that a threshold may be meant for, of an assertion whose scores may be more than 1; None for any other."""
    scoring = bound.grader.scoring
    meant = None if limit is None or scoring.share or scoring.at_most else parse_percent(limit)
    return (
        meant if meant and meant >= _TENTH else None
    )  # of a few points there may be more than one
