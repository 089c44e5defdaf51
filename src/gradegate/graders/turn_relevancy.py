"""turn-relevancy: whether each answer of a conversation fits what came before it.

Score: the share of the windows whose last answer fits. Source: https://deepeval.com/docs/metrics-turn-relevancy,
``deepeval/metrics/turn_relevancy/``.
"""

from __future__ import annotations

from dataclasses import replace

from gradegate.grading.grader import GRADERS, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import verdicts
from gradegate.grading.metrics.metric import Measured, Metric, WindowSize, ask_once, exchanges_of, images_in, script
from gradegate.grading.metrics.shares import share_of_yes
from gradegate.grading.metrics.verdicts import Judgement
from gradegate.values.conversation import Transcript, Window, flat, windows

_FORM = verdicts.single()


@GRADERS.register("turn-relevancy")
@options
class TurnRelevancy(Metric):
    """Every answer in a conversation fits what was said before it."""

    asks = replace(Metric.asks, each=("verdicts",))

    window_size: WindowSize = 10

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        """The share of exchanges whose last answer is relevant within its window."""
        cut = windows(exchanges_of(transcript), self.window_size)

        def ask(window: Window) -> Judgement[str]:
            turns = flat(window)
            images = images_in(turn for _, turn in turns)
            return judge.ask(
                "turn-relevancy",
                _FORM,
                step="verdicts",
                images=images,
                conversation=script(turns),
            )

        judgements = ask_once(judge, cut, ask)
        pairs = [(window[-1][-1].number, judgements[window]) for window in cut]
        return share_of_yes(pairs, "turn", "{} of {} answers are relevant", "turn {turn} is not relevant")
