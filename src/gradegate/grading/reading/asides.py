"""Objects in the reasoning that are no verdict: what the graded text prints, before a letter or a number in plain text."""

from __future__ import annotations

from gradegate.grading.reading.answer import Answer, walk

_KEYS = frozenset(
    "verdict verdicts category score index pass answer result choice option rating grade decision conclusion reason best winner output final".split()
)


def without(answer: Answer) -> Answer:
    """The answer without its objects where none of them can be meant as a verdict, and text follows them; else the answer itself."""
    if not answer.spans or any(span.value is None or _may_judge(span.value) for span in answer.spans):
        return answer
    if "\n" not in answer.text[answer.spans[-1].end :].strip("` \t\r").rstrip():
        return answer
    if answer.text.rstrip(" .\n\r\t`").rpartition("\n")[2].strip().isalnum():
        return (
            answer  # a bare letter or number may belong to what was printed; in brackets or after a label it does not
        )
    pieces, position = [], 0
    for span in answer.spans:
        pieces.append(answer.text[position : span.start])
        position = span.end
    rest = Answer("…".join([*pieces, answer.text[position:]]), (), answer.strict)
    return answer if rest.holds_json else rest


def _may_judge(value: object) -> bool:
    return any(str(key).lower() in _KEYS for item in walk(value) if isinstance(item, dict) for key in item)
