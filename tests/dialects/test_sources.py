"""Where a promptfoo config has its tests, variables, prompts and assertions from, beside the common ways."""

import json

from support.each import each, table
from support.graded import mistakes


def config(**more):
    return {"prompts": ["{{a}} {{b}}"], "providers": ["echo"], **more}


def outputs(ran):
    assert ran.code in (0, 1), ran.out + ran.err
    return [case["output"] for case in ran.cases]


def contains(value, **more):
    return {"type": "contains", "value": value, **more}


# --- scenarios ----------------------------------------------------------------------------------------------------


def test_each_entry_of_a_scenario_is_joined_with_each_of_its_tests(gate):
    scenario = {
        "description": "greetings",
        "config": [{"vars": {"a": "hello", "b": "entry"}, "assert": [contains("hello")]}, {"vars": {"a": "bye"}}],
        "tests": [
            {"vars": {"b": "test"}, "assert": [contains("test")], "description": "first"},
            {"vars": {"c": "x"}, "assert": [contains("d")]},
        ],
    }
    ran = gate(
        config(tests=[{"vars": {"a": "plain"}}], scenarios=[scenario], defaultTest={"vars": {"b": "default"}, "assert": [contains("e")]})
    )
    assert outputs(ran) == ["plain default", "hello test", "hello entry", "bye test", "bye default"]
    asserted = [[grade["reason"].split('"')[1] for grade in case["grades"]] for case in ran.cases]
    assert asserted == [["e"], ["e", "hello", "test"], ["e", "hello", "d"], ["e", "test"], ["e", "d"]]
    assert [case["description"] for case in ran.cases][1:4] == ["first", "", "first"]


def test_options_thresholds_and_metadata_of_an_entry_hold_for_its_tests(gate):
    scenario = {
        "config": [{"vars": {"a": "x", "b": "y"}, "threshold": 0.5, "options": {"suffix": "!", "disableDefaultAsserts": True}}],
        "tests": [{"assert": [contains("x y!"), contains("no")]}, {"threshold": 1, "assert": [contains("x"), contains("no")]}],
    }
    ran = gate(config(scenarios=[scenario], defaultTest={"assert": [contains("never")]}))
    assert outputs(ran) == ["x y!", "x y!"]
    assert [case["outcome"] for case in ran.cases] == ["pass", "fail"]


def test_a_conversation_is_that_of_its_scenarios_entry(gate):
    prompt = "{% for turn in _conversation %}[{{ turn.input }}]{% endfor %}{{a}}{{b}}"
    tests = [{"vars": {"b": 1}, "assert": [contains("1")]}, {"vars": {"b": 2}, "assert": [contains("2")]}]
    scenario = {"config": [{"vars": {"a": "A"}}, {"vars": {"a": "B"}}], "tests": tests}
    assert outputs(gate({"prompts": [prompt], "providers": ["echo"], "scenarios": [scenario]})) == ["A1", "[A1]A2", "B1", "[B1]B2"]


def test_scenarios_their_entries_and_their_tests_come_from_files(gate, tmp_path):
    (tmp_path / "s.yaml").write_text("- config: file://entries.json\n  tests: [file://t.csv]\n")
    (tmp_path / "entries.json").write_text(json.dumps([{"vars": {"a": "hi"}}]))
    (tmp_path / "t.csv").write_text("b,__expected\nyou,contains:hi\nall,contains:hi\n")
    assert outputs(gate(config(scenarios=["file://s.yaml"]))) == ["hi you", "hi all"]


@each(("scenario", "said"), table(__file__, "a_scenario_that_makes_no_test_is_a_mistake"))
def test_a_scenario_that_makes_no_test_is_a_mistake(gate, scenario, said):
    assert said in mistakes(gate(config(scenarios=[scenario])))


# --- templates of assertions --------------------------------------------------------------------------------------


def test_assertions_may_be_templates(gate, tmp_path):
    (tmp_path / "t.yaml").write_text(
        "- {vars: {a: x, b: y}, assert: [{$ref: '#/1/assert/0'}]}\n- {vars: {a: y, b: z}, assert: [{type: contains, value: y}]}\n"
    )
    ran = gate(
        config(
            assertionTemplates={"polite": contains("please")},
            tests=[
                {"vars": {"a": "yes", "b": "please"}, "assert": [{"$ref": "#/assertionTemplates/polite"}]},
                {"vars": {"a": "yes", "b": "now"}, "assert": [{"$ref": "#/assertionTemplates/polite", "value": "now"}]},
                "file://t.yaml",
            ],
        )
    )
    assert [case["outcome"] for case in ran.cases] == ["pass"] * 4
    said = mistakes(gate(config(tests=[{"vars": {"a": 1, "b": 2}, "assert": [{"$ref": "#/assertionTemplates/none"}]}])))
    assert "leads nowhere" in said


# --- variables and tests ------------------------------------------------------------------------------------------


