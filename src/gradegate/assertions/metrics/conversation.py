"""What the metrics of DeepEval's family share: their options, what they see of a conversation, how they conclude."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import Field

from gradegate.assertions.grading.evaluator import (
    Judge,
    ModelEvaluator,
    NoVerdict,
    Requirements,
    Scoring,
    Transcript,
    Unreadable,
    Verdict,
    options,
)
from gradegate.assertions.judge import form
from gradegate.assertions.judge.form import Form
from gradegate.assertions.judge.rubric import object_schema
from gradegate.assertions.judge.verdict_forms import Judgement
from gradegate.assertions.metrics.context import ContextTransform, ContextTransformOption
from gradegate.assertions.metrics.units import NoClaims, NoUnitsError, verdict_without_units
from gradegate.core.conversation import Exchange, Image, Numbered, Turn, Variables, split_exchanges
from gradegate.core.field_types import Number, Whole
from gradegate.errors import ProviderError
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, NamedTexts, Struct, replace

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
NAMED = 5  # findings that a reason names; the evidence has all
# The variables of a test that hold documents, for `texts_of`
DOCUMENTS = ("retrieval_context", "context")
WindowSize = Annotated[Whole, Field(ge=1)]


class Measured(Struct, frozen=True):
    """What a metric measured. ``score`` is exact; ``findings`` lowered it, ``notes`` must be said whatever the score."""

    score: Fraction
    summary: str
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    evidence: JsonObject = {}
    # What ``verbose_mode`` shows; of a metric that has none, its evidence
    steps: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()  # of the conversation, from 1: those that lowered the score


def asking(*questions: str) -> Requirements:
    """What a metric requires that asks these questions, and at the end for a reason."""
    return Requirements(("text",), (*questions, "reason"), images=True)


@options
class Metric(ModelEvaluator):
    """Base of the family; the options and their defaults are those of DeepEval 4.3 (docs.confident-ai.com).

    ``strict_mode`` makes the score 1 for perfection and 0 otherwise. ``include_reason: llm`` spends a call on a reason
    in a model's words; the reason that is made of the verdicts costs none. With ``async_mode: false`` the questions of an
    assertion are asked one after another.
    """

    scoring = Scoring(0.5)
    requires = asking("verdicts")

    threshold: Number | None = None  # compared by the gate
    include_reason: bool | Literal["llm"] = True
    strict_mode: bool = False
    async_mode: bool = True
    verbose_mode: bool = False
    context_transform: ContextTransformOption | None = None

    def count_questions(self, exchanges: int) -> int:
        """As of every evaluator; the last question, for a reason, is asked only where a model is to word it."""
        count = ModelEvaluator.count_questions(self, exchanges)
        return count if self.include_reason == "llm" else count - 1

    @property
    def no_units(self) -> NoClaims:
        """What a conversation with nothing to count comes to."""
        return "error"

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        """The metric's own work. Raises NoVerdict and ProviderError."""
        raise NotImplementedError

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Score from 0 to 1, with the reason and the evidence."""
        transcript_with_documents = _with_documents(transcript, self.context_transform)
        texts = [
            text
            for turn in transcript_with_documents.turns
            for text in (turn.content, *split(turn.retrieval_context)[0])
        ]
        judge = replace(judge, graded="\n".join(texts), one_at_a_time=not self.async_mode)
        try:
            measured = self.measure(transcript_with_documents, judge)
        except NoUnitsError as e:
            return verdict_without_units(str(e), self.no_units)
        perfect = measured.score == 1
        score = measured.score if perfect or not self.strict_mode else Fraction(0)
        evidence = dict(measured.evidence)
        if measured.notes:
            evidence["notes"] = list(measured.notes)
        if self.verbose_mode:
            listed = [
                f"{name}: {item}"
                for name, items in measured.evidence.items()
                for item in (items.items() if isinstance(items, Mapping) else items)
            ]
            evidence["steps"] = list(measured.steps) or listed
        parts = [measured.summary, *measured.findings[:NAMED]]
        if len(measured.findings) > NAMED:
            parts.append(f"and {len(measured.findings) - NAMED} more")
        if self.include_reason == "llm":
            shown = f"{float(measured.score):.4g}"
            findings = list(measured.findings) or [measured.summary]
            # The verdicts are known, and they give a reason too
            with suppress(NoVerdict, ProviderError):
                parts = [
                    judge.ask(
                        "metric-reason", _REASON, step="reason", score=shown, findings=findings
                    )
                ]
        reason = "; ".join([*(parts if self.include_reason else ()), *measured.notes])
        return Verdict(
            float(score),
            perfect if self.strict_mode else None,
            reason,
            evidence,
            turns=measured.turns,
        )


def _read_reason(item: JsonObject) -> str:
    reason = form.reason_of(item)
    if not reason:
        raise Unreadable("`reason` is not a text")
    return reason


_REASON = Form(object_schema(reason={"type": "string"}), _read_reason)


@options
class CountingMetric(Metric):
    """Base of the metrics whose grader finds the units that are counted, and may find none."""

    no_claims: NoClaims = "error"

    @property
    def no_units(self) -> NoClaims:
        """The option."""
        return self.no_claims


# --- what a metric sees ---------------------------------------------------------------------------------------


def _with_documents(transcript: Transcript, transform: ContextTransform | None) -> Transcript:
    """Gives answers the documents that are elsewhere. Raises NoVerdict where ``transform`` finds nothing.

    ``transform`` finds them in each answer that has none; where no turn has any, the variables hold those of every answer.
    """
    has_any = transform is not None or any(turn.retrieval_context for turn in transcript.turns)
    common = () if has_any else texts_of(transcript.vars, *DOCUMENTS)

    def documents(turn: Turn) -> tuple[str, ...]:
        if transform is None or turn.retrieval_context:
            return common or turn.retrieval_context
        source = transcript.source if turn is transcript.turns[-1] else turn.content
        value = transform.apply(source, transcript.vars, turn.metadata)
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
            raise NoVerdict(f"{transform.described} is neither a text nor a list of texts")
        return tuple(item for item in items if item.strip())

    turns = (
        replace(turn, retrieval_context=documents(turn)) if turn.role == "assistant" else turn
        for turn in transcript.turns
    )
    return replace(transcript, turns=tuple(turns))


def texts_of(variables: Variables, *names: str) -> tuple[str, ...]:
    """The texts of the first of these variables that has any: a text, or a list of texts, the blank ones left out."""
    for name in names:
        value = variables.get(name)
        if isinstance(value, str) and value.strip():
            return (value,)
        if isinstance(value, Sequence) and not isinstance(value, str):
            texts = tuple(text for text in map(str, value) if text.strip())
            if texts:
                return texts
    return ()


def exchanges_of(turns: Sequence[Turn]) -> tuple[Exchange, ...]:
    """The complete exchanges. Raises NoVerdict when there is none."""
    complete = split_exchanges(turns)
    if not complete:
        raise NoVerdict(
            "the conversation has no complete exchange: a message of the user and an answer to it"
        )
    return complete


def numbered(transcript: Transcript) -> list[Numbered]:
    """All turns. Raises NoVerdict when no exchange is complete."""
    exchanges_of(transcript.turns)
    return [Numbered(number, turn) for number, turn in enumerate(transcript.turns, 1)]


def script(turns: Iterable[Numbered]) -> str:
    """Turns as a prompt shows them, each under its number and its role."""
    return "\n\n".join(
        f"[turn {number}, {turn.role}]\n{with_marks(turn)}" for number, turn in turns
    )


def shown(name: str, turns: Sequence[Numbered]) -> JsonObject:
    """Turns as the variable ``name`` of a prompt, with their images."""
    return {name: script(turns), "images": images_in(turn for _, turn in turns)}


def with_marks(turn: Turn) -> str:
    """The content of a turn, with a mark for each of its images."""
    return "\n".join([turn.content, *["[an image that is attached]"] * len(turn.images)]).strip()


def images_in(turns: Iterable[Turn]) -> tuple[str, ...]:
    """The images of messages, each once, in order."""
    return tuple(dict.fromkeys(image for turn in turns for image in turn.images))


def split(documents: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Documents that are text, and those that are images."""
    documents = tuple(documents)
    texts = tuple(item for item in documents if not isinstance(item, Image))
    return texts, tuple(str(item) for item in documents if isinstance(item, Image))


