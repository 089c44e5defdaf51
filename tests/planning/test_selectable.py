"""A rule that selects nothing is told what there is to select, nearest first."""

import pytest

TEST = {
    "description": "says how long returns take",
    "assert": [
        {"type": "contains", "value": "x", "metric": "facts"},
        {"type": "equals", "value": "x", "metric": "wording"},
        {"type": "icontains", "value": "x", "metric": "tone", "blocking": False},
    ],
}


def told(gate, select, *, tests=(TEST,), **rule):
    written = {
        "prompts": ["x"],
        "providers": [{"id": "echo", "label": "shop assistant"}],
        "tests": list(tests),
        "gate": {"rules": [{"name": "r", "select": select, "min-pass-rate": 1, **rule}]},
    }
    ran = gate(written)
    assert ran.code == 2
    what, _, cure = ran.err.splitlines()[0].partition(" -> ")
    assert what.endswith("the rule `r` selects nothing")
    return cure


@pytest.mark.parametrize(
    ("select", "cure"),
    [
        ({"assertion": "contain"}, "there is assertion `contains`, `equals`"),
        ({"assertion": "equal"}, "there is assertion `equals`, `contains`"),
        ({"metric": "words"}, "there is metric `wording`, `facts`"),
        ({"metric": "fact"}, "there is metric `facts`, `wording`"),
        ({"provider": "Shop Assistant"}, "there is provider `shop assistant`"),
        ({"description": "returns"}, "there is description `says how long returns take`"),
        (
            {"assertion": "contain", "metric": "fact"},
            "there is assertion `contains`, `equals`; there is metric `facts`, `wording`",
        ),
        (
            {"assertion": "contains", "metric": "wording"},
            "`assertion` and `metric` select something each, and no grade is selected by all of them",
        ),
        (
            {"metric": "tone"},
            "what it looks at is advisory (`blocking: false` or `threshold: none`): let that block, or write `blocking: false` into the rule",
        ),
    ],
)
def test_what_there_is_comes_nearest_first(gate, select, cure):
    assert told(gate, select) == f"correct `select`: {cure}"


def test_an_advisory_rule_is_told_what_advises_too(gate):
    cure = told(gate, {"metric": "tones"}, blocking=False)
    assert cure.startswith("correct `select`: there is metric `tone`, ")


def test_where_nothing_has_the_key_that_is_said(gate):
    plain = {"assert": [{"type": "contains", "value": "x"}]}
    assert told(gate, {"metric": "tone"}, tests=[plain]).endswith("no assertion that it could look at has a metric")
    assert told(gate, {"description": "x"}, tests=[plain]).endswith(
        "no assertion that it could look at has a description"
    )


def test_the_list_is_short_and_so_is_each_value(gate):
    tests = [{**TEST, "description": f"case {number} " + "long\n" * 40} for number in range(12)]
    cure = told(gate, {"description": "case 7"}, tests=tests)
    assert cure.startswith("correct `select`: there is description `case 7 long long")
    assert cure.endswith("…` and 7 more")
    assert "\n" not in cure
    assert len(cure) < 450
