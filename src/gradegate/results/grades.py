"""What came of it: verdicts, grades, answers with their grades, and the decision; frozen, without input or output."""

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Struct, field

from gradegate.core.conversation import NO_USAGE, Increase, Took, Transcript, Turn, Usage
from gradegate.core.suite import NOWHERE, CaseRuns, Held, Note, Rule
from gradegate.errors import Origin
from gradegate.results import accounts as account
from gradegate.structs import Readable


class Outcome(enum.Enum):
    """What a grade, a case or a rule came to."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"  # no verdict: never a pass, never a quality failure


class GateOutcome(enum.Enum):
    """What the gate decided about the whole run."""

    PASS = "pass"
    ADVISORY = "advisory"  # passes, with something to read
    BLOCKED = "blocked"
    INCONCLUSIVE = "inconclusive"  # too many errors to decide
    NOT_RUN = "not-run"  # the keys are not there, and nobody here could have given them: nothing was asked


class Verdict(Struct, frozen=True):
    """What a grader found, before thresholds, ``not-`` and weights."""

    score: float  # usually 0 to 1
    passed: bool | None = None  # the grader's own word, None where only the score decides
    reason: str = ""
    evidence: Mapping[str, Any] = {}
    unread: str = ""  # a score that the reply has and that is not a number: no mean may be taken over what replaces it
    reverse: "Verdict | None" = None  # what ``not-`` turns round, where it is another one than this
    turns: tuple[int, ...] = ()  # of a conversation, from 1: those that lowered the score
    broken: bool = (
        False  # code threw on the answer, or gave no verdict: a failure, under ``not-`` too
    )


class Asserted(Held, Struct, frozen=True):
    """What was asserted, as rules and reports need it: no model, no key. ``value`` is filled in."""

    type: str
    value: Any = None
    weight: float = 1.0
    metric: str = ""
    blocking: bool = True
    config: Mapping[str, Any] = {}
    model_slug: str = ""
    is_set: bool = False
    origin: Origin = NOWHERE
    key: Annotated[bytes, "What the grade is called among those of its answer, in every run."] = b""
    definition: Annotated[
        bytes, "SHA-256 of what is asked for: equal where two runs ask the same."
    ] = b""


class Vote(Readable, frozen=True):
    """What one ask of a grade said, and the model that said it. An ERROR counts for neither side."""

    outcome: Outcome
    score: float | None = None
    reason: str = ""
    model: str = ""


class Counterpart(Readable, frozen=True):
    """What the base says of the same: in the end, and when it was asked first."""

    outcome: Outcome
    first: Outcome


class Grade(Struct, frozen=True):
    """The final word on one assertion of one answer. An ERROR has no score."""

    assertion: Asserted
    outcome: Outcome
    score: float | None = None
    threshold: float | None = None  # the one that was applied, None when there was none
    reason: str = ""
    evidence: Mapping[str, Any] = {}
    usage: Usage = NO_USAGE
    setup: Annotated[bool, "An error that only the user can fix, such as a wrong key."] = False
    inner: Annotated[bool, "Of a member of an assert-set, whose own grade decides."] = False
    scale: Annotated[int, "People see the score times this."] = 1
    unread: Annotated[str, "The score as the grader wrote it, where that is not a number."] = ""
    most: Annotated[
        bool, "The threshold is a limit from above on what was measured, not on the score."
    ] = False
    votes: Annotated[tuple[Vote, ...], "Every ask in order, if there was more than one."] = ()
    confirmed: Annotated[
        bool | None, "Whether re-asks confirmed its failure; null if it was not re-asked."
    ] = None
    unconfirmed: Annotated[
        bool, "It failed once and could have been re-asked, but was not re-asked to the end."
    ] = False
    status: Annotated[
        str, "Its status against the base; empty without a base, and where it was not settled."
    ] = ""
    base: Annotated[Counterpart | None, "null where the base has nothing to compare with."] = None
    undone: Annotated[bool, "An error because a budget or a signal ended the run before."] = False
    unheard: Annotated[
        bool,
        "An error because no answer came: no connection, busy or down after all retries, or nothing in time.",
    ] = False
    withheld: Annotated[
        bool, "An error because a model was not called, or its reply cannot be used."
    ] = False
    turns: Annotated[
        tuple[int, ...], "Of a conversation, from 1: those that the failure is about."
    ] = ()
    model: Annotated[
        str, "The model that graded it first, as its reply names it; empty where it names none."
    ] = ""
    history: Annotated[
        account.PastVotes | None,
        "Earlier runs of the default branch; null where none of them counts.",
    ] = None
    quarantine: Annotated[
        str, "The day until which it only advises, as the test is flaky; empty where it counts."
    ] = ""

    @property
    def counts(self) -> bool:
        """Whether the grade takes part in deciding: its assertion does, and no set decides in its place."""
        return self.assertion.counts and not self.inner and not self.quarantine

    @property
    def metric(self) -> str:
        """The name under which rules and reports know it; empty when it has none."""
        return self.assertion.metric


class Row(Struct, frozen=True):
    """One answer and its grades: a case, asked of one target with one prompt, in one repetition."""

    suite: str
    description: str
    provider: str
    prompt_label: str
    prompt: Annotated[str, "As it was sent, with the variables filled in."]
    vars: Mapping[str, Any]
    outcome: Outcome
    output: Annotated[str | None, "null when the provider gave no answer; error says why."] = None
    error: str = ""
    grades: tuple[Grade, ...] = ()
    score: Annotated[float | None, "The weighted mean of the grades that count."] = None
    threshold: Annotated[float | None, "The case's own."] = None
    reason: Annotated[str, "Where the case's own threshold decided."] = ""
    usage: Usage = NO_USAGE  # the target's
    case: int = 0  # number of the case in its suite: rows of one case are compared by select-best
    repeat: int = 0
    turns: Annotated[
        tuple[Turn, ...], "The conversation where there is more than a prompt and an answer."
    ] = ()
    metadata: Annotated[
        Mapping[str, Any], "What the provider returned with the answer: tool calls, finish reason."
    ] = field(default_factory=dict)
    origin: Origin = NOWHERE
    key: Annotated[bytes, "What the answer is called in every run."] = b""
    definition: Annotated[bytes, "SHA-256 of what the case gives and asks for."] = b""
    base: Annotated[Outcome | None, "What the base says of the case; null where it has none."] = (
        None
    )
    hidden: Annotated[bool, "A secret is hidden in what was graded."] = False
    undone: Annotated[
        bool, "There is no output because a budget or a signal ended the run before."
    ] = False
    withheld: Annotated[
        bool, "There is no output because the target was not called, or its reply cannot be used."
    ] = False
    took: Annotated[
        Took | None, "The first answer; null where the target was not asked for it in this run."
    ] = None
    base_took: Annotated[Took | None, "That of the base, by the same definition."] = None
    needs: CaseRuns | None = None  # what the runs of its case are held to
    run: Annotated[
        int, "The number of the run, from 1; 0 where the runs of the case are not counted together."
    ] = 0
    verdict: Annotated[
        Outcome | None, "The outcome of all runs of the case, in each of its rows."
    ] = None
    runs: Annotated[int, "The number of runs of the case."] = 0
    of: Annotated[int, "The most runs that it may have."] = 0
    passed: Annotated[int, "Runs that passed."] = 0
    needed: Annotated[int, "Runs that must pass."] = 0
    base_runs: Annotated[
        int, "The runs of the case on the base; 0 where they were not counted together."
    ] = 0
    base_passed: int = 0

    @property
    def ran(self) -> str:
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


def runs_of(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows in plan order by what is decided together: the runs of a case, and any other row alone."""
    cases: list[list[Row]] = []
    for row in rows:
        if row.run > 1 and cases and cases[-1][0].key == row.key:
            cases[-1].append(row)
        else:
            cases.append([row])
    return cases


