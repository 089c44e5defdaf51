"""The shape of results.json: what ``gradegate schema results`` publishes, and all that writes or reads the file goes by.

A ``CaseLine`` is also what the parts of a run in shards hold.
"""

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Annotated, Any, Literal

from msgspec.structs import asdict
from pydantic import AfterValidator, BeforeValidator, Field

from gradegate.core.conversation import Image, Turn
from gradegate.core.policy import Note, Select
from gradegate.core.usage import NO_READINGS, Readings, Usage
from gradegate.errors import Origin
from gradegate.files.documents import encodable
from gradegate.results import accounts as account
from gradegate.results.gate_changes import ChangeKind, GateChange
from gradegate.results.grades import Grade
from gradegate.results.history import HistoryReport
from gradegate.results.mapping import SELF, At, Part, finite, keys_of, line, plain, value
from gradegate.results.rows import Row, runs_of
from gradegate.results.run_result import RuleResult
from gradegate.structs import NamedTexts, names


def _is_whole(version: Any) -> Any:
    """In JSON, neither true nor 1.0 is the version 1, although they are equal in Python."""
    if type(version) is not int:
        raise ValueError("is not a whole number")
    return version


def key(words: str, default: Any = ...) -> Any:
    """A key with its words in the schema; one with a default may be missing."""
    return Field(default, description=words)


DAY = 86_400  # seconds
Version = Annotated[Literal[1], BeforeValidator(_is_whole)]
VERSION = 1  # grows when a key changes its meaning or goes away; further keys may join without it
Status = Literal["", "ok", "fixed", "pre-existing", "new-failure", "unsteady", "undecided"]
Count = Annotated[int, Field(ge=0)]
Scale = Annotated[int, Field(ge=1)]
Share = key("From 0 to 1; null when nothing was graded.", None)
# The keys that joined later.
_OF_GRADES = (
    "votes confirmed unconfirmed key definition base undone unheard withheld turns model history "
    "refused_by"
)
_OF_CASES = "key definition base hidden undone withheld took base_took run verdict runs of passed needed base_runs base_passed parties"
_OF_RULES = (
    "pass_rate score min_pass_rate min_score min_cases max_new_failures max_drop new_failures worse better p base_rate "
    "max_cost_increase max_latency_increase cost latency within_noise cases failing_before slack unchanged one_broken three_broken "
    "five_points by_runs max_flaky"
)


@keys_of(Origin)
class SourceLine(Part):
    """A line of the config; 0 means the file as a whole."""


def source_of(origin: Origin | None) -> dict[str, Any] | None:
    """A place in a config as ``source`` has it; None where there is none."""
    return {"file": encodable(origin.file), "line": origin.line} if origin and origin.file else None


class Counted(Part):
    """planned = passed + failed + errored; an error is neither a pass nor a failure."""

    planned: Count
    passed: Count
    failed: Count
    errored: Count
    pass_rate: float | None = Share


@keys_of(Usage, later="cached", without="untimed", alike=True)
class Spent(Part):
    """What calls of one kind took."""

    cost_usd: Annotated[float | None, At("known_cost")] = key(
        "null when the price of any call is unknown."
    )
    known_usd: Annotated[float, At("cost")] = key("Of the calls whose price is known.")
    saved_usd: Annotated[float, At("saved")] = key(
        "What those would have cost, as far as it is known.", 0.0
    )
    readings: Annotated[
        Readings | None,
        At(
            "readings",
            lambda it: None if it == NO_READINGS else it,
            lambda said: said or NO_READINGS,
        ),
    ] = key("null where no reply of a grader was read.", None)


@keys_of(Grade, "assertion", later=_OF_GRADES)
class GradeLine(Part):
    """The word on one assertion of one answer. An error has no score."""

    assertion: Annotated[str, At("assertion.type")]
    expected: Annotated[Any, At("assertion.value", plain)] = None
    set: Annotated[bool, At("assertion.is_set")] = key(
        "Of an assert-set; the grades of its members follow."
    )
    weight: Annotated[float | None, At("assertion.weight", finite, lambda weight: weight or 0.0)]
    source: Annotated[SourceLine | None, At("assertion.origin", source_of)]
    scale: Scale = key("People see the score times this.")
    quarantine: Annotated[
        date | Literal[""], At("quarantine", lambda day: day or "", lambda said: said or None)
    ] = key("The day until which it only advises, as the test is flaky; empty where it counts.", "")
    status: Status = key(
        "Its status against the base; empty without a base, and where it was not settled.", ""
    )


class ImageLine(Part):
    """A document that is a picture, as data URI or URL."""

    image: str


_DOCUMENTS = At(
    "retrieval_context",
    lambda texts: [
        {"image": encodable(text)} if isinstance(text, Image) else encodable(text) for text in texts
    ],
    lambda said: tuple(text if isinstance(text, str) else Image(text.image) for text in said),
)


