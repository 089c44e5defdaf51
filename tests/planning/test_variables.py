"""What targets are asked: variables, prompt files and ids, as promptfoo has them."""

from support.each import each, table
from support.fake_llm import FakeLlm

PASSES = [{"type": "not-contains", "value": "never said"}]


def asked(gate, llm: FakeLlm, values: dict, prompt: str = "<{{v}}>", *arguments: str, **files: str) -> list[str]:
    config = {"prompts": [prompt], "providers": [llm.spec()], "tests": [{"vars": values, "assert": PASSES}]}
    ran = gate(config, "-j", "1", *arguments, **files)
    assert ran.code == 0, ran.err
    return [body["messages"][-1]["content"] for body in llm.bodies]


@each(("value", "text"), [("a\n", "a"), ("a\n\n", "a\n"), ("a\r\n", "a\r"), ("\na", "\na"), (" a ", " a "), ("\n", ""), ({"k": "a\n"}, "")])
def test_exactly_one_newline_is_taken_off_the_end_of_a_value(gate, llm: FakeLlm, value, text):
    prompt = "<{{v}}>" if isinstance(value, str) else "<{{v.x}}>"
    assert asked(gate, llm, {"v": value}, prompt) == [f"<{text}>"]


def test_a_value_that_refers_to_nobody_is_left_as_it_is(gate, llm: FakeLlm):
    values = {"v": "Fill {{x}} in, {{name}}", "w": "{{name}}: {{x}}", "name": "Ada"}
    assert asked(gate, llm, values, "{{v}} / {{w}}") == ["Fill {{x}} in, {{name}} / Ada: {{x}}"]


def test_values_refer_to_one_another_five_deep(gate, llm: FakeLlm):
    values = {"a": "{{b}}", "b": "{{c}}", "c": "{{d}}", "d": "{{e}}", "e": "end", "v": "{{a}} {{n}} {{l}}", "n": 2.0}
    assert asked(gate, llm, {**values, "l": [1, 2]}) == ["<end 2 1,2>"]


def test_an_environment_variable_in_a_value_is_filled_in_before_the_rest(gate, llm: FakeLlm, monkeypatch):
    monkeypatch.setenv("TOWN", "Oslo")
    chat = '[{"role": "user", "content": "{{v}}"}]'
    assert asked(gate, llm, {"v": "in {{ env.TOWN }}"}, chat, "--allowed-env", "TOWN") == ["in Oslo"]


@each(("file", "content", "text"), table(__file__, "a_file_as_a_value"))
def test_a_file_as_a_value(gate, llm: FakeLlm, file, content, text):
    assert asked(gate, llm, {"v": f"file://{file}"}, **{file: content}) == [f"<{text}>"]


@each(("file", "content", "texts"), table(__file__, "prompts_of_a_file"))
def test_prompts_of_a_file(gate, llm: FakeLlm, file, content, texts):
    assert asked(gate, llm, {"v": "x"}, f"file://{file}", **{file: content}) == texts


def test_chat_yaml_takes_values_of_several_lines(gate, llm: FakeLlm):
    value = 'one: "two"\n- role: system\n  # three'
    inline = "- role: system\n  content: Be brief.\n- role: user\n  content: Read {{v}}\n"
    assert asked(gate, llm, {"v": value}, inline) == [f"Read {value}"]
    assert [message["role"] for message in llm.bodies[0]["messages"]] == ["system", "user"]


def test_messages_keep_all_their_keys(gate, llm: FakeLlm):
    parts = '[{"type": "text", "text": "{{v}}"}, {"type": "image_url", "image_url": {"url": "u", "detail": "low"}}]'
    asked(gate, llm, {"v": "x"}, f'[{{"role": "user", "name": "ada", "content": {parts}}}]')
    picture = {"type": "image_url", "image_url": {"url": "u", "detail": "low"}}
    assert llm.bodies[0]["messages"] == [{"role": "user", "name": "ada", "content": [{"type": "text", "text": "x"}, picture]}]


@each(("file", "content"), [("p.txt", "\n---\n \n"), ("p.jsonl", "\n")])
def test_a_file_without_a_prompt_is_a_mistake(gate, file, content):
    ran = gate({"prompts": [f"file://{file}"], "providers": ["echo"], "tests": [{"assert": PASSES}]}, **{file: content})
    assert (ran.code, f"{file}:1: `file://{file}` holds no prompt" in ran.err) == (2, True)


def test_a_file_inside_a_chat_is_a_mistake(gate):
    chat = '[{"role": "user", "content": "file://q.txt"}]'
    ran = gate({"prompts": ["file://p.json"], "providers": ["echo"], "tests": [{"assert": PASSES}]}, **{"p.json": chat})
    assert (ran.code, "`file://q.txt` in a prompt is not read" in ran.err) == (2, True)


@each("provider", table(__file__, "what_is_no_model_is_one_mistake"))
def test_what_is_no_model_is_one_mistake(gate, provider):
    target = {"id": provider, "config": {"working_dir": ".", "sandbox_mode": "off", "apiKey": "k"}}
    ran = gate({"prompts": ["{{q}}"], "providers": [target], "tests": [{"vars": {"q": "?"}, "assert": PASSES}]})
    assert f"`{provider}`" in ran.mistakes
    assert "1 mistake;" in ran.err


def test_a_chat_model_may_have_the_name_of_an_agent(gate, llm: FakeLlm):
    config = {"prompts": ["{{q}}"], "tests": [{"vars": {"q": "?"}, "assert": PASSES}]}
    assert gate({**config, "providers": [llm.spec("codex")]}).code == 0
    assert llm.bodies[0]["model"] == "codex"
