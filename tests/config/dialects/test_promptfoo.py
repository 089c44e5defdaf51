"""promptfoo's config, key by key, through the command with echo as the target."""

import pytest

from support.each import each, table
from support.scenes import scenes

test_a_scene = scenes(__file__)


@each(("assertion", "output", "passes"), table(__file__, "deterministic_assertions_and_their_opposites"))
def test_deterministic_assertions_and_their_opposites(gate, assertion, output, passes):
    opposite = {**assertion, "type": f"not-{assertion['type']}"}
    ran = gate({"prompts": ["{{o}}"], "providers": ["echo"], "tests": [{"vars": {"o": output}, "assert": [assertion, opposite]}]})
    assert [grade["outcome"] for grade in ran.grades] == (["pass", "fail"] if passes else ["fail", "pass"])
    assert [grade["score"] for grade in ran.grades] == ([1, 0] if passes else [0, 1])


@pytest.mark.slow
def test_a_regular_expression_that_explodes_is_no_verdict(gate):
    ran = gate(
        {
            "prompts": ["a" * 80 + "b"],
            "providers": ["echo"],
            "tests": [{"assert": [{"type": "regex", "value": r"^(a|aa)+$"}, {"type": "not-regex", "value": r"^(a|aa)+$"}]}],
        }
    )
    assert [grade["outcome"] for grade in ran.grades] == ["error", "error"]
    assert ran.code == 3
