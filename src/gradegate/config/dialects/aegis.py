"""The body of an Aegis custom run, gated here: every metric of a row is an assertion of its recorded output."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from gradegate.config import aegis
from gradegate.config.aegis import (
    FULL,
    BlockKeys,
    MetricAssertion,
    MetricReader,
    Path,
    RowKeys,
    RunKeys,
)
from gradegate.config.dialect import DIALECTS, Dialect, Source
from gradegate.config.providers import read_graders
from gradegate.core.assertion import Assertion
from gradegate.core.policy import Note, Policy, Rule
from gradegate.core.provider_spec import KINDS, Graders, PromptSpec, Verbatim
from gradegate.core.suite import Case, CaseOptions, Suite
from gradegate.errors import Mistake, Origin, gather_mistakes
from gradegate.files.documents import origin_of

_PROMPTFOO_KEYS = "prompts providers targets tests defaultTest scenarios".split()
_KINDS = [kind for kind in KINDS if kind != "text"]  # of models that serve every slug


def recognises(content: Any) -> bool:
    """A mapping with ``evaluations`` and none of promptfoo's main keys."""
    is_run = isinstance(content, dict) and "evaluations" in content
    return is_run and not any(key in content for key in _PROMPTFOO_KEYS)


def read(source: Source) -> Suite:
    """Read the body into a suite with one case for each row. What cannot be read is left out and noted in its mistakes."""
    try:
        keys = RunKeys.model_validate(source.content)
    except ValidationError as e:
        details = e.errors(include_url=False)
        mistakes = aegis.explain_errors(details, source.content, source.file)
        return Suite(source.file, mistakes=tuple(mistakes))
    return _BodyReader(source, keys).read_suite()


@dataclass
class _CaseDraft:
    """Assertions of one row that can share a case. ``fields`` are fields of the row, by the variables that stand for them."""

    fields: dict[str, str] = field(default_factory=dict)
    assertions: list[Assertion] = field(default_factory=list)

    def agrees_with(self, fields: Mapping[str, str]) -> bool:
        """Whether no variable would stand for two fields."""
        return all(self.fields.get(name, value) == value for name, value in fields.items())


