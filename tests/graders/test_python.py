"""python: code of the repository decides."""

import json

import pytest

ALLOW = "--allow-exec"


def config(*assertions: dict, provider: object = "echo", **test: object) -> dict:
    return {"prompts": ["hello"], "providers": [provider], "tests": [{"assert": list(assertions), **test}]}


def graded(gate, assertion: dict, *arguments: str, **files: str) -> tuple[str, float | None, str]:
    ran = gate(config({"type": "python", **assertion}), ALLOW, *arguments, **files)
    (grade,) = ran.grades
    return grade["outcome"], grade["score"], grade["reason"]


@pytest.mark.parametrize(
    ("value", "more", "outcome", "score"),
    [
        ("output == 'hello'", {}, "pass", 1),
        ("output != 'hello'", {}, "fail", 0),
        ("0.4", {}, "pass", 0.4),
        ("0", {}, "fail", 0),
        ("0.4", {"threshold": 0.5}, "fail", 0.4),
        ("0.5", {"threshold": 0.5}, "pass", 0.5),
        ("{'pass': True, 'score': 0.2, 'reason': 'so'}", {}, "pass", 0.2),
        ("{'pass_': True, 'score': 0.2, 'reason': 'so'}", {"threshold": 0.3}, "fail", 0.2),
        ("{'pass': False, 'score': 1, 'reason': 'so'}", {}, "fail", 1),
        ("'true'", {}, "pass", 1),
        ('\'{"pass": false, "score": 0, "reason": "so"}\'', {}, "fail", 0),
        ("x = output.upper()\nreturn x == 'HELLO'", {}, "pass", 1),
        ("context['prompt'] == 'hello' and context['providerResponse']['output'] == output", {}, "pass", 1),
        ("context['config'] == {'a': [1], 'value': 2}", {"config": {"a": [1], "value": 2}}, "pass", 1),
    ],
)
def test_what_code_returns_is_the_verdict(gate, value, more, outcome, score):
    assert graded(gate, {"value": value, **more})[:2] == (outcome, score)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("json.loads(output)['a'] == 1", "JSONDecodeError"),
        ("if output == 'x':\n    y = 1\nreturn y == 1", "UnboundLocalError"),
        ("import sys\nsys.exit(1)", "SystemExit"),
        ("{output}", "not plain data"),
        ("x = 1\n", "it returned nothing (None)"),
        ("[True]", "it returned a list"),
        ("'yes'", "it returned the text"),
        ("{'pass': 1, 'score': 1, 'reason': ''}", "`pass`"),
        ("{'score': 1}", "`pass`, `reason`"),
        ("float('nan')", "not a number"),
        ("float('inf')", "infinite"),
        ("10 ** 400", "infinite"),
    ],
)
def test_code_that_raises_or_returns_no_verdict_has_failed_the_answer_also_negated(gate, value, said):
    ran = gate(config({"type": "python", "value": value}, {"type": "not-python", "value": value}), ALLOW)
    assert (ran.code, {(grade["outcome"], grade["score"]) for grade in ran.grades}) == (1, {("fail", 0)})
    assert all(grade["reason"].startswith("the Python fails on the answer: ") and said in grade["reason"] for grade in ran.grades)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("output +", "SyntaxError"),
        ("ouput == 'hello'", "NameError"),
        ("import nobody_wrote_this\nreturn True", "ModuleNotFoundError"),
        ("def deep(): return deep() + 1\nreturn deep()", "RecursionError"),
        ("'x' * (17 << 20)", "more than 16 MiB"),
        ("__import__('os')._exit(0)", "its process ended with 0"),
        ("file://thrower.py", "ValueError: not today"),
        ("file://thrower.py:nobody", "ValueError: not today"),
    ],
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
    ran = gate(config({"type": "python", "value": "'{{word}}' in output"}, vars={"word": "ell"}), ALLOW)
    assert ran.code == 0


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
