"""Checks the assertions of tests: comparisons without a second answer, and assertions that can never fail or never block."""

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

_LEAST_SHARE = 0.1  # a smaller percentage is more likely a number of points


def case_mistakes(case: Case) -> list[Mistake]:
    """A threshold of a test that is not from 0 to 1, and a `transform` that cannot be used."""
    mistakes = list[Mistake]()
    with gather_mistakes(mistakes):
        check_share("the test", case.threshold, case.origin)
    with gather_mistakes(mistakes):
        check_script(transform_script, case.options.transform, "`transform`", case.origin)
    return mistakes


def comparison_mistakes(jobs: Sequence[Job]) -> Iterator[Mistake]:
    """Comparisons of a test with one output, and comparisons of scores without an assertion that gives scores."""
    output_counts = Counter(job.number for job in jobs)  # by the number of the case
    for job in jobs:
        comparisons = [bound for bound in job.bounds if bound.is_comparison]
        gives_scores = len(comparisons) < len(job.case.assertions)
        for bound in comparisons:
            asserted = bound.assertion
            if output_counts[job.number] < 2:
                what = (
                    f"`{asserted.type}` compares the outputs of a test, and this test has only one"
                )
                yield Mistake(what, asserted.origin, "give the test a second provider or prompt")
            elif bound.evaluator.compares == "scores" and not gives_scores:
                what = f"`{asserted.type}` compares scores, and no other assertion of the test gives any"
                yield Mistake(what, asserted.origin, "add an assertion such as llm-rubric")


def notes_on_powerless_gate(suite: Suite, jobs: Iterable[Job]) -> Iterator[Note]:
    """A note if no failure can block, so that the check stays green whatever the answers are."""
    assertions = []
    for job in jobs:
        assertions += [binding.assertion for binding in job.assertions]
    if not assertions:
        return

    rules = suite.policy.rules
    if all(asserted.weight == 0 for asserted in assertions):
        what = "every assertion has `weight: 0`, so no failure counts"
        yield Note(what, assertions[0].origin)
    elif not any(asserted.counts for asserted in assertions):
        what = (
            "every assertion only advises (`blocking: false` or `weight: 0`), so no failure blocks"
        )
        yield Note(what, assertions[0].origin)
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
            ignored = bound.evaluator.ignored_in_turns(job.case.turns)
            if ignored:
                yield Note(f"`{bound.assertion.type}`: {ignored}", bound.assertion.origin)
    for case in cases:
        yield from _case_notes(case)


def _case_notes(case: Case) -> Iterator[Note]:
    """Notes on a test without assertions, and on a test that can never fail."""
    if not case.assertions:
        text = "the test has no assertion, so its answer is not checked"
        cure = cure_for_variable(case.vars)
        if cure:
            text += f"; {cure}"
        yield Note(text, case.origin)
    if case.threshold is not None and case.threshold <= 0:
        yield Note(f"the test can never fail: its threshold is {case.threshold:g}", case.origin)


def _threshold_notes(bound: BoundAssertion) -> Iterator[Note]:
    """Notes on an assertion that can never fail, that always fails, or that has a percentage as its threshold."""
    name = f"`{bound.assertion.type}`"
    origin = bound.assertion.origin
    scoring = bound.evaluator.scoring
    threshold = bound.threshold
    if scoring.share and threshold is not None and threshold <= 0:
        yield Note(f"{name} can never fail: its threshold is {threshold:g}", origin)
    reason = bound.evaluator.why_always_fails()
    if reason:
        yield Note(f"{name} fails every answer, as in promptfoo: {reason}", origin)

    # Scores of other assertions may be more than 1, so a percentage is no mistake.
    if threshold is not None and not scoring.share and not scoring.at_most:
        share = parse_percent(threshold)
        if share and share >= _LEAST_SHARE:
            text = f"the threshold of {name} is {threshold:g}: if this is per cent, write {share:g}"
            yield Note(text, origin)
