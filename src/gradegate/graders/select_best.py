"""select-best: a model picks the best of all outputs of one test.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/select-best/,
``src/matchers/comparison.ts``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from gradegate.conversation import Transcript
from gradegate.errors import Unreadable
from gradegate.grading import reading
from gradegate.grading.grader import GRADERS, Asks, Grader, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics.sentences import lines
from gradegate.grading.rubric import shape
from gradegate.result import Grade, Verdict

SCHEMA = shape(reason={"type": "string"}, index={"type": "integer"})
_N = r"(?<![\w./-])(\d+)(?![\w%/]|\.\d)"
_KIND = r"(?:output|option|answer|index|text|candidate|response|number|choice|winner|item|entry|tweet)"
_OPEN = r"[\s\"'`*_#(\[:=]*"
_CHOOSING = r"final|best|winner|winning|better|answer|index|choice|verdict|choose|chose|pick|select|selected|prefer"
_PRAISE = r"(?!weak|least)(?:\w+est\b|best|winn|better|clear(?:ly)?\s+(?:\w+est|best|winn))"
# From the plainest form to the loosest; the first that is there decides.
_FORMS = (
    rf"^[\s\"'`*_#(\[]*{_N}[\s\"'`*_)\].!]*$",
    (
        rf"(?<!not )(?<!n't )\b(?:{_CHOOSING})\b(?:\s+(?:one|{_KIND}))*(?:\s+(?:is|was|would\s+be|goes\s+to))?"
        rf"(?:\s+the)?(?:\s+{_KIND})?{_OPEN}{_N}"
    ),
    rf"\b{_KIND}{_OPEN}{_N}[\"'`*_)\]]*\s+(?:wins\b|(?:is|was)\s+(?:the\s+|clearly\s+)*{_PRAISE})",
    rf"\b{_KIND}{_OPEN}{_N}[\"'`*_)\]]*\s+(?:is|was|has|does|would)\b",
    rf"^[\s\"'`*_(\[]*(?:{_KIND}{_OPEN})?{_N}[\"'`*_)\]]*\s*[.:,;–—-](?=\s)",
    _N,
)


@GRADERS.register("select-best")
@options
class SelectBest(Grader):
    """A model picks the best of all outputs of a test; that one passes, the others fail."""

    asks = Asks(("text",))
    compares = "outputs"

    value: str
    language: str = ""

    def compare(
        self, transcripts: Sequence[Transcript], grades: Sequence[Sequence[Grade]], judge: Judge
    ) -> Sequence[Verdict]:
        """Score 1 for the chosen output, 0 for the others."""
        outputs = [transcript.output for transcript in transcripts]
        read = partial(_read, count=len(outputs))
        best, reason = judge.ask("select-best", read, schema=SCHEMA, criteria=self.value, outputs=outputs)
        said = f": {reason}" if reason else ""
        return [
            Verdict(
                float(number == best),
                number == best,
                f"output {best} of {len(outputs)}, counted from 0, was chosen{said}",
                {"chosen": best, "this output": number},
            )
            for number in range(len(outputs))
        ]


def _read(answer: reading.Answer, count: int) -> tuple[int, str]:
    given = [item for item in answer.objects if "index" in item]
    found = reading.one((_index(item["index"]) for item in given), "no index") if given else _in_text(answer.text)
    if not 0 <= found < count:
        raise Unreadable(f"there is no output {found}: they are counted from 0 to {count - 1}")
    return found, reading.words(given[0].get("reason")) if given else ""


def _index(value: Any) -> int:
    number = reading.number(value)
    if number is None or number != int(number):
        raise Unreadable('"index" is no whole number')
    return int(number)


def _in_text(text: str) -> int:
    text = "\n".join(lines(text))
    for form in _FORMS:
        found = [int(match[1][:9]) for match in re.finditer(form, text, re.IGNORECASE | re.MULTILINE)]
        if found:
            return reading.one(found, "no index")
    raise Unreadable("it holds no index of an output")
