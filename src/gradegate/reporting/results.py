"""The shape of results.json: what ``gradegate schema results`` publishes and the JSON report writes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _is_whole(version: Any) -> Any:
    """In JSON, neither true nor 1.0 is the version 1, although they are equal in Python."""
    if type(version) is not int:
        raise ValueError("the version is not a whole number")
    return version


Version = Annotated[Literal[1], BeforeValidator(_is_whole)]
VERSION = 1  # grows when a key changes its meaning or goes away; further keys may join without it

Word = Literal["pass", "fail", "error"]
Status = Literal["", "ok", "fixed", "pre-existing", "new-failure", "unsteady", "undecided"]
Digest = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
Count = Annotated[int, Field(ge=0)]
Scale = Annotated[int, Field(ge=1)]
Share = Field(default=None, description="From 0 to 1; null when nothing was graded.")


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, ser_json_inf_nan="null", allow_inf_nan=False)


class SourceLine(_Part):
    """A line of the config; 0 means the file as a whole."""

    file: str
    line: int


class Counted(_Part):
    """planned = passed + failed + errored; an error is neither a pass nor a failure."""

    planned: Count
    passed: Count
    failed: Count
    errored: Count
    pass_rate: float | None = Share


class Spent(_Part):
    """What calls of one kind took."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None = Field(description="null when the price of any call is unknown.")
    known_usd: float = Field(description="Of the calls whose price is known.")
    unpriced: int = Field(description="Calls whose price is unknown.")
    seconds: float
    reasks: int = Field(description="Graders asked again because their reply held no verdict.")
    cached: int = Field(default=0, description="Replies that came from the cache; they are not among the calls.")
    saved_usd: float = Field(default=0.0, description="What those would have cost, as far as it is known.")


class Summary(Counted):
    """The run in figures: the counts are of assertions, those in ``cases`` of cases."""

    cost_usd: float | None = Field(description="Target and grader together; null when any price is unknown.")
    tokens: int
    seconds: float
    cases: Counted
    target: Spent
    grader: Spent


class RuleLine(_Part):
    """One rule applied."""

    name: str
    blocking: bool
    outcome: Word
    reason: str
    suite: str
    passed: Count
    failed: Count
    errored: Count
    pass_rate: float | None = Share
    score: float | None = None
    min_pass_rate: float | None = None
    min_score: float | None = None
    min_cases: int | None = None
    confidence: float | None = None
    low: float | None = Field(default=None, description="The interval of the pass rate, where the rule asks for one.")
    high: float | None = None
    max_new_failures: int | None = None
    max_drop: float | None = None
    new_failures: int | None = Field(default=None, description="Cases that fail here and not on the base.")
    worse: int | None = Field(default=None, description="Cases that passed on the base and fail here.")
    better: int | None = Field(default=None, description="Cases that failed on the base and pass here.")
    p: float | None = Field(default=None, description="The chance of so many worse ones, were both ways alike.")
    select: dict[str, str] = Field(description="Patterns of the grades that it looks at; absent ones take everything.")
    every_case: bool = Field(description="Each case must pass: the rule of a config without a gate block.")
    by_metric: bool = Field(description="The mean score is that of the means of the metrics.")
    scale: Scale = Field(description="People see scores times this.")
    source: SourceLine | None = None


class VoteLine(_Part):
    """What one ask of a grade said."""

    outcome: Word
    score: float | None
    reason: str
    model: str = Field(description="That said it; empty where none was asked.")


class BaseLine(_Part):
    """What the base says of the same: in the end, and when it was asked first."""

    outcome: Word
    first: Word


