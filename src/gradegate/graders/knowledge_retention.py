"""knowledge-retention: whether an assistant remembers what the user has told it.

Score: the share of the assistant's messages that forget nothing. Source:
https://deepeval.com/docs/metrics-knowledge-retention, ``deepeval/metrics/knowledge_retention/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from gradegate.grading.grader import GRADERS, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import verdicts
from gradegate.grading.metrics.metric import Measured, Metric, ask_once, exchanges_of, script, with_marks
from gradegate.grading.metrics.shares import of_rows
from gradegate.grading.metrics.verdicts import Judgement
from gradegate.values.conversation import Numbered, Transcript, Turn

_FACTS = verdicts.texts("facts")
_VERDICT = verdicts.single()
_Question = tuple[tuple[str, ...], Turn]  # what was known before an answer, and the answer


@GRADERS.register("knowledge-retention")
@options
class KnowledgeRetention(Metric):
    """The assistant never forgets what the user has told it in the conversation."""

    asks = replace(Metric.asks, steps=("facts", "verdicts", "reason"), each=("facts", "verdicts"))

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        """The share of answers that forget nothing, among those with anything to remember; 1 when there is none."""
        exchanges_of(transcript)
        turns = [Numbered(number, turn) for number, turn in enumerate(transcript.turns, 1)]
        told = ask_once(judge, [n for n, turn in turns if turn.role == "user"], partial(_facts, judge, turns))
        questions = _questions(turns, told)
        judgements = ask_once(judge, questions.values(), partial(_forgot, judge))
        pairs = ((number, judgements[asked]) for number, asked in questions.items())
        rows = [{"turn": number, "forgot": judgement.verdict, "reason": judgement.reason} for number, judgement in pairs]
        faults, none = {"yes": "turn {turn} forgets what it was told"}, (1, "the user told nothing that could be forgotten")
        measured = of_rows(rows, "{} of {} answers forget nothing", faults, key="forgot", none=none)
        facts = {str(number): list(facts) for number, facts in told.items()}
        return replace(measured, evidence={**measured.evidence, "facts": facts}, steps=(*map(str, told.items()), *measured.steps))


def _questions(turns: list[Numbered], told: Mapping[int, tuple[str, ...]]) -> dict[int, _Question]:
    facts: list[str] = []
    questions: dict[int, _Question] = {}
    for number, turn in turns:
        if turn.role == "user":
            facts += told[number]
        elif facts:
            questions[number] = (tuple(dict.fromkeys(facts)), turn)
    return questions


def _facts(judge: Judge, turns: list[Numbered], number: int) -> tuple[str, ...]:
    turn = turns[number - 1].turn
    return judge.ask(
        "retention-facts",
        _FACTS,
        step="facts",
        images=turn.images,
        before=script(turns[: number - 1]),
        message=with_marks(turn),
    )


def _forgot(judge: Judge, question: _Question) -> Judgement[str]:
    facts, turn = question
    return judge.ask(
        "retention-verdict",
        _VERDICT,
        step="verdicts",
        images=turn.images,
        facts=list(facts),
        message=with_marks(turn),
    )
