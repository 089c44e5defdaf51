"""python: code of the repository decides; it runs only with `--allow-exec`.

As in promptfoo (``src/assertions/python.ts``): one line is an expression over ``output`` and ``context``, more lines are the
body of a function, ``file://x.py`` names a file with ``get_assert(output, context)`` and ``file://x.py:function`` another one.
"""

from typing import Any

from pydantic import Field, field_validator

from gradegate.assertions.grading.code_result import (
    SCORING,
    broken_verdict,
    script_context,
    verdict_from_script_value,
)
from gradegate.assertions.grading.evaluator import (
    Evaluator,
    Judge,
    NoVerdict,
    Transcript,
    Verdict,
    assertion,
)
from gradegate.sandbox import repository_code
from gradegate.sandbox.program import Program
from gradegate.structs import JsonObject

ROLE = "gate"  # code that answers and code that judges never share a process


@assertion("python")
class Python(Evaluator):
    """Python decides: an expression, the body of a function, or a file with get_assert (needs --allow-exec)."""

    scoring = SCORING
    runs_code = True

    value: Any
    """An expression, the body of a function, or `file://check.py`; runs only with --allow-exec."""
    config: JsonObject = Field(default_factory=dict)  # `context["config"]`
    test: JsonObject = Field(default_factory=dict)  # `context["test"]`

    @field_validator("value")
    @classmethod
    def _check_code(cls, value: Any) -> Any:
        if not isinstance(value, str | Program):
            raise ValueError("must be Python code, or file://x.py")
        return value

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Fail if the code raises or gives no verdict. Raises NoVerdict if it cannot be loaded, lacks a name, or exceeds a limit."""
        arguments = [transcript.answer, script_context(transcript, self.test, self.config)]
        try:
            if isinstance(self.value, Program):
                value = repository_code.call_function(self.value, arguments, ROLE, "get_assert")
            else:
                value = repository_code.run_snippet(self.value, arguments, ROLE)
            return verdict_from_script_value(value)
        except NoVerdict as e:
            return broken_verdict(f"the Python fails on the answer: {e}")
        except repository_code.CodeError as e:
            if e.has_raised:
                return broken_verdict(f"the Python fails on the answer: {e}")
            raise NoVerdict(f"the Python of the assertion gave no verdict: {e}") from e
