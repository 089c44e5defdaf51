"""What is planned: how many calls at once, how often each question is asked, what can never be checked."""

import pytest

CONTAINS = [{"type": "contains", "value": "a"}]


def many(llm, number=12, **keys):
    tests = [{"vars": {"n": n}, "assert": CONTAINS} for n in range(number)]
    return {"prompts": ["a {{n}}"], "providers": [llm.spec()], "tests": tests, **keys}


@pytest.mark.parametrize(
    ("arguments", "configured", "most"), [(["-j", "1"], None, 1), (["-j", "2"], 50, 2), ([], 3, 3), ([], None, 4)]
)
def test_so_many_calls_are_in_flight_and_no_more(gate, llm, arguments, configured, most):
    llm.latency = 0.05
    options = {"evaluateOptions": {"maxConcurrency": configured}} if configured else {}
    assert gate(many(llm, **options), *arguments).code == 1  # "ok" holds no a
    assert llm.peak == most


def test_questions_of_one_grader_count_too(gate, llm):
    llm.latency = 0.03
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
    ran = gate(config)
    assert ran.code == 2
    assert "no provider and prompt is left to answer this test" in ran.err


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.yaml", "[]\n", "t.yaml:1: the file holds no tests"),
        ("t.yaml", "", "t.yaml:1: the file holds no tests"),
        ("t.json", "[]", "t.json:1: the file holds no tests"),
        ("t.jsonl", "\n\n", "t.jsonl:1: the file holds no tests"),
        ("t.csv", "n,__expected\n", "t.csv:1: the file holds no tests"),
        ("t.csv", "n,__expected,__expected\n1,a,b\n", "t.csv:1: the column `__expected` is there twice -> number them"),
        ("t.csv", "n,n\n1,2\n", "t.csv:1: the column `n` is there twice -> keep one"),
    ],
)
def test_a_file_without_tests_beside_a_good_one_is_a_mistake(gate, llm, name, content, words):
    good = "[{vars: {n: 1}, assert: [{type: contains, value: a}]}]"
    config = many(llm) | {"tests": ["file://good.yaml", f"file://{name}"]}
    ran = gate(config, **{"good.yaml": good, name: content})
    assert ran.code == 2
    assert words in ran.err


@pytest.mark.parametrize(
    ("assertion", "words"),
    [
        ({"type": "factuality", "value": ""}, "the `value` of `factuality` is empty ->"),
        (
            {"type": "context-recall", "value": "{{empty}}"},
            "the `value` of `context-recall` is empty once it is filled in",
        ),
        ({"type": "similar", "value": ["a", " "]}, "the `value` of `similar` is empty"),
        ({"type": "model-graded-closedqa", "value": "\n"}, "the `value` of `model-graded-closedqa` is empty"),
        ({"type": "llm-rubric", "value": ""}, "the `value` of `llm-rubric` is empty"),
        ({"type": "not-contains", "value": ""}, "the `value` of `not-contains` is empty"),
        ({"type": "is-json", "threshold": 0.5, "value": " "}, "the `value` of `is-json` is empty"),
    ],
)
def test_an_empty_reference_is_a_mistake(gate, llm, assertion, words):
    provider = {"text": llm.spec(), "embedding": {"id": "openai:embeddings:e", "config": {"apiBaseUrl": llm.base}}}
    test = {"vars": {"empty": "", "context": "c"}, "assert": [assertion], "options": {"provider": provider}}
    ran = gate({"prompts": ["a"], "providers": ["echo"], "tests": [test]})
    assert (ran.code, llm.requests) == (2, [])
    assert words in ran.err


def test_an_empty_text_may_be_what_an_answer_must_not_be(gate):
    test = {"assert": [{"type": "not-equals", "value": ""}]}
    assert gate({"prompts": ["a"], "providers": ["echo"], "tests": [test]}).code == 0


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (
            {"assert": [{"type": "context-recall", "value": "v", "threshold": 50}]},
            "the threshold 50 is not from 0 to 1 -> write 0.5",
        ),
        ({"assert": [{"type": "g-eval", "value": "v", "threshold": 7000}]}, "-> write a share such as 0.5"),
        ({"assert": [{"type": "g-eval", "value": "v", "threshold": -1}]}, "the threshold -1 is not from 0 to 1"),
        (
            {"assert": [{"type": "contains", "value": "a"}], "threshold": 70},
            "can never be reached: it is over a mean from 0 to 1 -> write 0.7",
        ),
        (
            {"assert": [{"type": "contains", "value": "a"}], "rubricPrompt": "x"},
            "`rubricPrompt` does not belong here -> write it into `options`",
        ),
    ],
)
def test_a_threshold_that_is_no_share_and_a_key_at_the_wrong_level_are_mistakes(gate, llm, test, words):
    test = {"vars": {"context": "c"}, "options": {"provider": llm.spec()}, **test}
    ran = gate({"prompts": ["a"], "providers": ["echo"], "tests": [test]})
    assert (ran.code, llm.requests) == (2, [])
    assert words in ran.err


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
