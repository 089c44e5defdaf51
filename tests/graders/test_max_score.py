import pytest

from support.compared import TWO, compared, of
from support.each import table
from support.graded import Script, mistakes

MAX = {"type": "max-score"}
FIRST, ABOUT = {"type": "contains", "value": "first"}, {"type": "icontains", "value": "ABOUT"}
RUBRIC = {"type": "llm-rubric", "value": "is good"}


def outcomes(ran):
    return [(grade["outcome"], grade["score"]) for grade in of(ran, "max-score")]


def script(**scores):
    def reply(path, body):
        asked = body["messages"][-1]["content"]
        return next(f'{{"pass": true, "score": {score}}}' for word, score in scores.items() if word in asked)

    return reply


@pytest.mark.parametrize(("value", "first", "second", "winner"), table(__file__, "the_best_of_the_other_scores_wins"))
def test_the_best_of_the_other_scores_wins(gate, llm, value, first, second, winner):
    llm.reply = script(first=first, second=second)
    ran = gate(compared(llm, FIRST, ABOUT, RUBRIC, {**MAX, **({"value": value} if value else {})}))
    assert outcomes(ran) == [("pass", 1) if n == winner else ("fail", 0) for n in range(2)]


def test_members_of_a_set_count_and_other_comparisons_do_not(gate, llm):
    llm.reply = Script("1")
    inner = {"type": "assert-set", "threshold": 0, "assert": [FIRST]}
    ran = gate(compared(llm, {"type": "select-best", "value": "x"}, inner, MAX))
    assert outcomes(ran) == [("pass", 1), ("fail", 0)]
    assert of(ran, "max-score")[0]["evidence"]["scores"] == [1, 0]


@pytest.mark.parametrize("kind", ["max-score", "not-max-score"])
def test_an_output_without_a_score_makes_it_an_error(gate, llm, kind):
    llm.reply = lambda path, body: "no verdict" if "second" in body["messages"][-1]["content"] else '{"pass": true}'
    ran = gate(compared(llm, ABOUT, RUBRIC, {"type": kind}))
    assert [grade["outcome"] for grade in of(ran, "max-score")] == ["error", "error"]
    assert "an output has no score for `llm-rubric`" in of(ran, "max-score")[0]["reason"]
    weighed = gate(compared(llm, ABOUT, {**RUBRIC, "weight": 0}, {"type": kind, "value": {"weights": {"llm-rubric": 0}}}))
    assert "error" not in [grade["outcome"] for grade in of(weighed, "max-score")]


def test_not_max_score(gate, llm):
    assert [o for o, _ in outcomes(gate(compared(llm, FIRST, {"type": "not-max-score"})))] == ["fail", "pass"]


def test_mistakes(gate, llm):
    assert "this test has only one" in mistakes(gate(compared(llm, FIRST, MAX, prompts=TWO[:1])))
    text = mistakes(gate(compared(llm, MAX)))
    assert "`max-score` compares scores, and no other assertion of the test gives any" in text
    for value in ({"method": "median"}, {"weigths": {}}, {"weights": {"contains": -1}}, {"threshold": "x"}, "average"):
        assert "`max-score`: `value" in mistakes(gate(compared(llm, FIRST, {**MAX, "value": value})))
    assert "cannot be in an assert-set" in mistakes(gate(compared(llm, {"type": "assert-set", "assert": [FIRST, MAX]})))
