"""Transforms of target, test, assertion and variables: what graders then see, and what is kept of the answer."""

from gradegate.assertions.metrics.context import ContextTransform, find_context
from gradegate.core.conversation import IS_DATA, RAW, Transcript, Turn
from gradegate.runner import transforms


def test_the_context_is_looked_for_in_the_answer_before_it_was_transformed():
    turns = (Turn("user", "p"), Turn("assistant", '{"docs": ["d"], "text": "t"}'))
    given = Transcript("p", turns, metadata={IS_DATA: True, "finish_reason": "stop"})
    seen = transforms.transform_for_assertion("output.text", given)
    assert (seen.output, seen.answer, seen.source) == ("t", "t", {"docs": ["d"], "text": "t"})
    assert find_context(seen, ContextTransform("output.docs")).chunks == ("d",)
    assert find_context(seen, ContextTransform("output.docs.concat('e')")).chunks == ("d", "e")
    assert seen.metadata == {"finish_reason": "stop", RAW: '{"docs": ["d"], "text": "t"}'}
