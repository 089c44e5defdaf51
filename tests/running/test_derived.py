"""Derived metrics through the command: what they are over, what they see of one another, and that they decide nothing."""

import json

import pytest

from gradegate.files.bounds import MAX_DERIVED, MAX_DERIVED_VALUES


def js(value, **more):
    return {"type": "javascript", "value": str(value), **more}


def config(tests, *derived, **more):
    metrics = [{"name": name, "value": value} for name, value in derived]
    tests = [{"vars": {"q": f"text {number}"}, **test} for number, test in enumerate(tests)]
    return {"prompts": ["{{q}}"], "providers": ["echo"], "tests": tests, "derivedMetrics": metrics, **more}


def asserted(*assertions):
    return {"assert": list(assertions)}


def values(ran):
    return {line["name"]: line["value"] for line in ran.results["derived_metrics"]}


def test_scores_are_added_up_by_their_weights(gate):
    tests = [asserted(js(0.5, metric="a", weight=3), js(1, metric="a")), asserted(js(0.25, metric="a"))]
    ran = gate(config(tests, ("sum", "a"), ("mean", "a / __count"), ("twice", "mean * 2"), ("count", "__count")))
    assert values(ran) == {"sum": 2.75, "mean": 1.375, "twice": 2.75, "count": 2}
    assert ran.results["derived_metrics"][0] == {
        **dict.fromkeys(("provider",), "echo"),
        "name": "sum",
        "suite": "promptfooconfig.yaml",
        "prompt_label": "{{q}}",
        "value": 2.75,
        "error": "",
        "answers": 2,
        "left_out": 0,
    }


def test_what_has_no_weight_counts_once(gate):
    tests = [asserted(js(1, metric="hits", weight=0), js(1)), asserted(js(0, metric="hits", weight=0), js(1))]
    assert values(gate(config(tests, ("share", "hits / __count")))) == {"share": 0.5}


def test_members_have_the_weight_of_their_set_too(gate):
    members = [{"type": "contains", "value": "text", "metric": "inner", "weight": 3}, js(0.5, metric="inner")]
    grouped = {"type": "assert-set", "metric": "set", "weight": 2, "assert": members}
    tests = [asserted(grouped, {"type": "not-contains", "value": "z", "metric": "outer"})]
    ran = gate(config(tests, ("i", "inner"), ("s", "set"), ("o", "outer")))
    assert values(ran) == {"i": 7, "s": 1.75, "o": 1}


def test_scores_that_code_names_are_added_too(gate):
    code = "({pass: true, score: 0.5, reason: '', namedScores: {tp: output.includes('0') ? 1 : 0, all: 1, a: 9}})"
    tests = [asserted(js(code, metric="a", weight=2))] * 2
    ran = gate(config(tests, ("recall", "tp / all"), ("own", "a")))
    assert values(ran) == {"recall": 0.5, "own": 2}


def test_a_scoring_function_is_told_the_same_names(gate):
    code = "({pass: true, score: 1, reason: '', namedScores: {tp: 0.25}})"
    members = [js(0.5, metric="in")]
    test = {**asserted(js(code), {"type": "assert-set", "assert": members}), "assertScoringFunction": "file://s.js"}
    scoring = "module.exports = (scores) => ({pass: true, score: scores.tp + scores.in, reason: ''})"
    assert gate(config([test]), **{"s.js": scoring}).cases[0]["score"] == 0.75


def test_each_target_and_prompt_has_its_own(gate):
    tests = [asserted(js("output.length", metric="n"))]
    many = {"prompts": ["{{q}}", "say {{q}}"], "providers": ["echo", {"id": "echo", "label": "other"}]}
    ran = gate(config(tests, ("length", "n"), **many))
    found = {(it["provider"], it["prompt_label"]): it["value"] for it in ran.results["derived_metrics"]}
    assert found == {("echo", "{{q}}"): 6, ("echo", "say {{q}}"): 10, ("other", "{{q}}"): 6, ("other", "say {{q}}"): 10}


def test_repetitions_are_answers(gate):
    ran = gate(config([asserted(js(1, metric="a"))], ("n", "a / __count + __count")), "--repeat", "3")
    assert values(ran) == {"n": 4}


def test_functions_and_files_are_called_with_the_scores(gate):
    derived = [
        ("inline", "function(namedScores, evalStep) { return namedScores.a / namedScores.__count; }"),
        ("file", "file://m.js:half"),
        ("told", "(scores, step) => step.provider.label.length + step.prompt.label.length + scores.file"),
    ]
    made = config([asserted(js(1, metric="a"))] * 2, *derived)
    ran = gate(made, **{"m.js": "exports.half = (scores) => scores.inline / 2"})
    assert values(ran) == {"inline": 1, "file": 0.5, "told": 9.5}


