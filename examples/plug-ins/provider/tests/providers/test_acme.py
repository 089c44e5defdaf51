import pytest

from support.graded import mistakes


def config(llm, **options):
    return {
        "prompts": ["Say hello in {{language}}"],
        "providers": [
            {"id": "acme:small", "config": {"apiBaseUrl": llm.base, "apiKey": "k", **options}}
        ],
        "tests": [
            {"vars": {"language": "French"}, "assert": [{"type": "equals", "value": "Bonjour"}]}
        ],
    }


def test_it_sends_messages_and_options_and_reads_text_and_tokens(gate, llm):
    llm.reply = lambda path, body: {"text": "Bonjour", "tokens_in": 7, "tokens_out": 2}
    ran = gate(config(llm, temperature=0.5, cost=0.001))
    path, body, headers = llm.requests[0]
    assert (path, headers["Authorization"]) == ("/v1/generate", "Bearer k")
    assert body["messages"] == [{"role": "user", "content": "Say hello in French"}]
    assert (body["model"], body["temperature"]) == ("small", 0.5)
    usage = ran.cases[0]["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (7, 2)
    assert (ran.code, usage["cost"]) == (0, pytest.approx(0.009))


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        ({"txt": "Bonjour"}, 3, "without a text"),
        ((401, {"error": "bad key"}), 2, "(the key was refused): bad key"),
    ],
)
def test_what_the_api_does_not_promise_is_an_error(gate, llm, answer, code, words):
    llm.reply = lambda path, body: answer
    ran = gate(config(llm))
    assert (ran.code, ran.cases[0]["outcome"]) == (code, "error")
    assert words in ran.cases[0]["error"]


def test_a_slip_in_an_option_is_a_mistake(gate, llm):
    assert 'did you mean "temperature"?' in mistakes(gate(config(llm, temprature=0)))
