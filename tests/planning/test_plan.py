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
    ran = gate(many(llm, number=2), "second.yaml", **{"second.yaml": config})
    assert [(case["suite"], case["case"]) for case in ran.cases] == [
        ("promptfooconfig.yaml", 0),
        ("promptfooconfig.yaml", 1),
        ("second.yaml", 0),
    ]
