"""goal-accuracy: whether an agent reached what it was asked for, and whether its way there was a good one.

Score: the mean of two means over the exchanges of a conversation, the marks for what was reached and those for the
way, each 0 to 10 over 10; with ``way: false`` the goals alone. As DeepEval's (https://deepeval.com/docs/metrics-goal-accuracy,
``deepeval/metrics/goal_accuracy/``); with ``value``, the outcome that is wanted, the conversation is one task, as in Ragas's
AgentGoalAccuracyWithReference (https://docs.ragas.io/en/stable/concepts/metrics/available_metrics/agents/), which gives 1 or 0
(``strict_mode``).
"""

from typing import NamedTuple

from gradegate.assertions.grading.evaluator import Each, Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    Measured,
    Metric,
    ask_once,
    asking,
    clipped,
    exchanges_of,
    script,
    shown,
)
from gradegate.assertions.metrics.tool_calls import with_calls
from gradegate.core.conversation import Numbered, window_turns
from gradegate.core.numbers import exact_mean

BEST = 10
_MARK = verdict_forms.score(BEST)
_PROMPTS = {"goal": "goal-outcome", "way": "goal-way"}


class _Task(NamedTuple):
    """What was to be reached, and the turns in which the agent worked at it."""

    goal: str
    turns: tuple[Numbered, ...]


@assertion("goal-accuracy")
class GoalAccuracy(Metric):
    """The agent reached what it was asked for, by a good way."""

    requires = asking(Each("goal"), Each("way"))

    value: str = ""
    """The wanted outcome; without it, the goal is what the user asks for in each exchange."""
    way: bool = True

    def count_questions(self, exchanges: int) -> int:
        tasks = 1 if self.value.strip() else exchanges
        return Metric.count_questions(self, tasks) - (0 if self.way else tasks)

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        complete = exchanges_of(with_calls(transcript))
        if self.value.strip():
            tasks = [_Task(self.value, window_turns(complete))]
        else:
            asked = (
                "\n\n".join(turn.content for _, turn in exchange if turn.role == "user")
                for exchange in complete
            )
            tasks = list(map(_Task, asked, complete))
        judge = judge.with_graded(judge.graded, *(script(task.turns) for task in tasks))
        steps = [*_PROMPTS] if self.way else ["goal"]

        def ask(question: tuple[_Task, str]) -> verdict_forms.Judgement[float]:
            task, step = question
            return judge.ask(
                _PROMPTS[step], _MARK, step=step, goal=task.goal, **shown("work", task.turns)
            )

        marks = ask_once(judge, [(task, step) for task in tasks for step in steps], ask)
        means = {
            step: exact_mean(marks[task, step].verdict for task in tasks) / BEST for step in steps
        }
        rows = []
        findings = []
        low_turns: dict[int, None] = {}
        for (task, step), mark in marks.items():
            turn = task.turns[-1].number
            rows.append({"turn": turn, "of": step, "score": mark.verdict, "reason": mark.reason})
            if mark.verdict < BEST:
                low_turns[turn] = None
                findings.append(
                    f"turn {turn}, {step} {mark.verdict:g} of {BEST}: {clipped(mark.reason)}"
                )
        return Measured(
            exact_mean(means.values()),
            ", ".join(f"{step} {float(share):.4g}" for step, share in means.items()),
            tuple(findings),
            evidence={"marks": rows},
            turns=tuple(low_turns),
        )
