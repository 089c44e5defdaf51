"""Checks assertions as a whole: comparisons with other answers, and what can never fail or never block."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gradegate.assertions.grading.bound import BoundAssertion
from gradegate.config.csv_tests import cure_for_variable
from gradegate.core.policy import Note
from gradegate.core.suite import Case, Suite
from gradegate.core.validation import parse_percent
from gradegate.errors import Mistake, gather_mistakes
from gradegate.planning.binding.assertions import check_share
from gradegate.planning.checks.scripts import check_script
from gradegate.planning.plan import Job
from gradegate.templating.script import transform_script

_LEAST_MEANT = 0.1  # a smaller percentage is more likely a number of points


def case_mistakes(case: Case) -> list[Mistake]:
    """A threshold of a test that is not from 0 to 1, and a `transform` that cannot be used."""
    mistakes = list[Mistake]()
    with gather_mistakes(mistakes):
        check_share("the test", case.threshold, case.origin)
    with gather_mistakes(mistakes):
        check_script(transform_script, case.options.transform, "`transform`", case.origin)
    return mistakes


def comparison_mistakes(jobs: Sequence[Job]) -> Iterator[Mistake]:
    """Comparing takes two outputs of a case, and comparing scores takes assertions with scores."""
    outputs = Counter(job.number for job in jobs)
    for job in jobs:
        comparing = [bound for bound in job.bounds if bound.is_comparison]
        for bound in comparing:
            asserted = bound.assertion
            if outputs[job.number] < 2:
                what = (
                    f"`{asserted.type}` compares the outputs of a test, and this test has only one"
                )
                yield Mistake(what, asserted.origin, "give the test a second provider or prompt")
            elif bound.evaluator.compares == "scores" and len(comparing) == len(
                job.case.assertions
            ):
                what = f"`{asserted.type}` compares scores, and no other assertion of the test gives any"
                yield Mistake(what, asserted.origin, "add an assertion such as llm-rubric")


def notes_without_effect(suite: Suite, jobs: Iterable[Job]) -> Iterator[Note]:
    """A note on a gate that nothing can block: the check stays green, whatever the answers are."""
    asserted = [binding.assertion for job in jobs for binding in job.assertions]
    rules = suite.policy.rules
    if not asserted:
        return
    if all(grade.weight == 0 for grade in asserted):
        yield Note("every assertion has `weight: 0`, so no failure counts", asserted[0].origin)
    elif not any(grade.counts for grade in asserted):
        what = (
            "every assertion only advises (`blocking: false` or `weight: 0`), so no failure blocks"
        )
        yield Note(what, asserted[0].origin)
    elif rules and not any(rule.blocking for rule in rules):
        what = "every rule of the gate has `blocking: false`, so no failure blocks"
        yield Note(what, rules[0].origin)


def notes_on_assertions(jobs: Sequence[Job], cases: Iterable[Case]) -> Iterator[Note]:
    """Notes on what can never fail or never pass, and on what is not checked."""
    for job in jobs:
        for binding in job.assertions:
            if isinstance(binding, BoundAssertion):
                yield from _threshold_notes(binding)
    for job in jobs:
        for bound in job.bounds:
            if ignored := bound.evaluator.ignored_in_turns(job.case.turns):
                yield Note(f"`{bound.assertion.type}`: {ignored}", bound.assertion.origin)
    for case in cases:
        if not case.assertions:
            text = "the test has no assertion, so its answer is not checked"
            if cure := cure_for_variable(case.vars):
                text += f"; {cure}"
            yield Note(text, case.origin)
        if case.threshold is not None and case.threshold <= 0:
            yield Note(f"the test can never fail: its threshold is {case.threshold:g}", case.origin)


def _threshold_notes(bound: BoundAssertion) -> Iterator[Note]:
    name = f"`{bound.assertion.type}`"
    origin = bound.assertion.origin
    scoring = bound.evaluator.scoring
    threshold = bound.threshold
    if scoring.share and threshold is not None and threshold <= 0:
        yield Note(f"{name} can never fail: its threshold is {threshold:g}", origin)
    if reason := bound.evaluator.why_always_fails():
        yield Note(f"{name} fails every answer, as in promptfoo: {reason}", origin)

    # Scores of other assertions may be more than 1, so a percentage is no mistake.
    if threshold is not None and not scoring.share and not scoring.at_most:
        share = parse_percent(threshold)
        if share and share >= _LEAST_MEANT:
            text = f"the threshold of {name} is {threshold:g}: if this is per cent, write {share:g}"
            yield Note(text, origin)
