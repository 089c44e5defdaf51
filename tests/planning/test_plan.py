"""Which jobs a config comes to: targets, prompts, repeats and filters; and what is said about it before a call."""

import json

import yaml

from support.each import each, table
from support.graded import Script, mistakes

PASSES = {"type": "contains", "value": "x"}
LABELS = ["group:a", "group:b", "groups:c", "groupX", "group", "other"]


def prompts(*labels):
    return [{"raw": f"x {label}", "label": label} for label in labels]


def providers(*labels, **keys):
    return [{"id": "echo", "label": label, **keys} for label in labels]


def config(*tests, **keys):
    tests = tests or ({},)
    return {"prompts": ["x"], "providers": ["echo"], "tests": [{"assert": [PASSES], **test} for test in tests], **keys}


def asked(ran):
    """Provider and prompt of each case, in order."""
    assert ran.code == 0, ran.out + ran.err
    return [(case["provider"], case["prompt"]) for case in ran.cases]


def notes(ran):
    assert ran.code in (0, 1), ran.out + ran.err
    return ran.out


FILTERS = table(__file__, "FILTERS")


@each(("pattern", "labels"), FILTERS)
def test_a_filter_takes_a_label_or_its_group_or_how_it_begins(gate, pattern, labels):
    named = {"prompts": prompts(*LABELS)}
    by_provider = gate(config(**named, providers=[{"id": "echo", "label": "p", "prompts": [pattern]}]))
    assert asked(by_provider) == [("p", f"x {label}") for label in labels]
    assert asked(gate(config({"prompts": [pattern]}, **named))) == [("echo", f"x {label}") for label in labels]
    by_test = gate(config({"providers": [pattern]}, providers=providers(*LABELS)))
    assert asked(by_test) == [(label, "x") for label in labels]


def test_a_filter_takes_a_provider_by_its_id_too(gate):
    assert asked(gate(config({"providers": ["echo"]}, providers=providers("a", "b")))) == [("a", "x"), ("b", "x")]


@each("pattern", ["grou", "a", "group:c", "groups:c:d", "nobody"])
def test_a_filter_that_takes_nothing_is_a_mistake(gate, pattern):
    named = {"prompts": prompts("group:a", "groups:c")}
    said = mistakes(gate(config(**named, providers=[{"id": "echo", "label": "p", "prompts": [pattern]}])))
    assert "`prompts` of `p` matches no prompt" in said
    assert "the prompts are `group:a`, `groups:c`" in said
    there = "that the config does not have -> the prompts are `group:a`, `groups:c`"
    assert f"a prompt `{pattern}` {there}" in mistakes(gate(config({"prompts": [pattern]}, **named)))
    said = mistakes(gate(config({"providers": [pattern]}, providers=providers("group:a", "groups:c"))))
    there = "that the config does not have -> the providers are `echo`, `group:a`, `groups:c`"
    assert f"a provider `{pattern}` {there}" in said


def test_prompts_that_could_not_be_read_are_said_once(gate):
    said = mistakes(gate({"prompts": ["file://none.txt"], "providers": [{"id": "echo", "prompts": ["a"]}], "tests": []}))
    assert "`file://none.txt` does not exist" in said
    assert "matches no prompt" not in said


@each(("test", "suite", "wish", "count"), table(__file__, "the_nearest_repeat_counts"))
def test_the_nearest_repeat_counts(gate, test, suite, wish, count):
    assert len(asked(gate(config(test, **suite), *wish))) == count


def test_answers_to_the_same_case_are_compared_and_others_are_not(gate):
    best = {"type": "max-score", "value": {"method": "average"}}
    tests = [{"description": name, "vars": {"v": name}, "assert": [PASSES, best]} for name in ("one", "two")]
    ran = gate(config(*tests, prompts=["x {{v}}", "y {{v}}"]))
    compared = [(case["prompt"], [g["outcome"] for g in case["grades"]]) for case in ran.cases]
    assert compared == [(p, o) for v in ("one", "two") for p, o in ((f"x {v}", ["pass"] * 2), (f"y {v}", ["fail"] * 2))]