def test_variables_come_from_files_and_patterns_later_ones_win(gate, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/1.yaml").write_text("a: one\nb: one\n")
    (tmp_path / "data/2.yaml").write_text("b: two\n")
    (tmp_path / "c.json").write_text('{"a": "three"}')
    (tmp_path / "data/tests.yaml").write_text("- {vars: '[12].yaml', assert: [{type: contains, value: two}]}\n")
    asserted = [contains("two")]
    tests = [{"vars": "data/*.yaml", "assert": asserted}, {"vars": ["file://data/[12].yaml", "c.json"], "assert": asserted}]
    (tmp_path / "data/tests.yaml").rename(tmp_path / "data/tests.yml")
    assert outputs(gate(config(tests=[*tests, "data/tests.yml"]))) == ["one two", "three two", "one two"]
    assert "matches no file" in mistakes(gate(config(tests=[{"vars": "none/*.yaml"}])))
    assert "code" in mistakes(gate(config(tests=[{"vars": ["v.py"]}])))


def test_tests_named_by_path_and_config_are_read_like_any_file(gate, tmp_path):
    (tmp_path / "t.jsonl").write_text('{"vars": {"a": "x", "b": "y"}, "assert": [{"type": "contains", "value": "x"}]}\n')
    for tests in ([{"path": "file://t.jsonl", "config": {"n": 1}}], {"path": "t.jsonl"}):
        assert outputs(gate(config(tests=tests))) == ["x y"]


# --- prompts ------------------------------------------------------------------------------------------------------

TEST = {"vars": {"a": "x"}, "assert": [contains("x")]}


def labels(gate, prompts):
    ran = gate({"prompts": prompts, "providers": ["echo"], "tests": [TEST]})
    assert ran.code == 0, ran.out + ran.err
    return [(case["prompt_label"], case["output"]) for case in ran.cases]


def test_prompts_may_be_a_mapping_to_their_labels(gate, tmp_path):
    (tmp_path / "p.txt").write_text("from file {{a}}")
    assert labels(gate, {"file://p.txt": "file", "say {{a}}": "inline"}) == [("file", "from file x"), ("inline", "say x")]
    assert "is no text" in mistakes(gate({"prompts": {"p {{a}}": 1}, "providers": ["echo"], "tests": [TEST]}))


def test_prompts_may_be_rows_of_a_csv_file(gate, tmp_path):
    (tmp_path / "p.csv").write_text('prompt,label\n"hello, {{a}}",greeting\nbye {{a}},\n')
    assert labels(gate, "file://p.csv") == [("greeting", "hello, x"), ("Prompt 2 - bye {{a}}", "bye x")]
    (tmp_path / "p.csv").write_text("prompt\nhello {{a}}\n\nbye {{a}}\n")
    assert [output for _, output in labels(gate, ["p.csv"])] == ["hello x", "bye x"]
    (tmp_path / "p.csv").write_text("text,label\na,b\n")
    assert "no column `prompt`" in mistakes(gate({"prompts": ["p.csv"], "providers": ["echo"], "tests": [TEST]}))
    (tmp_path / "p.csv").write_text("prompt\n")
    assert "holds no prompt" in mistakes(gate({"prompts": ["p.csv"], "providers": ["echo"], "tests": [TEST]}))


def test_a_pattern_names_several_prompts(gate, tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"{name} {{{{a}}}}")
    assert labels(gate, ["file://*.txt"]) == [("a.txt", "a x"), ("b.txt", "b x")]


def test_the_config_of_a_prompt_is_laid_over_that_of_the_provider(gate, llm):
    prompts = [{"raw": "one {{a}}", "config": {"max_tokens": 7}}, "two {{a}}"]
    llm.reply = lambda path, body: "x"
    ran = gate({"prompts": prompts, "providers": [llm.spec(max_tokens=5, top_p=0.5)], "tests": [TEST]}, "-j", "1")
    assert ran.code == 0, ran.err
    assert [(body["max_tokens"], body["top_p"]) for body in llm.bodies] == [(7, 0.5), (5, 0.5)]
    prompts[0]["config"] = {"max_tokns": 7}
    assert "max_tokns" in mistakes(gate({"prompts": prompts, "providers": [llm.spec()], "tests": [TEST]}))


def test_a_key_in_the_config_of_a_prompt_is_hidden(gate, llm):
    secret = "sk-this-is-a-key-of-a-prompt"
    llm.reply = lambda path, body: f"x {secret}"
    prompts = [{"raw": "{{a}}", "config": {"headers": {"Authorization": f"Bearer {secret}"}}}]
    ran = gate({"prompts": prompts, "providers": [llm.spec()], "tests": [TEST]})
    assert ran.code == 0, ran.err
    assert any(secret in headers.get("Authorization", "") for _, _, headers in llm.requests)
    assert secret not in ran.out + ran.err + json.dumps(ran.results)


def test_the_config_of_a_prompt_is_compared_with_the_base(gate, llm, tmp_path):
    prompts = [{"raw": "{{a}}", "config": {"temperature": 0}}]
    config = {"prompts": prompts, "providers": [llm.spec()], "tests": [TEST]}
    (tmp_path / "base").mkdir()
    (tmp_path / "base/promptfooconfig.yaml").write_text(json.dumps(config))
    llm.reply = lambda path, body: "x"
    assert gate(config, "--base", "base").results["gate_changes"] == []
    changed = {**config, "prompts": [{"raw": "{{a}}", "config": {"temperature": 1}}]}
    assert "temperature" in json.dumps(gate(changed, "--base", "base").results["gate_changes"])


def test_what_scenarios_and_templates_come_to_is_compared_with_the_base(gate, tmp_path):
    def written(threshold, entries):
        template = {"type": "levenshtein", "value": "x y", "threshold": threshold}
        scenario = {"config": entries, "tests": [{"assert": [{"$ref": "#/assertionTemplates/near"}]}]}
        return config(assertionTemplates={"near": template}, scenarios=[scenario])

    both = [{"vars": {"a": "x", "b": "y"}}, {"vars": {"a": "x", "b": "z"}}]
    (tmp_path / "base").mkdir()
    (tmp_path / "base/promptfooconfig.yaml").write_text(json.dumps(written(2, both)))
    assert gate(written(2, both), "--base", "base").results["gate_changes"] == []
    weaker = gate(written(5, both), "--base", "base").results["gate_changes"]
    assert {change["kind"] for change in weaker} == {"weaker"}
    fewer = gate(written(2, both[:1]), "--base", "base").results["gate_changes"]
    assert {change["kind"] for change in fewer} == {"removed"}
