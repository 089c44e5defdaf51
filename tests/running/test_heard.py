"""Which ends of an answer are ends, and which texts are texts: one rule, for live answers and for recorded ones."""

import pytest

from gradegate.asking.finish import ended
from gradegate.errors import ProviderError
from gradegate.files.bounds import MAX_BODY, READ
from gradegate.running import replies
from gradegate.values.conversation import Reply

WHOLE = "stop end_turn stop_sequence completed COMPLETE FINISHED end eos tool_calls tool_use function_call length max_tokens".split()
SPELLED = ["", " ", "Stop", "END_TURN", "end-turn", "endTurn", "end turn", "TOOL-CALLS", "maxTokens", "MAX_TOKENS"]


@pytest.fixture(autouse=True)
def anew():
    READ.start_anew()


@pytest.mark.parametrize("word", [*WHOLE, *SPELLED])
def test_known_words_end_an_answer_however_they_are_spelled(word):
    replies.check(Reply("hi", finish_reason=word), "app")


@pytest.mark.parametrize(
    ("word", "meant"), [("end-turn", "stop"), ("MAX_TOKENS", "length"), ("toolUse", "tool_calls"), ("content-filter", "content_filter")]
)
def test_words_have_one_meaning(word, meant):
    assert ended(word) == meant


FILTERED = "content_filter content-filter contentFilter SAFETY refusal RECITATION SPII blocklist guardrail_intervened".split()
BROKEN = (
    "error failed cancelled canceled aborted timeout in_progress queued pause_turn running network_error USER_CANCEL OTHER "
    "ERROR_TOXIC none null banana not_finished requires_action - compaction"
).split()


@pytest.mark.parametrize("word", FILTERED)
def test_a_filter_gives_no_answer(word):
    with pytest.raises(ProviderError, match="a content filter stopped the answer"):
        replies.check(Reply("hi", finish_reason=word), "app")


@pytest.mark.parametrize("word", BROKEN)
def test_any_other_word_is_said_and_is_no_end(word):
    with pytest.raises(ProviderError, match=f"did not finish its answer .finish reason {word.lower()}"):
        replies.check(Reply("hi", finish_reason=word), "app")


@pytest.mark.parametrize("text", ["", " \n", "\u3164", "\u2800", "\ufe0f", "\x1b[31m\x1b[0m"])
def test_what_nobody_sees_is_no_answer_unless_it_calls_tools(text):
    with pytest.raises(ProviderError, match="empty text"):
        replies.check(Reply(text), "app")
    replies.check(Reply(text, metadata={"tool_calls": [{"id": "1"}]}), "app")


def test_one_answer_has_a_limit():
    replies.check(Reply("x" * MAX_BODY), "app")
    with pytest.raises(ProviderError, match="more than 4 Mi characters"):
        replies.check(Reply("x" * (MAX_BODY + 1)), "app")
