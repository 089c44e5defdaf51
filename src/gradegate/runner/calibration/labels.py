"""Reads labels, and finds the case that each label is about.

A label is a line in which a person says whether an output should pass an assertion.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, InstanceOf, ValidationError

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.config.context import Context
from gradegate.config.key_mistakes import validation_mistakes
from gradegate.config.load import SuiteFile
from gradegate.core.assertion import Assertion
from gradegate.core.suite import Case
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.documents import read_valid_lines
from gradegate.files.workspace import Workspace
from gradegate.planning.plan import Job, Plan, with_members
from gradegate.recordings.parsing.fields import unwritable_part
from gradegate.registry import suggest
from gradegate.structs import FrozenStruct, replace

_FORM = 'write {"description": ..., "assertion": ..., "output": ..., "label": "pass" or "fail"}'
_MOST_ORIGINS = 3  # origins of cases in a message
# An assertion with its number among several of the same name: `llm-rubric#2`
_ORDINAL = re.compile(r"(.+)#([1-9]\d{0,5})", re.DOTALL)


def _check_output(output: str) -> str:
    if not any(sign.isprintable() and not sign.isspace() for sign in output):
        raise ValueError(
            "is empty: a run treats this as an error of the target, and grades nothing"
        )
    return output


class Label(BaseModel):
    """One line: whether ``output`` passes the assertion, as an answer to the case with this description and these variables."""

    model_config = ConfigDict(strict=True, frozen=True, defer_build=True)

    description: str | None = None  # None if only the variables identify the case
    assertion: str
    output: Annotated[str, AfterValidator(_check_output)]
    label: Literal["pass", "fail"]
    vars: dict[str, Any] = {}
    origin: InstanceOf[Origin]

    @property
    def passes(self) -> bool:
        """Whether the assertion should pass."""
        return self.label == "pass"

    def mistake(self, what: str, cure: str) -> ConfigError:
        """A mistake at the line of the label."""
        return ConfigError.at(what, self.origin, cure)


class LabelLines(NamedTuple):
    """The labels of a file, and the mistakes in lines that cannot be read."""

    labels: list[Label]
    mistakes: list[Mistake]


def read_labels(path: str, context: Context) -> LabelLines:
    """Read a file of labels. ``path`` is relative to the working directory."""
    file = context.cwd / path
    workspace = Workspace.around(file, context.cwd, context.environment)
    name = workspace.name(file)
    try:
        content = workspace.read(file.name, file.parent, Origin(name))
        return parse_labels(content, name)
    except ConfigError as e:  # reported together with the mistakes of the config
        return LabelLines([], list(e.mistakes))


def parse_labels(content: bytes, name: str) -> LabelLines:
    """Read the labels in the content of the file ``name``. A first line with only an ``agreement`` is no label."""
    rows, mistakes = read_valid_lines(content, name)
    if not rows and not mistakes:
        mistakes.append(Mistake("the file holds no labels", Origin(name), _FORM))
    if rows and rows[0].keys() == {"agreement"}:
        rows.pop(0)

    labels = []
    for row in rows:
        origin = Origin(name, row.line)
        problem = unwritable_part(row)
        if problem:
            mistakes.append(Mistake(problem, origin, "write plain JSON"))
            continue
        fields = {**row, "origin": origin}
        try:
            labels.append(Label.model_validate(fields))
        except ValidationError as e:
            mistakes += validation_mistakes(e, row, name)
            # If only the label or the output is wrong, others take its place. So the search for the case of this line
            # finds the other mistakes of the line.
            wrong_keys = {detail["loc"][0] for detail in e.errors(include_url=False)}
            if wrong_keys <= {"label", "output"}:
                fields |= {"label": "pass", "output": f"line {row.line}"}
                labels.append(Label.model_validate(fields))
    return LabelLines(labels, mistakes)


# --- the cases that labels are about ----------------------------------------------------------------------------


class SelectedLabel(FrozenStruct):
    """A label with its case. The case has the labelled output and the one assertion."""

    label: Label
    case: Case
    earlier: int = 0  # equal outputs with labels before this one; no ask repeats their requests


class Selection(FrozenStruct):
    """Suites with the cases that labels are about; the labels in the order of these cases; mistakes of labels without a case."""

    suites: Sequence[SuiteFile]
    labels: Sequence[SelectedLabel]
    mistakes: Sequence[Mistake]


def select_cases(labels: Iterable[Label], suites: Sequence[SuiteFile], asks: int) -> Selection:
    """Find the case of each label. Each case is answered ``asks`` times."""
    suite_cases = _SuiteCases(suites)
    selected: list[list[SelectedLabel]] = [[] for _ in suites]  # by the number of the suite
    mistakes: list[Mistake] = []
    first_labels: dict[object, Label] = {}  # by case, assertion, variables and output
    output_counts: Counter[str] = Counter()
    for label in labels:
        try:
            suite_number, case = suite_cases.find_case(label)
            assertion = _find_assertion(case, label)
            _refuse_opposite_label(label, case, assertion, first_labels)
            labelled_case = _labelled_case(case, assertion, label, asks)
        except ConfigError as e:
            mistakes += e.mistakes
            continue
        earlier = output_counts[label.output]
        output_counts[label.output] += 1
        selected[suite_number].append(SelectedLabel(label, labelled_case, earlier))

    suites_with_cases = []
    for file, group in zip(suites, selected, strict=True):
        cases = tuple(selected_label.case for selected_label in group)
        suites_with_cases.append(replace(file, recorded=cases))
    return Selection(suites_with_cases, list(chain.from_iterable(selected)), mistakes)


class SuiteCase(NamedTuple):
    """A case with the number of its suite, from 0."""

    suite_number: int
    case: Case


class _SuiteCases:
    """The cases of all suites, and the names of all their assertions."""

    def __init__(self, suites: Sequence[SuiteFile]) -> None:
        # By description. A label without a description may be about any case, so None has all of them.
        self._cases: dict[str | None, list[SuiteCase]] = defaultdict(list)
        self._assertion_names = set[str]()
        for number, file in enumerate(suites):
            for case in file.suite.cases:
                self._cases[case.description].append(SuiteCase(number, case))
                self._cases[None].append(SuiteCase(number, case))
                self._assertion_names.update(_assertion_names(with_members(case.assertions)))

    def find_case(self, label: Label) -> SuiteCase:
        """The one case with the description and the variables of a label. Raises ConfigError if there is none, or more than one."""
        candidates = self._cases[label.description]
        matches = [candidate for candidate in candidates if _has_variables(candidate.case, label)]
        if label.model_fields_set.isdisjoint({"description", "vars"}):
            what = "the label has no `description`"
            cure = _FORM
        elif len(matches) == 1:
            return matches[0]
        elif matches:
            origins = ", ".join(str(match.case.origin) for match in matches[:_MOST_ORIGINS])
            if len(matches) > _MOST_ORIGINS:
                origins += ", ..."
            what = f"the label fits {len(matches):,} cases of the config: {origins}"
            cure = "say which with the case's variables in `vars`"
        else:
            what = "the config has no case"
            if label.description is not None:
                what += f" `{label.description}`"
            if label.vars:
                what += " with these `vars`"
            cure = "copy the `description` of a test of the config"
        mistakes = [Mistake(what, label.origin, cure)]

        # Without the case, only an assertion that no case has is certainly wrong.
        name = label.assertion
        names = self._assertion_names
        if name not in names and name.rpartition("#")[0] not in names:
            cure = suggest(name, names) or "name one by its type or metric"
            mistakes.append(Mistake(f"no case has an assertion `{name}`", label.origin, cure))
        raise ConfigError(*mistakes)


def _has_variables(case: Case, label: Label) -> bool:
    """Whether the case has the variables of a label. For a variable with several values, one of them is enough."""
    for name, value in label.vars.items():
        if name not in case.vars:
            return False
        written = case.vars[name]
        has_several = isinstance(written, list) and case.options.expand_vars
        if value != written and not (has_several and value in written):
            return False
    return True


def _find_assertion(case: Case, label: Label) -> Assertion:
    """The assertion that a label names by type or metric, and by its number if there are several. Raises ConfigError."""
    name = label.assertion
    assertions = list(with_members(case.assertions))
    matches = _assertions_named(name, assertions) if name else []
    ordinal = _ORDINAL.fullmatch(name)
    if ordinal and not matches:
        number = int(ordinal[2])
        matches = _assertions_named(ordinal[1], assertions)[number - 1 : number]

    if not matches:
        names = [f"`{known_name}`" for known_name in dict.fromkeys(_assertion_names(assertions))]
        cure = f"it has {', '.join(names) or 'none'}"
        raise label.mistake(f"its case has no assertion `{name}`", cure)
    if len(matches) > 1:
        cure = f"write which in their order, `{name}#1` to `{name}#{len(matches)}`"
        raise label.mistake(f"its case has {len(matches)} assertions `{name}`", cure)

    assertion = matches[0]
    evaluator = EVALUATORS.find(assertion.type.removeprefix("not-"))
    if evaluator is not None and evaluator.compares:
        what = f"`{assertion.type}` compares several outputs, and a label is about one"
        raise label.mistake(what, "leave it out")
    return assertion


def _refuse_opposite_label(
    label: Label, case: Case, assertion: Assertion, first_labels: dict[object, Label]
) -> None:
    """Raise ConfigError if the same output has another label in an earlier line; ``first_labels`` has these lines."""
    # The values that the label chooses of variables with several values
    variables = {
        name: value for name, value in sorted(label.vars.items()) if value != case.vars[name]
    }
    key = (id(case), id(assertion), json.dumps(variables), label.output)
    first = first_labels.setdefault(key, label)
    if first.passes != label.passes:
        what = f"this output has the other label at {first.origin}"
        raise label.mistake(what, "agree on one label")


def _labelled_case(case: Case, assertion: Assertion, label: Label, asks: int) -> Case:
    """The case with the labelled output as its answer and with only this assertion. Raises ConfigError."""
    case = replace(
        case,
        vars={**case.vars, **label.vars},
        assertions=(assertion,),
        options=replace(case.options, repeat=asks),
    )
    if not case.turns:
        return replace(case, output=label.output)

    # The output replaces the last answer of the conversation.
    turns = list(case.turns)
    answers = [number for number, turn in enumerate(turns) if turn.role == "assistant"]
    if not answers:
        what = "its case is a live conversation, so the output alone cannot be graded"
        raise label.mistake(what, "label cases with a recorded conversation")
    last = answers[-1]
    turns[last] = replace(turns[last], content=label.output)
    return replace(case, turns=tuple(turns))


def _assertions_named(name: str, assertions: Iterable[Assertion]) -> list[Assertion]:
    return [assertion for assertion in assertions if name in (assertion.type, assertion.metric)]


def _assertion_names(assertions: Iterable[Assertion]) -> Iterator[str]:
    """The type and the metric of each assertion, as far as they are set."""
    for assertion in assertions:
        yield from filter(None, (assertion.type, assertion.metric))


def label_jobs(plan: Plan, selected: Sequence[SelectedLabel], asks: int) -> tuple[Job, ...]:
    """The jobs of all asks: the first ask of every output comes before any second ask. Raises ConfigError."""
    jobs_by_case: dict[int, list[Job]] = defaultdict(list)
    for job in plan.jobs:
        jobs_by_case[id(job.case)].append(job)
    mistakes = []
    for labelled in selected:
        if len(jobs_by_case[id(labelled.case)]) > 1:
            what = "its case has several values of a variable, and the label does not say which"
            mistakes.append(Mistake(what, labelled.label.origin, "name them in `vars`"))
    if mistakes:
        raise ConfigError(*mistakes)

    jobs = []
    for ask in range(asks):
        for labelled in selected:
            # The conversation of an output is only that of its case. No other output came before it.
            job = replace(
                jobs_by_case[id(labelled.case)][0],
                repeats=1,
                render=None,
                recall=None,
                stores="",
                in_order=False,
                ask=labelled.earlier * asks + ask,
            )
            jobs.append(job)
    return tuple(jobs)
