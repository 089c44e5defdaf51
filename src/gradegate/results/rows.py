"""One answer of a run with its grades, as every report shows it, with the name of its case."""

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, field

from gradegate.core.conversation import Transcript, Turn, Variables
from gradegate.core.numbers import format_count
from gradegate.core.policy import CaseRuns, Rule
from gradegate.core.provider_spec import NOWHERE
from gradegate.core.usage import NO_USAGE, Took, Usage
from gradegate.errors import Origin
from gradegate.results.encoding import to_plain_data
from gradegate.results.grades import Grade, Outcome, WithOutcome
from gradegate.security.redaction import shorten_line
from gradegate.structs import Count, FrozenStruct, JsonObject


class AnswerId(NamedTuple):
    """Identifies an answer within a plan. Ids sort in plan order."""

    case: int  # the index of its planned case
    repeat: int


class GradeId(NamedTuple):
    """Identifies a grade of an answer. Ids sort in plan order."""

    answer: AnswerId
    position: int


class Row(WithOutcome, FrozenStruct):
    """One answer and its grades: a case, asked of one target with one prompt, in one repetition."""

    # The names of fields are keys of results.json, in this order.

    # The question: a case of a suite, for a target, with a prompt
    suite: str
    description: str
    provider: str  # the name of the target
    prompt_label: str
    prompt: Annotated[str, Meta(description="As it was sent, with the variables filled in.")]
    vars: Variables

    # The answer of the target, and what the graders found
    outcome: Outcome  # of this answer; if the row folds the runs of a case, of the case
    output: Annotated[
        str | None, Meta(description="null when the provider gave no answer; error says why.")
    ] = None
    error: str = ""
    grades: tuple[Grade, ...] = ()
    score: Annotated[
        float | None, Meta(description="The weighted mean of the grades that count.")
    ] = None
    threshold: Annotated[float | None, Meta(description="The case's own.")] = None
    reason: Annotated[str, Meta(description="Where the case's own threshold decided.")] = ""
    usage: Usage = NO_USAGE  # of the target, without graders

    # The place in the plan
    case: Count = 0  # number of the case in its suite: rows of one case are compared by select-best
    repeat: Count = 0  # the number of the repetition, from 0

    # The rest of the answer
    turns: Annotated[
        tuple[Turn, ...],
        Meta(description="The conversation where there is more than a prompt and an answer."),
    ] = ()
    metadata: Annotated[
        JsonObject,
        Meta(description="What the provider returned with the answer: tool calls, finish reason."),
    ] = field(default_factory=dict)

    # What finds the same case in the config and in another run
    origin: Origin = NOWHERE  # where the config defines the case
    key: Annotated[bytes, Meta(description="What the answer is called in every run.")] = b""
    definition: Annotated[
        bytes, Meta(description="SHA-256 of what the case gives and asks for.")
    ] = b""
    parties: Annotated[
        tuple[tuple[str, str, str], tuple[str, str, str]] | None,
        Meta(
            description="What finds provider and prompt again in another run: label, file if not the config, SHA-256."
        ),
    ] = None

    # What the base says, and why something is missing or hidden
    base: Annotated[
        Outcome | None, Meta(description="What the base says of the case; null where it has none.")
    ] = None
    hidden: Annotated[bool, Meta(description="A secret is hidden in what was graded.")] = False
    undone: Annotated[
        bool,
        Meta(description="There is no output because a budget or a signal ended the run before."),
    ] = False
    withheld: Annotated[
        bool,
        Meta(
            description="There is no output because the target was not called, or its reply cannot be used."
        ),
    ] = False

    # Dollars and seconds of the answer
    took: Annotated[
        Took | None,
        Meta(
            description="The first answer; null where the target was not asked for it in this run."
        ),
    ] = None
    base_took: Annotated[
        Took | None, Meta(description="That of the base, by the same definition.")
    ] = None

    # What the config says of the case
    # Written in the test; rules select by it
    test_metadata: JsonObject = field(default_factory=dict)
    needs: CaseRuns | None = None  # how many runs must pass; None if runs are not counted together

    # The runs of a case that are counted together, such as 2 of 3. The rows of a case differ only in `run` among these.
    run: Annotated[
        int,
        Meta(
            description="The number of the run, from 1; 0 where the runs of the case are not counted together."
        ),
    ] = 0
    verdict: Annotated[
        Outcome | None,
        Meta(description="The outcome of all runs of the case, in each of its rows."),
    ] = None
    runs: Annotated[int, Meta(description="The number of runs of the case.")] = 0
    of: Annotated[int, Meta(description="The most runs that it may have.")] = 0
    passed: Annotated[int, Meta(description="Runs that passed.")] = 0
    needed: Annotated[int, Meta(description="Runs that must pass.")] = 0
    base_runs: Annotated[
        int,
        Meta(
            description="The runs of the case on the base; 0 where they were not counted together."
        ),
    ] = 0
    base_passed: int = 0

    @property
    def runs_summary(self) -> str:
        """Say what the runs of its case gave: ``passed 2 of 3 runs``, ``failed: 1 of 3 runs passed, 2 needed``."""
        runs = format_count(self.runs, "run")
        base = ""
        if self.base_runs:
            base = f"; on the base {self.base_passed} of {self.base_runs} passed"
        if self.verdict is Outcome.PASS:
            return f"passed {self.passed} of {runs}{base}"
        if self.verdict is Outcome.FAIL:
            return f"failed: {self.passed} of {runs} passed, {self.needed} needed{base}"
        # Too few runs were recorded. A target that is asked would have made more.
        if self.passed + self.of - self.runs >= self.needed:
            return f"error: {self.runs} of {self.of} runs recorded, {self.passed} passed{base}"
        return f"error: {self.passed} of {runs} passed, {self.needed} needed{base}"

    @property
    def counts(self) -> bool:
        """Whether the case takes part in deciding: one of its assertions counts, or it has none."""
        return not self.grades or any(grade.counts for grade in self.grades)

    @property
    def transcript(self) -> Transcript:
        """What its graders saw, so that it can be graded again."""
        answer = Turn("assistant", self.output or "", metadata=self.metadata)
        turns = self.turns or (Turn("user", self.prompt), answer)
        return Transcript(
            self.prompt, turns, self.vars, self.usage, self.metadata, target=self.provider
        )


