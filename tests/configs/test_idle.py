"""Keys that mean nothing are named in one note; what may be meant for a key that decides stays a mistake."""

import pytest
import yaml

from support.graded import mistakes

TEST = {"vars": {"x": "hi"}, "assert": [{"type": "contains", "value": "hi"}]}
CONFIG = {"prompts": ["{{x}}"], "providers": ["echo"], "tests": [TEST]}


def with_key(place: str, key: str, value="anything") -> dict:
    """The config with one key more at a place."""
    config = yaml.safe_load(yaml.safe_dump(CONFIG))
    test = config["tests"][0]
    targets = {"root": config, "test": test, "assertion": test["assert"][0]}
    if place == "prompt":
        config["prompts"] = [{"raw": "{{x}}", key: value}]
    elif place == "provider":
        config["providers"] = [{"id": "echo", key: value}]
    elif place == "options":
        test["options"] = {key: value}
    elif place == "evaluateOptions":
        config["evaluateOptions"] = {key: value}
    else:
        targets[place][key] = value
    return config


@pytest.mark.parametrize(
    ("place", "key"),
    [
        ("root", "name"),
        ("root", "author"),
        ("root", "version"),
        ("test", "name"),
        ("test", "id"),
        ("test", "tags"),
        ("test", "category"),
        ("test", "expected"),
        ("test", "type"),
        ("assertion", "description"),
        ("assertion", "reason"),
        ("assertion", "grading"),
        ("assertion", "name"),
        ("prompt", "displayPrompt"),
        ("prompt", "description"),
        ("provider", "description"),
        ("options", "rationale"),
        ("evaluateOptions", "colour"),
    ],
)
def test_a_key_that_means_nothing_is_passed_over_with_a_note(gate, place, key):
    ran = gate(with_key(place, key))
    assert ran.code == 0, ran.err
    assert f"has no meaning here, and is passed over: `{key}`" in ran.out + ran.err


@pytest.mark.parametrize(
    ("place", "key"),
    [
        ("root", "gates"),
        ("root", "Gate"),
        ("root", "provider"),
        ("root", "test"),
        ("root", "default_test"),
        ("root", "min-pass-rate"),
        ("root", "threshold"),
        ("root", "rules"),
        ("test", "asert"),
        ("test", "asserts"),
        ("test", "assertions"),
        ("test", "expectedAssertions"),
        ("test", "treshold"),
        ("test", "passThreshold"),
        ("test", "pass_threshold"),
        ("test", "weight"),
        ("test", "prompt"),
        ("test", "provider_output"),
        ("assertion", "treshold"),
        ("assertion", "wieght"),
        ("assertion", "bloking"),
        ("assertion", "isBlocking"),
        ("assertion", "values"),
        ("assertion", "rubric_prompt"),
        ("assertion", "vars"),
        ("prompt", "lable"),
        ("provider", "conifg"),
        ("provider", "prompt"),
        ("provider", "apiBaseUrl"),
        ("provider", "temperature"),
        ("options", "disable-default-asserts"),
        ("options", "disable_var_expansion"),
        ("options", "treshold"),
        ("evaluateOptions", "repeats"),
        ("evaluateOptions", "repeat_"),
    ],
)
def test_a_key_that_may_be_meant_for_one_that_decides_is_a_mistake(gate, place, key):
    assert f"`{key}`" in mistakes(gate(with_key(place, key)))


@pytest.mark.parametrize(
    ("table", "key"), [({"gate": {"tags": 1}}, "tags"), ({"gate": {"rules": [{"name": "r", "id": 1}]}}, "id")]
)
def test_the_gates_own_tables_take_no_other_key(gate, table, key):
    assert f"unknown key `{key}`" in mistakes(gate({**CONFIG, **table}))


def test_one_note_names_all_keys_of_a_file(gate):
    config = with_key("root", "name")
    config["tests"] = [{**TEST, "id": 1}, {**TEST, "id": 2, "owner": "us"}]
    ran = gate(config)
    notes = [note for note in ran.results["notes"] if "no meaning" in note["text"]]
    assert [note["text"] for note in notes] == [
        "has no meaning here, and is passed over: `name`, `id` (2 times), `owner`"
    ]


def test_keys_of_ones_own_are_passed_over_in_silence(gate):
    config = with_key("test", "x-ticket")
    config["_notes"] = "anything"
    assert "no meaning" not in gate(config).out


ANCHORS = """
prompts: ["{{x}}"]
providers: [echo]
commonAssertions: &common
  - {type: contains, value: hi}
threshold: &least 0.5
rules:
  polite: &polite "hi"
tests:
  - {vars: {x: hi}, assert: *common}
  - {vars: {x: hi}, assert: [{type: contains, value: *polite}]}
"""


def test_a_root_key_that_holds_anchors_may_have_any_name(gate):
    config = ANCHORS.replace("threshold: &least 0.5\n", "")
    assert gate(config).code == 0
    said = mistakes(gate(ANCHORS))
    assert "`threshold` decides nothing there" in said
    assert "commonAssertions" not in said
    assert "`rules` does not belong here" in mistakes(gate(config.replace("*polite", "hi")))


def test_a_value_that_means_nothing_is_passed_over_but_no_number(gate):
    config = with_key("assertion", "metric", "m")
    config["tests"][0]["assert"] = [{"type": "latency", "threshold": 60000, "value": "fast enough"}]
    ran = gate(config)
    assert "passed over: `value of latency`" in ran.out + ran.err
    for value in (500, "0.7", "70 %"):
        config["tests"][0]["assert"][0]["value"] = value
        assert "a limit is `threshold`" in mistakes(gate(config))
