"""Python files and commands as providers, by promptfoo's calls."""

import json
from pathlib import Path

import pytest

from support.each import table

ALLOW = "--allow-exec"


def config(provider: object, *assertions: dict, **more: object) -> dict:
    asserted = list(assertions) or [{"type": "python", "value": "True"}]
    return {"prompts": ["say {{word}}"], "providers": [provider], "tests": [{"vars": {"word": "hi"}, "assert": asserted}], **more}


def answered(gate, provider: object, *arguments: str, **files: str) -> dict:
    ran = gate(config(provider), ALLOW, *arguments, **files)
    assert len(ran.cases) == 1, ran.err
    return ran.cases[0]


@pytest.mark.parametrize("provider", ["file://app.py", "python:app.py", "file://app.py:call_api", {"id": "file://app.py"}])
def test_a_function_is_called_as_promptfoo_calls_it(gate, provider):
    source = "import json\ndef call_api(*args): return {'output': json.dumps(args)}\n"
    prompt, options, context = json.loads(answered(gate, provider, **{"app.py": source})["output"])
    assert prompt == "say hi"
    assert options["config"] == {}
    assert context["vars"] == {"word": "hi"}


def test_its_config_and_label_reach_it(gate):
    provider = {"id": "file://app.py:answer", "label": "app", "config": {"mode": "x", "deep": {"a": [1]}}}
    source = "def answer(prompt, options, context): return {'output': str(options)}\n"
    case = answered(gate, provider, **{"app.py": source})
    assert case["provider"] == "app"
    assert case["output"] == str({"id": "file://app.py:answer", "label": "app", "config": {"mode": "x", "deep": {"a": [1]}}})


def test_what_it_says_that_it_spent_is_counted(gate):
    said = {
        "output": "a",
        "tokenUsage": {"total": 10, "prompt": 4, "completion": 6},
        "cost": 0.25,
        "metadata": {"k": 1, "refused": True},
        "finishReason": "length",
    }
    case = answered(gate, "file://app.py", **{"app.py": f"def call_api(*args): return {said!r}\n"})
    assert case["usage"]["prompt_tokens"] == 4
    assert case["usage"]["completion_tokens"] == 6
    assert case["usage"]["cost_usd"] == 0.25
    assert case["metadata"] == {"finish_reason": "length", "k": 1}


def test_a_cost_that_it_does_not_say_is_unknown(gate):
    source = "def call_api(*args): return {'output': 'a', 'cost': float('nan'), 'tokenUsage': {'total': -1, 'prompt': 'x'}}\n"
    assert answered(gate, "file://app.py", **{"app.py": source})["usage"]["cost_usd"] is None
    ran = gate(config("file://app.py"), ALLOW, "--max-usd", "1")
    assert "the price of `file://app.py` is not known" in ran.err


@pytest.mark.parametrize(("body", "said"), table(__file__, "what_is_no_answer_is_an_error"))
def test_what_is_no_answer_is_an_error(gate, body, said):
    ran = gate(config("file://app.py", {"type": "not-contains", "value": "x"}), ALLOW, **{"app.py": f"def call_api(*args): {body}\n"})
    assert ran.code == 3
    assert ran.cases[0]["outcome"] == "error"
    assert said in ran.cases[0]["error"]


def test_it_ends_at_its_time(gate):
    provider = {"id": "file://app.py", "config": {"timeout": 500}}
    ran = gate(config(provider), ALLOW, **{"app.py": "import time\ndef call_api(*args): time.sleep(300)\n"})
    assert "takes more than 0.5 seconds" in ran.cases[0]["error"]


@pytest.mark.parametrize(
    ("more", "said"),
    [({"timeout": -1}, "`timeout`"), ({"timeout": "x"}, "`timeout`"), ({"workers": 0.5}, "`workers`"), ({"workers": -1}, "`workers`")],
)
def test_options_that_make_no_sense_are_mistakes(gate, more, said):
    assert said in gate(config({"id": "file://app.py", "config": more}), ALLOW, **{"app.py": ""}).mistakes


