"""What the metrics of DeepEval's family share: their options, what they see of a conversation, how they conclude."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from gradegate.access.hiding import excerpt
from gradegate.errors import NoVerdict, ProviderError, Unreadable
from gradegate.grading import scalars
from gradegate.grading.grader import Asks, Grader, Scoring, Written, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics.context import ContextTransform, Found
from gradegate.grading.numbers import Number, Whole
from gradegate.grading.reading.form import Form
from gradegate.grading.rubric import shape
from gradegate.values.conversation import Exchange, Image, Numbered, Transcript, Turn, exchanges
from gradegate.values.result import Verdict

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
NAMED = 5  # findings that a reason names; the evidence has all
WindowSize = Annotated[Whole, Field(ge=1)]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a metric measured. ``score`` is exact; ``findings`` lowered it, ``notes`` must be said whatever the score."""

    score: Fraction
    summary: str
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[str, ...] = ()  # what ``verbose_mode`` shows
    turns: tuple[int, ...] = ()  # of the conversation, from 1: those that lowered the score


@options
class Metric(Grader):
    """Base of the family; the options and their defaults are those of DeepEval 4.3 (docs.confident-ai.com).

    ``strict_mode`` makes the score 1 for perfection and 0 otherwise. ``include_reason: llm`` spends a call on a reason
    in a model's words; the reason that is made of the verdicts costs none. ``async_mode`` has no effect: questions
    that do not depend on one another are always asked at once.
    """

    scoring = Scoring(0.5)
    asks = Asks(("text",), steps=("verdicts", "reason"), sees=True)
    written = Written(lifted=True)

    threshold: Number | None = None  # compared by the gate
    include_reason: bool | Literal["llm"] = True
    strict_mode: bool = False
    async_mode: bool = True
    verbose_mode: bool = False
    language: str = ""
    context_transform: ContextTransform | None = None

    def questions(self, exchanges: int) -> int:
        """As every grader's; a reason is asked for only where a model is to word it."""
        return Grader.questions(self, exchanges) - ("reason" in self.asks.steps and self.include_reason != "llm")

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        """The metric's own work. Raises NoVerdict and ProviderError."""
        raise NotImplementedError

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Score from 0 to 1, with the reason and the evidence."""
        seen = with_documents(transcript, self.context_transform)
        texts = [text for turn in seen.turns for text in (turn.content, *split(turn.retrieval_context)[0])]
        judge = replace(judge, graded="\n".join(texts))
        measured = self.measure(seen, judge)
        perfect = measured.score == 1
        score = measured.score if perfect or not self.strict_mode else Fraction(0)
        evidence = {**measured.evidence, **({"notes": list(measured.notes)} if measured.notes else {})}
        if self.verbose_mode:
            evidence["steps"] = list(measured.steps)
        reason = self._reason(measured, judge)
        return Verdict(float(score), perfect if self.strict_mode else None, reason, evidence, turns=measured.turns)

    def _reason(self, measured: Measured, judge: Judge) -> str:
        parts = [measured.summary, *measured.findings[:NAMED]]
        if len(measured.findings) > NAMED:
            parts.append(f"and {len(measured.findings) - NAMED} more")
        if self.include_reason == "llm":
            parts = [_in_words(measured, judge) or "; ".join(parts)]
        return "; ".join([*(parts if self.include_reason else ()), *measured.notes])


def _in_words(measured: Measured, judge: Judge) -> str:
    try:
        findings = list(measured.findings) or [measured.summary]
        score = f"{float(measured.score):.4g}"
        return judge.ask("metric-reason", _REASON, step="reason", score=score, findings=findings)
    except (NoVerdict, ProviderError):
        return ""  # the verdicts are known, and they give a reason too


def _read_reason(item: Mapping[str, Any]) -> str:
    reason = scalars.words(item.get("reason"))
    if not reason:
        raise Unreadable("`reason` is not a text")
    return reason


_REASON = Form(shape(reason={"type": "string"}), _read_reason)


# --- what a metric sees ---------------------------------------------------------------------------------------


def with_documents(transcript: Transcript, path: Found | None = None) -> Transcript:
    """Gives answers the documents that are elsewhere. Raises NoVerdict where ``path`` leads nowhere.

    ``path`` finds them in each answer that has none; where no turn has any, the variables ``retrieval_context`` or
    ``context`` hold those of every answer.
    """
    turns = transcript.turns
    if path is not None:
        turns = tuple(_resolved(turn, path, transcript) if turn.role == "assistant" else turn for turn in turns)
    elif not any(turn.retrieval_context for turn in turns) and (documents := documents_of(transcript.vars)):
        turns = tuple(replace(turn, retrieval_context=documents) if turn.role == "assistant" else turn for turn in turns)
    return replace(transcript, turns=turns)


def _resolved(turn: Turn, path: Found, transcript: Transcript) -> Turn:
    if turn.retrieval_context:
        return turn
    source = transcript.source if turn is transcript.turns[-1] else turn.content
    documents = path.apply(source, transcript.vars, turn.metadata)
    items = [documents] if isinstance(documents, str) else documents
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise NoVerdict(f"what contextTransform `{path.written}` gives is neither a text nor a list of texts")
    return replace(turn, retrieval_context=tuple(item for item in items if item.strip()))


def documents_of(variables: Mapping[str, Any]) -> tuple[str, ...]:
    """The documents that the variables of a test hold."""
    return texts_of(variables, "retrieval_context", "context")


def texts_of(variables: Mapping[str, Any], *names: str) -> tuple[str, ...]:
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


def exchanges_of(transcript: Transcript) -> tuple[Exchange, ...]:
    """The complete exchanges. Raises NoVerdict when there is none."""
    complete = exchanges(transcript.turns)
    if not complete:
        raise NoVerdict("the conversation has no complete exchange: a message of the user and an answer to it")
    return complete


def numbered(transcript: Transcript) -> list[Numbered]:
    """All turns. Raises NoVerdict when no exchange is complete."""
    exchanges_of(transcript)
    return [Numbered(number, turn) for number, turn in enumerate(transcript.turns, 1)]


def question(transcript: Transcript) -> str:
    """What was asked: the variable ``input`` or ``query``, else the last message of the user."""
    for name in ("input", "query"):
        value = transcript.vars.get(name)
        if isinstance(value, str) and value.strip():
            return value
    asked = next((turn.content for turn in reversed(transcript.turns) if turn.role == "user"), "")
    return asked or transcript.prompt


def script(turns: Iterable[Numbered]) -> str:
    """Turns as a prompt shows them, each under its number and its role."""
    return "\n\n".join(f"[turn {number}, {turn.role}]\n{with_marks(turn)}" for number, turn in turns)


def shown(name: str, turns: Sequence[Numbered]) -> dict[str, Any]:
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
    return (
        tuple(item for item in documents if not isinstance(item, Image)),
        tuple(str(item) for item in documents if isinstance(item, Image)),
    )


# --- asking ---------------------------------------------------------------------------------------------------


def ask_once(judge: Judge, questions: Iterable[K], ask: Callable[[K], V]) -> dict[K, V]:
    """The answers by question, all asked at once, equal ones once."""
    keys = list(dict.fromkeys(questions))
    return dict(zip(keys, judge.gather(*(partial(ask, key) for key in keys)), strict=True))


def ask_each(
    judge: Judge, prompt: str, form: Form[V], keys: Iterable[K], variables: Callable[[K], Mapping[str, Any]], step: str = "verdicts"
) -> dict[K, V]:
    """As ``ask_once``, of questions that differ in nothing but their ``variables`` (and ``images``)."""
    return ask_once(judge, keys, lambda key: judge.ask(prompt, form, step=step, **variables(key)))


def clipped(text: str, most: int = 160) -> str:
    """A text on one line, for a reason."""
    return excerpt(" ".join(text.split()), most)
