"""knowledge-retention: whether an assistant remembers what the user has told it.

Score: the share of the assistant's messages that forget nothing, among those with anything to remember. Source:
https://deepeval.com/docs/metrics-knowledge-retention, ``deepeval/metrics/knowledge_retention/``.
"""

from gradegate.assertions.grading.evaluator import Each, Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    CountingMetric,
    Measured,
    ask_each,
    asking,
    numbered,
    of_rows,
    script,
    with_marks,
)
from gradegate.core.conversation import Turn
from gradegate.structs import JsonObject, replace

_FACTS = verdict_forms.texts_form("facts")
_VERDICT = verdict_forms.verdict_form()
_Question = tuple[tuple[str, ...], Turn]  # what was known before an answer, and the answer


@assertion("knowledge-retention")
class KnowledgeRetention(CountingMetric):
    """The assistant never forgets what the user has told it in the conversation."""

    requires = asking(Each("facts"), Each("verdicts"))

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        turns = numbered(transcript)
        user_numbers = [number for number, turn in turns if turn.role == "user"]
        facts_by_turn = ask_each(
            judge,
            "retention-facts",
            _FACTS,
            user_numbers,
            lambda n: {"before": script(turns[: n - 1]), **_message(turns[n - 1].turn)},
            "facts",
        )
        questions: dict[int, _Question] = {}
        earlier_facts: list[str] = []
        for number, turn in turns:
            if turn.role == "user":
                earlier_facts += facts_by_turn[number]
            elif earlier_facts:
                questions[number] = (tuple(dict.fromkeys(earlier_facts)), turn)
        judgements = ask_each(
            judge,
            "retention-verdict",
            _VERDICT,
            questions.values(),
            lambda question: {"facts": list(question[0]), **_message(question[1])},
        )
        pairs = ((number, judgements[question]) for number, question in questions.items())
        rows = [
            {"turn": number, "forgot": judgement.verdict, "reason": judgement.reason}
            for number, judgement in pairs
        ]
        faults = {"yes": "turn {turn} forgets what the user said"}
        nothing = "the user said nothing that could be forgotten"
        summary = "{} of {} answers forget nothing"
        measured = of_rows(rows, summary, faults, key="forgot", nothing=nothing)
        facts = {str(number): list(facts) for number, facts in facts_by_turn.items()}
        return replace(measured, evidence={**measured.evidence, "facts": facts})


def _message(turn: Turn) -> JsonObject:
    return {"images": turn.images, "message": with_marks(turn)}