@keys_of(Turn)
class TurnLine(Part):
    """One message of a conversation."""

    retrieval_context: Annotated[list[str | ImageLine], _DOCUMENTS]


@keys_of(Row, later=_OF_CASES, without="needs test_metadata")
class CaseLine(Part):
    """One answer and its grades: a case, asked of one provider with one prompt, in one repetition."""

    case: Count
    repeat: Count
    seconds: Annotated[float, At("usage.seconds")]
    cost_usd: Annotated[float | None, At("usage.known_cost")]
    tokens: Annotated[int, At("usage.tokens")]
    source: Annotated[SourceLine | None, At("origin", source_of)]
    blocks: Annotated[bool, At(None)] = key("Its failure blocks the run.", False)


class Summary(Counted):
    """The run in figures: the counts are of assertions, those in ``cases`` of cases."""

    planned: Annotated[Count, At("grades.planned")]
    passed: Annotated[Count, At("grades.passed")]
    failed: Annotated[Count, At("grades.failed")]
    errored: Annotated[Count, At("grades.errored")]
    pass_rate: Annotated[float | None, At("grades.pass_rate")] = Share
    cost_usd: Annotated[float | None, At("run.usage.known_cost")] = key(
        "Target and grader together; null when any price is unknown."
    )
    tokens: Annotated[int, At("run.usage.tokens")]
    seconds: Annotated[float, At("run.seconds")]
    cases: Counted
    target: Annotated[Spent, At("run.target_usage")]
    grader: Annotated[Spent, At("run.grader_usage")]


_METADATA = "metadata."


def _patterns(select: Select) -> Iterator[tuple[str, str]]:
    """The patterns by their keys, as a config writes them."""
    yield from ((name, text) for name, text in asdict(select).items() if name != "metadata")
    yield from ((f"{_METADATA}{key}", text) for key, text in select.metadata)


def _select(said: NamedTexts) -> Select:
    """What this version knows of patterns."""
    known = {name: said[name] for name in names(Select) if name in said and name != "metadata"}
    metadata = ((key, text) for key, text in said.items() if key.startswith(_METADATA))
    return Select(
        **known, metadata=tuple((key.removeprefix(_METADATA), text) for key, text in metadata)
    )


_SELECT = At(
    "rule.select",
    lambda select: {name: encodable(text) for name, text in _patterns(select) if text},
    _select,
)


@keys_of(RuleResult, "rule", _OF_RULES, without="bears excused is_default runs")
class RuleLine(Part):
    """One rule applied."""

    passed: Count
    failed: Count
    errored: Count
    select: Annotated[dict[str, str], _SELECT] = key(
        "Patterns of the grades that it looks at; absent ones take everything."
    )
    scale: Annotated[Scale, At("rule.scale")] = key("People see scores times this.")
    source: Annotated[SourceLine | None, At("rule.origin", source_of)] = None


@keys_of(Note)
class NoteLine(Part):
    """Something that the user should know and that does not change the outcome."""

    source: Annotated[SourceLine | None, At("origin", source_of)]


class ChangeLine(Part):
    """One way in which the gate differs from that of the base."""

    kind: Literal["removed", "weaker", "changed"]
    text: str
    file: Annotated[str, At("origin", lambda it: encodable(it.file) if it else "", into=None)] = (
        key("Empty where it is about no file.")
    )
    line: Annotated[int, At("origin", lambda it: it.line if it else 0, into=None)] = key(
        "0 means the file as a whole."
    )


def _read_changes(said: list[ChangeLine]) -> tuple[GateChange, ...]:
    places = (Origin(change.file, change.line) if change.file else None for change in said)
    return tuple(
        GateChange(ChangeKind(change.kind), change.text, place)
        for change, place in zip(said, places, strict=True)
    )


@keys_of(account.Made, later="answers titles options folder only")
class MadeLine(Part):
    """How the results came about."""

    started: Annotated[
        str, AfterValidator(lambda said: said and datetime.fromisoformat(said).isoformat())
    ] = key("UTC, ISO 8601.")
    digest: str = key(
        "Of the configs together: of one its SHA-256, of several that of theirs, sorted, a line each.",
        "",
    )


class BudgetLine(Part):
    """What the run took of what it could take; null means no limit."""

    calls: Annotated[int, At("budget.calls", into="calls")] = key(
        "Requests that were sent to models, each try of a call that failed among them."
    )
    usd: Annotated[float, At("budget.usd", into="usd")] = key(
        "Of the replies whose price is known."
    )
    seconds: float
    max_calls: Annotated[int | None, At("budget.limits.calls", into="limits.calls")] = None
    max_usd: Annotated[float | None, At("budget.limits.usd", into="limits.usd")] = None
    max_seconds: Annotated[float | None, At("budget.limits.seconds", into="limits.seconds")] = None
    used_up: Annotated[str, At("budget.used_up", into="used_up")] = key(
        "The limit that was reached; empty where none was."
    )
    saved_calls: Annotated[int, At("usage.cached")] = key("Replies that came from the cache.")
    saved_usd: Annotated[float, At("usage.saved")]


