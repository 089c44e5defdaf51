"""python: code of the repository decides."""

import json

import pytest

from support.each import table

ALLOW = "--allow-exec"


def config(*assertions: dict, provider: object = "echo", **test: object) -> dict:
    return {"prompts": ["hello"], "providers": [provider], "tests": [{"assert": list(assertions), **test}]}


def graded(gate, assertion: dict, *arguments: str, **files: str) -> tuple[str, float | None, str]:
    ran = gate(config({"type": "python", **assertion}), ALLOW, *arguments, **files)
    (grade,) = ran.grades
    return grade["outcome"], grade["score"], grade["reason"]


@pytest.mark.parametrize(("value", "more", "outcome", "score"), table(__file__, "what_code_returns_is_the_verdict"))
def test_what_code_returns_is_the_verdict(gate, value, more, outcome, score):
    assert graded(gate, {"value": value, **more})[:2] == (outcome, score)


@pytest.mark.parametrize(("value", "said"), table(__file__, "code_that_raises_or_returns_no_verdict_has_failed_the_answer_also_negated"))
def test_code_that_raises_or_returns_no_verdict_has_failed_the_answer_also_negated(gate, value, said):
    ran = gate(config({"type": "python", "value": value}, {"type": "not-python", "value": value}), ALLOW)
    assert (ran.code, {(grade["outcome"], grade["score"]) for grade in ran.grades}) == (1, {("fail", 0)})
    assert all(grade["reason"].startswith("the Python fails on the answer: ") and said in grade["reason"] for grade in ran.grades)


@pytest.mark.parametrize(
    ("value", "said"), table(__file__, "code_that_cannot_be_loaded_lacks_a_name_or_hits_a_limit_is_an_error_that_nothing_leaves_out")
)
def test_code_that_cannot_be_loaded_lacks_a_name_or_hits_a_limit_is_an_error_that_nothing_leaves_out(gate, value, said):
    kinds = [{"type": kind, "value": value} for kind in ("python", "not-python")]
    content = {**config(*kinds, *[{"type": "contains", "value": "hello"}] * 8), "gate": {"errors": {"ignore-up-to": 0.9}}}
    ran = gate(content, ALLOW, **{"thrower.py": "raise ValueError('not today')"})
    assert (ran.code, [grade["outcome"] for grade in ran.grades[:2]]) == (3, ["error", "error"])
    assert said in ran.grades[0]["reason"]


def test_the_negation_turns_the_verdict_round(gate):
    ran = gate(config({"type": "not-python", "value": "'x' in output"}), ALLOW)
    assert [grade["outcome"] for grade in ran.grades] == ["pass"]


def test_templates_of_inline_code_are_filled_in_first(gate):
    assert gate(config({"type": "python", "value": "'{{word}}' in output"}, vars={"word": "ell"}), ALLOW).code == 0


def test_a_file_judges_with_get_assert_or_the_function_that_is_named(gate):
    source = (
        "from words import GOOD\n"
        "def get_assert(output, context):\n"
        "    return {'pass': output in GOOD, 'score': 1.0, 'reason': context['vars']['q'],\n"
        "            'component_results': [{'pass_': True, 'score': 1, 'reason': 'part'}], 'named_scores': {'tone': 0.5}}\n"
        "async def other(output, context): return len(output) > 100\n"
    )
    files = {"judge.py": source, "words.py": "GOOD = ['hello']\n"}
    made = config(
        {"type": "python", "value": "file://judge.py"}, {"type": "python", "value": "file://judge.py:other"}, vars={"q": "the question"}
    )
    ran = gate(made, ALLOW, **files)
    first, second = ran.grades
    assert (first["outcome"], first["reason"]) == ("pass", "the question")
    assert first["evidence"]["components"] == [{"pass": True, "score": 1.0, "reason": "part"}]
    assert second["outcome"] == "fail"


def test_data_that_code_answers_with_is_data_for_code_that_judges_and_text_for_the_rest(gate):
    source = "def call_api(prompt, options, context): return {'output': {'a': [1, 'ä']}}\n"
    made = config(
        {"type": "python", "value": "output['a'][1] == 'ä'"},
        {"type": "equals", "value": json.dumps({"a": [1, "ä"]}, ensure_ascii=False, separators=(",", ":"))},
        provider="file://app.py",
    )
    assert gate(made, ALLOW, **{"app.py": source}).code == 0


def test_without_leave_each_is_one_mistake_that_names_the_flag(gate):
    made = config({"type": "python", "value": "True"}, {"type": "python", "value": "file://judge.py"})
    ran = gate(made, **{"judge.py": "raise SystemExit"})
    assert ran.code == 2
    lines = ran.err.splitlines()
    assert len(lines) == 3
    assert all("--allow-exec" in line and "docs/exec.md" in line for line in lines[:2])
    assert lines[0].startswith("promptfooconfig.yaml:")


def test_a_file_that_is_not_there_is_said_to_be_missing(gate):
    ran = gate(config({"type": "python", "value": "file://judge.py:f"}))
    assert "`judge.py` does not exist" in ran.err
    assert len(ran.err.splitlines()) == 2


def test_what_an_answer_holds_is_never_code(gate):
    made = config({"type": "python", "value": "len(output) > 5"})
    made["prompts"] = ["__import__('os')._exit(0)\n{{ 7 * 7 }}"]
    assert gate(made, ALLOW).code == 0


def test_code_that_fails_says_its_last_lines_without_secrets(gate, monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", "canary-5f1c9a-secret")
    source = "import os\ndef get_assert(output, context): raise ValueError('::error::' + os.environ['DB_PASSWORD'])\n"
    made = config({"type": "python", "value": "file://judge.py"})
    ran = gate(made, ALLOW, "--exec-env", "DB_PASSWORD", **{"judge.py": source})
    assert ran.code == 1
    assert "ValueError: ::error::***" in ran.grades[0]["reason"]
    assert "canary-5f1c9a-secret" not in ran.out + ran.err + json.dumps(ran.results)
    assert not any(line.startswith("::") for line in ran.out.splitlines())
