"""topic-adherence: whether an agent answers what belongs to its topics, and nothing else.

Each question of the user is one of four: helped (on topic, answered), withheld (on topic, not answered), strayed (off
topic, answered), declined (off topic, not answered). Score: (helped + declined) / all, as DeepEval's
(https://deepeval.com/docs/metrics-topic-adherence, ``deepeval/metrics/topic_adherence/``); by ``mode`` Ragas's
(https://docs.ragas.io/en/stable/concepts/metrics/available_metrics/agents/): precision = helped / (helped + strayed), recall
= helped / (helped + withheld), f1 = their harmonic mean.
"""

from collections import Counter
from fractions import Fraction
from typing import Annotated, Literal

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
# What each mode counts for, and among which.
_MODES = {
    "accuracy": (("helped", "declined"), WORDS),
    "precision": (("helped",), ("helped", "strayed")),
    "recall": (("helped",), ("helped", "withheld")),
    "f1": (("helped", "helped"), ("helped", "helped", "strayed", "withheld")),
}
_QUESTIONS = verdict_forms.texts_form("questions")
_VERDICT = verdict_forms.verdict_form(dict(zip(WORDS, WORDS, strict=True)))
_Topics = Annotated[list[FilledText], BeforeValidator(strip_texts), BeforeValidator(to_list)]


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
        return tuple(self.value or self.relevant_topics) or find_texts(
            variables, "relevant_topics", "reference_topics"
        )

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        topics = self._topics(transcript.vars)

        def of_user(exchange: Exchange) -> JsonObject:
            return turns_as_variables(
                "exchange", [numbered for numbered in exchange if numbered.turn.role == "user"]
            )

        def of_both(asked: tuple[Exchange, str]) -> JsonObject:
            return {
                "topics": list(topics),
                "question": asked[1],
                **turns_as_variables("exchange", asked[0]),
            }

        questions = ask_each(
            judge,
            "topic-questions",
            _QUESTIONS,
            require_exchanges(transcript.turns),
            of_user,
            "questions",
        )
        asked = [(exchange, text) for exchange, texts in questions.items() for text in texts]
        judgements = ask_each(judge, "topic-verdict", _VERDICT, asked, of_both)
        rows = [
            judgements[exchange, text].row(turn=exchange[-1].number, question=text)
            for exchange, text in asked
        ]
        counts = Counter(row["verdict"] for row in rows)
        summary = ", ".join(f"{counts[word]} {word}" for word in WORDS)
        good, considered = (sum(counts[word] for word in words) for words in _MODES[self.mode])
        if not considered:
            if not rows:
                raise NoUnitsError("the user never asked a question")
            raise NoVerdict(
                f"the user never got what {self.mode} is a share of, so no share can be measured"
            )
        measurement = measure_rows(rows, summary, _WRONG, "questions")
        return replace(measurement, score=Fraction(good, considered))