def test_a_conversation_is_sent_as_messages(gate):
    source = "def call_api(prompt, options, context): return {'output': prompt}\n"
    made = config("file://app.py")
    made["tests"] = [
        {"turns": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}], "assert": [{"type": "contains", "value": "b"}]}
    ]
    made["prompts"] = ["be kind"]
    ran = gate(made, ALLOW, **{"app.py": source})
    said = json.loads(ran.cases[0]["turns"][-1]["content"])
    assert [message["role"] for message in said] == ["system", "user", "assistant", "user"]


def test_it_grades_embeds_and_classifies(gate):
    source = (
        'def call_api(prompt, options, context): return {\'output\': \'{"pass": true, "score": 1, "reason": "fine"}\'}\n'
        "def call_embedding_api(prompt, options): return {'embedding': [1.0, 0.0]}\n"
        "async def call_classification_api(prompt, options): return {'classification': {'calm': 0.9}}\n"
    )
    judge = {"provider": "file://judge.py"}
    made = config(
        "echo",
        {"type": "llm-rubric", "value": "is kind", **judge},
        {"type": "similar", "value": "hello", **judge},
        {"type": "classifier", "value": "calm", "threshold": 0.5, **judge},
    )
    ran = gate(made, ALLOW, **{"judge.py": source})
    assert [grade["outcome"] for grade in ran.grades] == ["pass"] * 3


@pytest.mark.parametrize("said", ["{}", "{'embedding': ['a']}", "{'embedding': 1}", "{'error': 'x'}", "{'embedding': [True]}"])
def test_what_is_no_vector_is_an_error(gate, said):
    source = f"def call_embedding_api(prompt, options): return {said}\n"
    ran = gate(config("echo", {"type": "similar", "value": "hello", "provider": "file://j.py"}), ALLOW, **{"j.py": source})
    assert [grade["outcome"] for grade in ran.grades] == ["error"]


# --- commands -------------------------------------------------------------------------------------------------


def test_a_command_gets_prompt_options_and_context_as_its_last_arguments(gate, tmp_path: Path):
    script = "import sys, json, os\nprint(json.dumps([sys.argv[1:3], *map(json.loads, sys.argv[3:]), os.getcwd()]))\n"
    case = answered(gate, {"id": "exec: python3 'my app.py' fast", "config": {"a": 1}}, **{"my app.py": script})
    (first, prompt), options, context, folder = json.loads(case["output"])
    assert (first, prompt) == ("fast", "say hi")
    assert options["config"] == {"a": 1}
    assert context["vars"] == {"word": "hi"}
    assert folder == str(tmp_path)


@pytest.mark.parametrize(
    ("command", "said"), [("exec: false", "ended with 1"), ("exec: no-such-program", "does not start"), ("exec: true", "empty text")]
)
def test_a_command_that_fails_gave_no_answer(gate, command, said):
    ran = gate(config(command), ALLOW)
    assert ran.code == 3
    assert said in ran.cases[0]["error"]


def test_what_an_answer_or_a_variable_holds_reaches_no_shell(gate, tmp_path: Path):
    made = config("exec: echo")
    made["tests"][0]["vars"]["word"] = "$(touch owned); `touch owned` | touch owned"
    assert gate(made, ALLOW).code == 0
    assert not (tmp_path / "owned").exists()


# --- leave ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "provider", ["file://app.py", "python:app.py:f", "exec: node app.js", {"id": "file://app.py", "config": {"x": {"y": 1}}}]
)
def test_without_leave_a_provider_is_one_mistake_with_the_safe_way_and_the_flag(gate, provider):
    made = config(provider, {"type": "contains", "value": "a"})
    ran = gate(made, **{"app.py": "raise SystemExit"})
    assert ran.code == 2
    said, count = ran.err.splitlines()
    assert count.startswith("1 mistake")
    for part in ("code of the repository", "gradegate cases", "--answers", "--allow-exec", "promptfooconfig.yaml:"):
        assert part in said