# --- asking ---------------------------------------------------------------------------------------------------


def ask_once(judge: Judge, questions: Iterable[K], ask: Callable[[K], V]) -> dict[K, V]:
    """The answers by question, all asked at once, equal ones once."""
    keys = list(dict.fromkeys(questions))
    return dict(zip(keys, judge.gather(*(partial(ask, key) for key in keys)), strict=True))


def ask_each(
    judge: Judge,
    prompt: str,
    form: Form[V],
    keys: Iterable[K],
    variables: Callable[[K], Mapping[str, Any]],
    step: str = "verdicts",
) -> dict[K, V]:
    """As ``ask_once``, of questions that differ in nothing but their ``variables`` (and ``images``)."""
    return ask_once(judge, keys, lambda key: judge.ask(prompt, form, step=step, **variables(key)))


def clipped(text: str) -> str:
    """A text on one line, for a reason."""
    return excerpt(" ".join(text.split()), 160)


# --- measuring ------------------------------------------------------------------------------------------------


def of_rows(
    rows: Sequence[Mapping[str, Any]],
    summary: str,
    faults: NamedTexts,
    name: str = "verdicts",
    *,
    key: str = "verdict",
    nothing: str = "there is nothing to judge",
    score: Fraction | None = None,
) -> Measured:
    """The share of the rows whose verdict, under ``key``, is no fault, or another ``score``; the rows are evidence under ``name``.

    ``summary`` has a ``{}`` for the number of these and one for all; ``faults`` has what is said of a row by its verdict, with the
    row's own keys in braces. Raises NoUnitsError, with ``nothing``, where there are no rows.
    """
    if not rows:
        raise NoUnitsError(nothing)
    wrong = [row for row in rows if row[key] in faults]
    right_count = len(rows) - len(wrong)
    total = len(rows)
    clipped_rows = [
        {name: clipped(value) if isinstance(value, str) else value for name, value in row.items()}
        for row in wrong
    ]
    return Measured(
        Fraction(right_count, total) if score is None else score,
        summary.format(right_count, total),
        tuple(f"{faults[row[key]].format(**row)}: {row['reason']}" for row in clipped_rows),
        evidence={name: list(rows)},
        turns=tuple(dict.fromkeys(row["turn"] for row in wrong if "turn" in row)),
    )


