"""The account of a run: how it was made, which models were called, and figures for budget, cache, re-asks and base. Frozen values."""

import enum
import hashlib
from collections.abc import Mapping
from typing import Annotated, NamedTuple, Self

from gradegate.core.conversation import Increase
from gradegate.core.numbers import many
from gradegate.core.suite import NO_LIMITS, NOISE, Limits
from gradegate.errors import Origin
from gradegate.structs import Readable, Struct, replace


class Made(Struct, frozen=True):
    """How results came about."""

    tool: Annotated[str, "The version of gradegate."] = ""
    commit: Annotated[str, "What was checked out; empty where that is not known."] = ""
    started: Annotated[str, "UTC, ISO 8601."] = ""
    configs: Annotated[Mapping[str, str], "SHA-256 of each config, by its file."] = {}
    answers: Annotated[
        Mapping[str, str],
        "SHA-256 of each file with recorded answers, by its name; empty where targets were asked.",
    ] = {}
    titles: Annotated[
        Mapping[str, str], "The description of each config that has one, by its file."
    ] = {}
    options: Annotated[
        tuple[str, ...], "With a config, arguments of `gradegate run` that ask the same."
    ] = ()
    folder: Annotated[str, "Where to run it, relative to the root of the repository."] = ""
    only: Annotated[
        str,
        "Which part of the gate was run, such as the failures of an earlier run; empty for all of it.",
    ] = ""

    @property
    def digest(self) -> str:
        """Of one config its SHA-256, of several what ``sha256sum FILES | cut -c1-64 | sort | sha256sum`` gives; empty without."""
        digests = sorted(self.configs.values())
        if len(digests) < 2:
            return "".join(digests)
        return hashlib.sha256(
            "".join(f"{digest}\n" for digest in digests).encode("utf-8", "surrogatepass")
        ).hexdigest()


class AskedModel(Readable, frozen=True):
    """A target or grader of a run; ``replies_from`` is "model", "program" (code of the repository), "file" or "prompt"."""

    name: str
    host: str = ""  # empty when nothing left the machine
    replies_from: str = "model"
    chosen: str = ""  # what it is for, where no model of its kind is named
    grades: Annotated[bool, "Whether it grades."] = False

    def __str__(self) -> str:
        return f"{self.name} at {self.host}" if self.host else self.name


class KeyUse(Readable, frozen=True):
    """A variable of the environment whose value goes to a host."""

    name: str
    host: str

    def __str__(self) -> str:
        return f"{self.name} -> {self.host}"


class BudgetReport(Readable, frozen=True):
    """What a run could take, and what it took: requests that were sent, and the dollars that are known of."""

    limits: Limits = NO_LIMITS
    calls: int = 0
    usd: float = 0.0
    used_up: str = ""  # the limit that was reached, as people read it: "2000 calls"


class CacheReport(Readable, frozen=True):
    """What came from the cache of replies: ``hits`` of ``looked_up`` questions, the oldest reply so many seconds old."""

    looked_up: int = 0
    hits: int = 0
    oldest: float = 0.0
    saved_usd: float = 0.0


class ConfirmReport(Readable, frozen=True):
    """What asking again came to. ``grades`` may be asked again; ``asks`` are all of theirs, the first included.

    ``lead``: by so many votes failures had to lead. Of the ``asked_again``, ``overturned`` pass, ``confirmed`` fail and the
    ``undecided`` are errors; ``not_asked_again`` failed, and no rule needed to know more: of these, ``pre_existing`` fail on
    the base, too, and only rules that look at the base take them.
    """

    mode: str = "off"
    noise: float = NOISE
    lead: int = 0
    grades: int = 0
    asked_again: int = 0
    overturned: int = 0
    confirmed: int = 0
    undecided: int = 0
    not_asked_again: int = 0
    asks: int = 0
    pre_existing: int = 0


class BaselineReport(Readable, frozen=True):
    """The run beside its base, in cases. ``removed`` names those of the base that the run does not have.

    ``commit`` is empty and ``age_days`` None where that is not known; ``fresh``: the base was asked in the same run.
    """

    commit: str = ""
    age_days: int | None = None
    compared: int = 0
    new_failures: int = 0
    pre_existing: int = 0
    fixed: int = 0
    unsteady: int = 0
    undecided: int = 0
    new: int = 0
    removed: tuple[str, ...] = ()
    fresh: bool = False
    cost: Increase | None = None
    latency: Increase | None = None


class SentinelAsk(Readable, frozen=True):
    """What a grader said of a labelled output; ``passed`` is None where it gave no verdict, ``label`` what a person says."""

    model: str  # as the reply names it
    label: bool
    passed: bool | None
    undone: bool = False  # a budget or a signal ended the run before all of them were graded


class GraderCheck(Readable, frozen=True):
    """One grader beside the labels."""

    model: Annotated[str, "As its replies name it."]
    verdicts: int
    agree: int
    p: Annotated[float | None, "The chance of so few, had it not moved; null below 5 verdicts."] = (
        None
    )
    moved: bool = False
    lenient: Annotated[int, "Outputs labelled `fail` that it passed."] = 0


