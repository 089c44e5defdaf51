"""Labelled outputs: lines in which a person says whether an assertion of a case holds."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, InstanceOf, ValidationError

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.config.context import Context
from gradegate.config.key_mistakes import validation_mistakes
from gradegate.config.load import SuiteFile
from gradegate.core.assertion import Assertion
from gradegate.core.suite import Case
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files import documents as document
from gradegate.files.workspace import Workspace
from gradegate.planning.plan import Job, Plan
from gradegate.recordings.parsing.fields import unwritable_part
from gradegate.registry import suggest
from gradegate.structs import FrozenStruct, replace

_FORM = 'write {"description": ..., "assertion": ..., "output": ..., "label": "pass" or "fail"}'
_SHOWN = 3  # places of cases in a message
_ORDINAL = re.compile(r"(.+)#([1-9]\d{0,5})", re.DOTALL)


def _answered(output: str) -> str:
    if not any(sign.isprintable() and not sign.isspace() for sign in output):
        raise ValueError(
            "is empty: a run treats this as an error of the target, and grades nothing"
        )
    return output


class Label(BaseModel):
    """One line: whether ``output``, as an answer to the case with that description and those variables, passes."""

    model_config = ConfigDict(strict=True, frozen=True, defer_build=True)

    description: str | None = None  # None where the line tells the case by its variables alone
    assertion: str
    output: Annotated[str, AfterValidator(_answered)]
    label: Literal["pass", "fail"]
    vars: dict[str, Any] = {}
    origin: InstanceOf[Origin]

    @property
    def passes(self) -> bool:
        """Whether the assertion should pass."""
        return self.label == "pass"

    def wrong(self, what: str, cure: str) -> ConfigError:
        """What is wrong with it, at its line."""
        return ConfigError.at(what, self.origin, cure)


def read(path: str, context: Context) -> tuple[list[Label], list[Mistake]]:
    """The labels of a file, its path relative to the working directory, and the mistakes in the lines that cannot be read."""
    file = context.cwd / path
    workspace = Workspace.around(file, context.cwd, context.environment)
    name = workspace.name(file)
    try:
        return parse(workspace.read(file.name, file.parent, Origin(name)), name)
    except ConfigError as e:  # the mistakes of the config are said beside it
        return [], list(e.mistakes)


def parse(content: bytes, name: str) -> tuple[list[Label], list[Mistake]]:
    """The labels and mistakes of a file of that name. A first line that says the ``agreement`` alone is no label."""
    rows, found = document.readable_lines(content, name)
    labels = []
    for row in rows[1:] if rows and rows[0].keys() == {"agreement"} else rows:
        origin = Origin(name, row.line)
        if what := unwritable_part(row):
            found.append(Mistake(what, origin, "write plain JSON"))
            continue
        try:
            labels.append(Label.model_validate({**row, "origin": origin}))
        except ValidationError as e:
            found += validation_mistakes(e, row, name)
            if {detail["loc"][0] for detail in e.errors(include_url=False)} <= {
                "label",
                "output",
            }:  # whatever else is wrong is told, too
                labels.append(
                    Label.model_validate(
                        {**row, "label": "pass", "output": f"line {row.line}", "origin": origin}
                    )
                )
    if not rows and not found:
        found.append(Mistake("the file holds no labels", Origin(name), _FORM))
    return labels, found


# --- what of the config a label is about ----------------------------------------------------------------------


class Selected(FrozenStruct):
    """A label with its case, which has the labelled output and the one assertion."""

    label: Label
    case: Case
    earlier: int = (
        0  # how often the same output was labelled before, so that no ask repeats another's request
    )


class Selection(FrozenStruct):
    """Suites with the cases that labels are about; the labels in the order of those cases; labels that fit no case, or several."""

    suites: Sequence[SuiteFile]
    labels: Sequence[Selected]
    mistakes: Sequence[Mistake]


def select(labels: Iterable[Label], suites: Sequence[SuiteFile], asks: int) -> Selection:
    """Find the cases that labels are about, each to be answered ``asks`` times."""
    named: dict[str | None, list[tuple[int, Case]]] = defaultdict(
        list
    )  # by description, and all of them
    for number, located in enumerate(suites):
        for own in located.suite.cases:
            named[own.description].append((number, own))
            named[None].append((number, own))
    found: dict[int, list[Selected]] = defaultdict(list)
    seen: dict[object, Label] = {}
    outputs: Counter[str] = Counter()
    wrong: list[Mistake] = []
    known = {
        name
        for _, case in named[None]
        for it in _each(case.assertions)
        for name in (it.type, it.metric)
        if name
    }
    for label in labels:
        case: Case | None = None
        try:
            number, case = _case(label, named[label.description])
            assertion = _assertion(case, label)
            chosen = {
                name: label.vars[name]
                for name in sorted(label.vars)
                if label.vars[name] != case.vars[name]
            }
            first = seen.setdefault(
                (id(case), id(assertion), json.dumps(chosen), label.output), label
            )
            if first.passes != label.passes:
                raise label.wrong(
                    f"this output has the other label at {first.origin}", "agree on one label"
                )
            recorded = replace(
                _recorded(case, assertion, label), options=replace(case.options, repeat=asks)
            )
            found[number].append(Selected(label, recorded, outputs[label.output]))
            outputs[label.output] += 1
        except ConfigError as e:
            wrong += e.mistakes
            if case is None and known.isdisjoint(
                (label.assertion, label.assertion.rpartition("#")[0])
            ):
                cure = suggest(label.assertion, known) or "name one by its type or metric"
                wrong += label.wrong(f"no case has an assertion `{label.assertion}`", cure).mistakes
    planned = [
        replace(it, recorded=tuple(s.case for s in found[number]))
        for number, it in enumerate(suites)
    ]
    selected = [label for number in range(len(suites)) for label in found[number]]
    return Selection(planned, selected, wrong)


def jobs_of(plan: Plan, selected: Sequence[Selected], asks: int) -> tuple[Job, ...]:
    """The jobs of all asks, the first ask of every output before any second one. Raises ConfigError."""
    of_case: dict[int, list[Job]] = defaultdict(list)
    for job in plan.jobs:
        of_case[id(job.case)].append(job)
    what = "its case has several values of a variable, and the label does not say which"
    vague = [it.label.origin for it in selected if len(of_case[id(it.case)]) > 1]
    if vague:
        raise ConfigError(*(Mistake(what, origin, "name them in `vars`") for origin in vague))
    return tuple(
        # The conversation of an output is its case's: none of the other outputs was said before it.
        replace(
            of_case[id(it.case)][0],
            repeats=1,
            render=None,
            recall=None,
            stores="",
            in_order=False,
            ask=it.earlier * asks + ask,
        )
        for ask in range(asks)
        for it in selected
    )


def _case(label: Label, named: Sequence[tuple[int, Case]]) -> tuple[int, Case]:
    """The one case with the label's variables, and the number of its suite. Raises ConfigError."""
    if label.model_fields_set.isdisjoint({"description", "vars"}):
        raise label.wrong("the label has no `description`", _FORM)
    fitting = [(number, case) for number, case in named if _fits(case, label)]
    if not fitting:
        called = "" if label.description is None else f" `{label.description}`"
        called += " with these `vars`" if label.vars else ""
        raise label.wrong(
            f"the config has no case{called}", "copy the `description` of a test of the config"
        )
    if len(fitting) > 1:
        places = ", ".join(str(case.origin) for _, case in fitting[:_SHOWN]) + ", ..." * (
            len(fitting) > _SHOWN
        )
        cure = "say which with the case's variables in `vars`"
        raise label.wrong(f"the label fits {len(fitting):,} cases of the config: {places}", cure)
    return fitting[0]


