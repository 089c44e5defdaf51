"""The gate block of a config: which rules it comes to, and what is said about a rule that decides nothing."""

from support.each import each, table
from support.graded import mistakes

TEST = {"assert": [{"type": "contains", "value": "x"}]}


def config(gate=None):
    return {"prompts": ["x"], "providers": ["echo"], "tests": [TEST, TEST], **({"gate": gate} if gate else {})}


@each(
    ("block", "names"),
    [
        (None, ["every case passes"]),
        ({"errors": "block"}, ["every case passes"]),
        ({"rules": []}, ["every case passes"]),
        ({"rules": [{"name": "a", "min-pass-rate": 1}, {"name": "b", "min-score": 0.5}]}, ["a", "b"]),
    ],
)
def test_without_rules_every_case_must_pass(gate, block, names):
    ran = gate(config(block))
    assert ran.code == 0
    assert [rule["name"] for rule in ran.results["rules"]] == names


def test_a_rule_without_a_threshold_is_a_mistake(gate):
    said = mistakes(gate(config({"rules": [{"name": "a", "min-score": 1}, {"name": "b"}]})))
    assert "the rule `b` has no threshold -> give one of `min-pass-rate`, `min-score`, `max-new-failures`, `max-drop`, " in said
    assert "the rule `a`" not in said


@each("key", ["min-pass-rate", "min-score"])
@each(("limit", "said"), [(0, True), (0.001, False)])
def test_a_rule_that_can_never_fail_is_said(gate, key, limit, said):
    ran = gate(config({"rules": [{"name": "a", key: limit}]}))
    assert (ran.code, f"the rule `a` can never fail: {key} is 0" in ran.out) == (0, said)


@each(("keys", "said"), [({"confidence": 0.95}, True), ({}, False)])
@each(("rate", "reachable"), [(1, False), (0.99, True)])
def test_a_rule_that_no_number_of_passes_meets_is_said_at_its_line(gate, keys, said, rate, reachable):
    ran = gate(config({"rules": [{"name": "a", "min-pass-rate": rate, **keys}]}))
    words = "promptfooconfig.yaml:14: the rule `a` can never be met: with `confidence`, no number of passes shows"
    assert (words in ran.out) == (said and not reachable)
    assert ran.code == (3 if said else 0)


def test_the_keys_of_asking_again_are_read_at_every_level(gate):
    rubric = {"type": "llm-rubric", "value": "x", "provider": "openai:chat:judge"}
    written = config({"confirm": "answers", "noise": 0.2, "second-opinions": ["openai:chat:other"]})
    written["tests"] = [{"assert": [rubric | {"confirm": "off", "second-opinions": "openai:chat:third"}]}]
    said = mistakes(gate(written, confirm=""))  # every model is bound before the first call
    for model in ("judge", "other", "third"):
        assert f"`openai:chat:{model}`" in said or "OPENAI_API_KEY" in said


@each(("block", "said"), table(__file__, "a_mistaken_key_is_said_at_its_line"))
def test_a_mistaken_key_is_said_at_its_line(gate, block, said):
    text = "prompts: [x]\nproviders: [echo]\ntests:\n- assert: [{type: contains, value: x}]\ngate: " + block
    ran = gate(text)
    assert ran.code == 2
    assert said in ran.err


@each("written", ["off", '"off"', "false"])
def test_off_is_read_however_yaml_reads_it(gate, written):
    text = f"prompts: [x]\nproviders: [echo]\ntests:\n- assert: [{{type: contains, value: x}}]\ngate: {{confirm: {written}}}"
    assert gate(text, confirm="").results["confirm"]["mode"] == "off"