class RunResult(Struct, frozen=True):
    """Everything that was planned, in plan order; what was not run is there as ERROR."""

    rows: tuple[Row, ...]  # in plan order, repetitions of a case together
    target_usage: Usage = NO_USAGE
    grader_usage: Usage = NO_USAGE
    interrupted: str = ""  # why the run stopped early, empty when it did not
    incomplete: str = (
        ""  # what is wrong with the parts of a run in shards: such a run is never green
    )
    notes: tuple[Note, ...] = ()
    seconds: float = 0.0
    models: tuple[account.AskedModel, ...] = ()  # targets and graders
    keys: tuple[account.KeyUse, ...] = ()  # what left the environment, and where it went
    hidden: tuple[str, ...] = ()  # the variables whose values no report shows
    about: Mapping[str, Mapping[str, Any]] = {}  # of suites, by file
    made: account.Made = field(default_factory=account.Made)
    budget: account.BudgetReport | None = None
    cache: account.CacheReport | None = None  # None where no cache was asked for
    confirm: account.ConfirmReport | None = None
    baseline: account.BaselineReport | None = None  # None where there is nothing to compare with
    derived: tuple[account.DerivedMetric, ...] = ()
    history: account.HistoryReport | None = None  # None where the run had none
    sentinels: account.SentinelReport | None = None  # None where none were asked
    powers: "tuple[Power, ...]" = ()  # of all rules of all policies, in order

    @property
    def usage(self) -> Usage:
        """What targets and graders took together."""
        return self.target_usage + self.grader_usage


