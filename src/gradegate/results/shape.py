"""The shape of results.json: what ``gradegate schema results`` publishes, and all that writes or reads the file goes by."""

from dataclasses import asdict, fields
from typing import Annotated, Any, Literal

from pydantic import Field

from gradegate.errors import Origin
from gradegate.results.jsonable import encodable
from gradegate.results.mapping import SELF, At, keys_of, line, value
from gradegate.results.rows import CaseLine, Count, Counted, Part, Scale, Share, SourceLine, Spent, Version, source_of
from gradegate.values.account import AskedModel, BaselineReport, BudgetReport, ConfirmReport, DerivedMetric, KeyUse, Made
from gradegate.values.changes import ChangeKind, GateChange
from gradegate.values.result import Row, RuleResult, cases_of
from gradegate.values.suite import Limits, Note, Select

DAY = 86_400  # seconds


class Summary(Counted):
    """The run in figures: the counts are of assertions, those in ``cases`` of cases."""

    planned: Annotated[Count, At("grades.planned")]
    passed: Annotated[Count, At("grades.passed")]
    failed: Annotated[Count, At("grades.failed")]
    errored: Annotated[Count, At("grades.errored")]
    pass_rate: Annotated[float | None, At("grades.pass_rate")] = Share
    cost_usd: Annotated[float | None, At("run.usage.known_cost")] = Field(
        description="Target and grader together; null when any price is unknown."
    )
    tokens: Annotated[int, At("run.usage.tokens")]
    seconds: Annotated[float, At("run.seconds")]
    cases: Counted
    target: Annotated[Spent, At("run.target_usage")]
    grader: Annotated[Spent, At("run.grader_usage")]


_SELECT = At(
    "rule.select",
    lambda select: {name: encodable(text) for name, text in asdict(select).items() if text},
    lambda said: Select(**{field.name: said[field.name] for field in fields(Select) if field.name in said}),  # what this version knows
)


_LATER = "pass_rate score min_pass_rate min_score min_cases confidence low high max_new_failures max_drop new_failures worse better p"


@keys_of(RuleResult, "rule", _LATER, without="bears")
class RuleLine(Part):
    """One rule applied."""

    passed: Count
    failed: Count
    errored: Count
    select: Annotated[dict[str, str], _SELECT] = Field(description="Patterns of the grades that it looks at; absent ones take everything.")
    scale: Annotated[Scale, At("rule.scale")] = Field(description="People see scores times this.")
    source: Annotated[SourceLine | None, At("rule.origin", source_of)] = None


@keys_of(Note)
class NoteLine(Part):
    """Something that the user should know and that does not change the outcome."""

    source: Annotated[SourceLine | None, At("origin", source_of)]


class ChangeLine(Part):
    """One way in which the gate differs from that of the base."""

    kind: Literal["removed", "weaker", "changed"]
    text: str
    file: Annotated[str, At("origin", lambda origin: encodable(origin.file) if origin else "", into=None)] = Field(
        description="Empty where it is about no file."
    )
    line: Annotated[int, At("origin", lambda origin: origin.line if origin else 0, into=None)] = Field(
        description="0 means the file as a whole."
    )


def _read_changes(said: list[ChangeLine]) -> tuple[GateChange, ...]:
    places = (Origin(change.file, change.line) if change.file else None for change in said)
    return tuple(GateChange(ChangeKind(change.kind), change.text, place) for change, place in zip(said, places, strict=True))


@keys_of(Made, later="answers titles options folder")
class MadeLine(Part):
    """How the results came about."""

    digest: str = Field(
        default="", description="Of the configs together: of one its SHA-256, of several that of theirs, sorted, a line each."
    )


def _read_budget(said: "BudgetLine | None") -> BudgetReport | None:
    if said is None:
        return None
    return BudgetReport(Limits(said.max_calls, said.max_usd, said.max_seconds), said.calls, said.usd, said.used_up)


