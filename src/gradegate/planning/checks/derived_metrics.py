"""Checks that derived metrics can be computed, and that they name metrics that exist."""

from collections.abc import Iterator, Sequence

from gradegate.core.suite import DerivedSpec, Suite
from gradegate.errors import Mistake
from gradegate.files.limits import MAX_DERIVED_VALUES
from gradegate.planning.checks import scripts
from gradegate.planning.checks.rules import MOST_SHOWN
from gradegate.planning.plan import Job, with_members
from gradegate.registry import suggest
from gradegate.results.case_outcome import CODE
from gradegate.templating.script import COUNT, ScriptError, metric_formula
from gradegate.templating.template import is_template

_CONSTANTS = {"e": "Math.E", "pi": "Math.PI"}  # constants of mathjs, and their names in JavaScript


def derived_mistakes(suite: Suite, jobs: Sequence[Job], is_read: bool) -> Iterator[Mistake]:
    """Values that JavaScript cannot compute, names that no metric has, and more values than reports show.

    ``is_read`` is false if a part of the suite could not be read. Its assertions may have the missing names.
    """
    if not suite.derived:
        return
    metrics = _metric_names(suite)
    for number, spec in enumerate(suite.derived):
        try:
            names = metric_formula(spec.value).names
        except ScriptError as e:
            name = f"the derived metric `{spec.name}`"
            yield scripts.script_mistake(e, spec.value, name, spec.origin)
            continue
        if metrics is not None:
            if is_read and names is not None:
                yield from _unknown_names(spec, names, metrics, suite.derived[number:])
            if spec.name not in metrics:
                metrics.append(spec.name)

    groups = {(job.target.name, job.prompt.label) for job in jobs}
    if len(groups) * len(suite.derived) > MAX_DERIVED_VALUES:
        what = f"the derived metrics of {len(groups):,} prompts and targets are more than {MAX_DERIVED_VALUES:,} values"
        yield Mistake(what, suite.derived[0].origin, "leave some out")


def _metric_names(suite: Suite) -> list[str] | None:
    """The metrics of all assertions, in order, each once; None if only the answers tell them."""
    metrics: dict[str, None] = {}
    for case in suite.cases:
        for assertion in with_members(case.assertions):
            if is_template(assertion.metric) or assertion.type.removeprefix("not-") in CODE:
                return None
            if assertion.metric:
                metrics[assertion.metric] = None
    return list(metrics)


def _unknown_names(
    spec: DerivedSpec, names: frozenset[str], metrics: list[str], later: Sequence[DerivedSpec]
) -> Iterator[Mistake]:
    """A mistake for each name that is no metric; ``later`` are this derived metric and those after it."""
    for name in sorted(names.difference(metrics, {COUNT})):
        if any(name == derived.name for derived in later):
            what = f"the derived metric `{spec.name}` reads `{name}` before it is calculated"
            yield Mistake(what, spec.origin, "move it further up")
            continue
        what = f"the derived metric `{spec.name}` reads `{name}`, which is not a metric of any assertion"
        cure = suggest(name, metrics)
        if not cure:
            listed = ", ".join(f"`{metric}`" for metric in metrics[: MOST_SHOWN * 2])
            cure = f"the metrics are {listed}" if listed else "give assertions a `metric`"
        if name in _CONSTANTS:
            cure = f"write `{_CONSTANTS[name]}` for the constant; {cure}"
        yield Mistake(what, spec.origin, cure)
