"""conversation-completeness: whether a user got from a conversation what he or she wanted.

Score: the share of the user's wishes that were met. Source:
https://deepeval.com/docs/metrics-conversation-completeness, ``deepeval/metrics/conversation_completeness/``.
"""

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    CountingMetric,
    Measured,
    ask_each,
    asking,
    numbered,
    of_rows,
    shown,
)

_INTENTIONS = verdict_forms.texts_form("intentions")
_VERDICT = verdict_forms.verdict_form()


@assertion("conversation-completeness")
class ConversationCompleteness(CountingMetric):
    """The user got from the conversation what he or she wanted."""

    requires = asking("intentions", "verdicts")

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        conversation = shown("conversation", numbered(transcript))
        intentions = judge.ask(
            "completeness-intentions", _INTENTIONS, step="intentions", **conversation
        )
        judgements = ask_each(
            judge,
            "completeness-verdict",
            _VERDICT,
            intentions,
            lambda text: {"intention": text, **conversation},
        )
        rows = [judgements[text].row(intention=text) for text in intentions]
        faults = {"no": '"{intention}" was not satisfied'}
        nothing = "the user wanted nothing"
        summary = "{} of {} intentions were satisfied"
        return of_rows(rows, summary, faults, "intentions", nothing=nothing)
