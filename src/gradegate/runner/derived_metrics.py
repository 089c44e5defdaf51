"""Computes derived metrics from the scores of all cases."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gradegate.core.suite import DerivedSpec
from gradegate.results.accounts import DerivedMetric
from gradegate.results.case_outcome import is_known, named_scores, tells_scores
from gradegate.results.rows import Row
from gradegate.templating.script import COUNT, Formula, ScriptError, metric_formula


def derived(
    specs: Mapping[str, Sequence[DerivedSpec]], rows: Iterable[Row]
) -> Iterator[DerivedMetric]:
    """The derived metrics of every config, by its file, for each target and prompt, once every answer has its last grades.

    Each sees those before it; what one cannot be over is left out for all of them.
    """
    groups = defaultdict(list)
    for row in rows if specs else ():
        if row.suite in specs:
            groups[row.suite, row.provider, row.prompt_label].append(row)
    formulas = {
        suite: {spec.name: metric_formula(spec.value) for spec in specs[suite]}
        for suite in dict.fromkeys(suite for suite, _, _ in groups)
    }
    for (suite, provider, label), group in groups.items():
        known = _known(group, formulas[suite])
        # Of each name the sum of its scores by their weights, as promptfoo has it, and the number of answers.
        sums: dict[str, float] = {}
        for row in known:
            for named in named_scores(row.grades):
                weight = named.weight or 1.0  # 0: it is there to be counted, and not to decide
                sums[named.name] = sums.get(named.name, 0.0) + named.score * weight
        sums[COUNT] = len(known)
        step = {"provider": {"id": provider, "label": provider}, "prompt": {"label": label}}
        for name, formula in formulas[suite].items():
            value, why = None, "" if known else "no answer has a grade for it"
            try:
                value = formula.compute(sums, step) if known else None
            except ScriptError as e:
                why = str(e)
            yield DerivedMetric(
                name, suite, provider, label, value, why, len(known), len(group) - len(known)
            )
            sums.pop(name, None)
            sums |= {} if value is None else {name: value}


def _known(rows: Sequence[Row], formulas: Mapping[str, Formula]) -> list[Row]:
    """The answers whose grades are known, as far as any of the metrics reads them."""
    reads, above = (
        set[str](),
        {COUNT},
    )  # the names that answers have to give: all but those of metrics further up
    for name, formula in formulas.items():
        reads |= (formula.names or frozenset()) - above
        above.add(name)
    reads_any = any(formula.names is None for formula in formulas.values())
    metrics = {grade.metric for row in rows for grade in row.grades}
    told = reads_any or bool(reads - metrics)  # some names are told by code alone

    def lacks(row: Row) -> bool:
        unknown = [grade for grade in row.grades if not is_known(grade)]
        return any(
            (grade.metric and (reads_any or grade.metric in reads))
            or (told and tells_scores(grade))
            for grade in unknown
        )

    return [row for row in rows if not row.error and not lacks(row)]