class CacheLine(Part):
    """What came from the cache of replies."""

    answers: Annotated[int, At("looked_up")] = key(
        "Replies of targets and graders that were looked for."
    )
    from_cache: Annotated[int, At("hits")]
    oldest_days: Annotated[
        float | None,
        At(
            SELF,
            lambda cache: round(cache.oldest / DAY, 2) if cache.hits else None,
            lambda days: (days or 0.0) * DAY,
            "oldest",
        ),
    ] = key("null where nothing came from it.")
    saved_usd: float


class RunsLine(Part):
    """Cases of which several runs count together: how many, the runs that were made, and how many there could be at most."""

    cases: Count
    made: Count
    most: Count


def _runs(rows: Iterable[Row]) -> dict[str, int] | None:
    cases = [case for case in runs_of(rows) if case[0].verdict]
    return (
        {
            "cases": len(cases),
            "made": sum(map(len, cases)),
            "most": sum(case[0].of for case in cases),
        }
        if cases
        else None
    )


class Head(Part):
    """All of the results but the cases."""

    version: Annotated[Version, At(None)]
    made: Annotated[MadeLine, At("run.made")]
    commit: Annotated[str, At("run.made.commit", into=None)] = key(
        "What was checked out; empty where that is not known.", ""
    )
    outcome: Literal["pass", "advisory", "blocked", "inconclusive", "not-run"]
    reason: str
    summary: Annotated[Summary, At(SELF)]
    rules: list[RuleLine]
    notes: Annotated[
        list[NoteLine],
        At("run.notes", lambda notes: [line(NoteLine, note) for note in dict.fromkeys(notes)]),
    ]
    interrupted: Annotated[str, At("run.interrupted")] = key(
        "Why the run stopped early; empty when it did not."
    )
    incomplete: Annotated[str, At("run.incomplete")] = key(
        "What is wrong with the parts of a run in shards; empty otherwise.", ""
    )
    models: Annotated[
        list[str],
        At("run.models", lambda models: [encodable(str(model)) for model in models], into=None),
    ]
    asked: Annotated[list[account.AskedModel], At("run.models")] = key(
        "The models, each in its parts."
    )
    keys: Annotated[list[account.KeyUse], At("run.keys")] = key(
        "What left the environment, and where it went.", []
    )
    hidden: Annotated[list[str], At("run.hidden")] = key(
        "The variables with values that no report shows.", []
    )
    setup: bool = key("Inconclusive because of a wrong key or model.")
    gate_changes: Annotated[list[ChangeLine], At("changes.found", read=_read_changes)] = key(
        "What the pull request does to its own gate, where there is a base to compare with.", []
    )
    gate_approved: Annotated[str, At("changes.approved")] = key(
        "By what and whom the changes of the gate were approved.", ""
    )
    budget: Annotated[
        BudgetLine | None,
        At("run", lambda run: line(BudgetLine, run) if run.budget else None, into="run.budget"),
    ] = None
    cache: Annotated[CacheLine | None, At("run.cache")] = key("null where the run had none.", None)
    runs: Annotated[RunsLine | None, At("run.rows", _runs, into=None)] = key(
        "null where no case has runs.", None
    )
    confirm: Annotated[account.ReaskReport | None, At("run.reask")] = key(
        "What the re-asks of failures found.", None
    )
    baseline: Annotated[account.BaselineReport | None, At("run.baseline")] = key(
        "null where there is nothing to compare with.", None
    )
    history: Annotated[HistoryReport | None, At("run.history")] = key(
        "null where the run had none.", None
    )
    sentinels: Annotated[account.LabelsReport | None, At("run.labels")] = key(
        "What graders say of labelled outputs; null where none were asked.", None
    )
    derived_metrics: Annotated[list[account.DerivedMetric], At("run.derived")] = key(
        "Of each provider and prompt, in order.", []
    )
    links: Annotated[dict[str, str], At(None)] = key(
        "On GitHub: server, repository, commit and run.", {}
    )
    about: Annotated[dict[str, dict[str, Any]], At("run.about")] = key(
        "What a dialect keeps of a config, by its file."
    )


class Results(Head):
    """One run of gradegate."""

    cases: Annotated[
        list[CaseLine], At("run.rows", read=lambda cases: tuple(value(Row, case) for case in cases))
    ]
