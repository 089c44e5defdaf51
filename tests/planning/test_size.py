from gradegate.planning import size
from support.each import each, table

TEST = {"vars": {"a": ["1", "2", "3"], "b": ["1", "2"]}, "assert": [{"type": "contains", "value": "p"}]}


def config(**parts):
    return {"prompts": ["p {{a}} {{b}}"], "providers": ["echo"], "tests": [TEST], **parts}


@each(("parts", "answers"), [*table(__file__, "answers_are_counted_as_they_multiply"), ({"tests": [TEST, TEST]}, 12)])
def test_answers_are_counted_as_they_multiply(gate, monkeypatch, parts, answers):
    monkeypatch.setattr(size, "MAX_ANSWERS", answers)
    assert gate(config(**parts)).code == 0
    monkeypatch.setattr(size, "MAX_ANSWERS", answers - 1)
    ran = gate(config(**parts))
    assert "ask fewer tests in one run" in ran.mistakes
    assert ran.err.startswith("promptfooconfig.yaml:")


def test_grades_are_counted_with_the_members_of_sets(gate, monkeypatch):
    member = TEST["assert"][0]
    test = {"assert": [{"type": "assert-set", "assert": [member, member]}]}
    monkeypatch.setattr(size, "MAX_GRADES", 3)
    assert gate(config(prompts=["p"], tests=[test])).code == 0
    monkeypatch.setattr(size, "MAX_GRADES", 2)
    assert gate(config(prompts=["p"], tests=[test])).code == 2


def test_texts_are_counted_as_often_as_reports_show_them(gate, monkeypatch):
    written = config(prompts=["p"], tests=[{"vars": {"a": {"k": "x" * 1000}}, "assert": TEST["assert"]}] * 3)
    monkeypatch.setattr(size, "MAX_PLANNED", 3 * 1010)
    assert gate(written).code == 0
    monkeypatch.setattr(size, "MAX_PLANNED", 3 * 1009)
    assert gate(written).code == 2
