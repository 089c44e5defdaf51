"""Why an answer ended, in one vocabulary for all vendors: only what has come to its end is a "stop"."""

from importlib import import_module
from typing import Any, get_args

import pytest

from gradegate.providers.api.chat_api import normalize_finish
from support.exchanges import exchanges

STANDARD = {"stop", "length", "tool_calls", "content_filter"}

test_an_exchange = exchanges(__file__)


# --- what the vendors' own types name: a new word in one of them is decided on here ---------------------------------


def others(words: Any) -> set[str]:
    """The words that stay the vendor's own."""
    return {normalize_finish(word) for word in words} - STANDARD


@pytest.mark.slow  # the SDKs take seconds to import
def test_every_word_of_the_vendors_types_is_decided_on():
    choice = import_module("openai.types.chat.chat_completion").Choice
    assert others(get_args(choice.model_fields["finish_reason"].annotation)) == set()
    status = import_module("openai.types.responses.response_status").ResponseStatus
    assert others(get_args(status)) == {"failed", "in_progress", "cancelled", "queued", "incomplete"}
    assert others(get_args(import_module("anthropic.types").StopReason)) == {"pause_turn"}
    mistral = import_module("mistralai.client.models.chatcompletionchoice").ChatCompletionChoiceFinishReason
    assert others(get_args(get_args(mistral)[0])) == {"error"}
    google = {word.value for word in import_module("google.genai.types").FinishReason}
    broken = "malformed_function_call unexpected_tool_call too_many_tool_calls malformed_response".split()
    odd = "finish_reason_unspecified other image_other no_image missing_thought_signature continuation".split()
    assert others(google) == {*broken, *odd, "pup_limited_disabled"}
