"""in-language: a model says whether the answer is in a language.

Score: 1 or 0. The question is our own.
"""

from gradegate.assertions.grading.evaluator import (
    Judge,
    ModelEvaluator,
    Transcript,
    Verdict,
    assertion,
    pass_or_fail,
)
from gradegate.assertions.judge import verdict_forms

FORM = verdict_forms.verdict_form(last_line=verdict_forms.YES_NO_LINE)


@assertion("in-language")
class InLanguage(ModelEvaluator):
    """The answer is in the language that ``value`` names."""

    value: str
    """The language, such as French."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        said = judge.ask("in-language", FORM, wanted=self.value, output=transcript.output)
        same = said.verdict == "yes"
        return pass_or_fail(same, f"the answer is {'' if same else 'not '}in {self.value}")