class _BodyReader:
    """Reads one body, and collects mistakes, so that the user sees all of them at once."""

    def __init__(self, source: Source, keys: RunKeys) -> None:
        self._source = source
        self._keys = keys
        self._mistakes: list[Mistake] = []
        self._metrics = MetricReader(source.content, source.file, self._read_graders())

    def _read_graders(self) -> dict[str, Graders]:
        """Read the graders by slug. Under "" are those for all other slugs."""
        graders_by_name = {}
        for name, written in self._keys.graders.items():
            origin = origin_of(self._source.file, self._source.content, "graders", name)
            with gather_mistakes(self._mistakes):
                graders_by_name[name] = read_graders(written, self._source, origin)

        # Models for embeddings and the like are listed by their kind.
        shared = {}
        for kind in _KINDS:
            if "*" in graders_by_name.get(kind, {}):
                shared[kind] = graders_by_name[kind]["*"]

        graders_by_slug: dict[str, Graders] = {"": shared}
        for name, graders in graders_by_name.items():
            if name not in _KINDS:
                graders_by_slug[name] = {**shared, **graders}
        return graders_by_slug

    def read_suite(self) -> Suite:
        keys = self._keys
        file = self._source.file
        cases: list[Case] = []
        for number, block in enumerate(keys.evaluations):
            cases += self._read_block(number, block)

        notes = []
        if not keys.is_blocking:
            what = "`is_blocking` is not true, so a miss is reported and never fails the check"
            notes.append(Note(what, self._metrics.origin_at("is_blocking")))
        if keys.threshold == 0:
            what = "the run can never fail: its threshold is 0"
            notes.append(Note(what, self._metrics.origin_at("threshold")))
        return Suite(
            file=file,
            description=keys.alias or "",
            prompts=(PromptSpec("{{ prompt or input }}", origin=Origin(file)),),
            cases=tuple(cases),
            policy=Policy(tuple(self._make_rules())),
            env=self._source.env,
            about=keys.model_dump(
                include={"threshold", "model_slug", "is_blocking", "data_collection_id", "alias"}
            ),
            notes=tuple(notes),
            mistakes=tuple(self._mistakes),
        )

    def _make_rules(self) -> Iterator[Rule]:
        keys = self._keys
        yield Rule(
            "every row",
            every_case=True,
            blocking=keys.is_blocking,
            suite=self._source.file,
            origin=self._metrics.origin_at(),
        )
        if keys.threshold is not None:
            yield Rule(
                "the run",
                min_score=keys.threshold / FULL,
                blocking=keys.is_blocking,
                by_metric=True,
                scale=FULL,
                suite=self._source.file,
                origin=self._metrics.origin_at("threshold"),
            )

    def _read_block(self, number: int, block: BlockKeys) -> Iterator[Case]:
        """The cases of one entry of ``evaluations``."""
        path: Path = ("evaluations", number)
        metrics = self._read_metrics(path, block)
        for position, row in enumerate(block.data):
            description = f"row {position + 1}"
            if len(self._keys.evaluations) > 1:
                description = f"evaluation {number + 1}, {description}"
            yield from self._read_row((*path, "data", position), row, metrics, description)

    def _read_metrics(self, path: Path, block: BlockKeys) -> list[MetricAssertion]:
        """The metrics of the block at a path, without those that have mistakes.

        Threshold and slug of the block count for all its metrics. Those of the body are the defaults.
        """
        threshold = self._keys.threshold if block.threshold is None else block.threshold
        slug = block.model_slug or self._keys.model_slug
        metrics = []
        for position, keys in enumerate(block.metrics):
            metric_path = (*path, "metrics", position)
            with gather_mistakes(self._mistakes):
                metrics.append(self._metrics.read_metric(metric_path, keys, threshold, slug))
        return metrics

    def _read_row(
        self, path: Path, row: RowKeys, metrics: Iterable[MetricAssertion], description: str
    ) -> Iterator[Case]:
        """The cases of one row: several if a variable stands for one field in one metric, and for another field in another."""
        variables: dict[str, Any] = {}
        for name, value in row:
            if name == "output" or value is None:
                continue
            if isinstance(value, list):
                variables[name] = [Verbatim(text) for text in value]
            else:
                variables[name] = Verbatim(value)

        for draft in self._draft_cases(path, row, metrics):
            evaluator_variables = {
                name: variables[field_name] for name, field_name in draft.fields.items()
            }
            yield Case(
                description=description,
                vars={**variables, **evaluator_variables},
                assertions=tuple(draft.assertions),
                options=CaseOptions(expand_vars=False),
                output=row.output or "",
                origin=self._metrics.origin_at(*path),
            )

    def _draft_cases(
        self, path: Path, row: RowKeys, metrics: Iterable[MetricAssertion]
    ) -> list[_CaseDraft]:
        """Put each metric into the first case that it agrees with. A metric without a field that it needs is a mistake."""
        drafts: list[_CaseDraft] = []
        for metric in metrics:
            missing_fields = metric.missing_fields(row)
            for name in missing_fields:
                place = aegis.format_path((*path, name))
                what = f"`{place}` is missing, and `{metric.shortname}` needs it"
                origin = self._metrics.origin_at(*path, name)
                self._mistakes.append(Mistake(what, origin, "add it"))
            if missing_fields:
                continue

            fields = metric.entry.variables
            agreeing = [draft for draft in drafts if draft.agrees_with(fields)]
            if agreeing:
                draft = agreeing[0]
            else:
                draft = _CaseDraft()
                drafts.append(draft)
            draft.fields.update(fields)
            draft.assertions.append(metric.for_row(row))
        return drafts


DIALECTS.register("aegis")(Dialect("aegis", "the body of an Aegis custom run", recognises, read))