class BudgetLine(Part):
    """What the run took of what it could take; null means no limit."""

    calls: Annotated[int, At("budget.calls")] = Field(
        description="Requests that were sent to models, each try of a call that failed among them."
    )
    usd: Annotated[float, At("budget.usd")] = Field(description="Of the replies whose price is known.")
    seconds: float
    max_calls: Annotated[int | None, At("budget.limits.calls")] = None
    max_usd: Annotated[float | None, At("budget.limits.usd")] = None
    max_seconds: Annotated[float | None, At("budget.limits.seconds")] = None
    used_up: Annotated[str, At("budget.used_up")] = Field(description="The limit that was reached; empty where none was.")
    saved_calls: Annotated[int, At("usage.cached")] = Field(description="Replies that came from the cache.")
    saved_usd: Annotated[float, At("usage.saved")]


class CacheLine(Part):
    """What came from the cache of replies."""

    answers: Annotated[int, At("looked_up")] = Field(description="Replies of targets and graders that were looked for.")
    from_cache: Annotated[int, At("hits")]
    oldest_days: Annotated[
        float | None,
        At(SELF, lambda cache: round(cache.oldest / DAY, 2) if cache.hits else None, lambda days: (days or 0.0) * DAY, "oldest"),
    ] = Field(description="null where nothing came from it.")
    saved_usd: float


class Head(Part):
    """All of the results but the cases."""

    version: Annotated[Version, At(None)]
    made: Annotated[MadeLine, At("run.made")]
    commit: Annotated[str, At("run.made.commit", into=None)] = Field(
        default="", description="What was checked out; empty where that is not known."
    )
    outcome: Literal["pass", "advisory", "blocked", "inconclusive", "not-run"]
    reason: str
    summary: Annotated[Summary, At(SELF)]
    rules: list[RuleLine]
    notes: Annotated[list[NoteLine], At("run.notes", lambda notes: [line(NoteLine, note) for note in dict.fromkeys(notes)])]
    interrupted: Annotated[str, At("run.interrupted")] = Field(description="Why the run stopped early; empty when it did not.")
    incomplete: Annotated[str, At("run.incomplete")] = Field(
        default="", description="What is wrong with the parts of a run in shards; empty otherwise."
    )
    models: Annotated[list[str], At("run.models", lambda models: [encodable(str(model)) for model in models], into=None)]
    asked: Annotated[list[AskedModel], At("run.models")] = Field(description="The models, each in its parts.")
    keys: Annotated[list[KeyUse], At("run.keys")] = Field(default=[], description="What left the environment, and where it went.")
    hidden: Annotated[list[str], At("run.hidden")] = Field(default=[], description="The variables whose values no report shows.")
    setup: bool = Field(description="Inconclusive because of a wrong key or model.")
    gate_changes: Annotated[list[ChangeLine], At("changes.found", read=_read_changes)] = Field(
        default=[], description="What the pull request does to its own gate, where there is a base to compare with."
    )
    gate_approved: Annotated[str, At("changes.approved")] = Field(
        default="", description="By what and whom the changes of the gate were approved."
    )
    budget: Annotated[
        BudgetLine | None, At("run", lambda run: line(BudgetLine, run) if run.budget else None, _read_budget, "run.budget")
    ] = None
    cache: Annotated[CacheLine | None, At("run.cache")] = Field(default=None, description="null where the run had none.")
    confirm: Annotated[ConfirmReport | None, At("run.confirm")] = Field(default=None, description="What asking failures again came to.")
    baseline: Annotated[BaselineReport | None, At("run.baseline")] = Field(
        default=None, description="null where there is nothing to compare with."
    )
    derived_metrics: Annotated[list[DerivedMetric], At("run.derived")] = Field(
        default=[], description="Of each provider and prompt, in order."
    )
    links: Annotated[dict[str, str], At(None)] = Field(default={}, description="On GitHub: server, repository, commit and run.")
    about: Annotated[dict[str, dict[str, Any]], At("run.about")] = Field(description="What a dialect keeps of a config, by its file.")


class Results(Head):
    """One run of gradegate."""

    cases: Annotated[list[CaseLine], At("run.cases", read=lambda cases: cases_of(value(Row, case) for case in cases))]


def results_schema() -> dict[str, Any]:
    """The JSON Schema of results.json."""
    schema = Results.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
