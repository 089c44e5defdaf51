"""hallucination: whether an answer agrees with texts that are known to be true.

Score: the share of the texts that the answer does not contradict. Source: https://deepeval.com/docs/metrics-hallucination,
``deepeval/metrics/hallucination/``, with the sense that it has from version 4.2: higher is better.
"""

from gradegate.assertions.grading.evaluator import (
    BY_ANSWER,
    Judge,
    NoVerdict,
    Transcript,
    assertion,
)
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import Measured, Metric, share_of_yes, texts_of
from gradegate.core.conversation import Variables
from gradegate.structs import replace


@assertion("hallucination")
class Hallucination(Metric):
    """The answer contradicts none of the texts in ``context`` (higher is better, as in DeepEval from 4.2)."""

    requires = replace(Metric.requires, images=False)

    value: str | list[str] = ""
    """The texts that must not be contradicted: one or a list; without it the variable `context`."""

    def missing_variables(self, variables: Variables) -> str:
        # What the answer says that it was given is no text to check it against.
        context = variables.get("context")
        if self.value or (context and context != BY_ANSWER):
            return ""
        return "there is no context; give it as `value` or a variable"

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        value = (self.value,) if isinstance(self.value, str) and self.value else tuple(self.value)
        contexts = value or texts_of(transcript.vars, "context")
        if not contexts:
            raise NoVerdict("there is no text to check the answer against")
        form = verdict_forms.verdict_list_form(count=len(contexts))
        judgements = judge.ask(
            "hallucination",
            form,
            step="verdicts",
            output=transcript.output,
            contexts=list(contexts),
        )
        return share_of_yes(
            enumerate(judgements, 1),
            "text",
            "the answer agrees with {} of {} texts",
            "text {text} is contradicted",
        )
