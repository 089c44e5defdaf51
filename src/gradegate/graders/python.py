"""python: code of the repository decides; it runs only by leave of the workflow.

As in promptfoo (``src/assertions/python.ts``): one line is an expression over ``output`` and ``context``, more lines are the
body of a function, ``file://x.py`` names a file with ``get_assert(output, context)`` and ``file://x.py:function`` another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, field_validator

from gradegate.conversation import Transcript
from gradegate.errors import NoVerdict
from gradegate.files.document import to_json
from gradegate.grading.grader import GRADERS, Grader, Scoring, Written, options
from gradegate.grading.judge import Judge
from gradegate.grading.returned import SCORING, script_verdict
from gradegate.programs import desk
from gradegate.programs.program import Program
from gradegate.result import Verdict

ROLE = "gate"  # no process serves both what answers and what judges


@GRADERS.register("python")
@options
class Python(Grader):
    """Python decides: an expression, the body of a function, or a file with get_assert (needs --allow-exec)."""

    scoring: ClassVar[Scoring] = SCORING
    written: ClassVar[Written] = Written(runs_code=True)

    value: Any
    config: Mapping[str, Any] = Field(default_factory=dict)

    @field_validator("value")
    @classmethod
    def _code(cls, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError("must be Python code, or file://x.py")
        return value

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """What the code returned. Raises NoVerdict where it raised, took too long, or returned no verdict."""
        arguments = [_output(transcript), self._context(transcript)]
        try:
            if isinstance(self.value, Program):
                returned = desk.call(self.value, arguments, ROLE, "get_assert")
            else:
                returned = desk.inline(self.value, arguments, ROLE)
        except desk.Failed as e:
            raise NoVerdict(f"the Python of the assertion gave no verdict: {e}") from e
        return script_verdict(returned)

    def _context(self, transcript: Transcript) -> Mapping[str, Any]:
        return {
            "prompt": transcript.prompt,
            "vars": transcript.vars,
            "test": {"vars": transcript.vars},
            "config": self.config,
            "providerResponse": {"output": transcript.output, "metadata": transcript.metadata},
            "metadata": transcript.metadata,
        }


def _output(transcript: Transcript) -> Any:
    """The answer; as data where code of the repository answered with data."""
    given = transcript.metadata.get("output")
    return given if given is not None and transcript.output == to_json(given) else transcript.output
