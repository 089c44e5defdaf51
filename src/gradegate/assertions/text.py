"""equals, starts-with and regex: the form of the answer as text.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/#equality, ``src/assertions/equals.ts``,
``startsWith.ts`` and ``regex.ts``.
"""

import json

from pydantic import field_validator

from gradegate.assertions.grading.evaluator import (
    AnyValue,
    NoVerdict,
    TextEvaluator,
    Verdict,
    assertion,
    pass_or_fail,
)
from gradegate.templating import regex
from gradegate.templating.template import show_value


@assertion("equals")
class Equals(TextEvaluator):
    """The answer is exactly this text, or JSON equal to this value."""

    value: AnyValue
    """The text, or a JSON value that the answer must equal as JSON."""

    def check(self, output: str) -> Verdict:
        if isinstance(self.value, dict | list):
            try:
                same = json.loads(output) == self.value
            except (ValueError, RecursionError):
                return pass_or_fail(False, "the answer is not JSON")
        else:
            same = output == show_value(self.value)
        expected = (
            self.value
            if isinstance(self.value, str)
            else json.dumps(self.value, ensure_ascii=False)
        )
        return pass_or_fail(
            same, f'the answer {"equals" if same else "does not equal"} "{expected}"'
        )


@assertion("starts-with")
class StartsWith(TextEvaluator):
    """The answer starts with a text."""

    value: str
    """The text with which the answer begins."""

    def check(self, output: str) -> Verdict:
        starts = output.startswith(self.value)
        return pass_or_fail(
            starts, f'the answer {"starts" if starts else "does not start"} with "{self.value}"'
        )


@assertion("regex")
class Regex(TextEvaluator):
    """A regular expression matches somewhere in the answer."""

    value: str
    """The regular expression, as JavaScript has them."""

    @field_validator("value")
    @classmethod
    def _compiles(cls, value: str) -> str:
        regex.check_pattern(value)
        return value

    def check(self, output: str) -> Verdict:
        try:
            matches = regex.has_match(self.value, output, javascript=True)
        except ValueError as e:
            raise NoVerdict(
                f"the regular expression cannot be used on the answer: {e}; simplify it"
            ) from e
        return pass_or_fail(
            matches, f"the answer {'matches' if matches else 'does not match'} /{self.value}/"
        )