@each(
    ("tests", "prompts_", "words"),
    [
        ([{"assert": [PASSES, {"type": "max-score"}]}], ["x"], "`max-score` compares the outputs of a test, and this test has only one"),
        ([{"assert": [{"type": "max-score"}]}], ["x", "y"], "`max-score` compares scores, and no other assertion of the test gives any"),
    ],
)  # fmt: skip
def test_a_comparison_that_cannot_be_made_is_a_mistake(gate, tests, prompts_, words):
    assert words in mistakes(gate(config(*tests, prompts=prompts_)))


def test_the_same_mistake_at_many_lines_is_said_once(gate):
    tests = "\n".join(["  - {prompts: [nobody], assert: [{type: contains, value: x}]}"] * 7)
    said = mistakes(gate(f"prompts: [x]\nproviders: [echo]\ntests:\n{tests}\n"))
    assert said.count("a prompt `nobody`") == 1
    others = ", ".join(f"promptfooconfig.yaml:{line}" for line in range(5, 10))
    assert f"does not have (also at {others} and 1 more)" in said


@each(("tests", "note"), table(__file__, "what_can_never_fail_is_said"))
def test_what_can_never_fail_is_said(gate, tests, note):
    said = notes(gate(config(*tests)))
    kinds = ("no failure counts", "can never fail", "asserts nothing")
    assert [kind in said for kind in kinds] == [kind in (note or "") for kind in kinds]
    assert note is None or note in said


@each(
    ("asserts", "rules", "note"),
    table(__file__, "a_gate_that_nothing_can_block_is_said"),
)  # fmt: skip
def test_a_gate_that_nothing_can_block_is_said(gate, asserts, rules, note):
    said = notes(gate(config({"assert": asserts}, **({"gate": {"rules": rules}} if rules else {}))))
    assert ("so no failure blocks" in said) is (note is not None)
    assert (note or "") in said


@each(("threshold", "said"), [(0, True), (0.001, False)])
def test_a_share_with_the_threshold_0_can_never_fail(gate, llm, threshold, said):
    llm.reply = Script({"steps": ["read it"]}, {"score": 10, "reason": "r"})
    share = {"type": "g-eval", "value": "v", "threshold": threshold, "provider": llm.spec()}
    assert ("`g-eval` can never fail: its threshold is 0" in notes(gate(config({"assert": [share]})))) is said


@each(("rule", "selects"), table(__file__, "a_rule_must_select_something"))
def test_a_rule_must_select_something(gate, rule, selects):
    test = {"description": "one", "assert": [PASSES, {"type": "regex", "value": "x", "blocking": False}]}
    ran = gate(config(test, gate={"rules": [{"name": "r", "min-pass-rate": 1, **rule}]}))
    if selects:
        assert ran.code == 0, ran.out + ran.err
    else:
        assert "the rule `r` selects nothing" in mistakes(ran)


def test_filter_pattern_keeps_the_tests_that_it_matches(gate):
    tests = [{"description": name} for name in ("one", "two", "three")]
    ran = gate(config(*tests), "--filter-pattern", "^t")
    assert [case["description"] for case in ran.cases] == ["two", "three"]
    assert "--filter-pattern 'four' matches no test" in mistakes(gate(config(*tests), "--filter-pattern", "four"))


# --- how many calls, and how often ------------------------------------------------------------------------------
CONTAINS = [{"type": "contains", "value": "a"}]


def many(llm, number=12, **keys):
    tests = [{"vars": {"n": n}, "assert": CONTAINS} for n in range(number)]
    return {"prompts": ["a {{n}}"], "providers": [llm.spec()], "tests": tests, **keys}


@each(("arguments", "configured", "most"), [(["-j", "1"], None, 1), (["-j", "2"], 50, 2), ([], 3, 3), ([], None, 4)])
def test_so_many_calls_are_in_flight_and_no_more(gate, llm, arguments, configured, most):
    llm.latency, llm.together = 0.05, most
    options = {"evaluateOptions": {"maxConcurrency": configured}} if configured else {}
    assert gate(many(llm, **options), *arguments).code == 1  # "ok" holds no a
    assert llm.peak == most


