"""A rule that selects nothing is told what there is to select, nearest first."""

from support.each import each, table

TEST = table(__file__, "TEST")


def told(gate, select, *, tests=(TEST,), **rule):
    written = {
        "prompts": ["x"],
        "providers": [{"id": "echo", "label": "shop assistant"}],
        "tests": list(tests),
        "gate": {"rules": [{"name": "r", "select": select, "min-pass-rate": 1, **rule}]},
    }
    ran = gate(written)
    assert ran.code == 2
    what, _, cure = ran.err.splitlines()[0].partition(" -> ")
    assert what.endswith("the rule `r` selects nothing")
    return cure


@each(("select", "cure"), table(__file__, "what_there_is_comes_nearest_first"))
def test_what_there_is_comes_nearest_first(gate, select, cure):
    assert told(gate, select) == f"correct `select`: {cure}"


def test_an_advisory_rule_is_told_what_advises_too(gate):
    cure = told(gate, {"metric": "tones"}, blocking=False)
    assert cure.startswith("correct `select`: there is metric `tone`, ")


def test_what_never_counts_is_not_selected(gate):
    """A rule over it could only end inconclusive."""
    uncounted = {"assert": [{"type": "contains", "value": "x", "metric": "tone", "weight": 0}, {"type": "equals", "value": "x"}]}
    assert "`weight: 0`" in told(gate, {"metric": "tone"}, tests=[uncounted])
    assert "`weight: 0`" in told(gate, {"metric": "tone"}, tests=[uncounted], blocking=False)


@each(("least", "arguments", "code", "said"), table(__file__, "a_rule_that_asks_for_more_cases_than_there_are_is_a_mistake"))
def test_a_rule_that_asks_for_more_cases_than_there_are_is_a_mistake(gate, least, arguments, code, said):
    rule = {"name": "r", "min-pass-rate": 0, "min-cases": least, "select": {"metric": "facts"}}
    content = {"gate": {"rules": [rule]}, "prompts": ["x"], "providers": ["echo"], "tests": [TEST, TEST], "evaluateOptions": {"repeat": 2}}
    ran = gate(content, *arguments)
    assert (ran.code, said in ran.out + ran.err) == (code, True), ran.out + ran.err


def test_where_nothing_has_the_key_that_is_said(gate):
    plain = {"assert": [{"type": "contains", "value": "x"}]}
    assert told(gate, {"metric": "tone"}, tests=[plain]).endswith("no assertion that it could look at has a metric")
    assert told(gate, {"description": "x"}, tests=[plain]).endswith("no assertion that it could look at has a description")


def test_the_list_is_short_and_so_is_each_value(gate):
    tests = [{**TEST, "description": f"case {number} " + "long\n" * 40} for number in range(12)]
    cure = told(gate, {"description": "case 7"}, tests=tests)
    assert cure.startswith("correct `select`: there is description `case 7 long long")
    assert cure.endswith("…` and 7 more")
    assert "\n" not in cure
    assert len(cure) < 450
