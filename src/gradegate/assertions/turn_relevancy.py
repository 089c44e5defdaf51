"""turn-relevancy: whether each answer of a conversation fits the messages before it.

Score: relevant answers / all answers. Each answer is judged in a window of at most ``window_size`` exchanges. Modes: those of ``Metric``.
Source: https://deepeval.com/docs/metrics-turn-relevancy, ``deepeval/metrics/turn_relevancy/``.
"""

from gradegate.assertions.grading.evaluator import Each, Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    Measurement,
    Metric,
    WindowSize,
    ask_each,
    measure_share_of_yes,
    require_exchanges,
    require_questions,
    turns_as_variables,
)
from gradegate.core.conversation import Window, split_windows, window_turns
from gradegate.structs import JsonObject

_VERDICT_FORM = verdict_forms.verdict_form()


@assertion("turn-relevancy")
class TurnRelevancy(Metric):
    """Every answer in a conversation fits what was said before it."""

    requires = require_questions(Each("verdicts"))

    window_size: WindowSize = 10

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        windows = split_windows(require_exchanges(transcript.turns), self.window_size)
        judgements = ask_each(judge, "turn-relevancy", _VERDICT_FORM, windows, _window_variables)

        numbered_judgements = []
        for window in windows:
            answer = window[-1][-1]  # the last turn of a window
            numbered_judgements.append((answer.number, judgements[window]))
        return measure_share_of_yes(
            numbered_judgements,
            "turn",
            "{} of {} answers are relevant",
            "turn {turn} is not relevant",
        )


def _window_variables(window: Window) -> JsonObject:
    return turns_as_variables("conversation", window_turns(window))
