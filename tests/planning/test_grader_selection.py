"""Which model grades: the levels, the forms and the mistakes of promptfoo's `provider` settings."""

import json
from typing import Any

import pytest

from support.each import each, table
from support.fake_llm import FakeLlm
from support.vendors import embeddings

RUBRIC = {"type": "llm-rubric", "value": "is polite"}
SIMILAR = {"type": "similar", "value": "hello", "threshold": 0.5}


@pytest.fixture(autouse=True)
def judge(llm: FakeLlm, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server for all kinds, which is also what OPENAI_BASE_URL names."""

    def reply(path: str, body: dict) -> Any:
        if path.endswith("/embeddings"):
            return embeddings(*([1.0, 0.0] for _ in body["input"]))
        if path.endswith("/moderations"):
            return {"results": [{"flagged": False, "categories": {"hate": False}}]}
        if path.endswith("/classify"):
            return 200, [{"label": "kind", "score": 1.0}]
        return json.dumps({"reason": "fine", "pass": True, "score": 1})

    llm.reply = reply
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base)
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")


def config(*assertions: dict, default: Any = None, options: Any = None, **keys: Any) -> dict:
    test: dict[str, Any] = {"assert": list(assertions)}
    if options is not None:
        test["options"] = {"provider": options}
    found = {"prompts": ["hello"], "providers": ["echo"], **keys, "tests": [test]}
    if default is not None:
        found["defaultTest"] = {"options": {"provider": default}}
    return found


def asked(llm: FakeLlm) -> list[str]:
    return [body.get("model", "") for body in llm.bodies]


@pytest.fixture
def graded(gate, llm: FakeLlm, monkeypatch: pytest.MonkeyPatch):
    """Run a config and give the models that were asked. The ``gate`` fixture empties the environment first."""
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base)
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")

    def run(settings: dict, *arguments: str, code: int = 0, **files: str) -> list[str]:
        ran = gate(settings, *arguments, **files)
        assert ran.code == code, (ran.out, ran.err)
        return asked(llm)

    return run


@pytest.fixture
def mistaken(gate, llm: FakeLlm, monkeypatch: pytest.MonkeyPatch):
    """Run a config that is mistaken and give what is said; nobody may have been asked."""
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base)
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")

    def run(settings: dict, *arguments: str) -> str:
        ran = gate(settings, *arguments)
        assert ran.code == 2, (ran.out, ran.err)
        assert llm.requests == []
        return ran.err

    return run


# --- levels ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("assertion", "options", "arguments", "default", "model"), table(__file__, "the_nearest_level_wins"))
def test_the_nearest_level_wins(graded, assertion, options, arguments, default, model):
    rubric = {**RUBRIC, **({"provider": assertion} if assertion else {})}
    assert graded(config(rubric, options=options, default=default), *arguments) == [model]


def test_two_assertions_of_one_test_may_have_judges_of_their_own(graded):
    first, second = {**RUBRIC, "provider": "openai:chat:a"}, RUBRIC
    assert sorted(graded(config(first, second, default="openai:chat:d"))) == ["a", "d"]


def test_members_of_a_set_are_graded_by_the_tests_judge(graded):
    members = {"type": "assert-set", "assert": [RUBRIC, {**RUBRIC, "provider": "openai:chat:a"}]}
    assert sorted(graded(config(members, options="openai:chat:t"))) == ["a", "t"]


# --- the target is no judge -----------------------------------------------------------------------------------


@each("keys", table(__file__, "the_target_never_becomes_the_judge"))
def test_the_target_never_becomes_the_judge(mistaken, keys):
    settings = {key: value for key, value in {**config(RUBRIC), **keys}.items() if value is not None}
    said = mistaken(settings)
    assert "no grading model is configured -> name a model with --grader openai:chat:MODEL" in said
    assert "promptfooconfig.yaml:" in said


def test_a_key_alone_makes_no_judge(mistaken):
    """promptfoo would take its default model of the day, which changes from release to release."""
    assert "no grading model is configured" in mistaken(config(RUBRIC))


def test_the_target_may_be_named_as_the_judge(graded, llm: FakeLlm):
    spec = {**llm.spec("target", seed=7), "label": "mine"}
    assert graded(config(RUBRIC, providers=[spec], default="mine")) == ["target", "target"]
    assert [body["seed"] for body in llm.bodies] == [7, 7]


# --- forms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", table(__file__, "every_form_at_every_level"))
@pytest.mark.parametrize("level", ["default", "options", "assertion"])
def test_every_form_at_every_level(graded, form, level):
    rubric = {**RUBRIC, **({"provider": form} if level == "assertion" else {})}
    where = {level: form} if level != "assertion" else {}
    assert graded(config(rubric, **where), **{"judge.yaml": "id: openai:chat:m"}) == ["m"]


@each("name", ["judge", "openai:chat:m"])
@each("form", ["{}", {"id": "{}"}, {"text": "{}"}])
def test_a_configured_provider_by_its_id_or_label_keeps_its_config(graded, llm: FakeLlm, name, form):
    other = {"id": "openai:chat:m", "label": "judge", "config": {"seed": 5, "apiKey": "its-own"}, "prompts": ["none"]}
    filled = name if isinstance(form, str) else dict.fromkeys(form, name)
    settings = config(RUBRIC, default=filled, providers=["echo", {**other, "prompts": ["hello"]}])
    graded(settings)
    judged = [(body, sent) for _, body, sent in llm.requests if body["messages"][-1]["content"] != "hello"]
    assert len(judged) == 2  # the answers of both targets
    assert {(body["model"], body["seed"], sent["Authorization"]) for body, sent in judged} == {("m", 5, "Bearer its-own")}


def test_the_command_line_may_name_a_configured_provider(graded, llm: FakeLlm):
    spec = {**llm.spec("m", seed=5), "label": "judge"}
    assert graded(config(RUBRIC, providers=["echo", spec]), "--grader", "judge") == ["m"] * 3
    assert {body["seed"] for body in llm.bodies} == {5}


def test_a_config_of_ones_own_is_not_mixed_with_a_targets(graded, llm: FakeLlm):
    spec = llm.spec("m", seed=5)
    graded(config(RUBRIC, default={"id": "openai:chat:m", "config": {"top_p": 1}}, providers=["echo", spec]))
    judged = [body for body in llm.bodies if body["messages"][-1]["content"] != "hello"]
    assert all("seed" not in body and body["top_p"] == 1 for body in judged)


# --- kinds ----------------------------------------------------------------------------------------------------


def test_each_kind_goes_to_its_model(graded, llm: FakeLlm):
    kinds = {
        "text": "openai:chat:t",
        "embedding": "openai:embeddings:e",
        "moderation": "openai:moderation:o",
        "classification": {"id": "huggingface:text-classification:c", "config": {"apiEndpoint": f"{llm.base}/classify", "apiKey": "k"}},
    }
    classify = {"type": "classifier", "value": "kind", "threshold": 0.5}
    graded(config(RUBRIC, SIMILAR, {"type": "moderation"}, classify, default=kinds))
    assert sorted((path, body.get("model")) for path, body, _ in llm.requests) == [
        ("/v1/chat/completions", "t"),
        ("/v1/classify", None),
        ("/v1/embeddings", "e"),
        ("/v1/moderations", "o"),
    ]


def test_a_plain_embedding_model_serves_what_needs_one(graded):
    assert graded(config({**SIMILAR, "provider": "openai:embedding:e"}, default="openai:chat:d")) == ["e"]


def test_a_map_says_nothing_about_the_kinds_that_it_lacks(graded):
    assert graded(config(SIMILAR, options={"text": "openai:chat:t"}, default={"embedding": "openai:embeddings:e"})) == ["e"]


def test_a_chat_model_of_the_command_line_leaves_the_embedding_model_of_the_config(graded):
    settings = config(RUBRIC, SIMILAR, default={"text": "openai:chat:d", "embedding": "openai:embeddings:e"})
    assert sorted(graded(settings, "--grader", "openai:chat:g")) == ["e", "g"]


@each(("assertion", "grader", "what"), table(__file__, "a_model_of_another_kind_is_a_mistake_at_its_line"))
@each("level", ["default", "options", "assertion", "--grader"])
def test_a_model_of_another_kind_is_a_mistake_at_its_line(mistaken, assertion, grader, what, level):
    if level == "--grader":
        said = mistaken(config(assertion), "--grader", grader)
    elif level == "assertion":
        said = mistaken(config({**assertion, "provider": grader}))
    else:
        said = mistaken(config(assertion, **{level: grader}))
    line = next(line for line in said.splitlines() if what in line)
    assert line.lstrip("- ").startswith("promptfooconfig.yaml:")


@each(
    ("assertion", "what"),
    [
        (SIMILAR, "no embedding model for `similar` is configured"),
        ({"type": "moderation"}, "no moderation model for `moderation` is configured"),
    ],
)
def test_a_map_that_lacks_the_kind_is_a_mistake(mistaken, assertion, what):
    assert what in mistaken(config(assertion, default={"text": "openai:chat:m"}))


@each(("grader", "what"), table(__file__, "what_is_no_grader_is_a_mistake"))
@each("level", ["default", "options", "assertion"])
def test_what_is_no_grader_is_a_mistake(mistaken, grader, what, level):
    written = config({**RUBRIC, "provider": grader}) if level == "assertion" else config(RUBRIC, **{level: grader})
    assert what in mistaken(written)


@each(("grader", "cure"), table(__file__, "a_grader_without_an_id_is_one_mistake_with_the_words_to_write"))
@each("level", ["default", "options", "assertion"])
def test_a_grader_without_an_id_is_one_mistake_with_the_words_to_write(mistaken, grader, cure, level):
    if level == "assertion":
        said = mistaken(config({**RUBRIC, "provider": grader}, RUBRIC, options="echo"))
    else:
        said = mistaken(config(RUBRIC, **{level: grader}))
    assert f"the provider has no `id`, so it names no model -> write `{cure}`" in said
    assert "1 mistake; nothing was asked" in said


def test_an_id_as_a_key_has_its_options_beneath(mistaken):
    said = mistaken(config(RUBRIC, options={"openai:chat:m": {"temperature": 0}}))
    assert "unknown key `temperature` -> write it into `config`" in said
    assert "1 mistake; nothing was asked" in said


def test_an_unknown_grader_of_the_command_line_is_a_mistake(mistaken):
    assert "no such provider `gpt-5` ->" in mistaken(config(RUBRIC), "--grader", "gpt-5")


def test_a_grader_that_nobody_asks_is_not_built(graded):
    """Its key may be missing: promptfoo's own examples name graders for kinds that a test does not use."""
    kinds = {"text": "openai:chat:t", "embedding": "azure:embeddings:none"}
    assert graded(config(RUBRIC, default=kinds)) == ["t"]
