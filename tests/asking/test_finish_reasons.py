"""Why an answer ended, in one vocabulary for all vendors: only what has come to its end is a "stop"."""

from importlib import import_module
from typing import Any, get_args

import pytest

from gradegate.asking.shape import ended
from support.each import each, table
from support.fake_llm import FakeLlm, chat
from support.vendors import ask, build, claude, made, ollama, output_text, responses, said
from support.vendors import gemini as gemini_reply

STANDARD = {"stop", "length", "tool_calls", "content_filter"}
CHATS = ["openai:chat:m", "mistral:m", "groq:m", "xai:m", "deepseek:m", "together:m", "openrouter:m"]


def reason(llm: FakeLlm, provider_id: str, answer: Any) -> str:
    llm.reply = lambda path, body: answer
    base = llm.base.removesuffix("/v1") if provider_id.startswith(("anthropic", "ollama")) else llm.base
    return ask(build(provider_id, {"apiBaseUrl": base, "apiKey": "k"})).finish_reason


@each("provider_id", CHATS)
@each(("word", "meaning"), table(__file__, "chat_completions"))
def test_chat_completions(llm: FakeLlm, provider_id: str, word: str | None, meaning: str):
    assert reason(llm, provider_id, chat("yes", finish_reason=word)) == meaning


def test_chat_completions_without_any_reason(llm: FakeLlm):
    answer = chat("yes")
    del answer["choices"][0]["finish_reason"]
    assert reason(llm, "openai:chat:m", answer) == ""


@each(("word", "native", "meaning"), table(__file__, "openrouter_gives_the_vendors_own_word_too"))
def test_openrouter_gives_the_vendors_own_word_too(llm: FakeLlm, word: str | None, native: str | None, meaning: str):
    answer = chat("yes", finish_reason=word, native_finish_reason=native)
    assert reason(llm, "openrouter:m", answer) == meaning


@each(("word", "meaning"), table(__file__, "anthropic"))
def test_anthropic(llm: FakeLlm, word: str | None, meaning: str):
    assert reason(llm, "anthropic:m", claude({"type": "text", "text": "yes"}, stop_reason=word)) == meaning


@each(("word", "meaning"), table(__file__, "google"))
def test_google(llm: FakeLlm, word: str | None, meaning: str):
    assert reason(llm, "google:m", gemini_reply({"text": "yes"}, finish=word)) == meaning


@each(("status", "details", "meaning"), table(__file__, "openai_responses"))
def test_openai_responses(llm: FakeLlm, status: str | None, details: dict | None, meaning: str):
    answer = responses(said(output_text("yes")), status=status, incomplete_details=details)
    assert reason(llm, "openai:responses:m", answer) == meaning


@each(("done", "word", "meaning"), table(__file__, "ollama"))
def test_ollama(llm: FakeLlm, done: bool, word: str | None, meaning: str):
    assert reason(llm, "ollama:m", {**ollama("yes"), "done": done, "done_reason": word}) == meaning


@pytest.mark.parametrize(
    ("status", "meaning"),
    [("completed", "stop"), (None, "stop"), ("incomplete", "incomplete"), ("in_progress", "in_progress"), ("failed", "failed")],
)
def test_a_message_of_a_completed_response_may_be_unfinished(llm: FakeLlm, status: str | None, meaning: str):
    answer = responses({**said(output_text("yes")), "status": status}, status="completed")
    assert reason(llm, "openai:responses:m", answer) == meaning


@each("error", [{"code": 502, "message": "x"}, "bad gateway", {"message": "overloaded"}])
@each("word", ["stop", None, "tool_calls"])
def test_an_error_of_a_choice_is_why_it_ended(llm: FakeLlm, error: Any, word: str | None):
    answer = chat("yes", finish_reason=word)
    answer["choices"][0]["error"] = error
    assert reason(llm, "openrouter:m", answer) == "error"
    answer["choices"][0]["error"] = None
    assert reason(llm, "openrouter:m", answer) in ("stop", "", "tool_calls")


@pytest.mark.parametrize("refusal", ["no", "I cannot help with that.", None])
def test_a_part_that_declines_beside_a_text_is_a_refusal(llm: FakeLlm, refusal: str | None):
    parts = [{"type": "text", "text": "yes"}, {"type": "refusal", "refusal": refusal}]
    llm.reply = lambda path, body: chat("", message={"content": parts})
    reply = ask(build("openai:chat:m", {"apiBaseUrl": llm.base, "apiKey": "k"}))
    assert reply.refused
    assert reply.text == (refusal or "no reason given")


@pytest.mark.parametrize(("provider_id", "answer", "meaning"), table(__file__, "a_text_beside_a_call_has_not_come_to_its_end"))
def test_a_text_beside_a_call_has_not_come_to_its_end(llm: FakeLlm, provider_id: str, answer: dict, meaning: str):
    assert reason(llm, provider_id, made(answer)) == meaning


# --- what the vendors' own types name: a new word in one of them is decided on here ---------------------------------


def others(words: Any) -> set[str]:
    """The words that stay the vendor's own."""
    return {ended(word) for word in words} - STANDARD


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


# --- tool calls ------------------------------------------------------------------------------------------------------


@each(("provider_id", "answer"), table(__file__, "tool_calls_have_one_form_whatever_the_vendor"))
def test_tool_calls_have_one_form_whatever_the_vendor(llm: FakeLlm, provider_id: str, answer: dict):
    llm.reply = lambda path, body: made(answer)
    base = llm.base.removesuffix("/v1") if provider_id.startswith(("anthropic", "ollama")) else llm.base
    reply = ask(build(provider_id, {"apiBaseUrl": base, "apiKey": "k"}))
    (call,) = reply.metadata["tool_calls"]
    assert call["type"] == "function"
    assert call["function"] == {"name": "f", "arguments": "{}"}


def test_an_answer_in_words_has_no_tool_calls(llm: FakeLlm):
    llm.reply = lambda path, body: "yes"
    assert ask(build("openai:chat:m", {"apiBaseUrl": llm.base, "apiKey": "k"})).metadata == {}