class SentinelReport(Readable, frozen=True):
    """What graders say of the sentinels: labelled outputs that show whether a grader has moved."""

    verdicts: int = 0
    agree: int = 0
    agreement: Annotated[float, "How often graders agreed with labels when that was measured."] = (
        0.0
    )
    p: Annotated[
        float | None, "Of the grader that is least likely not to have moved; null below 5 verdicts."
    ] = None
    moved: Annotated[bool, "At p of at most 0.01."] = False
    graders: tuple[GraderCheck, ...] = ()
    undone: Annotated[
        bool,
        "The run ended before all of them were graded: none counts, and no rule is missed by these graders.",
    ] = False


class DerivedMetric(Readable, frozen=True):
    """A metric worked out of others, over ``answers`` with known grades, ``left_out`` without; ``error`` where no ``value``."""

    name: str
    suite: str
    provider: str
    prompt_label: str
    value: float | None = None
    error: str = ""
    answers: int = 0
    left_out: int = 0


LEAST = 10  # votes from which a history is used, and anything is said of a case


class PastRun(Struct, frozen=True):
    """One run's asks of a grade."""

    at: str  # a date: 2026-11-22
    commit: str
    model: str  # as the grader's reply names it
    votes: str  # a P, F or E for each
    outcome: str  # pass, fail, error or open
    request: str  # a hash of what the target was asked


class GradeRecord(Struct, frozen=True):
    """A grade with its runs, oldest first."""

    name: str  # for people
    runs: tuple[PastRun, ...]


Records = Mapping[str, GradeRecord]  # by the identity of the grade


class History(Struct, frozen=True):
    """A file of earlier runs, as the user named it."""

    file: str
    records: Records = {}


class PastVotes(Readable, frozen=True):
    """What earlier runs say of a grade, and what the asks of this run make of it."""

    fails: Annotated[int, "FAIL votes of earlier runs by the same model."] = 0
    passes: Annotated[int, "PASS votes of these runs."] = 0
    model: Annotated[str, "The model that gave this run's first vote, as its reply names it."] = ""
    flaky: Annotated[bool, "Of at least 10 votes, 5 to 95 % fail."] = False
    bayes_factor: Annotated[
        float | None,
        "How much likelier this run's votes are if the case is broken; null where L decides.",
    ] = None

    @property
    def before(self) -> str:
        """Say ``14 of 60 before`` where the history decides; else an empty string."""
        return (
            ""
            if self.bayes_factor is None
            else f"{self.fails} of {self.fails + self.passes} before"
        )


class HistoryReport(Readable, frozen=True):
    """The history that a run had: ``grades`` were in it, and ``used`` of them decided when asking again ends."""

    file: str = ""
    commit: Annotated[str, "Of the newest run in it."] = ""
    grades: int = 0
    used: int = 0
    flaky: int = 0
    comes_and_goes: int = 0


class ChangeKind(enum.Enum):
    """How much a finding means: the first two make a gate easier to pass, the last may."""

    REMOVED = "removed"
    WEAKER = "weaker"
    CHANGED = "changed"


class GateChange(Struct, frozen=True):
    """One way in which the gate differs from that of the base, at its line."""

    kind: ChangeKind
    text: str
    origin: Origin | None = None


class GateChanges(Struct, frozen=True):
    """All findings, what is gone first. With ``block`` they fail the check, unless somebody ``approved`` them."""

    found: tuple[GateChange, ...] = ()
    block: bool = False
    approved: str = ""  # by what and whom, empty where nobody did
    refused: str = ""  # why an approval does not hold

    @property
    def parts(self) -> tuple[Self, Self]:
        """What makes the gate easier to pass, and what only changes it."""
        worse, other = (
            tuple(it for it in self.found if (it.kind is ChangeKind.CHANGED) is only)
            for only in (False, True)
        )
        return replace(self, found=worse), replace(self, found=other)

    @property
    def weakened(self) -> bool:
        """Whether any finding makes the gate easier to pass."""
        return any(change.kind is not ChangeKind.CHANGED for change in self.found)


NO_CHANGES = GateChanges()
GUARD = "the gate is not weakened"  # the rule that is missed when the findings fail the check


def done(changes: GateChanges) -> str:
    """Say ``this pull request weakens its own gate in 2 places``."""
    verb, told = ("weakens", changes.parts[0]) if changes.weakened else ("changes", changes)
    return f"this pull request {verb} its own gate in {many(len(told.found), 'place')}"


def guarded(changes: GateChanges) -> str:
    """Why the guard is missed: what is done, and the first finding."""
    return f"{done(changes)}: {changes.found[0].text}" if changes.found else ""


class Approval(NamedTuple):
    """The word of a person on the findings."""

    by: str = ""  # by what and whom, empty where none holds
    why: str = ""  # why not
