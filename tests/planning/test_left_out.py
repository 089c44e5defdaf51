"""What the command line leaves out, names in vain or cannot write is told, and never green in silence."""

from support.each import each, table
from support.graded import mistakes


def notes(ran):
    return str(ran.results["notes"])


PASSES = {"type": "contains", "value": "a"}


def config(*names, **keys):
    tests = [{"description": name, "vars": {"q": f"a {name}"}, "assert": [PASSES]} for name in names]
    return {"prompts": ["{{q}}"], "providers": [{"id": "echo", "label": "first"}, {"id": "echo", "label": "other"}], "tests": tests, **keys}


@each(("select", "options", "said"), table(__file__, "a_rule_whose_tests_are_left_out_names_the_option"))
def test_a_rule_whose_tests_are_left_out_names_the_option(gate, select, options, said):
    rules = [{"name": "r", "min-pass-rate": 1, "select": select}, {"name": "all", "min-pass-rate": 0.1}]
    assert said in mistakes(gate(config("one", "two", gate={"rules": rules}), *options))


def test_a_pattern_that_may_fit_once_a_text_is_filled_in_counts(gate):
    rules = [{"name": "r", "min-pass-rate": 1, "select": {"description": "two", "metric": "m"}}]
    asked = config("one", "two", gate={"rules": rules})
    asked["tests"][1]["assert"] = [{**PASSES, "metric": "{{q}}"}]
    assert "leaves to ask" in mistakes(gate(asked, "-n", "1"))


@each(("first", "said"), [("1", True), ("2", False), ("99", False)])
def test_a_filter_that_keeps_all_says_nothing(gate, first, said):
    ran = gate(config("one", "two"), "-n", first)
    assert ran.code == 0
    assert ("only 1 of 2 tests" in notes(ran)) is said
    assert "only 2 of 2" not in notes(ran)


@each(("named", "said"), [("other", "only 1 of 2 providers"), ("first", "only 1 of 2 providers"), ("echo", "")])
def test_some_of_the_providers_are_counted(gate, named, said):
    ran = gate(config("one"), "--provider", named)
    assert ("of 2 providers" in ran.out + ran.err) is bool(said)
    assert said in ran.out + ran.err


@each(("grader", "said"), table(__file__, "a_grader_that_cannot_serve_its_kind_is_a_mistake_though_nothing_asks_it"))
def test_a_grader_that_cannot_serve_its_kind_is_a_mistake_though_nothing_asks_it(gate, grader, said):
    assert said in mistakes(gate(config("one"), "--grader", grader))


def test_a_grader_that_nothing_asks_needs_no_key(gate):
    assert gate(config("one"), "--grader", "embedding=openai:embedding:m").code == 0


@each(
    ("name", "said"),
    [
        ("nosuch", "--var nosuch has no effect: nothing in promptfooconfig.yaml uses `nosuch`"),
        ("q", "--var q has no effect: every test of promptfooconfig.yaml sets `q` itself"),
    ],
)
def test_a_variable_that_changes_nothing_is_noted(gate, name, said):
    ran = gate(config("one"), "--var", f"{name}=1")
    assert ran.code == 0
    assert said in notes(ran)


def test_a_variable_that_a_test_lacks_is_not(gate):
    asked = config("one", "two", prompts=["{{q}}{{more}}"])
    asked["tests"][0]["vars"]["more"] = "x"
    assert "has no effect" not in notes(gate(asked, "--var", "more=1"))
    assert "has no effect" not in notes(gate(config("one", prompts=["{{q}}{{more}}"]), "--var", "more=1"))


def test_a_report_outside_makes_no_folder(gate, tmp_path_factory):
    inner = tmp_path_factory.mktemp("outside") / "no" / "r.json"
    said = mistakes(gate(config("one"), "-o", str(inner)))
    assert f"the folder of the output `{inner}` does not exist -> make it, or name a file inside the workspace" in said
    assert not inner.parent.exists()
