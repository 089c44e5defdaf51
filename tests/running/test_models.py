"""What a run says about the models that it asked."""

import pytest

from support.each import table

FINE = {"assert": [{"type": "contains", "value": "a"}]}


@pytest.mark.parametrize(("providers", "models", "said"), table(__file__, "a_run_says_which_models_it_asked_and_when_it_asked_none"))
def test_a_run_says_which_models_it_asked_and_when_it_asked_none(gate, providers: list, models: list, said: str):
    ran = gate({"prompts": ["a"], "providers": providers, "tests": [FINE]}, **{"r.yaml": "- reply: a\n"})
    assert (ran.code, ran.results["models"]) == (0, models)
    assert ("No model was asked" in ran.out + ran.err) == bool(said)
    assert said is None or said in ran.out + ran.err


def test_a_run_says_which_models_graded(gate):
    rubric = {"assert": [{"type": "llm-rubric", "value": "a", "provider": "scripted:g.yaml"}]}
    grades = '- reply: \'{"pass": true, "score": 1, "reason": "a"}\'\n'
    ran = gate({"prompts": ["a"], "providers": ["echo"], "tests": [rubric]}, **{"g.yaml": grades})
    assert [(it["name"], it["grades"]) for it in ran.results["asked"]] == [("echo", False), ("scripted:g.yaml", True)]


def test_a_model_behind_an_address_is_named_with_its_host(gate, llm):
    llm.reply = lambda path, body: "a"
    config = {"prompts": ["a"], "providers": [llm.spec(), "scripted:r.yaml"], "tests": [FINE]}
    ran = gate(config, **{"r.yaml": "- reply: a\n"})
    assert ran.results["models"] == [f"openai:chat:fake at 127.0.0.1:{llm.port}", "scripted:r.yaml"]
    assert "No model was asked for scripted:r.yaml: replies came from a file" in ran.out + ran.err
