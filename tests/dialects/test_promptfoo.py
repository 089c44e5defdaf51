"""promptfoo's config, key by key, through the command with echo as the target."""

import json

import pytest

from support.each import each, table


def echoed(ran):
    return [case["output"] for case in ran.cases]


def test_prompts_in_every_form(gate):
    ran = gate(
        "prompts:\n- inline {{x}}\n- file://a.txt\n- b.md\n- {raw: 'raw {{x}}', label: R}\n- {id: file://a.txt}\n"
        "providers: echo\ntests:\n- vars: {x: 1}\n  assert: [{type: contains, value: '1'}]\n",
        **{"a.txt": "one {{x}}\n---\ntwo {{x}}\n", "b.md": "md {{x}}\n---\nmore"},
    )
    assert echoed(ran) == ["inline 1", "one 1", "two 1", "md 1\n---\nmore", "raw 1", "one 1", "two 1"]
    assert ran.code == 0


def test_a_single_prompt_and_targets_with_labels(gate):
    ran = gate(
        "prompts: '{{x}}'\ntargets:\n- id: echo\n  label: first\n- {id: echo, label: second}\n"
        "tests:\n- vars: {x: hi}\n  assert: [{type: equals, value: hi}]\n"
    )
    assert [case["provider"] for case in ran.cases] == ["first", "second"]


def test_a_label_is_shown_and_selected_and_the_id_is_what_was_asked(gate):
    ran = gate(
        "prompts: [x]\nproviders: [{id: 'scripted:r.yaml', label: bot}]\ntests:\n- assert: [{type: equals, value: y}]\n"
        "gate: {rules: [{name: r, select: {provider: bot}, min-pass-rate: 1}]}\n",
        **{"r.yaml": "- reply: y\n"},
    )
    assert (ran.code, ran.cases[0]["provider"], ran.results["models"]) == (0, "bot", ["scripted:r.yaml"])
    assert "No model was asked" in ran.out


def test_no_prompts_means_the_variable_prompt(gate):
    ran = gate("providers: [echo]\ntests:\n- vars: {prompt: hello}\n  assert: [{type: equals, value: hello}]\n")
    assert (ran.code, echoed(ran)) == (0, ["hello"])


def test_providers_from_a_file_and_as_a_map(gate):
    ran = gate(
        "prompts: [x]\nproviders:\n- file://p.yaml\n- echo: {label: mapped}\ntests:\n- assert: [{type: equals, value: x}]\n",
        **{"p.yaml": "- {id: echo, label: filed}\n- echo\n"},
    )
    assert [case["provider"] for case in ran.cases] == ["filed", "echo", "mapped"]


def test_a_target_sees_only_its_prompts(gate):
    ran = gate(
        "prompts:\n- {raw: A, label: 'g:a'}\n- {raw: B, label: b}\nproviders:\n- {id: echo, label: all}\n"
        "- {id: echo, label: some, prompts: ['g:*']}\ntests:\n- assert: [{type: regex, value: '[AB]'}]\n"
    )
    assert [(case["provider"], case["output"]) for case in ran.cases] == [("all", "A"), ("all", "B"), ("some", "A")]


def test_defaults_are_merged_and_the_test_wins(gate):
    ran = gate(
        """
prompts: ['{{a}} {{b}}']
providers: [echo]
defaultTest:
  vars: {a: 1, b: 2}
  threshold: 0.4
  assert: [{type: contains, value: '1'}]
tests:
- vars: {b: 3}
  assert: [{type: contains, value: '3'}]
- vars: {a: 9}
  assert: [{type: contains, value: '2'}]
- options: {disableDefaultAsserts: true}
  assert: [{type: contains, value: '2'}]
"""
    )
    assert echoed(ran) == ["1 3", "9 2", "1 2"]
    assert [[g["outcome"] for g in case["grades"]] for case in ran.cases] == [["pass", "pass"], ["fail", "pass"], ["pass"]]
    assert [case["outcome"] for case in ran.cases] == ["pass", "pass", "pass"]  # the second reaches its threshold


def test_tests_from_files(gate):
    ran = gate(
        "prompts: ['{{x}}']\nproviders: [echo]\ntests:\n- file://t/*.yaml\n- t/d.json\n- file://t/e.jsonl\n- file://t/f.csv\n",
        **{
            "t/a.yaml": "- vars: {x: a}\n  assert: [{type: equals, value: a}]\n",
            "t/b.yaml": "- vars: {x: b}\n  assert:\n  - type: equals\n    value: file://../v.txt\n",
            "v.txt": "{{x}}",
            "t/d.json": json.dumps([{"vars": {"x": "d"}, "assert": [{"type": "equals", "value": "d"}]}]),
            "t/e.jsonl": '{"vars": {"x": "e"}, "assert": [{"type": "equals", "value": "e"}]}\n',
            "t/f.csv": 'x,__expected,__description\n"f, g","equals:f, g",from a table\nh,"contains-any:h,i",\nj,j,\n',
        },
    )
    assert ran.code == 2  # in a test file too, paths are relative to the config: ../v.txt leads out of the workspace
    ran = gate(None, **{"t/b.yaml": "- vars: {x: b}\n  assert:\n  - type: equals\n    value: file://v.txt\n"})
    assert (ran.code, echoed(ran)) == (0, ["a", "b", "d", "e", "f, g", "h", "j"])
    assert ran.cases[4]["description"] == "from a table"
    assert ran.cases[5]["grades"][0]["source"] == {"file": "t/f.csv", "line": 3}


