"""Base of the metrics that follow DeepEval: their options, what they see of a conversation, and how they make a verdict.

A metric numbers the turns, asks the grader its questions, and returns a measurement. ``Metric.grade`` makes the verdict of
the measurement. Metrics that measure one answer with the documents retrieved for it work in the same way.
"""

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
from gradegate.assertions.judge.form import Form, object_schema, reason_of
from gradegate.assertions.judge.verdict_forms import Judgement
from gradegate.assertions.metrics.context import (
    ContextTransform,
    ContextTransformOption,
    is_list_of_texts,
)
from gradegate.assertions.metrics.units import NoClaims, NoUnitsError, verdict_without_units
from gradegate.core.conversation import Exchange, Image, Numbered, Turn, Variables, split_exchanges
from gradegate.core.field_types import Number, Whole
from gradegate.errors import ProviderError
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, NamedTexts, Struct, replace

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
# Findings that a reason shows. The evidence has all of them.
MAX_FINDINGS = 5
# The variables of a test that may have documents; the first with a text wins
DOCUMENT_VARIABLES = ("retrieval_context", "context")
WindowSize = Annotated[Whole, Field(ge=1)]


class Measurement(Struct, frozen=True):
    """What a metric measured."""

    score: Fraction  # exact, from 0 to 1
    summary: str  # what the score counts: "3 of 4 claims hold"
    findings: tuple[str, ...] = ()  # sentences about what lowered the score
    notes: tuple[str, ...] = ()  # sentences that the reason shows whatever the score
    evidence: JsonObject = {}
    # Lines that ``verbose_mode`` shows. If there are no lines, it shows the evidence.
    steps: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()  # numbers, from 1, of the turns that lowered the score


def require_questions(*questions: str) -> Requirements:
    """The requirements of a metric that asks these questions. The last question, for a reason, is added."""
    return Requirements(("text",), (*questions, "reason"), images=True)


