"""Labelled outputs: lines in which a person says whether an assertion of a case holds, and what of the config each is about."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files import jsonlines
from gradegate.files.lines import Map
from gradegate.files.workspace import Workspace
from gradegate.grading.grader import GRADERS
from gradegate.planning.load import Located
from gradegate.values.settings import Settings
from gradegate.values.suite import NOWHERE, Assertion, Case

_FORM = 'write {"description": ..., "assertion": ..., "output": ..., "label": "pass" or "fail"}'
_SHOWN = 3  # places of cases in a message
_ORDINAL = re.compile(r"(.+)#([1-9]\d{0,5})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Label:
    """One line: whether ``output``, as an answer to the case with that description and those variables, passes.

    ``description`` is None where the line tells the case by its variables alone.
    """

    description: str | None
    assertion: str
    output: str
    passes: bool
    vars: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin = NOWHERE


@dataclass(frozen=True, slots=True)
class Labels:
    """What a file of labels holds, and the mistakes in the lines that could not be read."""

    labels: tuple[Label, ...]
    mistakes: tuple[Mistake, ...] = ()


def read(path: str, settings: Settings) -> Labels:
    """The labels of a file, its path relative to the working directory."""
    file = settings.cwd / path
    workspace = Workspace.around(file, settings.cwd, settings.environment)
    name = workspace.name(file)
    try:
        return parse(workspace.read(file.name, file.parent, Origin(name)), name)
    except ConfigError as e:  # the mistakes of the config are said beside it
        return Labels((), e.mistakes)


def parse(content: bytes, name: str) -> Labels:
    """The labels of a file of that name."""
    rows, mistakes = jsonlines.readable(content, name)
    labels = []
    for row in rows:
        origin = Origin(name, row.line)
        wrong = [Mistake(what, origin, _FORM) for what in _wrong(row)]
        mistakes += wrong
        if not wrong:
            passes = row["label"] == "pass"
            labels.append(Label(row.get("description"), row["assertion"], row["output"], passes, row.get("vars", {}), origin))
    if not rows and not mistakes:
        mistakes.append(Mistake("the file holds no labels", Origin(name), _FORM))
    return Labels(tuple(labels), tuple(mistakes))


def _wrong(row: Map) -> Iterator[str]:
    """What is wrong with a line, as sentences."""
    if "description" not in row and "vars" not in row:
        yield "the label has no `description`"
    for key in ("assertion", "output", "label"):
        if key not in row:
            yield f"the label has no `{key}`"
    for key in ("description", "assertion", "output"):
        if not isinstance(row.get(key, ""), str):
            yield f"`{key}` is not text"
    output = row.get("output")
    if isinstance(output, str) and not any(sign.isprintable() and not sign.isspace() for sign in output):
        yield "`output` is empty: a run takes that for an error of the target, and grades nothing"
    if isinstance(output, str) and any("\ud800" <= sign <= "\udfff" for sign in output):
        yield "`output` has half of a sign (a lone surrogate)"
    if row.get("assertion") == "":
        yield "`assertion` is empty"
    if "label" in row and row["label"] not in ("pass", "fail"):
        yield "`label` is neither `pass` nor `fail`"
    if not isinstance(row.get("vars", {}), dict):
        yield "`vars` is not an object"


# --- what of the config a label is about ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Selected:
    """A label with its case, which has the labelled output and the one assertion.

    ``earlier`` is how often the same output was labelled before, so that no ask repeats another's request.
    """

    label: Label
    case: Case
    earlier: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """The suites with the cases that are planned of each, and the labels in the order of those cases."""

    suites: list[Located]
    selected: tuple[Selected, ...]


def select(labels: Labels, suites: Sequence[Located], asks: int) -> Selection:
    """Binds labels to cases, each answered ``asks`` times.

    A label that fits no case, or several, becomes a mistake of the first suite.
    """
    finder = _Finder(suites, asks)
    found: dict[int, list[Selected]] = defaultdict(list)
    mistakes = list(labels.mistakes)
    for label in labels.labels:
        try:
            number, selected = finder.find(label)
            found[number].append(selected)
        except ConfigError as e:
            mistakes += e.mistakes
    chosen = [replace(it, recorded=tuple(s.case for s in found[number])) for number, it in enumerate(suites)]
    if mistakes:
        suite = chosen[0].suite
        chosen[0] = replace(chosen[0], suite=replace(suite, mistakes=(*suite.mistakes, *mistakes)))
    return Selection(chosen, tuple(selected for number in range(len(suites)) for selected in found[number]))


@dataclass
class _Finder:
    suites: Sequence[Located]
    asks: int
    seen: dict[object, Label] = field(default_factory=dict)
    outputs: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._cases: dict[str, list[tuple[int, Case]]] = defaultdict(list)
        for number, located in enumerate(self.suites):
            for case in located.suite.cases:
                self._cases[case.description].append((number, case))

    def find(self, label: Label) -> tuple[int, Selected]:
        """The number of the suite, and what is graded. Raises ConfigError."""
        number, case = self._case(label)
        assertion = _assertion(case, label)
        first = self.seen.setdefault((id(case), id(assertion), _chosen(case, label), label.output), label)
        if first.passes != label.passes:
            what = f"this output is labelled otherwise at {first.origin}"
            raise ConfigError.at(what, label.origin, "agree on one label")
        self.outputs[label.output] += 1
        recorded = replace(_recorded(case, assertion, label), options=replace(case.options, repeat=self.asks))
        return number, Selected(label, recorded, self.outputs[label.output] - 1)

    def _case(self, label: Label) -> tuple[int, Case]:
        every = chain.from_iterable(self._cases.values())
        named = every if label.description is None else self._cases.get(label.description, [])
        fitting = [(number, case) for number, case in named if _fits(case, label)]
        if not fitting:
            called = "" if label.description is None else f" `{label.description}`"
            called += " with these `vars`" if label.vars else ""
            cure = "copy the `description` of a test of the config"
            raise ConfigError.at(f"the config has no case{called}", label.origin, cure)
        if len(fitting) > 1:
            places = ", ".join(str(case.origin) for _, case in fitting[:_SHOWN])
            what = f"the label fits {len(fitting):,} cases of the config: {places}" + ", ..." * (len(fitting) > _SHOWN)
            raise ConfigError.at(what, label.origin, "say which with the case's variables in `vars`")
        return fitting[0]


def _fits(case: Case, label: Label) -> bool:
    """Whether the case has the label's variables; of a variable with several values, one of them."""
    return all(name in case.vars and value in _values(case, name) for name, value in label.vars.items())