def test_variables_from_files_lists_and_templates(gate):
    ran = gate(
        """
prompts: ['{{doc}}|{{city}}|{{obj.k}}|{{rows | dump}}|{{greet}}']
providers: [echo]
tests:
- vars:
    doc: file://d.txt
    city: [Rome, Oslo]
    obj: {k: v}
    rows: [{a: 1}]
    greet: hello {{city}}
  assert: [{type: contains, value: 'hello {{city}}'}]
- vars: {doc: file://d.yaml, city: [A, B]}
  options: {disableVarExpansion: true}
  assert: [{type: contains, value: '{"a":[1]}|A,B'}]
""",
        **{"d.txt": "text with {{braces}}\n", "d.yaml": "a: [1]\n"},
    )
    assert ran.code == 0, ran.out
    assert echoed(ran)[:2] == ['text with {{braces}}|Rome|v|[{"a":1}]|hello Rome', 'text with {{braces}}|Oslo|v|[{"a":1}]|hello Oslo']


def test_values_from_files(gate):
    ran = gate(
        """
prompts: ['{"a": 1}']
providers: [echo]
tests:
- assert:
  - {type: is-json, value: file://s.json}
  - {type: contains, value: file://v.txt}
""",
        **{"s.json": '{"required": ["a"]}', "v.txt": "  {{no template}}\n"},
    )
    assert [grade["outcome"] for grade in ran.grades] == ["pass", "fail"]
    assert "{{no template}}" in ran.grades[1]["reason"]


def test_env_and_repeat_and_concurrency(gate, monkeypatch):
    monkeypatch.setenv("CITY", "Rome")
    ran = gate(
        """
env: {CITY: Oslo}
prompts: ['{{env.CITY}} {{env.UNSET}}.']
providers: [echo]
evaluateOptions: {repeat: 3, maxConcurrency: 2, showProgressBar: false, cache: false}
tests: [{assert: [{type: equals, value: 'Oslo .'}]}]
"""
    )
    assert (ran.code, len(ran.cases)) == (0, 3)
    assert len(gate(None, "--repeat", "2").cases) == 2


def test_grader_metric_and_weight(gate, llm):
    llm.reply = lambda path, body: '{"reason": "r", "pass": false, "score": 0.5}'
    ran = gate(
        {
            "prompts": ["{{x}}"],
            "providers": ["echo"],
            "tests": [
                {
                    "vars": {"x": "1"},
                    "threshold": 0.8,
                    "options": {"provider": llm.spec()},
                    "assert": [
                        {"type": "contains", "value": "1", "weight": 3, "metric": "has {{x}}"},
                        {"type": "llm-rubric", "value": "x", "weight": 1},
                    ],
                }
            ],
        }
    )
    assert [(g["metric"], g["score"]) for g in ran.grades] == [("has 1", 1), ("", 0.5)]
    assert (ran.cases[0]["outcome"], ran.cases[0]["score"]) == ("pass", 0.875)


def test_a_recorded_output_is_graded_without_a_call(gate, llm):
    written = {
        "prompts": ["x"],
        "providers": [llm.spec()],
        "tests": [
            {"providerOutput": "kept", "assert": [{"type": "equals", "value": "kept"}]},
            {"providerOutput": {"a": 1}, "assert": [{"type": "equals", "value": {"a": 1}}]},
        ],
    }
    ran = gate(written)
    assert (ran.code, llm.requests) == (0, [])


def test_tests_pick_providers_and_prompts(gate):
    ran = gate(
        """
prompts: [{raw: A, label: a}, {raw: B, label: b}]
providers: [{id: echo, label: one}, {id: echo, label: two}]
tests:
- providers: [two]
  prompts: [b]
  assert: [{type: equals, value: B}]
"""
    )
    assert [(case["provider"], case["output"]) for case in ran.cases] == [("two", "B")]
    ran = gate(None, **{"promptfooconfig.yaml": (ran.folder / "promptfooconfig.yaml").read_text().replace("[two]", "[tow]")})
    assert (ran.code, "names a provider `tow`" in ran.err) == (2, True)


def test_a_test_may_have_a_target_of_its_own(gate):
    ran = gate(
        """
prompts: [x]
providers: [{id: echo, label: usual}]
tests:
- assert: [{type: equals, value: x}]
- provider: {id: echo, label: own}
  assert: [{type: equals, value: x}]
- provider: ehco
  assert: [{type: equals, value: x}]
"""
    )
    assert (ran.code, "promptfooconfig.yaml:8: no such provider `ehco` -> did you mean" in ran.err) == (2, True)
    text = (ran.folder / "promptfooconfig.yaml").read_text().replace("ehco", "echo")
    ran = gate(text)
    assert [case["provider"] for case in ran.cases] == ["usual", "own", "echo"]


def test_chat_prompts_go_out_as_messages(gate, llm):
    llm.reply = lambda path, body: "fine"
    messages = [{"role": "system", "content": "be {{how}}"}, {"role": "user", "content": 'say "{{x}}"'}]
    ran = gate(
        {
            "prompts": [json.dumps(messages), "- role: user\n  content: yaml {{x}}\n"],
            "providers": [llm.spec()],
            "tests": [{"vars": {"how": "kind", "x": 'a "b"'}, "assert": [{"type": "equals", "value": "fine"}]}],
        }
    )
    assert ran.code == 0
    sent = sorted((body["messages"] for body in llm.bodies), key=len)
    assert sent[1] == [{"role": "system", "content": "be kind"}, {"role": "user", "content": 'say "a "b""'}]
    assert sent[0] == [{"role": "user", "content": 'yaml a "b"'}]


def test_yaml_anchors_and_own_keys(gate):
    ran = gate(
        """
x-shared: &checks
- {type: contains, value: x}
prompts: [x]
providers: [echo]
tests:
- assert: *checks
- assert: *checks
sharing: false
tags: {a: b}
outputPath: out.json
"""
    )
    assert (ran.code, ran.results["summary"]["passed"]) == (0, 2)


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
