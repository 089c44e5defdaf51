"""hallucination: whether an answer agrees with texts that are known to be true.

Score: texts that the answer does not contradict / all texts. Modes: those of ``Metric``. Source:
https://deepeval.com/docs/metrics-hallucination, ``deepeval/metrics/hallucination/``. As in DeepEval since version 4.2, a
higher score is better.
"""

from gradegate.assertions.grading.evaluator import (
    BY_ANSWER,
    Judge,
    NoVerdict,
    Transcript,
    assertion,
)
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    Measurement,
    Metric,
    find_texts,
    measure_share_of_yes,
)
from gradegate.core.conversation import Variables
from gradegate.structs import replace


@assertion("hallucination")
class Hallucination(Metric):
    """The answer contradicts none of the texts in ``context`` (higher is better, as in DeepEval from 4.2)."""

    requires = replace(Metric.requires, images=False)

    value: str | list[str] = ""
    """The texts that must not be contradicted: one or a list; without it the variable `context`."""

    def missing_variables(self, variables: Variables) -> str:
        # A context that the answer brings proves nothing about the answer.
        context = variables.get("context")
        if self.value or (context and context != BY_ANSWER):
            return ""
        return "there is no context; give it as `value` or a variable"

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        contexts = [self.value] if isinstance(self.value, str) else self.value
        if not self.value:
            contexts = list(find_texts(transcript.vars, "context"))
        if not contexts:
            raise NoVerdict("there is no text to check the answer against")

        judgements = judge.ask(
            "hallucination",
            verdict_forms.verdict_list_form(count=len(contexts)),
            step="verdicts",
            output=transcript.output,
            contexts=contexts,
        )
        return measure_share_of_yes(
            enumerate(judgements, 1),
            "text",
            "the answer agrees with {} of {} texts",
            "text {text} is contradicted",
        )
