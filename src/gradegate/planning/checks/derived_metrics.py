"""Checks that derived metrics can be computed, and that they name metrics that exist."""

from collections.abc import Iterator, Sequence

from gradegate.core.suite import DerivedSpec, Suite
from gradegate.errors import Mistake
from gradegate.files.limits import MAX_DERIVED_VALUES
from gradegate.planning.checks import scripts
from gradegate.planning.checks.rules import MOST_SHOWN
from gradegate.planning.plan import Job
from gradegate.registry import suggest
from gradegate.results.case_outcome import CODE
from gradegate.templating.script import COUNT, ScriptError, metric_formula
from gradegate.templating.template import is_template

_CONSTANTS = {"e": "Math.E", "pi": "Math.PI"}  # of mathjs, and what JavaScript calls them


def derived(suite: Suite, jobs: Sequence[Job], is_read: bool) -> Iterator[Mistake]:
    """Values that JavaScript cannot compute, names that no metric has, and more values than reports show."""
    if not suite.derived:
        return
    metrics = _metrics(suite)
    for number, spec in enumerate(suite.derived):
        try:
            names = metric_formula(spec.value).names
        except ScriptError as e:
            yield scripts.mistake(e, spec.value, f"the derived metric `{spec.name}`", spec.origin)
            continue
        if is_read and names is not None and metrics is not None:  # else assertions may be left out
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
    for name in sorted(names - metrics.keys() - {COUNT}):
        what = f"the derived metric `{spec.name}` reads `{name}`, which is not a metric of any assertion"
        known = ", ".join(f"`{metric}`" for metric in list(metrics)[: MOST_SHOWN * 2])
        cure = suggest(name, metrics) or (
            f"the metrics are {known}" if known else "give assertions a `metric`"
        )
        if name in _CONSTANTS:
            cure = f"write `{_CONSTANTS[name]}` for the constant; {cure}"
        if any(name == other.name for other in later):
            what = f"the derived metric `{spec.name}` reads `{name}` before it is calculated"
            cure = "move it further up"
        yield Mistake(what, spec.origin, cure)