@options
class Metric(ModelEvaluator):
    """Base of the family. The options and their defaults are those of DeepEval 4.3 (docs.confident-ai.com).

    With ``strict_mode`` the score is 1 for a perfect measurement and 0 otherwise. With ``include_reason: llm`` a model
    writes the reason, which costs a call. Otherwise the reason is made of the verdicts. With ``async_mode: false`` the
    questions of an assertion are asked one after another.
    """

    scoring = Scoring(0.5)
    requires = require_questions("verdicts")

    threshold: Number | None = None  # compared by the gate
    include_reason: bool | Literal["llm"] = True
    strict_mode: bool = False
    async_mode: bool = True
    verbose_mode: bool = False
    context_transform: ContextTransformOption | None = None

    def count_questions(self, exchanges: int) -> int:
        """Count the questions. The question for a reason is asked only with ``include_reason: llm``."""
        count = ModelEvaluator.count_questions(self, exchanges)
        return count if self.include_reason == "llm" else count - 1

    @property
    def outcome_without_units(self) -> NoClaims:
        """The outcome of a conversation in which there is nothing to count."""
        return "error"

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        """Measure one transcript; each metric has its own way. Raises NoVerdict and ProviderError."""
        raise NotImplementedError

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Measure a transcript and make the verdict, with a score from 0 to 1."""
        transcript = _add_documents(transcript, self.context_transform)
        graded_texts: list[str] = []
        for turn in transcript.turns:
            documents, _ = separate_images(turn.retrieval_context)
            graded_texts += [turn.content, *documents]
        judge = replace(judge, graded="\n".join(graded_texts), one_at_a_time=not self.async_mode)

        try:
            measurement = self.measure(transcript, judge)
        except NoUnitsError as e:
            return verdict_without_units(str(e), self.outcome_without_units)

        score = float(measurement.score)
        passed = None
        if self.strict_mode:
            passed = measurement.score == 1
            score = float(passed)
        return Verdict(
            score,
            passed,
            self._make_reason(measurement, judge),
            self._make_evidence(measurement),
            turns=measurement.turns,
        )

    def _make_reason(self, measurement: Measurement, judge: Judge) -> str:
        """Join the summary, the first findings and the notes. A model may word summary and findings."""
        findings = measurement.findings
        parts: list[str] = []
        if self.include_reason:
            parts = [measurement.summary, *findings[:MAX_FINDINGS]]
            if len(findings) > MAX_FINDINGS:
                parts.append(f"and {len(findings) - MAX_FINDINGS} more")

        if self.include_reason == "llm":
            # If the model gives no reason, the parts made of the verdicts stay.
            with suppress(NoVerdict, ProviderError):
                reason = judge.ask(
                    "metric-reason",
                    _REASON_FORM,
                    step="reason",
                    score=f"{float(measurement.score):.4g}",
                    findings=list(findings) or [measurement.summary],
                )
                parts = [reason]
        return "; ".join([*parts, *measurement.notes])

    def _make_evidence(self, measurement: Measurement) -> JsonObject:
        """The evidence of a measurement, with its notes, and with its steps in ``verbose_mode``."""
        evidence = dict(measurement.evidence)
        if measurement.notes:
            evidence["notes"] = list(measurement.notes)

        if self.verbose_mode:
            evidence["steps"] = list(measurement.steps) or _evidence_lines(measurement.evidence)
        return evidence


def _evidence_lines(evidence: JsonObject) -> list[str]:
    """A line for each entry of the lists and mappings in the evidence, with the name of the list or mapping."""
    lines = []
    for name, items in evidence.items():
        entries = items.items() if isinstance(items, Mapping) else items
        lines += [f"{name}: {entry}" for entry in entries]
    return lines


@options
class CountingMetric(Metric):
    """Base of the metrics that count what the grader finds, such as claims. The grader may find nothing."""

    no_claims: NoClaims = "error"

    @property
    def outcome_without_units(self) -> NoClaims:
        """The option ``no_claims``."""
        return self.no_claims


@options
class ExpectedAnswerMetric(Metric):
    """Base of the metrics that compare the retrieved documents with an expected answer."""

    value: str = ""
    """The expected answer; without it the variable `expected_output`."""

    def missing_variables(self, variables: Variables) -> str:
        """Say that there is no expected answer."""
        if self.expected_answer(variables):
            return ""
        return (
            "there is no expected answer; give it as `value` or as the variable `expected_output`"
        )

    def expected_answer(self, variables: Variables) -> str:
        """The expected answer. Empty if there is none."""
        return self.value.strip() or str(variables.get("expected_output") or "").strip()


# --- the documents of an answer -------------------------------------------------------------------------------


class Retrieval(NamedTuple):
    """A question with the documents that were retrieved for its answer, in rank order. Images are apart from texts."""

    question: str
    documents: tuple[str, ...]
    images: tuple[str, ...] = ()


def find_retrieval(transcript: Transcript) -> Retrieval:
    """The documents that were retrieved for the last answer. Raises NoVerdict if there are none."""
    answers = transcript.answers
    documents, images = separate_images(answers[-1].retrieval_context if answers else ())
    if not documents and not images:
        # Earlier answers may have documents of their own. The variables then have those of the last answer.
        documents = find_texts(transcript.vars, *DOCUMENT_VARIABLES)
    if not documents and not images:
        raise NoVerdict(
            "there is no retrieval context; give the variable `retrieval_context` or `context`"
        )
    return Retrieval(_find_question(transcript), documents, images)


def _find_question(transcript: Transcript) -> str:
    """The variable ``input`` or ``query``, else the last message of the user, else the prompt."""
    for name in ("input", "query"):
        value = transcript.vars.get(name)
        if isinstance(value, str) and value.strip():
            return value
    for turn in reversed(transcript.turns):
        if turn.role == "user":
            return turn.content or transcript.prompt
    return transcript.prompt


def _add_documents(transcript: Transcript, transform: ContextTransform | None) -> Transcript:
    """Give documents to the answers that have none.

    With ``transform``, the transform finds the documents of each such answer. Without, each answer gets the documents in the
    variables, unless a turn has documents. Raises NoVerdict if the transform fails or gives something else than texts.
    """
    if transform is None and any(turn.retrieval_context for turn in transcript.turns):
        return transcript

    turns = []
    for turn in transcript.turns:
        if turn.role != "assistant" or turn.retrieval_context:
            turns.append(turn)
            continue
        if transform is None:
            documents = find_texts(transcript.vars, *DOCUMENT_VARIABLES)
        else:
            output = transcript.source if turn is transcript.turns[-1] else turn.content
            documents = _transform_to_documents(transform, output, transcript.vars, turn.metadata)
        turns.append(replace(turn, retrieval_context=documents))
    return replace(transcript, turns=tuple(turns))


def _transform_to_documents(
    transform: ContextTransform, output: Any, variables: Variables, metadata: JsonObject
) -> tuple[str, ...]:
    """The texts that a ``contextTransform`` gives for an answer, without the blank ones. Raises NoVerdict."""
    value = transform.apply(output, variables, metadata)
    texts = [value] if isinstance(value, str) else value
    if not is_list_of_texts(texts):
        raise NoVerdict(f"{transform.description} is neither a text nor a list of texts")
    return tuple(text for text in texts if text.strip())


def find_texts(variables: Variables, *names: str) -> tuple[str, ...]:
    """The texts of the first of these variables that has any. Blank texts are left out.

    The value of such a variable is a text or a list of texts.
    """
    for name in names:
        value = variables.get(name)
        if isinstance(value, str) and value.strip():
            return (value,)
        if isinstance(value, Sequence) and not isinstance(value, str):
            texts = tuple(text for text in map(str, value) if text.strip())
            if texts:
                return texts
    return ()


def separate_images(
    documents: Iterable[str],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Documents as ``(texts, images)``, each in order. An image is a data URI or a URL."""
    texts = []
    images = []
    for document in documents:
        if isinstance(document, Image):
            images.append(str(document))
        else:
            texts.append(document)
    return tuple(texts), tuple(images)


# --- the turns of a conversation ------------------------------------------------------------------------------


