"""The forms in which configs write providers, as promptfoo's do."""

import json

from support.each import each, table
from support.fake_llm import FakeLlm
from support.graded import mistakes

PASSES = {"assert": [{"type": "contains", "value": "hi"}]}


def config(providers, *tests: dict, **keys) -> dict:
    return {"prompts": ["hi"], "providers": providers, "tests": list(tests) or [PASSES], **keys}


def asked(ran) -> list[str]:
    assert ran.code == 0, ran.out + ran.err
    return [case["provider"] for case in ran.cases]


@each(("written", "names"), table(__file__, "every_form_of_a_provider"))
def test_every_form_of_a_provider(gate, written, names):
    files = {
        "one.yaml": "id: echo\nlabel: one\n",
        "many.yaml": "- {id: echo, label: x}\n- echo: {label: y}\n",
        "many.json": json.dumps([{"id": "echo", "label": "j"}]),
    }
    assert asked(gate(config(written), **files)) == names


def test_a_file_of_providers_has_their_options(gate, llm: FakeLlm):
    llm.reply = lambda path, body: "hi"
    ran = gate(config("file://one.yaml"), **{"one.yaml": json.dumps({**llm.spec("m", seed=5), "label": "one"})})
    assert asked(ran) == ["one"]
    assert (llm.bodies[0]["model"], llm.bodies[0]["seed"]) == ("m", 5)


@each(("written", "content", "said"), table(__file__, "a_file_that_holds_no_providers_is_one_mistake"))
def test_a_file_that_holds_no_providers_is_one_mistake(gate, written, content, said):
    ran = gate(config(written), **{"p.yaml": content})
    assert said in mistakes(ran)
    assert "1 mistake; nothing was asked" in ran.err


def test_a_config_without_a_provider_is_one_mistake(gate):
    ran = gate({"prompts": ["hi"], "tests": [PASSES]})
    assert "1 mistake; nothing was asked" in ran.err
