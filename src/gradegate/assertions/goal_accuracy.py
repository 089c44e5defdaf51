"""goal-accuracy: whether an agent reached the goal of the user, and whether the way to the goal was good.

The grader gives marks from 0 to 10 to each task: one for the goal, one for the way. Score: the mean of the two mean marks,
divided by 10. Modes: with ``way: false`` only the goals count. Without ``value`` each exchange is a task, as in DeepEval
(https://deepeval.com/docs/metrics-goal-accuracy, ``deepeval/metrics/goal_accuracy/``). With ``value``, the wanted outcome, the
conversation is one task, as in AgentGoalAccuracyWithReference of Ragas
(https://docs.ragas.io/en/stable/concepts/metrics/available_metrics/agents/). Ragas scores 1 or 0, as ``strict_mode`` does.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from gradegate.assertions.grading.evaluator import Each, Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.judge.verdict_forms import Judgement
from gradegate.assertions.metrics.conversation import (
    Measurement,
    Metric,
    ask_distinct,
    format_turns,
    require_exchanges,
    require_questions,
    shorten,
    turns_as_variables,
)
from gradegate.assertions.metrics.tool_calls import turns_with_calls
from gradegate.core.conversation import Numbered, window_turns
from gradegate.core.numbers import exact_mean

BEST = 10
_MARK_FORM = verdict_forms.score_form(BEST)
_PROMPTS = {"goal": "goal-outcome", "way": "goal-way"}  # by what is marked


class _Task(NamedTuple):
    """A goal, and the turns in which the agent worked towards the goal."""

    goal: str
    turns: tuple[Numbered, ...]


@assertion("goal-accuracy")
class GoalAccuracy(Metric):
    """The agent reached what it was asked for, by a good way."""

    requires = require_questions(Each("goal"), Each("way"))

    value: str = ""
    """The wanted outcome; without it, the goal is what the user asks for in each exchange."""
    way: bool = True

    def count_questions(self, exchanges: int) -> int:
        tasks = 1 if self.value.strip() else exchanges
        count = Metric.count_questions(self, tasks)
        return count if self.way else count - tasks

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        tasks = self._split_tasks(transcript)
        aspects = ["goal", "way"] if self.way else ["goal"]
        work = [format_turns(task.turns) for task in tasks]
        judge = judge.with_graded(judge.graded, *work)
        marks = _ask_marks(tasks, aspects, judge)

        rows = []
        findings = []
        imperfect_turns: dict[int, None] = {}  # each once, in order
        for (task, aspect), mark in marks.items():
            turn = task.turns[-1].number
            score = mark.verdict
            rows.append({"turn": turn, "of": aspect, "score": score, "reason": mark.reason})
            if score < BEST:
                imperfect_turns[turn] = None
                reason = shorten(mark.reason)
                findings.append(f"turn {turn}, {aspect} {score:g} of {BEST}: {reason}")

        means = {}
        for aspect in aspects:
            means[aspect] = exact_mean(marks[task, aspect].verdict for task in tasks) / BEST
        return Measurement(
            exact_mean(means.values()),
            ", ".join(f"{aspect} {float(mean):.4g}" for aspect, mean in means.items()),
            tuple(findings),
            evidence={"marks": rows},
            turns=tuple(imperfect_turns),
        )

    def _split_tasks(self, transcript: Transcript) -> list[_Task]:
        """The whole conversation with the wanted outcome, or each exchange with what the user asks for in it."""
        exchanges = require_exchanges(turns_with_calls(transcript))
        if self.value.strip():
            return [_Task(self.value, window_turns(exchanges))]
        tasks = []
        for exchange in exchanges:
            requests = [turn.content for _, turn in exchange if turn.role == "user"]
            tasks.append(_Task("\n\n".join(requests), exchange))
        return tasks


def _ask_marks(
    tasks: Sequence[_Task], aspects: Sequence[str], judge: Judge
) -> dict[tuple[_Task, str], Judgement[float]]:
    """The mark of each task for each aspect, "goal" or "way", from 0 to ``BEST``."""

    def ask_mark(question: tuple[_Task, str]) -> Judgement[float]:
        task, aspect = question
        work = turns_as_variables("work", task.turns)
        return judge.ask(_PROMPTS[aspect], _MARK_FORM, step=aspect, goal=task.goal, **work)

    return ask_distinct(judge, product(tasks, aspects), ask_mark)
