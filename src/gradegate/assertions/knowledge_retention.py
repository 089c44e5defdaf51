"""knowledge-retention: whether an assistant remembers what the user said.

Score: answers that forget nothing / answers that come after a fact. The grader lists the facts in each message of the user,
then judges each answer after them. Modes: ``no_claims`` says what a conversation without facts is. Source:
https://deepeval.com/docs/metrics-knowledge-retention, ``deepeval/metrics/knowledge_retention/``.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gradegate.assertions.grading.evaluator import Each, Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    CountingMetric,
    Measurement,
    ask_each,
    content_with_image_marks,
    format_turns,
    measure_rows,
    number_turns,
    require_questions,
)
from gradegate.core.conversation import Numbered, Turn
from gradegate.structs import JsonObject, replace

_FACTS_FORM = verdict_forms.texts_form("facts")
_VERDICT_FORM = verdict_forms.verdict_form()


class _Question(NamedTuple):
    """An answer, and the facts that the user stated before."""

    facts: tuple[str, ...]
    answer: Turn

    def variables(self) -> JsonObject:
        return {"facts": list(self.facts), **_message_variables(self.answer)}


@assertion("knowledge-retention")
class KnowledgeRetention(CountingMetric):
    """The assistant never forgets what the user has told it in the conversation."""

    requires = require_questions(Each("facts"), Each("verdicts"))

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        turns = number_turns(transcript)
        facts_by_turn = _ask_facts(turns, judge)
        questions = _make_questions(turns, facts_by_turn)
        judgements = ask_each(
            judge, "retention-verdict", _VERDICT_FORM, questions.values(), _Question.variables
        )

        rows = []
        for number, question in questions.items():
            judgement = judgements[question]
            rows.append({"turn": number, "forgot": judgement.verdict, "reason": judgement.reason})
        measurement = measure_rows(
            rows,
            "{} of {} answers forget nothing",
            {"yes": "turn {turn} forgets what the user said"},
            key="forgot",
            nothing="the user said nothing that could be forgotten",
        )
        facts = {str(number): list(facts) for number, facts in facts_by_turn.items()}
        return replace(measurement, evidence={**measurement.evidence, "facts": facts})


def _ask_facts(
    turns: Sequence[Numbered],
    judge: Judge,
) -> Mapping[int, Sequence[str]]:
    """The facts that each message of the user states, by the number of the message."""

    def variables(number: int) -> JsonObject:
        earlier = turns[: number - 1]
        message = turns[number - 1].turn
        return {"before": format_turns(earlier), **_message_variables(message)}

    user_numbers = [number for number, turn in turns if turn.role == "user"]
    return ask_each(judge, "retention-facts", _FACTS_FORM, user_numbers, variables, "facts")


def _make_questions(
    turns: Sequence[Numbered], facts_by_turn: Mapping[int, Sequence[str]]
) -> Mapping[int, _Question]:
    """A question for each answer after a fact, by the number of the answer."""
    questions = {}
    earlier_facts: dict[str, None] = {}  # each once, in order
    for number, turn in turns:
        if turn.role == "user":
            earlier_facts.update(dict.fromkeys(facts_by_turn[number]))
        elif earlier_facts:
            questions[number] = _Question(tuple(earlier_facts), turn)
    return questions


def _message_variables(turn: Turn) -> JsonObject:
    return {"images": turn.images, "message": content_with_image_marks(turn)}
