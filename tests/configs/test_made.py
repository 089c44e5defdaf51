"""Prompts, tests and variables that code of the repository makes."""

import json

from support.each import each, table

ALLOW = "--allow-exec"
FINE = {"type": "not-contains", "value": "nothing of that kind"}


def config(**more: object) -> dict:
    return {"prompts": ["a"], "providers": ["echo"], "tests": [{"vars": {"q": "cats"}, "assert": [FINE]}], **more}


PROMPTS = (
    "import json, sys\n"
    "def text(context): return 'tell {{q}} of ' + context['vars']['q'] + ' to ' + context['provider']['id']\n"
    "def chat(context): return [{'role': 'system', 'content': 'be kind'}, {'role': 'user', 'content': '{{q}} \"!'}]\n"
    "def both(context): return {'prompt': 'x {{q}}', 'config': {}}\n"
    "if __name__ == '__main__': print(json.loads(sys.argv[1])['vars']['q'] + ' printed')\n"
)


@each(("written", "prompt", "label"), table(__file__, "prompts_are_made_for_each_test_and_filled_in"))
def test_prompts_are_made_for_each_test_and_filled_in(gate, written, prompt, label):
    ran = gate(config(prompts=[written]), ALLOW, **{"p.py": PROMPTS})
    assert ran.code == 0, ran.err
    (case,) = ran.cases
    assert case["prompt"].startswith(prompt)
    assert case["prompt_label"].startswith(label)


def test_messages_are_a_chat(gate, llm):
    made = config(prompts=["file://p.py:chat"], providers=[{"id": "openai:chat:m", "config": {"apiBaseUrl": llm.base, "apiKey": "k"}}])
    gate(made, ALLOW, **{"p.py": PROMPTS})
    assert [message["content"] for message in llm.bodies[0]["messages"]] == ["be kind", 'cats "!']


@each(("body", "said"), table(__file__, "a_prompt_that_is_not_made_is_a_mistake_before_anything_is_asked"))
def test_a_prompt_that_is_not_made_is_a_mistake_before_anything_is_asked(gate, llm, body, said):
    ran = gate(config(prompts=["file://p.py:f"]), ALLOW, **{"p.py": f"def f(context): {body}\n"})
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.startswith("promptfooconfig.yaml:")


TESTS = (
    "def generate_tests(config=None):\n"
    "    count = (config or {}).get('count', 1)\n"
    "    return [{'description': f'made {n}', 'vars': {'q': n}, 'assert': [{'type': 'contains', 'value': 'a'}]} for n in range(count)]\n"
    "def other(): return [{'description': 'other', 'assert': [{'type': 'contains', 'value': 'a'}]}]\n"
)


@each(("written", "found"), table(__file__, "tests_are_made_by_a_function"))
def test_tests_are_made_by_a_function(gate, written, found):
    ran = gate(config(tests=written), ALLOW, **{"gen.py": TESTS})
    assert [case["description"] for case in ran.cases] == found, ran.err


@each(("body", "said"), table(__file__, "a_generator_that_makes_no_tests_is_a_mistake"))
def test_a_generator_that_makes_no_tests_is_a_mistake(gate, body, said):
    ran = gate(config(tests="file://gen.py:f"), ALLOW, **{"gen.py": f"def f(): {body}\n"})
    assert ran.code == 2
    assert said in ran.err


def test_a_variable_is_made_by_get_var(gate):
    source = "def get_var(name, prompt, others): return {'output': f\"{name} of {others['q']} for {len(prompt)} \"}\n"
    made = config(prompts=["say {{v}}"], tests=[{"vars": {"v": "file://v.py", "q": ["cats", "dogs"]}, "assert": [FINE]}])
    ran = gate(made, ALLOW, **{"v.py": source})
    assert [case["prompt"] for case in ran.cases] == ["say v of cats for 9", "say v of dogs for 9"]


@each(("body", "said"), table(__file__, "a_variable_that_is_not_made_is_a_mistake"))
def test_a_variable_that_is_not_made_is_a_mistake(gate, body, said):
    made = config(tests=[{"vars": {"v": "file://v.py"}, "assert": [FINE]}])
    ran = gate(made, ALLOW, **{"v.py": f"def get_var(name, prompt, others): {body}\n"})
    assert ran.code == 2
    assert said in ran.err


@each(
    "place",
    [
        {"prompts": ["file://x.py:f"]},
        {"prompts": ["file://x.py"]},
        {"prompts": ["exec: ./x.sh"]},
        {"tests": "file://x.py:f"},
        {"tests": [{"path": "file://x.py:f", "config": {"a": 1}}]},
        {"tests": [{"vars": {"v": "file://x.py"}, "assert": [FINE]}]},
    ],
)
def test_without_leave_each_place_is_one_mistake_and_nothing_runs(gate, tmp_path, place):
    ran = gate(config(**place), **{"x.py": "open('ran', 'w').close()\n"})
    assert ran.code == 2
    said, count = ran.err.splitlines()
    assert count.startswith("1 mistake")
    assert "code of the repository" in said
    assert "--allow-exec" in said
    assert not (tmp_path / "ran").exists()


def test_a_generator_that_is_there_is_not_said_to_be_missing(gate):
    assert "does not exist" not in gate(config(tests="file://x.py:f"), **{"x.py": ""}).err
    assert "`gone.py` does not exist" in gate(config(tests="file://gone.py:f")).err


def test_nothing_that_code_makes_is_read_from_outside_the_workspace(gate):
    ran = gate(config(tests="file:///etc/x.py"), ALLOW)
    assert "leads out of the workspace" in ran.err


def test_validate_asks_and_judges_nothing_of_code(gate, tmp_path, capsys):
    from gradegate import cli

    source = "def make(): return [{'vars': {'q': 1}, 'assert': [{'type': 'python', 'value': 'file://judge.py'}]}]\n"
    made = config(tests="file://gen.py:make", providers=["file://app.py"])
    files = {"gen.py": source, "app.py": "open('asked', 'w')\n", "judge.py": "open('judged', 'w')\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "c.json").write_text(json.dumps(made))
    gate(config())  # for its clean environment
    assert cli.main(["validate", "c.json", ALLOW]) == 0
    assert not (tmp_path / "asked").exists()
    assert not (tmp_path / "judged").exists()
