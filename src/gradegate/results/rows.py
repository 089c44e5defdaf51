"""One case of a run as every report shows it, with its grades, and which of its grades are open."""

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, field

from gradegate.core.conversation import Transcript, Turn, Variables
from gradegate.core.policy import CaseRuns, Rule
from gradegate.core.provider_spec import NOWHERE
from gradegate.core.usage import NO_USAGE, Took, Usage
from gradegate.errors import Origin
from gradegate.results.encoding import to_plain_data
from gradegate.results.grades import Grade, Outcome, WithOutcome
from gradegate.security.redaction import shorten_line
from gradegate.structs import Count, FrozenStruct, JsonObject


class AnswerId(NamedTuple):
    """An answer of a plan. Ids sort in plan order."""

    case: int  # the index of its planned case
    repeat: int


class GradeId(NamedTuple):
    """A grade of an answer. Ids sort in plan order."""

    answer: AnswerId
    position: int


class Row(WithOutcome, FrozenStruct):
    """One answer and its grades: a case, asked of one target with one prompt, in one repetition."""

    suite: str
    description: str
    provider: str
    prompt_label: str
    prompt: Annotated[str, Meta(description="As it was sent, with the variables filled in.")]
    vars: Variables
    outcome: Outcome
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
    usage: Usage = NO_USAGE  # the target's
    case: Count = 0  # number of the case in its suite: rows of one case are compared by select-best
    repeat: Count = 0
    turns: Annotated[
        tuple[Turn, ...],
        Meta(description="The conversation where there is more than a prompt and an answer."),
    ] = ()
    metadata: Annotated[
        JsonObject,
        Meta(description="What the provider returned with the answer: tool calls, finish reason."),
    ] = field(default_factory=dict)
    origin: Origin = NOWHERE
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
    took: Annotated[
        Took | None,
        Meta(
            description="The first answer; null where the target was not asked for it in this run."
        ),
    ] = None
    base_took: Annotated[
        Took | None, Meta(description="That of the base, by the same definition.")
    ] = None
    test_metadata: JsonObject = field(default_factory=dict)  # the test's own
    needs: CaseRuns | None = None  # what the runs of its case are held to
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
        """``passed 2 of 3 runs``, ``failed: 1 of 3 runs passed, 2 needed``: what the runs of its case came to."""
        runs = f"{self.runs} run{'' if self.runs == 1 else 's'}"
        there = (
            f"; on the base {self.base_passed} of {self.base_runs} passed" if self.base_runs else ""
        )
        if self.verdict is Outcome.PASS:
            return f"passed {self.passed} of {runs}{there}"
        if self.verdict is Outcome.FAIL:
            return f"failed: {self.passed} of {runs} passed, {self.needed} needed{there}"
        if self.passed + self.of - self.runs >= self.needed:  # of a live target there would be more
            return f"error: {self.runs} of {self.of} runs recorded, {self.passed} passed{there}"
        return f"error: {self.passed} of {runs} passed, {self.needed} needed{there}"

    @property
    def counts(self) -> bool:
        """Whether the case takes part in deciding: an assertion of it counts, or nothing was asserted of it."""
        return not self.grades or any(grade.counts for grade in self.grades)

    @property
    def transcript(self) -> Transcript:
        """What its graders saw, so that it can be graded again."""
        answer = Turn("assistant", self.output or "", metadata=self.metadata)
        turns = self.turns or (Turn("user", self.prompt), answer)
        return Transcript(
            self.prompt, turns, self.vars, self.usage, self.metadata, target=self.provider
        )


_NAME, _VALUE = 160, 40  # characters of a name, and of a variable in it
_VARIABLES = 4  # that a name shows


def name_case(description: str, variables: Variables, number: int) -> str:
    """Name a case by its description, else by its first variables, else by its number, which counts from 0.

    The only place that names a case. The name is one line, and not escaped.
    """
    return shorten_line(description, _NAME) or name_variables(variables) or f"case {number + 1}"


def name_variables(variables: Variables) -> str:
    """The first variables of a case in one line: ``q=hello, k=1``."""
    values = list(variables.items())[:_VARIABLES]
    pairs = [f"{key}={shorten_line(format_value(value), _VALUE)}" for key, value in values]
    return shorten_line(", ".join(pairs), _NAME)


