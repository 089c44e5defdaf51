"""turn-relevancy: whether each answer of a conversation fits what came before it.

Score: the share of the windows whose last answer fits. Source: https://deepeval.com/docs/metrics-turn-relevancy,
``deepeval/metrics/turn_relevancy/``.
"""

from gradegate.assertions.grading.evaluator import Each, Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    Measured,
    Metric,
    WindowSize,
    ask_each,
    asking,
    exchanges_of,
    share_of_yes,
    shown,
)
from gradegate.core.conversation import split_windows, window_turns

_FORM = verdict_forms.verdict_form()


@assertion("turn-relevancy")
class TurnRelevancy(Metric):
    """Every answer in a conversation fits what was said before it."""

    requires = asking(Each("verdicts"))

    window_size: WindowSize = 10

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        cut = split_windows(exchanges_of(transcript.turns), self.window_size)
        judgements = ask_each(
            judge,
            "turn-relevancy",
            _FORM,
            cut,
            lambda window: shown("conversation", window_turns(window)),
        )
        pairs = [(window[-1][-1].number, judgements[window]) for window in cut]
        return share_of_yes(
            pairs, "turn", "{} of {} answers are relevant", "turn {turn} is not relevant"
        )
