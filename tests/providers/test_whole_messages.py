"""A grading prompt is sent whole, or it is a mistake; the YAML beside this module has prompts, which test_scenes plays."""

import json

import pytest

from gradegate.core.conversation import Message
from gradegate.errors import ProviderError
from support.each import table
from support.fake_llm import FakeLlm
from support.vendors import build, claude

CHAT = table(__file__, "chat")


def test_a_grading_prompt_is_sent_whole_or_is_a_mistake(gate, llm: FakeLlm):
    calls = [{"role": "user", "content": "{{output}}", "name": "ann"}, {**CHAT[2], "content": "x {{output}}"}, *CHAT[3:]]
    verdict = '{"pass": true}'
    replies = {"anthropic": claude({"type": "text", "text": verdict}), "openai:chat": verdict}
    asked = {"anthropic": {"id": "anthropic:claude-opus-4-5", "config": {"apiBaseUrl": llm.base, "apiKey": "k"}}, "openai:chat": llm.spec()}
    cached = [{"role": "user", "content": [{"type": "text", "text": "{{output}}", "cache_control": {"type": "ephemeral"}}]}]
    for prompt, vendor, words in [
        (calls, "openai:chat", ""), (calls[1:], "anthropic", ""), (calls, "anthropic", "Claude does not take `name`"),
        (cached, "openai:chat", "`cache_control` in a part `text`"), (cached, "anthropic", "`cache_control` in a part `text`"),
    ]:  # fmt: skip
        for own in (prompt, json.dumps(prompt)):
            llm.requests.clear()
            llm.reply = lambda path, body, vendor=vendor: replies[vendor]
            rubric = {"type": "llm-rubric", "value": "is fine", "rubricPrompt": own, "provider": asked[vendor]}
            ran = gate({"prompts": ["hi"], "providers": ["echo"], "tests": [{"vars": {"what": "it"}, "assert": [rubric]}]})
            assert (ran.code, len(llm.requests), words in ran.err) == ((2, 0, True) if words else (0, 1, True)), ran.err
            if vendor == "openai:chat" and not words:
                filled = json.dumps(prompt).replace("{{output}}", "hi").replace("{{what}}", "it")
                assert llm.bodies[0]["messages"] == json.loads(filled)


@pytest.mark.parametrize(
    "provider_id", ["anthropic:claude-opus-4-5", "google:gemini-2.5-pro", "bedrock:m", "ollama:m", "openai:responses:m"]
)
@pytest.mark.parametrize("role", ["user", "tool"])
def test_a_part_that_is_not_an_object_is_refused(provider_id, role):
    message = Message(role, "hi", written={"role": role, "content": ["hi"], "tool_call_id": "c" if role == "tool" else ""})
    with pytest.raises(ProviderError, match=r"does not take a (part of a chat message that is not an object|`tool` message without)"):
        build(provider_id, {"apiKey": "k"}).check_messages([message])
