"""Words that gradegate no longer reads: each is refused with what to write instead, and that can be written."""

import re

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.config import keys
from gradegate.files.documents import table
from gradegate.providers.api.options import suggest_id
from gradegate.providers.api.provider import split_id
from support.each import each

REMOVED = table("config", "removed.yaml")
TYPES = {name: cure for names in REMOVED["types"].values() for name, cure in names.items()}
PLACES = {
    "test": keys.TestKeys,
    "options": keys.OptionKeys,
    "provider": keys.ProviderKeys,
    "assertion": keys.AssertionKeys,
    "gate": keys.GateKeys,
    "rule": keys.RuleKeys,
}


def test_no_removed_word_is_read():
    assert [name for name in TYPES if EVALUATORS.find(name)] == []
    assert [name for name in REMOVED["providers"] if split_id(f"{name}:m")] == []
    assert [(place, key) for place, words in REMOVED["keys"].items() for key in words if key in keys.key_names(PLACES[place])] == []


def test_a_removed_provider_has_a_successor():
    for name, cure in REMOVED["providers"].items():
        assert suggest_id(f"{name}:m") == cure
        assert split_id(re.search(r"[a-z]+:MODEL", cure)[0].replace("MODEL", "m"))


def test_a_file_of_github_models_is_named(gate):
    prompt = "model: openai/gpt-4o\nmessages: [{role: user, content: hi}]\ntestData: [{a: b}]\n"
    ran = gate(prompt, name="a.prompt.yml")
    assert ran.code == 2
    assert "a.prompt.yml: `.prompt.yml` files are not supported -> GitHub Models was closed. Write its messages as `prompts`" in ran.err


@each(
    ("kind", "passes", "fails"),
    [
        ("alpha_perc", "abcdéfghij", "1234"),
        ("alphanum_perc", "abc123", "-- --"),
        ("char_ct_match", "short", "x" * 501),
        ("is_boolean", " TRUE", "yes"),
        ("is_date", "2026-11-21", "tomorrow"),
        ("is_numeric", "-3.5e2", "1,000"),
        ("is_string", "x", " "),
        ("numeric_match", "42.3", "43"),
        ("par_ct_match", "a\n\nb", "a\n\nb\n\nc\n\nd"),
        ("sent_ct_match", "One. Two.", "1. 2. 3. 4. 5. 6."),
    ],
)
def test_the_example_that_a_message_gives_does_what_the_type_did(gate, kind, passes, fails):
    cure = TYPES[kind]
    value = re.search(r"`(.*)`", cure)[1]
    value = re.sub(r"^value: '(.*)'$", r"\1", value)
    tests = [{"providerOutput": output, "assert": [{"type": cure.split()[0], "value": value}]} for output in (passes, fails)]
    ran = gate({"prompts": ["a"], "tests": tests})
    # An empty answer is an error, whatever is asserted.
    assert [case["outcome"] for case in ran.cases] == ["pass", "fail" if fails.strip() else "error"], ran.out
