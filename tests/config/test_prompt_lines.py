"""A mistake of a prompt names the line of its item, and is said once."""

from support.scenes import scenes

test_a_scene = scenes(__file__)


def test_a_long_text_is_no_word(gate):
    test = {"vars": {"q": "a"}, "assert": [{"type": "javascript", "value": "true"}]}
    ran = gate({"prompts": ["a" * 100_000 + "/"], "providers": ["echo"], "tests": [test]})
    assert ran.code == 0
    assert [note for note in ran.results["notes"] if "is the word" in note["text"]] == []


def test_a_row_without_a_prompt_is_passed_over(gate):
    tests = [{"assert": [{"type": "equals", "value": "hi"}]}]
    files = {"p.csv": "label,prompt\nfirst,hi\nsecond\n"}
    ran = gate({"prompts": ["file://p.csv"], "providers": ["echo"], "tests": tests}, **files)
    assert [case["prompt_label"] for case in ran.results["cases"]] == ["first"]