def share_of_yes(
    judgements: Iterable[tuple[int, Judgement[str]]],
    part: str,
    summary: str,
    fault: str,
) -> Measured:
    """Yes among all; each judgement comes with the number of its ``part``, such as a turn. ``fault`` is said of each no."""
    rows = [judgement.row(**{part: number}) for number, judgement in judgements]
    return of_rows(rows, summary, {"no": fault})


# --- what was retrieved ---------------------------------------------------------------------------------------


class Retrieved(NamedTuple):
    """The documents that were retrieved for an answer, in rank order: the texts, and the images apart."""

    question: str
    documents: tuple[str, ...]
    images: tuple[str, ...] = ()


def retrieved(transcript: Transcript) -> Retrieved:
    """What was retrieved for the last answer. Raises NoVerdict when that is nothing."""
    answers = transcript.answers
    documents, images = split(answers[-1].retrieval_context if answers else ())
    if not documents and not images:  # a conversation may have them among its variables
        documents = texts_of(transcript.vars, *DOCUMENTS)
    if not documents and not images:
        raise NoVerdict(
            "there is no retrieval context; give the variable `retrieval_context` or `context`"
        )
    queries = (transcript.vars.get(name) for name in ("input", "query"))
    last_message = next(
        (turn.content for turn in reversed(transcript.turns) if turn.role == "user"), ""
    )
    question = next(
        (value for value in queries if isinstance(value, str) and value.strip()),
        last_message or transcript.prompt,
    )
    return Retrieved(question, documents, images)


@options
class Expecting(Metric):
    """Base of the metrics that hold what was retrieved against an expected answer."""

    value: str = ""
    """The expected answer; without it the variable `expected_output`."""

    def missing_variables(self, variables: Variables) -> str:
        """An expected answer."""
        missing = (
            "there is no expected answer; give it as `value` or as the variable `expected_output`"
        )
        return "" if self.expected(variables) else missing

    def expected(self, variables: Variables) -> str:
        """The expected answer; empty when there is none."""
        return self.value.strip() or str(variables.get("expected_output") or "").strip()