def require_exchanges(turns: Sequence[Turn]) -> tuple[Exchange, ...]:
    """The complete exchanges. Raises NoVerdict if there are none."""
    exchanges = split_exchanges(turns)
    if not exchanges:
        raise NoVerdict(
            "the conversation has no complete exchange: a message of the user and an answer to it"
        )
    return exchanges


def number_turns(transcript: Transcript) -> list[Numbered]:
    """All turns with their numbers, from 1. Raises NoVerdict if no exchange is complete."""
    require_exchanges(transcript.turns)
    return [Numbered(number, turn) for number, turn in enumerate(transcript.turns, 1)]


def turns_as_variables(name: str, turns: Sequence[Numbered]) -> JsonObject:
    """The arguments of ``Judge.ask`` that show turns: the variable ``name`` of the prompt, and the images."""
    return {name: format_turns(turns), "images": collect_images(turn for _, turn in turns)}


def format_turns(turns: Iterable[Numbered]) -> str:
    """Turns as a prompt shows them, each under its number and its role."""
    return "\n\n".join(
        f"[turn {number}, {turn.role}]\n{content_with_image_marks(turn)}" for number, turn in turns
    )


def content_with_image_marks(turn: Turn) -> str:
    """The content of a turn, with a mark for each of its images."""
    marks = ["[an image that is attached]"] * len(turn.images)
    return "\n".join([turn.content, *marks]).strip()


def collect_images(turns: Iterable[Turn]) -> tuple[str, ...]:
    """The distinct images of messages, in order."""
    return tuple(dict.fromkeys(image for turn in turns for image in turn.images))


# --- asking the grader ----------------------------------------------------------------------------------------


def ask_distinct(
    judge: Judge,
    questions: Iterable[K],
    ask: Callable[[K], V],
) -> dict[K, V]:
    """The answers by question. All questions are asked at once, and equal questions only once."""
    distinct = list(dict.fromkeys(questions))
    answers = judge.gather(*(partial(ask, question) for question in distinct))
    return dict(zip(distinct, answers, strict=True))


def ask_each(
    judge: Judge,
    prompt: str,
    form: Form[V],
    keys: Iterable[K],
    variables: Callable[[K], Mapping[str, Any]],
    step: str = "verdicts",
) -> dict[K, V]:
    """Ask one question for each distinct key, all at once; the replies by key.

    ``variables`` gives the variables of the prompt for a key, and may give ``images``.
    """

    def ask(key: K) -> V:
        return judge.ask(prompt, form, step=step, **variables(key))

    return ask_distinct(judge, keys, ask)


def _read_reason(reply: JsonObject) -> str:
    """The text of ``{"reason"}``. Raises Unreadable if it is empty."""
    reason = reason_of(reply)
    if not reason:
        raise Unreadable("`reason` is not a text")
    return reason


_REASON_FORM = Form(object_schema(reason={"type": "string"}), _read_reason)


# --- measuring ------------------------------------------------------------------------------------------------


def measure_rows(
    rows: Sequence[Mapping[str, Any]],
    summary: str,
    faults: NamedTexts,
    name: str = "verdicts",
    *,
    key: str = "verdict",
    nothing: str = "there is nothing to judge",
) -> Measurement:
    """Measure the share of the rows without a fault. Raises NoUnitsError with the message ``nothing`` if there are no rows.

    A row has a verdict under ``key``, a ``reason``, and what was judged, such as the number of a ``turn``. ``faults`` has a
    sentence for each verdict that is a fault; a name in braces stands for the value of the row. ``summary`` has a ``{}`` for
    the number of rows without a fault, and another for the number of all. The rows are evidence under ``name``.
    """
    if not rows:
        raise NoUnitsError(nothing)

    findings = []
    faulty_turns = []
    for row in rows:
        fault = faults.get(row[key])
        if fault is None:
            continue
        short_row = {}
        for column, value in row.items():
            short_row[column] = shorten(value) if isinstance(value, str) else value
        findings.append(f"{fault.format(**short_row)}: {short_row['reason']}")
        if "turn" in row:
            faulty_turns.append(row["turn"])

    total = len(rows)
    faultless = total - len(findings)
    return Measurement(
        Fraction(faultless, total),
        summary.format(faultless, total),
        tuple(findings),
        evidence={name: list(rows)},
        turns=tuple(dict.fromkeys(faulty_turns)),
    )


def measure_share_of_yes(
    judgements: Iterable[tuple[int, Judgement[str]]],
    part: str,
    summary: str,
    fault: str,
) -> Measurement:
    """Measure the share of the judgements that say yes.

    Each judgement comes with the number of the part that it is about; ``part`` names such a part, for example ``turn``.
    ``summary`` is as in ``measure_rows``, and ``fault`` is the sentence for a no.
    """
    rows = [judgement.row(**{part: number}) for number, judgement in judgements]
    return measure_rows(rows, summary, {"no": fault})


def shorten(text: str) -> str:
    """A text in one line of at most 160 characters, for a reason."""
    return excerpt(" ".join(text.split()), 160)