class Power(Struct, frozen=True, kw_only=True):
    """What a blocking rule cannot see, known before the run; chances that it blocks, from 0 to 1. None: nothing is said of it."""

    cases: Annotated[int | None, "The number of cases or assertions that it counts."] = None
    failing_before: Annotated[int | None, "Those that fail in the baseline."] = None
    slack: Annotated[
        int | None, "How many more may break before it blocks; below 0: it is missed already."
    ] = None
    unchanged: Annotated[
        float | None, "The chance that it blocks a pull request that changes nothing."
    ] = None
    one_broken: Annotated[float | None, "The chance that it blocks where 1 case is broken."] = None
    three_broken: float | None = None
    five_points: Annotated[
        float | None, "The chance that it blocks where 5 % of the cases are broken."
    ] = None

    @property
    def drop(self) -> int:
        """How many of its cases 5 % are."""
        return -(-(self.cases or 0) // 20)


NO_POWER = Power()


class RuleResult(Power, frozen=True):
    """One rule applied. ``pass_rate`` and ``score`` are None when nothing that it selects was graded."""

    rule: Rule
    outcome: Outcome
    reason: str
    passed: int = 0
    failed: int = 0
    errored: int = 0
    pass_rate: Annotated[float | None, "From 0 to 1; null when nothing was graded."] = None
    score: float | None = None
    low: Annotated[float | None, "The interval of the pass rate, where the rule asks for one."] = (
        None
    )
    high: float | None = None
    base_rate: Annotated[
        float | None, "The pass rate on the base of what both have; null without a base."
    ] = None
    new_failures: Annotated[int | None, "Cases that fail here and not on the base."] = None
    worse: Annotated[int | None, "Cases that passed on the base and fail here."] = None
    better: Annotated[int | None, "Cases that failed on the base and pass here."] = None
    p: Annotated[
        float | None, "The chance of this many worse cases if worse and better were equally likely."
    ] = None
    cost: Annotated[
        Increase | None, "An answer in US dollars, if the rule limits it against the base."
    ] = None
    latency: Annotated[Increase | None, "An answer in seconds."] = None
    within_noise: Annotated[
        bool, "Met, since noise may explain that cost or latency are above the limit."
    ] = False
    bears: bool = (
        False  # met even if each answer on which the grader contradicts itself is a new failure
    )


def takes(rule: Rule, row: Row, grade: Grade) -> bool:
    """Whether a rule looks at a grade of a row: in place of members, at their set."""
    looks = (
        row.suite == rule.suite
        and rule.judges
        and not grade.inner
        and not (rule.blocking and grade.quarantine)
    )
    return looks and rule.selects(grade.assertion, row.provider, row.description)


def counted(rule: Rule, row: Row) -> bool:
    """Whether a rule for every case counts a case of its suite."""
    return (
        row.suite == rule.suite
        and bool(row.grades or row.error)
        and (row.counts or not rule.blocking)
    )


class Counts(Struct, frozen=True):
    """planned = passed + failed + errored, always."""

    passed: int = 0
    failed: int = 0
    errored: int = 0

    @property
    def planned(self) -> int:
        """Everything that was to be done."""
        return self.passed + self.failed + self.errored

    @property
    def pass_rate(self) -> float | None:
        """Passed over graded, None when nothing was graded. Errors are counted apart."""
        graded = self.passed + self.failed
        return self.passed / graded if graded else None


class Decision(Struct, frozen=True):
    """The verdict on the run and all that the reports show."""

    outcome: GateOutcome
    reason: str  # one sentence
    rules: tuple[RuleResult, ...]
    run: RunResult
    grades: Counts  # assertions
    cases: Counts
    setup: bool = False  # inconclusive because of a wrong key or model: exit code 2
    changes: account.GateChanges = account.NO_CHANGES  # what the pull request does to its own gate
    blocking: frozenset[int] = (
        frozenset()
    )  # places among the rows of the run: their failures are why it is blocked


def unconfirmed(row: Row) -> bool:
    """Whether a row has failures that count, and each of them was left unconfirmed."""
    open_ = left_open(row)
    if not open_:
        return False
    if row.outcome is Outcome.FAIL:
        return bool(open_in_case(row, open_))
    failing = [
        place
        for place, grade in enumerate(row.grades)
        if grade.counts and grade.outcome is Outcome.FAIL
    ]
    return bool(failing) and all(open_in_grade(row.grades, place, open_) for place in failing)


def left_open(row: Row) -> frozenset[int]:
    """The positions of grades that the run left unconfirmed."""
    return frozenset(place for place, grade in enumerate(row.grades) if grade.unconfirmed)


def open_in_case(row: Row, open_: Collection[int]) -> list[int]:
    """The open grades of a case that fails by nothing else; where its own threshold decides, all of them."""
    if row.outcome is not Outcome.FAIL or not open_:
        return []
    if row.threshold is not None:
        return sorted(open_)
    places: list[int] = []
    for position, grade in enumerate(row.grades):
        if grade.counts and grade.outcome is Outcome.FAIL:
            found = open_in_grade(row.grades, position, open_)
            if not found:
                return []
            places += found
    return places


def open_in_grade(grades: Sequence[Grade], position: int, open_: Collection[int]) -> list[int]:
    """A grade itself, or the open members of a set that fails by nothing else."""
    grade = grades[position]
    if grade.outcome is not Outcome.FAIL or not open_:
        return []
    if not grade.assertion.is_set:
        return [position] if position in open_ else []
    failing = [
        place
        for place in members(grades, position)
        if grades[place].outcome is Outcome.FAIL and grades[place].assertion.counts
    ]
    found = [place for place in failing if place in open_]
    return found if grade.threshold is not None or len(found) == len(failing) else []


def members(grades: Sequence[Grade], position: int) -> range:
    """The positions of the members of the set at a position: they follow it."""
    end = position + 1
    while end < len(grades) and grades[end].inner:
        end += 1
    return range(position + 1, end)


def parts(grades: Sequence[Grade], position: int) -> list[Grade]:
    """The grades that the one at a position is made of: the members of a set, else itself."""
    return (
        [grades[place] for place in members(grades, position)]
        if grades[position].assertion.is_set
        else [grades[position]]
    )


def chief(grades: Sequence[Grade], position: int) -> int:
    """The position of the set that a member belongs to, of any other grade its own."""
    while grades[position].inner:
        position -= 1
    return position