@pytest.mark.parametrize("provider", ["file://app.rb", "file://app.go:f", "package:x:y", "app.py"])
def test_code_that_is_never_run_is_one_mistake_with_the_ways_there_are(gate, provider):
    ran = gate(config(provider, {"type": "contains", "value": "a"}), ALLOW, **{"app.rb": "", "app.go": "", "app.py": ""})
    assert ran.code == 2
    said, count = ran.err.splitlines()
    assert count.startswith("1 mistake")
    assert "--answers" in said
    assert "exec: " in said


def test_one_provider_with_a_mistake_hides_no_other(gate):
    ran = gate(
        {**config("echo", {"type": "contains", "value": "a"}), "providers": ["file://a.py", "openai:chat", "file://b.js"]},
        **{"a.py": "", "b.js": ""},
    )
    assert len(ran.err.splitlines()) >= 3


def test_a_key_is_shown_to_code_only_where_the_workflow_names_it(gate, monkeypatch):
    monkeypatch.setenv("MY_KEY", "canary-5f1c9a-key")
    source = "import os\ndef call_api(prompt, options, context): return {'output': str(options['config']) + os.environ.get('MY_KEY', 'none') + os.environ.get('COPY', '')}\n"
    for provider in ({"config": {"apiKey": "{{ env.MY_KEY }}"}}, {"env": {"COPY": "{{ env.MY_KEY }}"}}):
        made = config({"id": "file://app.py", **provider})
        ran = gate(made, ALLOW, **{"app.py": source})
        assert "would show MY_KEY to code of the repository" in ran.mistakes
        ran = gate(made, ALLOW, "--exec-env", "MY_KEY")
        assert ran.code == 0
        assert ran.cases[0]["output"].count("***") >= 1
        assert "canary-5f1c9a-key" not in json.dumps(ran.results) + ran.out + ran.err
    assert answered(gate, "file://app.py")["output"] == "{}none"


def test_literals_of_the_config_reach_it(gate):
    source = "import os\ndef call_api(*args): return {'output': os.environ['MODE'] + os.environ['OWN']}\n"
    made = config({"id": "file://app.py", "env": {"OWN": "b"}}, env={"MODE": "a"})
    assert gate(made, ALLOW, **{"app.py": source}).cases[0]["output"] == "ab"


def test_no_answer_of_code_is_kept_in_the_cache(gate):
    source = "import time\ndef call_api(*args): return {'output': str(time.time())}\n"
    first = answered(gate, "file://app.py", "--cache", "kept", **{"app.py": source})["output"]
    assert answered(gate, "file://app.py", "--cache", "kept")["output"] != first


def test_an_error_or_a_reason_of_any_length_is_cut(gate):
    ran = gate(config("file://app.py"), ALLOW, **{"app.py": "def call_api(*args): return {'error': 'x' * 1_000_000}\n"})
    assert len(ran.cases[0]["error"]) < 3000
    source = "def call_api(*args): return {'output': 'a', 'finishReason': 'x' * 1_000_000}\n"
    ran = gate(config("file://app.py"), ALLOW, **{"app.py": source})
    assert "did not finish its answer (finish reason xxx" in ran.cases[0]["error"]
    assert len(ran.cases[0]["error"]) < 200


def test_the_same_path_in_another_folder_is_another_program(gate, tmp_path: Path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "app.py").write_text(f"def call_api(*args): return {{'output': {folder!r}}}\n")
        (tmp_path / folder / "c.json").write_text(json.dumps(config("file://app.py")))
    ran = gate(None, ALLOW, "-c", "two/c.json", name="one/c.json")
    assert [case["output"] for case in ran.cases] == ["one", "two"]


def test_calls_count_against_the_budget_of_the_run(gate):
    made = config("file://app.py")
    made["tests"] *= 2
    ran = gate(made, ALLOW, "--max-calls", "1", "-j", "1", **{"app.py": "def call_api(*args): return {'output': 'a'}\n"})
    assert sorted(case["outcome"] for case in ran.cases) == ["error", "pass"]
    ran = gate(made, ALLOW, "--estimate")
    assert "target: 2 calls" in ran.out
    assert "cost: unknown" in ran.out
