"""Computes derived metrics from the scores of all cases."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gradegate.core.suite import DerivedSpec
from gradegate.results.accounts import DerivedMetric
from gradegate.results.case_outcome import has_known_score, may_name_scores, named_scores
from gradegate.results.rows import Row
from gradegate.templating.script import COUNT, Formula, ScriptError, metric_formula


def compute_metrics(
    specs: Mapping[str, Sequence[DerivedSpec]], rows: Iterable[Row]
) -> Iterator[DerivedMetric]:
    """Compute the derived metrics of each config, for each target and prompt, after every answer has its final grades.

    ``specs`` are by file. A metric sees those before it. An answer that one metric cannot use is left out for all of them.
    """
    groups = defaultdict(list)
    for row in rows if specs else ():
        if row.suite in specs:
            groups[row.suite, row.provider, row.prompt_label].append(row)
    formulas = {}  # by config, and then by the name of the metric
    for suite, _, _ in groups:
        if suite not in formulas:
            formulas[suite] = {spec.name: metric_formula(spec.value) for spec in specs[suite]}

    for (suite, provider, label), group in groups.items():
        usable = _usable_rows(group, formulas[suite])
        # For each name the weighted sum of its scores, as in promptfoo, and the number of answers
        sums: dict[str, float] = {}
        for row in usable:
            for named in named_scores(row.grades):
                # A score with weight 0 decides nothing, but counts here
                weight = named.weight or 1.0
                sums[named.name] = sums.get(named.name, 0.0) + named.score * weight
        sums[COUNT] = len(usable)

        context = {"provider": {"id": provider, "label": provider}, "prompt": {"label": label}}
        for name, formula in formulas[suite].items():
            value = None
            why = ""
            if usable:
                try:
                    value = formula.compute(sums, context)
                except ScriptError as e:
                    why = str(e)
            else:
                why = "no answer has a grade for it"
            left_out = len(group) - len(usable)
            yield DerivedMetric(name, suite, provider, label, value, why, len(usable), left_out)
            sums.pop(name, None)
            if value is not None:
                sums[name] = value


def _usable_rows(rows: Sequence[Row], formulas: Mapping[str, Formula]) -> list[Row]:
    """The answers with a known score for each name that a metric reads."""
    # Names that answers must provide: all but those of earlier metrics
    names_read = set[str]()
    earlier = {COUNT}
    for name, formula in formulas.items():
        names_read |= (formula.names or frozenset()) - earlier
        earlier.add(name)
    reads_any = any(formula.names is None for formula in formulas.values())
    metrics = {grade.metric for row in rows for grade in row.grades}
    reads_named_scores = reads_any or bool(names_read - metrics)  # names that only code provides

    def is_usable(row: Row) -> bool:
        if row.error:
            return False
        for grade in row.grades:
            if has_known_score(grade):
                continue
            if grade.metric and (reads_any or grade.metric in names_read):
                return False
            if reads_named_scores and may_name_scores(grade):
                return False
        return True

    return list(filter(is_usable, rows))