def _fits(case: Case, label: Label) -> bool:
    """Whether the case has the label's variables; of a variable with several values, one of them."""
    several = {
        name: own
        for name, own in case.vars.items()
        if isinstance(own, list) and case.options.expand_vars
    }
    given = label.vars.items()
    return all(
        name in case.vars and (value == case.vars[name] or value in several.get(name, ()))
        for name, value in given
    )


def _assertion(case: Case, label: Label) -> Assertion:
    """The assertion that the label names by type or metric, and by its place where there are several."""
    written = list(_each(case.assertions))
    found = [it for it in written if label.assertion and label.assertion in (it.type, it.metric)]
    ordinal = _ORDINAL.fullmatch(label.assertion)
    if not found and ordinal:
        named = [it for it in written if ordinal[1] in (it.type, it.metric)]
        found = named[int(ordinal[2]) - 1 : int(ordinal[2])]
    if not found:
        names = dict.fromkeys(
            f"`{name}`" for it in written for name in (it.type, it.metric) if name
        )
        raise label.wrong(
            f"its case has no assertion `{label.assertion}`", f"it has {', '.join(names) or 'none'}"
        )
    if len(found) > 1:
        cure = (
            f"write which in their order, `{label.assertion}#1` to `{label.assertion}#{len(found)}`"
        )
        raise label.wrong(f"its case has {len(found)} assertions `{label.assertion}`", cure)
    kind = EVALUATORS.find(found[0].type.removeprefix("not-"))
    if kind is not None and kind.compares:
        raise label.wrong(
            f"`{found[0].type}` compares several outputs, and a label is about one", "leave it out"
        )
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
        what = "its case is a live conversation, so the output alone cannot be graded"
        raise label.wrong(what, "label cases with a recorded conversation")
    last = answers[-1]
    return replace(
        case,
        turns=(
            *case.turns[:last],
            replace(case.turns[last], content=label.output),
            *case.turns[last + 1 :],
        ),
    )


# --- a file of them -------------------------------------------------------------------------------------------
