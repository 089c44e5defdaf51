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
_MARK = verdict_forms.score_form(BEST)
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
        tasks = self._tasks(transcript)
        steps = ["goal", "way"] if self.way else ["goal"]
        judge = judge.with_graded(judge.graded, *(script(task.turns) for task in tasks))

        def ask(question: tuple[_Task, str]) -> verdict_forms.Judgement[float]:
            task, step = question
            work = shown("work", task.turns)
            return judge.ask(_PROMPTS[step], _MARK, step=step, goal=task.goal, **work)

        marks = ask_once(judge, [(task, step) for task in tasks for step in steps], ask)

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

        means = {}
        for step in steps:
            means[step] = exact_mean(marks[task, step].verdict for task in tasks) / BEST
        return Measured(
            exact_mean(means.values()),
            ", ".join(f"{step} {float(share):.4g}" for step, share in means.items()),
            tuple(findings),
            evidence={"marks": rows},
            turns=tuple(low_turns),
        )

    def _tasks(self, transcript: Transcript) -> list[_Task]:
        """The whole conversation with the wanted outcome, or each exchange with what the user asks for in it."""
        exchanges = exchanges_of(with_calls(transcript))
        if self.value.strip():
            return [_Task(self.value, window_turns(exchanges))]
        tasks = []
        for exchange in exchanges:
            requests = [turn.content for _, turn in exchange if turn.role == "user"]
            tasks.append(_Task("\n\n".join(requests), exchange))
        return tasks
