"""javascript: an expression or a function of the config over the answer, in an engine that reaches nothing.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/javascript/, ``src/assertions/javascript.ts``;
``docs/code.md`` says what is other.
"""

from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from typing import Any

from pydantic import field_validator

from gradegate.assertions.grading import code_result
from gradegate.assertions.grading.evaluator import (
    Evaluator,
    Judge,
    NoVerdict,
    Transcript,
    Verdict,
    assertion,
)
from gradegate.structs import JsonObject, replace
from gradegate.templating.script import (
    ScriptError,
    ScriptFault,
    VerdictlessScript,
    assertion_script,
    may_mention,
)


@assertion("javascript")
class JavaScript(Evaluator):
    """JavaScript of the config decides: a boolean, a number, or `{pass, score, reason}`."""

    scoring = code_result.SCORING

    value: Any
    """A snippet: an expression or the body of a function, or `file://check.js`."""
    config: JsonObject = field(default_factory=dict)  # `context.config`
    test: JsonObject = field(default_factory=dict)  # `context.test`, where the code looks at it

    @field_validator("value")
    @classmethod
    def _check_code(cls, value: Any) -> Any:
        if isinstance(value, str):
            _why_verdictless(value)
        elif isinstance(value, Mapping):
            assertion_script(value)
        else:
            raise ValueError("is not JavaScript")
        return value

    def why_always_fails(self) -> str:
        return _why_verdictless(self.value) if isinstance(self.value, str) else ""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Fail if the code throws or returns no verdict. Raises NoVerdict if it cannot be loaded, lacks a name, or exceeds a limit."""
        context: JsonObject = {}
        if may_mention(self.value, "context"):
            context = code_result.script_context(transcript, self.test, self.config)
        try:
            returned = assertion_script(self.value).call(transcript.answer, context)
            verdict = code_result.verdict_from_value(
                returned.value, f"it gives {returned.type}: add `return`, or compare with it"
            )
        except (ScriptFault, NoVerdict) as e:
            return code_result.broken_verdict(f"the JavaScript fails on the answer: {e}")
        except ScriptError as e:
            raise NoVerdict(f"the JavaScript returned no verdict: {e}") from e
        if not returned.lines:
            return verdict
        return replace(verdict, evidence={**verdict.evidence, "console": list(returned.lines)})


@lru_cache(maxsize=4096)
def _why_verdictless(snippet: str) -> str:
    """Say why a snippet gives no verdict for any answer, and what to write. Empty for a usable snippet. Raises ScriptError."""
    try:
        assertion_script(snippet)
    except VerdictlessScript as e:
        return f"{e}; {e.cure}"
    return ""
