"""What becomes of replies that are no plain answer, vendor by vendor: test_vendors.yaml has them."""

import pytest

from gradegate.errors import ConfigError, ProviderError, Trouble
from support.each import each, table
from support.fake_llm import FakeLlm
from support.vendors import ask, build, made

CALLS = {
    "ask": ask,
    "embed": lambda model: model.embed(["a", "b"]),
    "classify": lambda model: model.classify("fine"),
    "moderate": lambda model: model.moderate("x"),
}
AT_THE_ROOT = ("anthropic", "azure", "google", "ollama")  # their addresses end without /v1


def at(llm: FakeLlm, provider_id: str):
    vendor = provider_id.partition(":")[0]
    base = llm.base.removesuffix("/v1") if vendor in AT_THE_ROOT else llm.base
    return build(provider_id, {"apiEndpoint" if vendor == "huggingface" else "apiBaseUrl": base, "apiKey": "k-1"})


@each(("provider_id", "status", "body", "trouble", "words"), table(__file__, "errors"))
def test_errors_in_the_vendors_words(llm: FakeLlm, provider_id, status, body, trouble, words):
    llm.reply = lambda path, sent: (status, made(body))
    with pytest.raises(ProviderError) as caught:
        ask(at(llm, provider_id))
    assert words in str(caught.value)
    if trouble:
        assert (caught.value.trouble, caught.value.status) == (Trouble[trouble.upper()], status)


@each(("provider_id", "call", "bodies"), table(__file__, "malformed"))
def test_an_answer_without_what_was_asked_for_is_none(llm: FakeLlm, provider_id, call, bodies):
    for body in bodies:
        llm.reply = lambda path, sent, body=body: (200, made(body))
        with pytest.raises(ProviderError) as caught:
            CALLS[call](at(llm, provider_id))
        assert caught.value.trouble is Trouble.MALFORMED, body


@each(("provider_id", "answer", "text", "finish", "refused"), table(__file__, "plain"))
def test_what_is_no_plain_answer_is_told_apart(llm: FakeLlm, provider_id, answer, text, finish, refused):
    llm.reply = lambda path, sent: made(answer)
    reply = ask(at(llm, provider_id))
    assert (reply.text, reply.finish_reason, reply.refused) == (text, finish, refused)


@each(("provider_id", "config", "env", "words"), table(__file__, "missing"))
def test_what_is_missing_is_a_mistake(provider_id, config, env, words):
    with pytest.raises(ConfigError) as caught:
        build(provider_id, config, **env)
    assert words in str(caught.value)