def case_name(row: Row) -> str:
    """The name of a row's case, and which of its repeats the row is."""
    name = name_case(row.description, row.vars, row.case)
    if row.repeat:
        name += f" ({'run' if row.run else 'repeat'} {row.repeat + 1})"
    return name


def positions_not_passed(rows: Iterable[Row]) -> list[int]:
    """The places of the rows that did not pass, of which an assertion did not, or whose case has no verdict."""
    places = []
    for place, row in enumerate(rows):
        outcomes = {row.outcome, row.verdict or row.outcome, *(it.outcome for it in row.grades)}
        if outcomes != {Outcome.PASS}:
            places.append(place)
    return places


def runs_by_case(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows in plan order by what is decided together: the runs of a case, and any other row alone."""
    cases: list[list[Row]] = []
    for row in rows:
        if row.run > 1 and cases and cases[-1][0].key == row.key:
            cases[-1].append(row)
        else:
            cases.append([row])
    return cases


def selects_grade(rule: Rule, row: Row, grade: Grade) -> bool:
    """Whether a rule looks at a grade of a row: in place of members, at their set."""
    looks = (
        row.suite == rule.suite
        and rule.has_verdict_limit
        and not grade.inner
        and not (rule.blocking and grade.quarantine)
    )
    return looks and rule.selects(grade.assertion, row.provider, row.description, row.test_metadata)


def counts_case(rule: Rule, row: Row) -> bool:
    """Whether a rule for every case counts a case of its suite."""
    return (
        row.suite == rule.suite
        and bool(row.grades or row.error)
        and (row.counts or not rule.blocking)
    )


def is_unconfirmed(row: Row) -> bool:
    """Whether a row has failures that count, and each of them was left unconfirmed."""
    open_ = unconfirmed_positions(row)
    if not open_:
        return False
    if row.has_failed:
        return bool(open_in_case(row, open_))
    failing = [place for place, grade in enumerate(row.grades) if grade.counts and grade.has_failed]
    return bool(failing) and all(open_in_grade(row.grades, place, open_) for place in failing)


def unconfirmed_positions(row: Row) -> frozenset[int]:
    """The positions of grades that the run left unconfirmed."""
    return frozenset(place for place, grade in enumerate(row.grades) if grade.unconfirmed)


def open_in_case(row: Row, open_: Collection[int]) -> list[int]:
    """The open grades of a case that fails by nothing else; where its own threshold decides, all of them."""
    if not row.has_failed or not open_:
        return []
    if row.threshold is not None:
        return sorted(open_)
    places = []
    for position, grade in enumerate(row.grades):
        if grade.counts and grade.has_failed:
            found = open_in_grade(row.grades, position, open_)
            if not found:
                return []
            places += found
    return places


def open_in_grade(grades: Sequence[Grade], position: int, open_: Collection[int]) -> list[int]:
    """A grade itself, or the open members of a set that fails by nothing else."""
    grade = grades[position]
    if not grade.has_failed or not open_:
        return []
    if not grade.assertion.is_set:
        return [position] if position in open_ else []
    failing = [
        place
        for place in member_positions(grades, position)
        if grades[place].has_failed and grades[place].assertion.counts
    ]
    found = [place for place in failing if place in open_]
    return found if grade.threshold is not None or len(found) == len(failing) else []


def member_positions(grades: Sequence[Grade], position: int) -> range:
    """The positions of the members of the set at a position: they follow it."""
    end = position + 1
    while end < len(grades) and grades[end].inner:
        end += 1
    return range(position + 1, end)


def leaf_grades(grades: Sequence[Grade], position: int) -> list[Grade]:
    """The grades that the one at a position is made of: the members of a set, else itself."""
    return (
        [grades[place] for place in member_positions(grades, position)]
        if grades[position].assertion.is_set
        else [grades[position]]
    )


def set_position(grades: Sequence[Grade], position: int) -> int:
    """The position of the set that a member belongs to, of any other grade its own."""
    while grades[position].inner:
        position -= 1
    return position


def format_value(value: Any, indent: int | None = None) -> str:
    """A value as people read it: text as it is, data as JSON, nothing as an empty string."""
    if value is None:
        return ""
    return (
        value
        if isinstance(value, str)
        else json.dumps(to_plain_data(value), ensure_ascii=False, indent=indent)
    )
