"""is-json and contains-json: the answer is, or holds, JSON, of a given JSON Schema where one is given.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/#is-json,
``src/assertions/json.ts``; schemas as https://json-schema.org defines them.
"""

import json
from typing import Any

from pydantic import field_validator

from gradegate.assertions.grading.evaluator import (
    NoVerdict,
    TextEvaluator,
    Verdict,
    assertion,
    options,
    pass_or_fail,
)
from gradegate.errors import ConfigError
from gradegate.files import documents
from gradegate.files.json_text import describe_syntax_error
from gradegate.templating import json_schema, lenient_json

MOST = 1000  # objects of one answer that are checked


@options
class _WithSchema(TextEvaluator):
    value: Any = None
    """A JSON Schema: a mapping, YAML or JSON text, or `file://schema.json`."""

    @field_validator("value")
    @classmethod
    def _parse_schema(cls, value: Any) -> Any:
        if isinstance(value, str):
            try:
                value = documents.read(value.encode("utf-8", "replace"), "schema")
            except ConfigError as e:
                raise ValueError(f"is not a JSON Schema: {e.mistakes[0].what}") from e
        if value is not None and not isinstance(value, dict | bool):
            raise ValueError("is not a JSON Schema")
        if value is not None:
            json_schema.check_schema(documents.to_json(value), only_keywords=True)
        return value

    def _problem(self, value: Any) -> str:
        """Say why a value does not fit the schema. Empty if it fits. Raises NoVerdict if the check exceeds a limit."""
        if self.value is None:
            return ""
        try:
            return json_schema.schema_problem(documents.to_json(self.value), value)
        except ValueError as e:
            raise NoVerdict(f"the answer cannot be checked against the schema: {e}") from e


@assertion("is-json")
class IsJson(_WithSchema):
    """The whole answer is JSON, and conforms to a JSON Schema where one is given."""

    def check(self, output: str) -> Verdict:
        try:
            value = json.loads(output, parse_constant=lenient_json.refuse_constant)
        except (ValueError, RecursionError) as e:
            return pass_or_fail(
                False, f"the answer is not JSON: {describe_syntax_error(e, output)}"
            )
        problem = self._problem(value)
        return pass_or_fail(not problem, problem or "the answer is JSON that fits the schema")


@assertion("contains-json")
class ContainsJson(_WithSchema):
    """The answer holds a JSON object, one that conforms to a JSON Schema where one is given."""

    def check(self, output: str) -> Verdict:
        problem = "the answer contains no JSON object"
        for number, item in enumerate(lenient_json.find_objects(output), 1):
            if number > MOST:
                raise NoVerdict(
                    f"none of the first {MOST:,} JSON objects of the answer fits the schema"
                )
            problem = self._problem(item.value)
            if not problem:
                return pass_or_fail(True, "the answer contains JSON that fits the schema")
        return pass_or_fail(False, problem)