class GradeLine(_Part):
    """The word on one assertion of one answer. An error has no score."""

    assertion: str
    metric: str
    outcome: Word
    score: float | None
    threshold: float | None
    reason: str
    expected: Any = None
    blocking: bool
    inner: bool = Field(description="Of a member of an assert-set, whose own grade decides.")
    set: bool = Field(description="Of an assert-set; the grades of its members follow.")
    weight: float | None
    config: dict[str, Any]
    model_slug: str
    scale: Scale = Field(description="People see the score times this.")
    unread: str = Field(description="The score as the grader wrote it, where that is not a number.")
    most: bool = Field(description="The threshold is a limit from above on what was measured, not on the score.")
    setup: bool = Field(description="An error that only the user can fix, such as a wrong key.")
    evidence: dict[str, Any]
    usage: Spent
    source: SourceLine | None
    votes: list[VoteLine] = Field(default=[], description="Every ask in order, where it was asked more than once.")
    confirmed: bool | None = Field(
        default=None, description="Whether asking again confirmed its failure; null where it was not asked again."
    )
    key: Digest = Field(default="", description="What the grade is called among those of its answer, in every run.")
    definition: Digest = Field(
        default="", description="SHA-256 of what is asked for: equal where two runs ask the same."
    )
    status: Status = Field(default="", description="Beside the base; empty without one, and where it was not settled.")
    base: BaseLine | None = Field(default=None, description="null where the base has nothing to compare with.")
    undone: bool = Field(default=False, description="An error because a budget or a signal ended the run before.")
    unheard: bool = Field(default=False, description="An error because a model gave no answer.")
    turns: list[int] = Field(default=[], description="Of a conversation, from 1: those that the failure is about.")


class ImageLine(_Part):
    """A document that is a picture, as data URI or URL."""

    image: str


class TurnLine(_Part):
    """One message of a conversation."""

    role: str
    content: str
    retrieval_context: list[str | ImageLine]
    images: list[str]
    metadata: dict[str, Any]


class CaseLine(_Part):
    """One answer and its grades: a case, asked of one provider with one prompt, in one repetition."""

    description: str
    suite: str
    case: Count
    repeat: Count
    provider: str
    prompt: str = Field(description="As it was sent, with the variables filled in.")
    prompt_label: str
    vars: dict[str, Any]
    output: str | None = Field(description="null when the provider gave no answer; error says why.")
    error: str
    outcome: Word
    score: float | None = Field(description="The weighted mean of the grades that count.")
    threshold: float | None = Field(description="The case's own.")
    reason: str = Field(description="Where the case's own threshold decided.")
    seconds: float
    cost_usd: float | None
    tokens: int
    usage: Spent
    metadata: dict[str, Any] = Field(
        description="What the provider returned beside the answer: tool calls, finish reason."
    )
    grades: list[GradeLine]
    turns: list[TurnLine] = Field(description="The conversation where there is more than a prompt and an answer.")
    source: SourceLine | None
    key: Digest = Field(default="", description="What the answer is called in every run.")
    definition: Digest = Field(default="", description="SHA-256 of what the case gives and asks for.")
    base: Word | None = Field(default=None, description="What the base says of the case; null where it has none.")
    hidden: bool = Field(default=False, description="A secret is hidden in what was graded.")
    undone: bool = Field(
        default=False, description="There is no output because a budget or a signal ended the run before."
    )
    blocks: bool = Field(default=False, description="Its failure is a reason why the run is blocked.")


class BaselineLine(_Part):
    """The run beside its base, in cases."""

    commit: str = Field(description="Of the base; empty where that is not known.")
    age_days: int | None = Field(description="null where that is not known.")
    compared: int
    new_failures: int
    pre_existing: int
    fixed: int
    unsteady: int = Field(description="Failures that the base shows, too, once its answer is graded again.")
    undecided: int
    new: int = Field(description="Cases that the base does not have, or has by another definition.")
    removed: list[str] = Field(description="Cases of the base that the run does not have.")
    fresh: bool = Field(description="The base was asked in the same run.")


class DerivedLine(_Part):
    """A metric worked out of the sums of others, for one provider and prompt. It decides nothing."""

    name: str
    suite: str
    provider: str
    prompt_label: str
    value: float | None = Field(description="null where it could not be worked out; error says why.")
    error: str
    answers: int = Field(description="That it is over.")
    left_out: int = Field(description="Answers whose grades are not known.")


class NoteLine(_Part):
    """Something that the user should know and that does not change the outcome."""

    text: str
    source: SourceLine | None


class ChangeLine(_Part):
    """One way in which the gate differs from that of the base."""

    kind: Literal["removed", "weaker", "changed"]
    text: str
    file: str = Field(description="Empty where it is about no file.")
    line: int = Field(description="0 means the file as a whole.")


