"""Transforms that are Python files, at each place where configs have one."""

import pytest

ALLOW = "--allow-exec"
SOURCE = (
    "def get_transform(output, context): return {'text': output.upper(), 'by': context['vars']['q']}\n"
    "def text(output, context): return output + '!'\n"
    "def fails(output, context): raise ValueError('why')\n"
    "def nothing(output, context): pass\n"
    "def more(variables, context): return {**variables, 'q': 'dogs'}\n"
)


def config(assertion: dict, options: object = None, provider: object = "echo") -> dict:
    test = {"vars": {"q": "cats"}, "assert": [assertion], "options": options or {}}
    return {"prompts": ["say {{q}}"], "providers": [provider], "tests": [test]}


def test_of_a_test(gate):
    made = config({"type": "python", "value": "output == {'text': 'SAY CATS', 'by': 'cats'}"}, {"transform": "file://t.py"})
    assert gate(made, ALLOW, **{"t.py": SOURCE}).code == 0


def test_of_a_provider(gate):
    made = config({"type": "equals", "value": "say cats!"}, provider={"id": "echo", "transform": "file://t.py:text"})
    assert gate(made, ALLOW, **{"t.py": SOURCE}).code == 0


def test_of_an_assertion(gate):
    made = config({"type": "equals", "value": "say cats!", "transform": "file://t.py:text"})
    assert gate(made, ALLOW, **{"t.py": SOURCE}).code == 0


def test_of_variables(gate):
    made = config({"type": "equals", "value": "say dogs"}, {"transformVars": "file://t.py:more"})
    ran = gate(made, ALLOW, **{"t.py": SOURCE})
    assert ran.code == 0, ran.err


def test_of_the_score_of_a_case(gate):
    made = config({"type": "equals", "value": "nothing", "metric": "tone"})
    made["tests"][0]["assertScoringFunction"] = "file://t.py:score"
    source = (
        "def score(named, context):\n"
        "    return {'pass': named['tone'] == 0 and len(context['componentResults']) == 1, 'score': 0.9, 'reason': 'all in all'}\n"
    )
    ran = gate(made, ALLOW, **{"t.py": source})
    assert (ran.cases[0]["outcome"], ran.cases[0]["score"]) == ("pass", 0.9)
    made["tests"][0]["assertScoringFunction"] = "file://t.py"
    assert gate(made, ALLOW, **{"t.py": source}).cases[0]["outcome"] == "error"  # there is no `func` in it


@pytest.mark.parametrize(("function", "said"), [("fails", "ValueError: why"), ("nothing", "gives nothing"), ("gone", "no function")])
def test_one_that_gives_nothing_is_an_error(gate, function, said):
    made = config({"type": "not-contains", "value": "x"}, {"transform": f"file://t.py:{function}"})
    ran = gate(made, ALLOW, **{"t.py": SOURCE})
    assert ran.code == 3
    assert said in ran.grades[0]["reason"] + str(ran.cases[0].get("error"))


@pytest.mark.parametrize("options", [{"transform": "file://t.py"}, {"transformVars": "file://t.py"}])
def test_without_leave_it_is_one_mistake(gate, options):
    ran = gate(config({"type": "contains", "value": "a"}, options), **{"t.py": SOURCE})
    assert ran.code == 2
    said, count = ran.err.splitlines()
    assert "--allow-exec" in said
    assert count.startswith("1 mistake")
