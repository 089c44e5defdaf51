"""Which options a config may set: one that a pull request must not set has no key anywhere in a config."""

import typing
from collections import Counter

from gradegate.config import keys
from gradegate.core.settings import OPTIONS
from support.each import table

MAY, NEVER = table(__file__, "may"), table(__file__, "never")
PLACES = {
    "config": keys.ConfigKeys,
    "gate": keys.GateKeys,
    "test": keys.TestKeys,
    "options": keys.OptionKeys,
    "evaluateOptions": keys.EvaluateKeys,
    "commandLineOptions": keys.CommandLineKeys,
}


def has_effect(place, key):
    """Whether a place of a config has this key, and not only accepts it as an option of promptfoo's own."""
    fields = {field.alias or name: field for name, field in PLACES[place].model_fields.items()}
    accepted = place in ("evaluateOptions", "commandLineOptions") and fields.get(key) and fields[key].annotation is typing.Any
    return key in fields and not accepted


def test_each_option_has_its_answer():
    named = Counter([*MAY, *(name for names in NEVER.values() for name in names)])
    assert named == Counter(option.name for option in OPTIONS)


def test_an_option_that_a_config_may_set_has_its_key():
    assert [name for name, (place, key) in MAY.items() if not has_effect(place, key)] == []


def test_no_config_can_set_what_a_pull_request_must_not():
    found = []
    for name in (name for names in NEVER.values() for name in names):
        option = next(option for option in OPTIONS if option.name == name)
        first, *rest = name.split("-")
        spellings = {name, option.field, "".join([first, *map(str.capitalize, rest)])}
        found += [(place, key) for place in PLACES for key in spellings if has_effect(place, key)]
    assert found == []


def test_the_env_of_a_config_names_no_interpreter(gate):
    config = {
        "env": {"PROMPTFOO_PYTHON": "/bin/false"},
        "prompts": ["fine"],
        "providers": ["echo"],
        "tests": [{"assert": [{"type": "python", "value": "file://check.py"}]}],
    }
    files = {"check.py": "def get_assert(output, context):\n    return output == 'fine'\n"}
    assert gate(config, "--allow-exec", **files).code == 0


def test_a_budget_takes_the_lower_of_each_part(gate, llm):
    budget = {"calls": 500, "usd": 0.5}
    config = {"prompts": ["{{q}}"], "providers": [llm.spec(cost=0.001)], "gate": {"budget": budget}}
    config["tests"] = [{"vars": {"q": "a"}, "assert": [{"type": "contains", "value": "x"}]}]
    ran = gate(config, "--budget", "300 calls, 900 s, 2 usd")
    found = {name: ran.results["budget"]["limits"][name] for name in ("calls", "usd", "seconds")}
    assert found == {"calls": 300, "usd": 0.5, "seconds": 900.0}
