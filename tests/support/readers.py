"""The readers of all forms, each with a reply that it reads, for tests that hold for every form."""

from functools import partial

from gradegate.errors import Unreadable
from gradegate.graders.llm_rubric import LlmRubric
from gradegate.grading.reading import affirmations, inorder, letters, marks, numbers, quotes
from gradegate.grading.reading.answer import parse

CONTEXT = "Paris is the capital of France."
_FOLDED = "paris is the capital of france"
READERS = {
    "pass": LlmRubric(value="x")._read,
    "letter": partial(letters.category, choices="ABCDE"),
    "yes": affirmations.affirmed,
    "score": partial(numbers.score, best=10),
    "index": partial(numbers.index, count=3),
    "in order": partial(inorder.supported, count=2),
    "marked": marks.marked,
    "quoted": partial(quotes.quotations, units=[_FOLDED], whole=_FOLDED),
}
OBJECTS = {
    "pass": '{"reason": "r", "pass": true, "score": 1}',
    "letter": '{"reason": "r", "category": "C"}',
    "yes": '{"reason": "r", "verdict": "yes"}',
    "score": '{"reason": "r", "score": 9}',
    "index": '{"reason": "r", "index": 1}',
    "in order": '{"verdicts": [{"verdict": "yes"}, {"verdict": "yes"}]}',
    "marked": '{"verdicts": [{"sentence": "s", "verdict": "attributed"}]}',
    "quoted": '{"sentences": ["Paris is the capital of France."]}',
}
PROSE = {
    "letter": "(C)",
    "yes": "Y",
    "score": "Score: 9/10",
    "index": "Output 1",
    "in order": "Final verdict for each statement in order: Yes. Yes.",
    "marked": "Paris is a city. [Attributed]",
    "quoted": CONTEXT,
}


def read(form, reply):
    """What a form makes of a reply; None when it is unreadable."""
    try:
        return READERS[form](parse(reply))
    except Unreadable:
        return None
