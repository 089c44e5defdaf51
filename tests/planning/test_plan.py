"""Which jobs a config comes to: targets, prompts, repeats and filters; and what is said about it before a call."""

from gradegate.templating.template import variables_needed
from support.each import each, table


def config(llm, number=12, **keys):
    tests = [{"vars": {"n": n}, "assert": [{"type": "contains", "value": "a"}]} for n in range(number)]
    return {"prompts": ["a {{n}}"], "providers": [llm.spec()], "tests": tests, **keys}


@each(("arguments", "configured", "most"), [(["-j", "1"], None, 1), (["-j", "2"], 50, 2), ([], 3, 3), ([], None, 8)])
def test_so_many_calls_are_in_flight_and_no_more(gate, llm, arguments, configured, most):
    llm.latency, llm.together = 0.05, most
    options = {"evaluateOptions": {"maxConcurrency": configured}} if configured else {}
    assert gate(config(llm, **options), *arguments).code == 1  # "ok" holds no a
    assert llm.peak == most


def test_questions_of_one_grader_count_too(gate, llm):
    llm.latency, llm.together = 0.03, 2
    assertions = [{"type": "llm-rubric", "value": f"rule {n}"} for n in range(6)]
    asked = {"prompts": ["a"], "providers": ["echo"], "tests": [{"assert": assertions}]}
    gate(asked | {"defaultTest": {"options": {"provider": llm.spec()}}}, "-j", "2")
    assert (len(llm.requests), llm.peak) == (6, 2)


def test_a_number_of_too_many_digits_is_a_mistake(gate):
    ran = gate(f"prompts: [a]\nproviders: [echo]\nevaluateOptions: {{repeat: 0x{'f' * 5000}}}\n")
    assert "too many digits" in ran.mistakes


@each(("template", "names"), table(__file__, "what_a_template_does_not_work_without"))
def test_what_a_template_does_not_work_without(template, names):
    assert variables_needed(template, comments=False) == frozenset(names.split())