def test_questions_of_one_grader_count_too(gate, llm):
    llm.latency, llm.together = 0.03, 2
    assertions = [{"type": "llm-rubric", "value": f"rule {n}"} for n in range(6)]
    config = {"prompts": ["a"], "providers": ["echo"], "tests": [{"assert": assertions}]}
    gate(config | {"defaultTest": {"options": {"provider": llm.spec()}}}, "-j", "2")
    assert (len(llm.requests), llm.peak) == (6, 2)


def test_repetitions_of_a_case_are_together_and_numbered(gate, llm):
    llm.reply = lambda path, body: "a"
    ran = gate(many(llm, number=2), "--repeat", "3")
    assert [(case["case"], case["repeat"]) for case in ran.cases] == [(n, r) for n in (0, 1) for r in (0, 1, 2)]
    assert len(llm.requests) == 6


def test_every_suite_counts_its_cases_from_0(gate, llm):
    llm.reply = lambda path, body: "a"
    config = "prompts: [a]\nproviders: [echo]\ntests:\n  - assert: [{type: contains, value: a}]\n"
    ran = gate(many(llm, number=2), "-c", "second.yaml", **{"second.yaml": config})
    assert [(case["suite"], case["case"]) for case in ran.cases] == [
        ("promptfooconfig.yaml", 0),
        ("promptfooconfig.yaml", 1),
        ("second.yaml", 0),
    ]


# --- nothing is lost in silence -------------------------------------------------------------------------------


def test_a_test_that_no_provider_and_prompt_is_left_for_is_a_mistake(gate, llm):
    config = many(llm, number=1)
    config["providers"] = [{"id": "echo", "label": "a", "prompts": ["one"]}]
    config["prompts"] = [{"raw": "a", "label": "one"}, {"raw": "b", "label": "two"}]
    config["tests"][0]["prompts"] = ["two"]
    assert "no provider and prompt is left to answer this test" in gate(config).mistakes


@each(("name", "content", "words"), table(__file__, "a_file_without_tests_beside_a_good_one_is_a_mistake"))
def test_a_file_without_tests_beside_a_good_one_is_a_mistake(gate, llm, name, content, words):
    good = "[{vars: {n: 1}, assert: [{type: contains, value: a}]}]"
    config = many(llm) | {"tests": ["file://good.yaml", f"file://{name}"]}
    assert words in gate(config, **{"good.yaml": good, name: content}).mistakes


@each(("assertion", "words"), table(__file__, "an_empty_reference_is_a_mistake"))
def test_an_empty_reference_is_a_mistake(gate, llm, assertion, words):
    provider = {"text": llm.spec(), "embedding": {"id": "openai:embeddings:e", "config": {"apiBaseUrl": llm.base}}}
    test = {"vars": {"empty": "", "context": "c"}, "assert": [assertion], "options": {"provider": provider}}
    ran = gate({"prompts": ["a"], "providers": ["echo"], "tests": [test]})
    assert (ran.code, llm.requests) == (2, [])
    assert words in ran.err


def test_an_empty_text_may_be_what_an_answer_must_not_be(gate):
    test = {"assert": [{"type": "not-equals", "value": ""}]}
    assert gate({"prompts": ["a"], "providers": ["echo"], "tests": [test]}).code == 0


@each(("test", "words"), table(__file__, "a_threshold_that_is_no_share_and_a_key_at_the_wrong_level_are_mistakes"))
def test_a_threshold_that_is_no_share_and_a_key_at_the_wrong_level_are_mistakes(gate, llm, test, words):
    test = {"vars": {"context": "c"}, "options": {"provider": llm.spec()}, **test}
    ran = gate({"prompts": ["a"], "providers": ["echo"], "tests": [test]})
    assert (ran.code, llm.requests) == (2, [])
    assert words in ran.err


@each(
    ("keys", "words"),
    [
        *table(__file__, "what_can_only_be_a_slip_is_a_mistake_before_anything_is_asked"),
        ({"evaluateOptions": {"repeat": "0x" + "f" * 5000}}, "too many digits"),
    ],
)
def test_what_can_only_be_a_slip_is_a_mistake_before_anything_is_asked(gate, keys, words):
    test = {"vars": {"user": "u"}, "assert": [{"type": "contains", "value": "a"}]}
    config = {"prompts": [{"raw": "a", "label": "a"}], "providers": ["echo"], "tests": [test], **keys}
    text = yaml.safe_dump(config).replace("'0x", "0x").replace("f'", "f")
    ran = gate(text)
    assert ran.code == 2
    assert words in ran.out + ran.err


