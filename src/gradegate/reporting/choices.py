"""What the cases of a page can be chosen by: rules, metrics, providers and prompts, each under a number.

A case names the numbers alone, so that no text of a config or a model is part of what a script compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gradegate.reporting.distribution import metric_of
from gradegate.reporting.visible import one_line
from gradegate.reporting.wording import titled
from gradegate.values.result import Row, RuleResult, takes

_MOST = 200  # of one kind that can be chosen; of more, nobody finds one in a list


@dataclass(frozen=True, slots=True)
class Choice:
    """One kind of what can be chosen: ``options`` are the words for each number."""

    name: str
    title: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Choices:
    """Everything that the cases of a run can be chosen by."""

    rules: tuple[RuleResult, ...]
    metrics: dict[str, int]
    providers: dict[str, int]
    prompts: dict[str, int]
    several: bool  # configs, whose rules may have one name

    @property
    def lists(self) -> list[Choice]:
        """Those that are worth choosing by: of one alone there is no choice."""
        named = [titled(result.rule, self.several) for result in self.rules]
        kinds = (
            Choice("rule", "Rule", tuple(named)),
            Choice("metric", "Metric", _words(self.metrics)),
            Choice("provider", "Provider", _words(self.providers)),
            Choice("prompt", "Prompt", _words(self.prompts)),
        )
        return [choice for choice in kinds if len(choice.options) > 1]

    def of(self, row: Row) -> dict[str, str]:
        """The numbers of one case by the name of their kind, with spaces between."""
        rules = [n for n, it in enumerate(self.rules) if any(takes(it.rule, row, grade) for grade in row.grades)]
        return {
            "rule": _numbers(rules),
            "metric": _numbers(dict.fromkeys(self.metrics.get(metric_of(grade)) for grade in row.grades)),
            "provider": _numbers([self.providers.get(row.provider)]),
            "prompt": _numbers([self.prompts.get(row.prompt_label)]),
        }


def choices(rows: Sequence[Row], rules: Iterable[RuleResult]) -> Choices:
    """Those of a run."""
    listed = tuple(rules)
    return Choices(
        tuple(listed[:_MOST]),
        _numbered(metric_of(grade) for row in rows for grade in row.grades),
        _numbered(row.provider for row in rows),
        _numbered(row.prompt_label for row in rows),
        len({result.rule.suite for result in listed}) > 1,
    )


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate([*dict.fromkeys(names)][:_MOST])}


def _words(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(one_line(name, 80) or "(none)" for name in names)


def _numbers(numbers: Iterable[int | None]) -> str:
    return " ".join(str(number) for number in numbers if number is not None)