class MadeLine(_Part):
    """How the results came about."""

    tool: str = Field(description="The version of gradegate.")
    commit: str = Field(description="What was checked out; empty where that is not known.")
    started: str = Field(description="UTC, ISO 8601.")
    configs: dict[str, str] = Field(description="SHA-256 of each config, by its file.")
    answers: dict[str, str] = Field(
        default={},
        description="SHA-256 of each file with recorded answers, by its name; empty where targets were asked.",
    )
    titles: dict[str, str] = Field(default={}, description="The description of each config that has one, by its file.")
    options: list[str] = Field(default=[], description="With a config, arguments of `gradegate run` that ask the same.")
    folder: str = Field(default="", description="Where to run it, relative to the root of the repository.")
    digest: str = Field(
        default="",
        description="Of the configs together: of one its SHA-256, of several that of theirs, sorted, a line each.",
    )


class AskedLine(_Part):
    """A target or grader."""

    name: str
    host: str = Field(description="Where questions went; empty when nothing left the machine.")
    replies_from: str = Field(
        description='"model", "program" for code of the repository, or "file" or "prompt" where neither was asked.'
    )


class KeyLine(_Part):
    """A variable of the environment whose value went to a host."""

    name: str
    host: str


class BudgetLine(_Part):
    """What the run took of what it could take; null means no limit."""

    calls: int = Field(description="Requests that were sent to models, each try of a call that failed among them.")
    usd: float = Field(description="Of the replies whose price is known.")
    seconds: float
    max_calls: int | None = None
    max_usd: float | None = None
    max_seconds: float | None = None
    used_up: str = Field(description="The limit that was reached; empty where none was.")
    saved_calls: int = Field(description="Replies that came from the cache.")
    saved_usd: float


class CacheLine(_Part):
    """What came from the cache of replies."""

    answers: int = Field(description="Replies of targets and graders that were looked for.")
    from_cache: int
    oldest_days: float | None = Field(description="null where nothing came from it.")
    saved_usd: float


class ConfirmLine(_Part):
    """What asking failures again came to."""

    mode: str = Field(description='"off", "grader" or "answers".')
    noise: float
    lead: int = Field(description="By so many votes failures had to lead.")
    grades: int = Field(description="That may be asked again.")
    asked_again: int = Field(description="overturned + confirmed + undecided")
    overturned: int
    confirmed: int
    undecided: int
    not_asked_again: int = Field(description="That failed, and no rule needed to know more.")
    asks: int = Field(description="Of these grades, the first of each included.")
    pre_existing: int = Field(
        default=0,
        description="Of those not asked again, failures of the base, too, that no rule but those of the base takes.",
    )


class Head(_Part):
    """All of the results but the cases."""

    version: Version
    made: MadeLine
    commit: str = Field(default="", description="What was checked out; empty where that is not known.")
    outcome: Literal["pass", "advisory", "blocked", "inconclusive", "not-run"]
    reason: str
    summary: Summary
    rules: list[RuleLine]
    notes: list[NoteLine]
    interrupted: str = Field(description="Why the run stopped early; empty when it did not.")
    incomplete: str = Field(default="", description="What is wrong with the parts of a run in shards; empty otherwise.")
    models: list[str]
    asked: list[AskedLine] = Field(description="The models, each in its parts.")
    keys: list[KeyLine] = Field(default=[], description="What left the environment, and where it went.")
    hidden: list[str] = Field(default=[], description="The variables whose values no report shows.")
    setup: bool = Field(description="Inconclusive because of a wrong key or model.")
    gate_changes: list[ChangeLine] = Field(
        default=[], description="What the pull request does to its own gate, where there is a base to compare with."
    )
    gate_approved: str = Field(default="", description="By what and whom the changes of the gate were approved.")
    budget: BudgetLine | None = None
    cache: CacheLine | None = Field(default=None, description="null where the run had none.")
    confirm: ConfirmLine | None = Field(default=None, description="What asking failures again came to.")
    baseline: BaselineLine | None = Field(default=None, description="null where there is nothing to compare with.")
    derived_metrics: list[DerivedLine] = Field(default=[], description="Of each provider and prompt, in order.")
    links: dict[str, str] = Field(default={}, description="On GitHub: server, repository, commit and run.")
    about: dict[str, dict[str, Any]] = Field(description="What a dialect keeps of a config, by its file.")


class Results(Head):
    """One run of gradegate."""

    cases: list[CaseLine]


def results_schema() -> dict[str, Any]:
    """The JSON Schema of results.json."""
    schema = Results.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
