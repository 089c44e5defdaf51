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
                is_equal = json.loads(output) == self.value
            except (ValueError, RecursionError):
                return pass_or_fail(False, "the answer is not JSON")
        else:
            is_equal = output == show_value(self.value)

        expected = self.value
        if not isinstance(expected, str):
            expected = json.dumps(expected, ensure_ascii=False)
        verb = "equals" if is_equal else "does not equal"
        return pass_or_fail(is_equal, f'the answer {verb} "{expected}"')


@assertion("starts-with")
class StartsWith(TextEvaluator):
    """The answer starts with a text."""

    value: str
    """The text with which the answer begins."""

    def check(self, output: str) -> Verdict:
        has_start = output.startswith(self.value)
        verb = "starts" if has_start else "does not start"
        return pass_or_fail(has_start, f'the answer {verb} with "{self.value}"')


@assertion("regex")
class Regex(TextEvaluator):
    """A regular expression matches somewhere in the answer."""

    value: str
    """The regular expression, as JavaScript has them."""

    @field_validator("value")
    @classmethod
    def _check_pattern(cls, value: str) -> str:
        regex.check_pattern(value)
        return value

    def check(self, output: str) -> Verdict:
        try:
            has_match = regex.has_match(self.value, output, javascript=True)
        except ValueError as e:
            raise NoVerdict(
                f"the regular expression cannot be used on the answer: {e}; simplify it"
            ) from e
        verb = "matches" if has_match else "does not match"
        return pass_or_fail(has_match, f"the answer {verb} /{self.value}/")