def test_one_of_the_name_of_a_metric_takes_its_place_for_those_behind(gate):
    ran = gate(config([asserted(js(1, metric="a"))] * 4, ("before", "a"), ("a", "a / __count"), ("behind", "a")))
    assert values(ran) == {"before": 4, "a": 1, "behind": 1}


# --- what is not known --------------------------------------------------------------------------------------------


def lines(ran):
    return {line["name"]: (line["value"], line["answers"], line["left_out"]) for line in ran.results["derived_metrics"]}


def test_it_is_over_what_is_known_and_says_so(gate):
    odd = js("eval('nobody')", metric="a", blocking=False)
    tests = [asserted(js(1, metric="a")), asserted(odd, js(1, metric="b"))]
    ran = gate(config(tests, ("mean", "a / __count"), ("b", "b")))
    assert lines(ran) == {"mean": (1, 1, 1), "b": (None, 1, 1)}
    assert ran.results["derived_metrics"][1]["error"] == "there is no value of the metric `b`"
    assert "metric mean [echo, {{q}}]: 1 (over 1 of 2 answers: the grades of the others are not known)" in ran.out


def test_an_unknown_grade_that_nothing_reads_leaves_nothing_out(gate):
    odd = js("eval('nobody')", metric="c", blocking=False)
    tests = [asserted(js(1, metric="a"), odd), asserted({"type": "equals", "value": "x", "blocking": False})]
    assert lines(gate(config(tests, ("a", "a / __count")))) == {"a": (0.5, 2, 0)}


def test_code_that_gave_nothing_may_have_named_a_score(gate):
    named = "({pass: true, score: 1, reason: '', namedScores: {tp: output.includes('0') ? 1 : oops}})"
    tests = [asserted(js(named))] * 2
    assert lines(gate(config(tests, ("tp", "tp"), ("count", "__count")))) == {"tp": (1, 1, 1), "count": (1, 1, 1)}


def test_a_function_may_read_any_metric(gate):
    tests = [asserted(js(1, metric="a")), asserted(js("oops", metric="c"))]
    assert lines(gate(config(tests, ("all", "(s) => s.a")))) == {"all": (1, 1, 1)}


def test_an_answer_that_is_missing_is_left_out(gate):
    known = asserted({"type": "contains", "value": "t", "metric": "a"})
    made = config([known, {**known, "options": {"transform": "output.x.y"}}], ("mean", "a / __count"))
    assert lines(gate(made)) == {"mean": (1, 1, 1)}
    made = config([known, {"options": {"transform": "output.x.y"}}], ("count", "__count"))
    assert lines(gate(made)) == {"count": (1, 1, 1)}


def test_where_nothing_is_known_there_is_no_value(gate):
    ran = gate(config([asserted(js("oops", metric="a"))], ("a2", "a")))
    assert [(it["value"], it["error"]) for it in ran.results["derived_metrics"]] == [(None, "the grades of no answer are known")]


def test_one_that_cannot_be_worked_out_is_shown_and_decides_nothing(gate):
    tests = [asserted(js(1, metric="a"))]
    ran = gate(config(tests, ("nan", "(a - a) / (a - a)"), ("next", "nan + 1"), ("throws", "(s) => { throw 1 }"), ("ok", "a")))
    assert ran.code == 0
    assert ran.results["outcome"] == "pass"
    errors = {it["name"]: it["error"] for it in ran.results["derived_metrics"]}
    assert errors == {"nan": "it gives NaN, as 0 / 0 does", "next": "there is no value of the metric `nan`", "throws": "1", "ok": ""}
    assert "metric nan [echo, {{q}}]: could not be worked out: it gives NaN, as 0 / 0 does" in ran.out
    assert values(ran)["ok"] == 1


# --- before anything is asked -------------------------------------------------------------------------------------


