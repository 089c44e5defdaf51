"""The body of an Aegis custom run, gated here: every metric of a row is an assertion of its recorded output."""

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from gradegate.config import aegis
from gradegate.config import providers as specs
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
from gradegate.core.assertion import Assertion
from gradegate.core.policy import Note, Policy, Rule
from gradegate.core.provider_spec import KINDS, PromptSpec, Verbatim
from gradegate.core.suite import Case, CaseOptions, Suite
from gradegate.errors import Mistake, Origin, gather_mistakes

_OTHERS = "prompts providers targets tests defaultTest scenarios".split()  # keys of promptfoo's
_KINDS = [kind for kind in KINDS if kind != "text"]


def recognises(content: Any) -> bool:
    """A mapping with ``evaluations`` and none of promptfoo's main keys."""
    is_run = isinstance(content, dict) and "evaluations" in content
    return is_run and not any(key in content for key in _OTHERS)


def read(source: Source) -> Suite:
    """One case for each row. What could not be read is left out and noted in the suite's mistakes."""
    try:
        keys = RunKeys.model_validate(source.content)
    except ValidationError as e:
        mistakes = aegis.mistakes(e.errors(include_url=False), source.content, source.file)
        return Suite(source.file, mistakes=tuple(mistakes))
    return _Reader(source, keys).suite()


class _Reader:
    """Reads one payload; mistakes are gathered, so that the user sees them all at once."""

    def __init__(self, source: Source, keys: RunKeys) -> None:
        self._source = source
        self._keys = keys
        self._mistakes: list[Mistake] = []
        self._metrics = MetricReader(source.content, source.file, {})
        # The graders by slug; models for embeddings and the like are listed by their kind and serve every slug.
        by_name = {}
        for name, written in keys.graders.items():
            with gather_mistakes(self._mistakes):
                by_name[name] = specs.read_graders(
                    written, source, self._metrics.at(("graders", name))
                )
        kinds = {kind: by_name[kind]["*"] for kind in _KINDS if "*" in by_name.get(kind, {})}
        self._metrics.graders = {
            "": kinds,
            **{
                slug: {**kinds, **graders}
                for slug, graders in by_name.items()
                if slug not in _KINDS
            },
        }

    def suite(self) -> Suite:
        keys, file, notes = self._keys, self._source.file, []
        cases = tuple(
            case for i, block in enumerate(keys.evaluations) for case in self._block(i, block)
        )
        blocks, at = keys.is_blocking, self._metrics.at
        rules = [Rule("every row", every_case=True, blocking=blocks, suite=file, origin=at(()))]
        if keys.threshold is not None:
            share, origin = keys.threshold / FULL, at(("threshold",))
            rules.append(
                Rule(
                    "the run",
                    min_score=share,
                    blocking=blocks,
                    by_metric=True,
                    scale=FULL,
                    suite=file,
                    origin=origin,
                )
            )
        if not keys.is_blocking:
            text = "`is_blocking` is not true, so a miss is reported and never fails the check"
            notes.append(Note(text, at(("is_blocking",))))
        if keys.threshold == 0:
            notes.append(Note("the run can never fail: its threshold is 0", at(("threshold",))))
        return Suite(
            file=file,
            description=keys.alias or "",
            prompts=(PromptSpec("{{ prompt or input }}", origin=Origin(file)),),
            cases=cases,
            policy=Policy(tuple(rules)),
            env=self._source.env,
            about=keys.model_dump(
                include={"threshold", "model_slug", "is_blocking", "data_collection_id", "alias"}
            ),
            notes=tuple(notes),
            mistakes=tuple(self._mistakes),
        )

    def _block(self, number: int, block: BlockKeys) -> Iterator[Case]:
        path = ("evaluations", number)
        outer = self._keys.threshold if block.threshold is None else block.threshold
        slug = block.model_slug or self._keys.model_slug
        metrics = []
        for n, keys in enumerate(block.metrics):
            with gather_mistakes(self._mistakes):
                metrics.append(self._metrics.assertion((*path, "metrics", n), keys, outer, slug))
        for n, row in enumerate(block.data):
            yield from self._row((*path, "data", n), row, metrics)

    def _row(self, path: Path, row: RowKeys, metrics: Iterable[MetricAssertion]) -> Iterator[Case]:
        given = {name: value for name, value in row if name != "output" and value is not None}
        fields = {
            name: [*map(Verbatim, value)] if isinstance(value, list) else Verbatim(value)
            for name, value in given.items()
        }
        groups: list[tuple[dict[str, str], list[Assertion]]] = []
        for metric in metrics:
            lacking = metric.lacks(row)
            for name in lacking:
                what = (
                    f"`{aegis.dotted((*path, name))}` is missing, and `{metric.shortname}` needs it"
                )
                self._mistakes.append(Mistake(what, self._metrics.at((*path, name)), "add it"))
            if lacking:
                continue
            view = metric.entry.variables
            for (
                variables,
                assertions,
            ) in groups:  # the first case whose variables do not contradict those that it reads
                if all(variables.get(name, field) == field for name, field in view.items()):
                    variables.update(view)
                    assertions.append(metric.of(row))
                    break
            else:
                groups.append((dict(view), [metric.of(row)]))
        for view, assertions in groups:
            several = f"evaluation {int(path[1]) + 1}, " if len(self._keys.evaluations) > 1 else ""
            yield Case(
                description=f"{several}row {int(path[3]) + 1}",
                vars={**fields, **{name: fields[field] for name, field in view.items()}},
                assertions=tuple(assertions),
                options=CaseOptions(expand_vars=False),
                output=row.output or "",
                origin=self._metrics.at(path),
            )


DIALECTS.register("aegis")(Dialect("aegis", "the body of an Aegis custom run", recognises, read))