def _values(case: Case, name: str) -> list[object]:
    value = case.vars[name]
    return [value, *value] if isinstance(value, list) and case.options.expand_vars else [value]


def _chosen(case: Case, label: Label) -> str:
    """Which of several values of variables the label is about."""
    return json.dumps({name: label.vars[name] for name in sorted(label.vars) if label.vars[name] != case.vars[name]})


def _assertion(case: Case, label: Label) -> Assertion:
    """The assertion that the label names by type or metric, and by its place where there are several."""
    written = list(_each(case.assertions))
    found = [it for it in written if label.assertion in (it.type, it.metric)]
    ordinal = _ORDINAL.fullmatch(label.assertion)
    if not found and ordinal:
        named = [it for it in written if ordinal[1] in (it.type, it.metric)]
        found = named[int(ordinal[2]) - 1 : int(ordinal[2])]
    if not found:
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(filter(None, chain(*((it.type, it.metric) for it in written))))) or "none"
        raise ConfigError.at(f"its case has no assertion `{label.assertion}`", label.origin, f"it has {names}")
    if len(found) > 1:
        what = f"its case has {len(found)} assertions `{label.assertion}`"
        cure = f"write which in their order, `{label.assertion}#1` to `{label.assertion}#{len(found)}`"
        raise ConfigError.at(what, label.origin, cure)
    kind = GRADERS.find(found[0].type.removeprefix("not-"))
    if kind is not None and kind.compares:
        what = f"`{found[0].type}` compares several outputs, and a label is about one"
        raise ConfigError.at(what, label.origin, "leave it out")
    return found[0]


def _each(assertions: Iterable[Assertion]) -> Iterator[Assertion]:
    for assertion in assertions:
        yield assertion
        yield from _each(assertion.members)


def _recorded(case: Case, assertion: Assertion, label: Label) -> Case:
    """The case with the labelled output in place of an answer, and nothing asserted but this. Raises ConfigError."""
    case = replace(case, vars={**case.vars, **label.vars}, assertions=(assertion,))
    if not case.turns:
        return replace(case, output=label.output)
    answers = [number for number, turn in enumerate(case.turns) if turn.role == "assistant"]
    if not answers:
        what = "its case is a conversation that is held with the target, so the output alone cannot be graded"
        raise ConfigError.at(what, label.origin, "label cases whose conversation is recorded")
    last = replace(case.turns[answers[-1]], content=label.output)
    return replace(case, turns=(*case.turns[: answers[-1]], last, *case.turns[answers[-1] + 1 :]))


def several_values(selected: Selected) -> Mistake:
    """The mistake of a label whose case has several values of a variable."""
    what = "its case has several values of a variable, and the label does not say which"
    return Mistake(what, selected.label.origin, "name them in `vars`")
