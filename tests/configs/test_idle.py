"""Keys that mean nothing are named in one note; what may be meant for a key that decides stays a mistake."""

import yaml

from support.each import each, table
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
    elif place in ("evaluateOptions", "commandLineOptions", "gate"):
        config[place] = {key: value}
    else:
        targets[place][key] = value
    return config


@each(("place", "key"), table(__file__, "a_key_that_means_nothing_is_passed_over_with_a_note"))
def test_a_key_that_means_nothing_is_passed_over_with_a_note(gate, place, key):
    ran = gate(with_key(place, key))
    assert ran.code == 0, ran.err
    assert f"has no meaning here, and is passed over: `{key}`" in ran.out + ran.err


@each(
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
        ("commandLineOptions", "gradr"),
        ("commandLineOptions", "filterFirstN"),
        # What speaks of a check is none of the keys, however it is written.
        *[("root", key) for key in "testCases test_cases test-cases testcases myChecks pass-rate minScore".split()],
        *[("root", key) for key in "grader transform maxConcurrency storeOutputAs __expected".split()],
        *[("provider", key) for key in "postprocess model minScore expected_output modelName".split()],
        # Nothing in a test or an assertion that nobody reads may have been meant as a check.
        *[("test", key) for key in "transform min-pass-rate postprocess prefix storeOutputAs minScore type".split()],
        *[("test", key) for key in "conversationId rubric criteria evaluators graders validate expected expect".split()],
        *[("test", key) for key in "__expected __threshold ideal variables target whatever".split()],
        *[("assertion", key) for key in "not schema ref minScore min_score min-score score min cutoff inverse".split()],
        *[("assertion", key) for key in "invert expected grader judge model block required severity disabled".split()],
        *[("assertion", key) for key in "postprocess ignoreCase caseSensitive prompt flags whatever".split()],
        *[("options", key) for key in "gradr embedding threshold value assert whatever maxTokens metadata".split()],
    ],
)
def test_a_key_that_may_be_meant_for_one_that_decides_is_a_mistake(gate, place, key):
    assert f"`{key}`" in mistakes(gate(with_key(place, key)))


@each(("place", "key", "value", "cure"), table(__file__, "the_cure_says_what_to_write"))
def test_the_cure_says_what_to_write(gate, place, key, value, cure):
    said = mistakes(gate(with_key(place, key, value)))
    assert cure in said
    assert "1 mistake;" in said


@each(("gate_block", "said"), table(__file__, "one_mistake_of_the_gate_is_said_once"))
def test_one_mistake_of_the_gate_is_said_once(gate, gate_block, said):
    ran = mistakes(gate({**CONFIG, "gate": gate_block}))
    assert said in ran
    assert "1 mistake;" in ran


@each(("table", "key"), [({"gate": {"tags": 1}}, "tags"), ({"gate": {"rules": [{"name": "r", "id": 1}]}}, "id")])
def test_the_gates_own_tables_take_no_other_key(gate, table, key):
    assert f"unknown key `{key}`" in mistakes(gate({**CONFIG, **table}))


def test_one_note_names_all_keys_of_a_file(gate):
    config = with_key("root", "name")
    config["tests"] = [{**TEST, "id": 1}, {**TEST, "id": 2, "owner": "us"}]
    ran = gate(config)
    notes = [note for note in ran.results["notes"] if "no meaning" in note["text"]]
    assert [note["text"] for note in notes] == ["has no meaning here, and is passed over: `name`, `id` (2 times), `owner`"]


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


def test_a_template_that_no_test_uses_is_looked_over(gate):
    templates = {"good": {"type": "contains", "value": "x"}, "typed": {"type": "contans", "value": "x"}}
    templates["keyed"] = {"type": "contains", "value": "x", "treshold": 1}
    ran = gate({**CONFIG, "assertionTemplates": templates})
    assert ran.code == 0, ran.err
    notes = [note["text"] for note in ran.results["notes"]]
    assert notes == [
        'the assertion template `typed` cannot be used: there is no assertion type `contans` (did you mean "contains"?)',
        'the assertion template `keyed` cannot be used: unknown key `treshold` (did you mean "threshold"?)',
    ]