MISTAKES = {
    "f": ("nothing / 2", "reads `nothing`, which is no metric of an assertion -> the metrics are `hits`"),
    "near": ("hit / 2", 'reads `hit`, which is no metric of an assertion -> did you mean "hits"?'),
    "early": ("later", "reads `later` before it is worked out -> write it further up"),
    "later": ("hits", ""),
    "self": ("self + 1", "reads `self` before it is worked out"),
    "odd": ("ln(hits)", "the function `ln` is not supported"),
    "body": ("(s) => {", "it is no JavaScript"),
    "__count": ("hits", "is called `__count`, which is the number of answers"),
    " ": ("hits", "has no name"),
    "py": ("file://m.py", "`file://m.py` is no file of JavaScript"),
    "ts": ("file://m.ts", "is TypeScript, which is not run"),
    "gone": ("file://gone.js", "`file://gone.js` does not exist"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_can_never_be_worked_out_is_a_mistake_at_its_line(gate, name):
    value, words = MISTAKES[name]
    others = [("later", "hits")] if name == "early" else []
    ran = gate(config([asserted({"type": "contains", "value": "t", "metric": "hits"})], (name, value), *others))
    assert words in ran.err
    assert (ran.code, "promptfooconfig.yaml:" in ran.err) == ((2, True) if words else (0, False))


def test_all_mistakes_are_told_at_once(gate):
    made = config([asserted({"type": "contains", "value": "t", "metric": "hits"})], ("a", "ln(1)"), ("a", "hit"), ("b", "1+"))
    made["derivedMetrics"] += ["text", {"nam": "x", "value": 1}]
    ran = gate(made)
    assert ran.code == 2
    for words in ("`ln`", "two derived metrics are called `a`", "of it is missing", "is a mapping", 'did you mean "name"?'):
        assert words in ran.err


@pytest.mark.parametrize("metric", ["{{q}}", "hits"])
def test_names_that_only_answers_tell_are_not_judged(gate, metric):
    told = js(1) if metric == "hits" else {"type": "contains", "value": "t", "metric": metric}
    ran = gate(config([asserted(told)], ("x", "nobody + 1")))
    assert ran.code == 0
    assert ran.results["derived_metrics"][0]["error"] == "there is no value of the metric `nobody`"


def test_a_rule_of_the_gate_looks_at_grades_alone(gate):
    rule = {"name": "good", "select": {"metric": "f1"}, "min-score": 0.5}
    tests = [asserted({"type": "contains", "value": "t", "metric": "hits"})]
    ran = gate(config(tests, ("f1", "hits / __count"), gate={"rules": [rule]}))
    assert "the rule `good` selects nothing: `f1` is a derived metric, which is shown and decides nothing" in ran.err
    assert ran.code == 2


def test_there_are_not_more_than_reports_show(gate):
    tests = [asserted({"type": "contains", "value": "t", "metric": "hits"})]
    ran = gate(config(tests, *((f"m{number}", "hits") for number in range(MAX_DERIVED + 1))))
    assert (ran.code, f"more than {MAX_DERIVED} derived metrics" in ran.err) == (2, True)
    prompts = [f"{number} {{{{q}}}}" for number in range(MAX_DERIVED_VALUES // MAX_DERIVED + 1)]
    ran = gate(config(tests, *((f"m{number}", "hits") for number in range(MAX_DERIVED)), prompts=prompts))
    assert (ran.code, f"more than {MAX_DERIVED_VALUES:,} values" in ran.err) == (2, True)


# --- where they are shown -----------------------------------------------------------------------------------------


def test_every_report_shows_them(gate):
    tests = [asserted(js(6 / 7, metric="a"), js("oops", blocking=False))]
    made = config(tests, ("F1 <b>", "a"), ("bad", "a / 0"))
    ran = gate(made, "-o", "r.md", "-o", "r.html", "-o", "r.xml")
    shown = {name: (ran.folder / f"r.{name}").read_text() for name in ("md", "html", "xml")}
    assert "| F1 &lt;b&gt; | 0.8571 |" in shown["md"]
    assert "| bad | could not be worked out: it gives Infinity, as a division by 0 does |" in shown["md"]
    assert "<td>F1 &lt;b&gt;</td><td>echo, {{q}}</td><td>0.8571</td>" in shown["html"]
    assert '<property name="derived F1 &lt;b&gt;" value="0.8571" />' in shown["xml"]
    assert "metric F1 <b> [echo, {{q}}]: 0.8571" in ran.out


def test_a_secret_in_one_is_hidden(gate, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody-123456")
    made = config([asserted(js(1, metric="a"))], ("x", "(s) => { throw new Error('sk-of-nobody-123456') }"))
    made["env"] = {"OPENAI_API_KEY": "sk-of-nobody-123456"}
    ran = gate(made)
    assert "sk-of-nobody" not in json.dumps(ran.results["derived_metrics"])


def test_a_plan_without_any_has_none(gate):
    made = config([asserted(js(1, metric="a"))])
    assert gate(made).results["derived_metrics"] == []
    assert gate({**made, "derivedMetrics": None}).code == 0
    assert gate({**made, "derivedMetrics": {"name": "x"}}).code == 2
