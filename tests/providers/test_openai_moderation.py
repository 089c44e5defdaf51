from support.fake_llm import FakeLlm
from support.vendors import build, path


def moderator(llm: FakeLlm, provider_id: str = "openai:moderation"):
    return build(provider_id, {"apiBaseUrl": llm.base, "apiKey": "sk-1"})


def result(flagged: bool, **categories) -> dict:
    return {"id": "modr-1", "model": "omni", "results": [{"flagged": flagged, "categories": categories}]}


def test_the_categories_that_are_flagged_and_it_is_free(llm: FakeLlm):
    llm.reply = lambda path, body: result(True, violence=True, hate=False, **{"self-harm/intent": True}, illicit=None)
    flags, usage = moderator(llm).moderate("text")
    assert flags == ["violence", "self-harm/intent"]
    assert path(llm) == "/v1/moderations"
    assert llm.bodies == [{"model": "omni-moderation-latest", "input": "text"}]
    assert (usage.calls, usage.known_cost) == (1, 0.0)


def test_a_model_may_be_named(llm: FakeLlm):
    llm.reply = lambda path, body: result(False, violence=False)
    assert moderator(llm, "openai:moderation:text-moderation-stable").moderate("x")[0] == []
    assert llm.bodies[0]["model"] == "text-moderation-stable"


def test_a_flag_without_a_category_is_a_flag(llm: FakeLlm):
    llm.reply = lambda path, body: result(True, violence=False)
    assert moderator(llm).moderate("x")[0] == ["flagged"]
