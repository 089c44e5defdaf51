from gradegate.planning import size
from support.each import each, table

TEST = {"vars": {"a": ["1", "2", "3"], "b": ["1", "2"]}, "assert": [{"type": "contains", "value": "p"}]}


def config(**parts):
    return {"prompts": ["p {{a}} {{b}}"], "providers": ["echo"], "tests": [TEST], **parts}


SET = {"assert": [{"type": "assert-set", "assert": TEST["assert"] * 2}]}  # grades are counted with the members of sets
TEXTS = [{"vars": {"a": {"k": "x" * 1000}}, "assert": TEST["assert"]}] * 3  # texts as often as reports show them


@each(
    ("parts", "constant", "most", "fewer"),
    [
        *((parts, "MAX_ANSWERS", most, most - 1) for parts, most in table(__file__, "answers_are_counted_as_they_multiply")),
        ({"tests": [TEST, TEST]}, "MAX_ANSWERS", 12, 11),
        ({"prompts": ["p"], "tests": [SET]}, "MAX_GRADES", 3, 2),
        ({"prompts": ["p"], "tests": TEXTS}, "MAX_PLANNED_CHARACTERS", 3 * 1010, 3 * 1009),
    ],
)
def test_what_is_planned_is_counted_as_it_multiplies(gate, monkeypatch, parts, constant, most, fewer):
    monkeypatch.setattr(size, constant, most)
    assert gate(config(**parts)).code == 0
    monkeypatch.setattr(size, constant, fewer)
    ran = gate(config(**parts))
    assert ran.mistakes.startswith("promptfooconfig.yaml")
    assert constant != "MAX_ANSWERS" or "ask fewer tests in one run" in ran.err
