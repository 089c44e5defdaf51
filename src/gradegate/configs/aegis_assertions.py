"""From a metric of an Aegis payload to an assertion: its arguments checked, its threshold chosen, every mistake noted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from gradegate.configs import aegis
from gradegate.configs.aegis import FULL, MetricKeys, RowKeys
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.document import line_of, table
from gradegate.grading.grader import GRADERS
from gradegate.registry import suggest
from gradegate.values.suite import Assertion, Graders, Note, Verbatim

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class MetricAssertion:
    """A metric that is judged here: its entry in the table, and its assertion without what a row adds."""

    shortname: str
    entry: Shortname
    assertion: Assertion

    def lacks(self, row: RowKeys) -> list[str]:
        """The fields that it needs and a row does not have; an empty output is an answer all the same."""
        given = {name: getattr(row, name) for name in self.entry.needs}
        texts = {name: value if isinstance(value, list) else [value or ""] for name, value in given.items() if value is not None}
        return [name for name in given if name not in texts or (name != "output" and not any(text.strip() for text in texts[name]))]

    def of(self, row: RowKeys) -> Assertion:
        """The assertion of one row."""
        field_of_row = self.entry.value
        if not field_of_row:
            return self.assertion
        return replace(self.assertion, value=Verbatim(getattr(row, field_of_row)))


@dataclass
class MetricReader:
    """Reads the metrics of one payload as assertions; ``notes`` gathers what should be known and changes no verdict."""

    content: Any
    file: str
    graders: Mapping[str, Graders]  # by slug; "" for those that the map of graders does not name
    notes: list[Note] = field(default_factory=list)

    def at(self, path: Sequence[str | int]) -> Origin:
        """The line of a path."""
        return Origin(self.file, line_of(self.content, path))

    def assertion(self, path: Path, keys: MetricKeys, threshold: int | None, slug: str | None) -> MetricAssertion:
        """``threshold`` and ``slug`` are those of the block or run. Raises ConfigError with every mistake."""
        entry = SHORTNAMES.get(keys.metric)
        if entry is None:
            raise self._unknown(path, keys.metric)
        if GRADERS.find(entry.assertion) is None:
            what = f"`{keys.metric}` is judged by `{entry.assertion}`, which this gradegate does not have"
            raise ConfigError.at(f"`{aegis.dotted(path)}`: {what}", self.at(path), "remove it here")
        options = {**entry.always, **self._options((*path, "metric_args"), keys, entry)}
        value = options.pop("value", None)
        model = keys.model_slug or slug or ""
        assertion = Assertion(
            type=entry.assertion,
            value=value,
            threshold=self._threshold(path, keys, threshold, entry) / FULL,
            metric="" if keys.metric == entry.assertion else keys.metric,
            graders=self.graders.get(model, self.graders[""]),
            config=options,
            model_slug=model,
            origin=self.at(path),
        )
        return MetricAssertion(keys.metric, entry, assertion)

    def _threshold(self, path: Path, keys: MetricKeys, outer: int | None, entry: Shortname) -> int:
        threshold = next((level for level in (keys.threshold, outer, entry.threshold) if level is not None), None)
        if threshold is None:
            what = f"`{aegis.dotted(path)}`: no default threshold of `{keys.metric}` is documented"
            raise ConfigError.at(what, self.at(path), "give a `threshold`")
        return threshold

    def _options(self, path: Path, keys: MetricKeys, entry: Shortname) -> dict[str, Any]:
        arguments = {name: value for name, value in (keys.metric_args or {}).items() if value is not None}
        options = {entry.args[name]: value for name, value in arguments.items() if name in entry.args}
        mistakes = [*self._strange(path, keys, entry), *self._wrong(path, entry, options)]
        if mistakes:
            raise ConfigError(*mistakes)
        if entry.bounds and not {"min_count", "max_count"} & arguments.keys():
            text = f"`{keys.metric}` can never fail: it has neither `min_count` nor `max_count`"
            self.notes.append(Note(text, self.at(path)))
        return options

    def _strange(self, path: Path, keys: MetricKeys, entry: Shortname) -> Iterator[Mistake]:
        arguments = keys.metric_args or {}
        for name in arguments:
            if name in entry.args:
                continue
            what, cure = f"`{aegis.dotted((*path, name))}`: `{keys.metric}` has no such argument", "remove it"
            if name in entry.lacks:
                what = f"{what} here, where `{entry.assertion}` judges it"
            else:
                cure = suggest(name, entry.args) or "its arguments are " + (", ".join(entry.args) or "none")
            yield Mistake(what, self.at((*path, name)), cure)
        for name in entry.required:
            if arguments.get(name) is None:
                what = f"`{aegis.dotted((*path, name))}` is missing, and `{keys.metric}` needs it"
                yield Mistake(what, self.at(path), "add it")

    def _wrong(self, path: Path, entry: Shortname, options: Mapping[str, Any]) -> list[Mistake]:
        """What our grader has against the arguments; golden answers are checked row by row, when they are bound."""
        kind: Any = GRADERS.find(entry.assertion)
        try:
            kind(**options)
        except ValidationError as e:
            arguments = {ours: name for name, ours in entry.args.items()}
            # What no argument sets comes from the row.
            details = e.errors(include_url=False)
            errors = [detail for detail in details if not detail["loc"] or detail["loc"][0] in arguments]
            for detail in errors:
                first, rest = detail["loc"][:1], detail["loc"][1:]
                detail["loc"] = (*(arguments[str(name)] for name in first), *rest)
            return aegis.mistakes(errors, self.content, self.file, path)
        return []

    def _unknown(self, path: Path, shortname: str) -> ConfigError:
        origin, where = self.at(path), aegis.dotted(path)
        if shortname in UNSUPPORTED:
            what = f"`{where}`: `{shortname}` is a metric of Aegis that is not supported: {UNSUPPORTED[shortname]}"
            return ConfigError.at(what, origin, "remove it here; docs/aegis.md lists what is supported")
        near = suggest(shortname, [*SHORTNAMES, *UNSUPPORTED]) or "docs/aegis.md lists them"
        return ConfigError.at(f"`{where}` names an unknown metric `{shortname}`", origin, near)


# --- metrics by their shortnames: https://docs.aegisevals.ai/docs/metrics -----------------------------------------


@dataclass(frozen=True, slots=True)
class Shortname:
    """How a shortname is judged here, by the assertion that means the same.

    ``threshold`` is Aegis's default, None where none is documented.
    """

    assertion: str
    needs: tuple[str, ...]  # fields that every row must have
    threshold: int | None = None
    args: Mapping[str, str] = field(default_factory=dict)  # its argument -> our option
    lacks: tuple[str, ...] = ()  # its arguments that have no counterpart here
    required: tuple[str, ...] = ()  # arguments without which it judges nothing
    value: str = ""  # the field of a row that becomes the assertion's value
    variables: Mapping[str, str] = field(default_factory=dict)  # variable that our grader reads -> field of a row
    always: Mapping[str, Any] = field(default_factory=dict)  # options that are set whatever the payload says
    bounds: bool = False  # without min_count or max_count it can never fail


_TABLE = table("configs", "aegis.yaml")
SHORTNAMES = TypeAdapter(dict[str, Shortname]).validate_python(_TABLE["shortnames"])
UNSUPPORTED: Mapping[str, str] = _TABLE["unsupported"]
