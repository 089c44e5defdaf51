"""conversation-completeness: whether a conversation satisfied all intentions of the user.

Score: satisfied intentions / all intentions. The grader lists the intentions, then judges each. Modes: ``no_claims`` says
what a conversation without intentions is. Source: https://deepeval.com/docs/metrics-conversation-completeness,
``deepeval/metrics/conversation_completeness/``.
"""

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    CountingMetric,
    Measurement,
    ask_each,
    measure_rows,
    number_turns,
    require_questions,
    turns_as_variables,
)
from gradegate.structs import JsonObject

_INTENTIONS_FORM = verdict_forms.texts_form("intentions")
_VERDICT_FORM = verdict_forms.verdict_form()


@assertion("conversation-completeness")
class ConversationCompleteness(CountingMetric):
    """The user got from the conversation what he or she wanted."""

    requires = require_questions("intentions", "verdicts")

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        conversation = turns_as_variables("conversation", number_turns(transcript))
        intentions = judge.ask(
            "completeness-intentions", _INTENTIONS_FORM, step="intentions", **conversation
        )

        def variables(intention: str) -> JsonObject:
            return {"intention": intention, **conversation}

        judgements = ask_each(judge, "completeness-verdict", _VERDICT_FORM, intentions, variables)
        rows = [judgements[intention].row(intention=intention) for intention in intentions]
        return measure_rows(
            rows,
            "{} of {} intentions were satisfied",
            {"no": '"{intention}" was not satisfied'},
            "intentions",
            nothing="the user wanted nothing",
        )
