"""Why an answer ended, in one vocabulary for all vendors: only what is known to be an end is one."""

from __future__ import annotations

import re

# What vendors and conventions call the end of an answer, in OpenAI's words; neither case matters, nor whether a hyphen, a
# blank or a capital joins words.
WORDS = {
    "stop": "stop end_turn stop_sequence completed complete finished finish stop_criteria_met end eos eos_token end_of_text",
    "length": "length max_tokens max_output_tokens max_length model_length model_context_window_exceeded token_limit",
    "tool_calls": "tool_calls tool_call tool_use function_call",
    "content_filter": "content_filter content_filtered refusal safety blocklist prohibited_content recitation spii language "
    "image_safety image_prohibited_content image_recitation model_armor escalation guardrail_intervened",
}
WHOLE = ("", "stop", "tool_calls")  # of answers that came to their end, and of those of which nobody says
_JOINED = re.compile(r"[- ]|(?<=[a-z])(?=[A-Z])")  # what may stand for the underscore between two words


def _plain(word: str) -> str:
    return _JOINED.sub("_", word.strip()).lower()


_MEANT = {_plain(word): meant for meant, words in WORDS.items() for word in words.split()}


def ended(word: str) -> str:
    """Why an answer ended, in OpenAI's words; a word that nobody knows stays as it is, in lower case."""
    return _MEANT.get(_plain(word), word.strip().lower())
