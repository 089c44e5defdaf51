"""topic-adherence: whether an agent answers what belongs to its topics, and nothing else.

A judge sorts the questions of the user into four kinds: helped (on topic, answered), withheld (on topic, not answered),
strayed (off topic, answered), declined (off topic, not answered). Score: (helped + declined) / all, as DeepEval's
(https://deepeval.com/docs/metrics-topic-adherence, ``deepeval/metrics/topic_adherence/``); by ``mode`` Ragas's
(https://docs.ragas.io/en/stable/concepts/metrics/available_metrics/agents/): precision = helped / (helped + strayed), recall
= helped / (helped + withheld), f1 = their harmonic mean.
"""

from collections import Counter
from fractions import Fraction
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from gradegate.assertions.grading.evaluator import Each, Judge, NoVerdict, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    CountingMetric,
    Measurement,
    ask_each,
    find_texts,
    measure_rows,
    require_exchanges,
    require_questions,
    turns_as_variables,
)
from gradegate.assertions.metrics.units import NoUnitsError
from gradegate.core.conversation import Exchange, Variables
from gradegate.core.field_types import FilledText, strip_texts, to_list
from gradegate.structs import JsonObject, replace

WORDS = ("helped", "withheld", "strayed", "declined")
_WRONG = {
    "withheld": '"{question}" is on topic and was not answered',
    "strayed": '"{question}" is off topic and was answered',
}
# For each mode: the words that count as good, and all words that count.
_MODES = {
    "accuracy": (("helped", "declined"), WORDS),
    "precision": (("helped",), ("helped", "strayed")),
    "recall": (("helped",), ("helped", "withheld")),
    "f1": (("helped", "helped"), ("helped", "helped", "strayed", "withheld")),
}
_QUESTIONS = verdict_forms.texts_form("questions")
_VERDICT = verdict_forms.verdict_form(dict(zip(WORDS, WORDS, strict=True)))
_Topics = Annotated[list[FilledText], BeforeValidator(strip_texts), BeforeValidator(to_list)]


class _Question(NamedTuple):
    """A question of the user, with the exchange that contains it."""

    exchange: Exchange
    text: str


@assertion("topic-adherence")
class TopicAdherence(CountingMetric):
    """The agent answers what belongs to its topics, and declines everything else."""

    requires = require_questions(Each("questions"), Each("verdicts"))

    value: _Topics = Field(default_factory=list)
    """The topics: a text or a list; without it the variable `relevant_topics`."""
    relevant_topics: _Topics = Field(default_factory=list)
    mode: Literal["accuracy", "precision", "recall", "f1"] = "accuracy"

    def missing_variables(self, variables: Variables) -> str:
        missing = "there are no topics; give them as `value`, or as the variable `relevant_topics`"
        return "" if self._topics(variables) else missing

    def _topics(self, variables: Variables) -> tuple[str, ...]:
        topics = tuple(self.value or self.relevant_topics)
        return topics or find_texts(variables, "relevant_topics", "reference_topics")

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        questions = _find_questions(transcript, judge)
        if not questions:
            raise NoUnitsError("the user never asked a question")
        topics = list(self._topics(transcript.vars))

        def variables(question: _Question) -> JsonObject:
            exchange = turns_as_variables("exchange", question.exchange)
            return {"topics": topics, "question": question.text, **exchange}

        judgements = ask_each(judge, "topic-verdict", _VERDICT, questions, variables)
        rows = []
        for question in questions:
            turn = question.exchange[-1].number
            rows.append(judgements[question].row(turn=turn, question=question.text))

        counts = Counter(row["verdict"] for row in rows)
        good_words, counted_words = _MODES[self.mode]
        good = sum(counts[word] for word in good_words)
        total = sum(counts[word] for word in counted_words)
        if not total:
            raise NoVerdict(
                f"the user never got what {self.mode} is a share of, so no share can be measured"
            )
        summary = ", ".join(f"{counts[word]} {word}" for word in WORDS)
        measurement = measure_rows(rows, summary, _WRONG, "questions")
        return replace(measurement, score=Fraction(good, total))


def _find_questions(transcript: Transcript, judge: Judge) -> list[_Question]:
    """Ask the judge which questions the user asks in each exchange."""

    def variables(exchange: Exchange) -> JsonObject:
        user_turns = [numbered for numbered in exchange if numbered.turn.role == "user"]
        return turns_as_variables("exchange", user_turns)

    exchanges = require_exchanges(transcript.turns)
    texts_by_exchange = ask_each(
        judge, "topic-questions", _QUESTIONS, exchanges, variables, "questions"
    )
    questions = []
    for exchange, texts in texts_by_exchange.items():
        questions += [_Question(exchange, text) for text in texts]
    return questions
