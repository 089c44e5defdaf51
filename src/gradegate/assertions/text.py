"""equals, starts-with and regex: the form of the answer as text.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/#equality, ``src/assertions/equals.ts``,
``startsWith.ts`` and ``regex.ts``.
"""

import json

from pydantic import field_validator

from gradegate.assertions.grading.evaluator import (
    AnyValue,
    Evaluator,
    Judge,
    NoVerdict,
    Transcript,
    Verdict,
    assertion,
    pass_or_fail,
)
from gradegate.templating import regex
from gradegate.templating.template import show


@assertion("equals")
class Equals(Evaluator):
    """The answer is exactly this text, or JSON equal to this value."""

    value: AnyValue
    """The text, or a JSON value that the answer must equal as JSON."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        if isinstance(self.value, dict | list):
            try:
                same = json.loads(transcript.output) == self.value
            except (ValueError, RecursionError):
                return pass_or_fail(False, "the answer is not JSON")
        else:
            same = transcript.output == show(self.value)
        expected = (
            self.value
            if isinstance(self.value, str)
            else json.dumps(self.value, ensure_ascii=False)
        )
        return pass_or_fail(
            same, f'the answer {"equals" if same else "does not equal"} "{expected}"'
        )


@assertion("starts-with")
class StartsWith(Evaluator):
    """The answer starts with a text."""

    value: str
    """The text with which the answer begins."""

    @field_validator("value")
    @classmethod
    def _filled(cls, value: str) -> str:
        if not value:
            raise ValueError("is empty: every answer starts with it")
        return value

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        starts = transcript.output.startswith(self.value)
        return pass_or_fail(
            starts, f'the answer {"starts" if starts else "does not start"} with "{self.value}"'
        )


@assertion("regex")
class Regex(Evaluator):
    """A regular expression matches somewhere in the answer."""

    value: str
    """The regular expression, as JavaScript has them."""

    @field_validator("value")
    @classmethod
    def _compiles(cls, value: str) -> str:
        regex.check(value)
        return value

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        try:
            matches = regex.search(self.value, transcript.output, javascript=True)
        except ValueError as e:
            raise NoVerdict(
                f"the regular expression cannot be used on the answer: {e}; simplify it"
            ) from e
        return pass_or_fail(
            matches, f"the answer {'matches' if matches else 'does not match'} /{self.value}/"
        )
