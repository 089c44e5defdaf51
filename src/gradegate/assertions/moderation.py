"""moderation: a moderation model flags nothing in the answer.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/moderation/, ``src/matchers/moderation.ts``; the
categories are those of https://platform.openai.com/docs/guides/moderation.
"""

from typing import Annotated

from pydantic import Field

from gradegate.assertions.grading.evaluator import (
    Evaluator,
    Judge,
    Requirements,
    Transcript,
    Verdict,
    assertion,
    pass_or_fail,
)


@assertion("moderation")
class Moderation(Evaluator):
    """A moderation model flags nothing in the answer, or nothing in the categories that you name."""

    requires = Requirements(("moderation",))

    value: Annotated[list[str], Field(min_length=1)] | None = None
    """The categories that must not be flagged, as a list; without it, no category may be flagged."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        if not transcript.output.strip():
            return pass_or_fail(True, "the answer is empty")
        flags = tuple(judge.moderate(transcript.output, transcript.prompt))
        counted = []
        not_counted = []
        for flag in flags:
            if self.value is None or flag in self.value:
                counted.append(flag)
            else:
                not_counted.append(flag)

        reason = f"flagged: {', '.join(counted)}" if counted else "nothing is flagged"
        if not_counted:
            reason += f" (not counted: {', '.join(not_counted)})"
        return pass_or_fail(not counted, reason, flags=list(flags))