def test_a_misspelled_variable_in_one_of_several_prompts_on_one_line_is_a_mistake(gate):
    test = {"vars": {"question": "a"}, "assert": [{"type": "contains", "value": "a"}]}
    ran = gate({"prompts": ["Q {{question}}", "R {{questoin}}"], "providers": ["echo"], "tests": [test]})
    assert '`questoin`, which no test defines -> did you mean "question"?' in ran.mistakes


def test_a_suite_of_advice_that_could_not_be_graded_is_inconclusive_beside_a_good_one(gate, llm):
    llm.reply = lambda path, body: "no verdict"
    asks = {"type": "llm-rubric", "value": "v", "blocking": False, "provider": llm.spec()}
    config = {"prompts": ["a"], "providers": ["echo"], "tests": [{"assert": [{"type": "contains", "value": "a"}]}]}
    dead = yaml.safe_dump({**config, "tests": [{"assert": [asks]}]})
    ran = gate(config, "-c", "dead.yaml", **{"dead.yaml": dead})
    assert (ran.code, ran.results["reason"]) == (3, "nothing could be graded in dead.yaml")


def test_json_in_a_yaml_file_may_write_signs_as_pairs_of_escapes(gate):
    tests = json.dumps([{"vars": {"word": "\U0001f600"}, "assert": [{"type": "equals", "value": "\U0001f600"}]}])
    assert "\\ud83d" in tests
    config = {"prompts": ["{{word}}"], "providers": ["echo"], "tests": "file://t.yaml"}
    assert gate(config, **{"t.yaml": tests}).code == 0


def test_a_blocking_assertion_that_no_rule_selects_is_said_and_its_failure_is_advice(gate):
    config = {
        "prompts": ["a"],
        "providers": ["echo"],
        "tests": [{"assert": [{"type": "contains", "value": "a"}, {"type": "equals", "value": "b"}]}],
        "gate": {"rules": [{"name": "facts", "select": {"assertion": "contains"}, "min-pass-rate": 1}]},
    }
    ran = gate(config)
    assert (ran.code, ran.results["outcome"]) == (0, "advisory")
    assert [note["text"] for note in ran.results["notes"]] == [
        "no rule of the gate looks at this `equals`: its failure is reported and blocks nothing"
    ]
    assert ran.results["notes"][0]["source"]["line"]


def test_a_grader_may_be_written_as_a_list_of_one(gate, llm):
    llm.reply = lambda path, body: '{"reason": "r", "pass": true}'
    test = {"assert": [{"type": "llm-rubric", "value": "good", "provider": [llm.spec()]}]}
    assert gate({"prompts": ["a"], "providers": ["echo"], "tests": [test]}).code == 0


def test_reports_show_what_was_asserted_filled_in(gate):
    test = {"vars": {"word": "a"}, "assert": [{"type": "contains", "value": "{{word}}"}]}
    (grade,) = gate({"prompts": ["a"], "providers": ["echo"], "tests": [test]}).grades
    assert grade["expected"] == "a"


@each(("written", "words"), table(__file__, "a_grading_prompt_that_asks_for_what_nobody_defines_is_a_mistake"))
@each("level", ["assertion", "test"])
def test_a_grading_prompt_that_asks_for_what_nobody_defines_is_a_mistake(gate, llm, written, words, level):
    llm.reply = lambda path, body: '{"reason": "r", "pass": true}'
    assertion, options = {"type": "llm-rubric", "value": "good"}, {"provider": llm.spec()}
    (assertion if level == "assertion" else options)["rubricPrompt"] = written
    test = {"vars": {"name": "n"}, "assert": [assertion], "options": options}
    ran = gate({"prompts": ["{{name}}"], "providers": ["echo"], "tests": [test]})
    assert (ran.code, len(llm.requests)) == ((2, 0) if words else (0, 1)), ran.err
    assert words in ran.err