_MAX_NAME = 160  # characters
_MAX_VALUE = 40  # characters of a variable in a name
_MAX_VARIABLES = 4  # that a name shows


def name_case(description: str, variables: Variables, number: int) -> str:
    """Name a case by its description, else by its first variables, else by its number, which counts from 0.

    The only place that names a case. The name is one line, and not escaped.
    """
    return shorten_line(description, _MAX_NAME) or name_variables(variables) or f"case {number + 1}"


def name_variables(variables: Variables) -> str:
    """The first variables of a case in one line: ``q=hello, k=1``."""
    values = list(variables.items())[:_MAX_VARIABLES]
    pairs = [f"{key}={shorten_line(format_value(value), _MAX_VALUE)}" for key, value in values]
    return shorten_line(", ".join(pairs), _MAX_NAME)


def case_name(row: Row) -> str:
    """The name of a row's case, with the number of the repeat or run if it is not the first."""
    name = name_case(row.description, row.vars, row.case)
    if not row.repeat:
        return name
    kind = "run" if row.run else "repeat"
    return f"{name} ({kind} {row.repeat + 1})"


def positions_not_passed(rows: Iterable[Row]) -> list[int]:
    """The positions of the rows that did not pass as a whole: the row, each of its grades and its case."""
    positions = []
    for position, row in enumerate(rows):
        outcomes = {grade.outcome for grade in row.grades}
        outcomes.add(row.outcome)
        if row.verdict:
            outcomes.add(row.verdict)
        if outcomes != {Outcome.PASS}:
            positions.append(position)
    return positions


def runs_by_case(rows: Iterable[Row]) -> list[list[Row]]:
    """Group rows in plan order by what is decided together: the runs of a case, and any other row by itself."""
    cases: list[list[Row]] = []
    for row in rows:
        if row.run > 1 and cases and cases[-1][0].key == row.key:
            cases[-1].append(row)
        else:
            cases.append([row])
    return cases


def selects_grade(rule: Rule, row: Row, grade: Grade) -> bool:
    """Whether a rule looks at a grade of a row. It looks at a set in place of the members."""
    if row.suite != rule.suite or not rule.has_verdict_limit:
        return False
    if grade.inner or (rule.blocking and grade.quarantine):
        return False
    return rule.selects(grade.assertion, row.provider, row.description, row.test_metadata)


def counts_case(rule: Rule, row: Row) -> bool:
    """Whether a rule for every case counts a case."""
    if row.suite != rule.suite or not (row.grades or row.error):
        return False
    return row.counts or not rule.blocking


def member_positions(grades: Sequence[Grade], position: int) -> range:
    """The positions of the members of the set at a position: they follow it."""
    end = position + 1
    while end < len(grades) and grades[end].inner:
        end += 1
    return range(position + 1, end)


def leaf_grades(grades: Sequence[Grade], position: int) -> list[Grade]:
    """The members of the set at a position. Any other grade by itself."""
    if not grades[position].assertion.is_set:
        return [grades[position]]
    return [grades[member] for member in member_positions(grades, position)]


def set_position(grades: Sequence[Grade], position: int) -> int:
    """The position of the set that a member belongs to. The position of any other grade stays."""
    while grades[position].inner:
        position -= 1
    return position


def format_value(value: Any, indent: int | None = None) -> str:
    """A value as people read it: text as it is, data as JSON, None as an empty string."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(to_plain_data(value), ensure_ascii=False, indent=indent)
