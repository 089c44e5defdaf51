"""Labels as people write them, and as nobody should: each mistake at its line, all of them, before the first call."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate import cli
from gradegate.steps.labels import parse
from support.calibrated import Scripted, case, config, label, lines
from support.each import each, table

RUBRIC = {"type": "llm-rubric", "value": "is polite"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)
KEYS = st.sampled_from(["description", "assertion", "output", "label", "vars", "note"])
ROWS = st.dictionaries(KEYS, JSON | st.sampled_from(["pass", "fail", "llm-rubric", ""]))


@each(("line", "said"), table(__file__, "unusable"))
def test_a_label_that_cannot_be_used_is_a_mistake_at_its_line(calibrate, llm, line, said):
    ran = calibrate(config(llm), lines(label("fine"), line))
    assert (ran.code, llm.requests) == (2, [])
    assert said in ran.err
    assert "labels.jsonl:2: " in ran.err


def test_all_mistakes_are_said_together_with_those_of_the_config(calibrate, llm):
    broken = case("case", {"type": "llm-rubrik", "value": "x"})
    labels = lines(label("a", description="nobody"), "{", label("a", "maybe"), label("a", assertion="llm-rubrik"))
    ran = calibrate(config(llm, broken), labels)
    assert (ran.code, llm.requests) == (2, [])
    for said in ("labels.jsonl:1: ", "labels.jsonl:2: ", "labels.jsonl:3: ", "c.yaml:", "6 mistakes"):
        assert said in ran.err


def test_all_slips_of_one_line_are_said_together(calibrate, llm):
    ran = calibrate(config(llm, case("case", RUBRIC)), lines(label("a", "maybe", description="nobody", assertion="llm-rubrik")))
    assert (ran.code, llm.requests) == (2, [])
    for said in (
        "`label` must be",
        "the config has no case `nobody`",
        'no case has an assertion `llm-rubrik` -> did you mean "llm-rubric"?',
    ):
        assert said in ran.err


@pytest.mark.parametrize(("content", "said"), [("", "holds no labels"), ("\n \n", "holds no labels")])
def test_an_empty_file_is_a_mistake(calibrate, llm, content, said):
    ran = calibrate(config(llm), content)
    assert (ran.code, llm.requests) == (2, [])
    assert said in ran.err
    assert ran.err.count("->") == 1  # and no second one that nothing is asserted


def test_a_file_that_is_not_there_is_a_mistake(calibrate, llm, capsys):
    calibrate(config(llm), "")
    assert cli.main(["calibrate", "c.yaml", "none.jsonl"]) == 2
    assert "`none.jsonl` does not exist" in capsys.readouterr().err


def test_no_report_takes_the_place_of_what_was_read(calibrate, llm):
    labels = lines(label("a"))
    ran = calibrate(config(llm), labels, name="labels.json", report="labels.json")
    assert (ran.code, llm.requests) == (2, [])
    assert "the output `labels.json` is a file that this run reads" in ran.err
    assert ran.read("labels.json") == labels


def test_more_asks_than_a_run_may_hold_are_a_mistake(calibrate, llm):
    ran = calibrate(config(llm), lines(label("a")), "--asks", "10001")
    assert (ran.code, llm.requests) == (2, [])
    assert "`--asks` is more than 10,000 -> ask less often" in ran.err
    assert "repeat" not in ran.err


@pytest.mark.parametrize(
    ("output", "said"),
    [("", "`output` is empty"), (" \u200b\n", "`output` is empty"), ("a\ud800", "a text contains half of a surrogate pair")],
)
def test_an_output_that_no_target_gives_is_a_mistake(calibrate, llm, output, said):
    ran = calibrate(config(llm), lines({**label("a"), "output": output}))
    assert (ran.code, llm.requests) == (2, [])
    assert f"labels.jsonl:1: {said}" in ran.err


def test_a_report_of_another_kind_is_a_mistake(calibrate, llm):
    ran = calibrate(config(llm), lines(label("a")), "-o", "x.xml")
    assert (ran.code, llm.requests) == (2, [])
    assert "no report of a calibration is written as `x.xml` -> end it with .json" in ran.err


# --- which case, which assertion ------------------------------------------------------------------------------


def test_one_of_several_assertions_is_named_by_its_place(calibrate, llm):
    llm.reply = Scripted(a="P")
    members = [{"type": "llm-rubric", "value": "the second"}, {"type": "factuality", "value": "x"}]
    tests = case("case", {**RUBRIC, "value": "the first"}, {"type": "assert-set", "assert": members}, RUBRIC)
    ran = calibrate(config(llm, tests), lines(label("a")))
    assert "its case has 3 assertions `llm-rubric` -> write which in their order, `llm-rubric#1` to" in ran.err
    ran = calibrate(config(llm, tests), lines(label("a", assertion="llm-rubric#2")), "--asks", "1")
    assert (ran.code, len(llm.requests)) == (0, 1)
    assert "the second" in llm.prompts[0]


def test_a_set_is_labelled_as_a_whole(calibrate, llm):
    llm.reply = Scripted(a="P")
    members = {"type": "assert-set", "assert": [RUBRIC, {**RUBRIC, "value": "is short"}], "metric": "manners"}
    ran = calibrate(config(llm, case("case", members)), lines(label("a", assertion="manners")), "--asks", "1")
    assert (ran.code, len(llm.requests)) == (0, 2)
    assert ran.data["overall"]["both_pass"] == 1


def test_a_comparison_cannot_be_labelled(calibrate, llm):
    tests = case("case", {"type": "select-best", "value": "best"})
    written = {**config(llm, tests), "prompts": ["a {{q}}", "b {{q}}"]}
    ran = calibrate(written, lines(label("a", assertion="select-best")))
    assert (ran.code, llm.requests) == (2, [])
    assert "compares several outputs" in ran.err


def test_cases_of_one_name_are_told_apart_by_variables(calibrate, llm):
    llm.reply = Scripted(a="P")
    tests = case("case", vars={"q": "one"}), case("case", vars={"q": "two"})
    ran = calibrate(config(llm, *tests), lines(label("a")))
    assert "the label fits 2 cases of the config: c.yaml:" in ran.err
    named = label("a", vars={"q": "two"})
    ran = calibrate(config(llm, *tests), lines(named), "--asks", "1")
    assert ran.code == 0, ran.err
    assert ran.data["outputs"][0]["vars"] == {"q": "two"}
    del named["description"]
    assert calibrate(config(llm, *tests), lines(named)).code == 0


def test_one_of_several_values_of_a_variable_is_named(calibrate, llm):
    llm.reply = Scripted(a="P")
    tests = case("case", vars={"q": ["one", "two"]})
    ran = calibrate(config(llm, tests), lines(label("a")))
    assert (ran.code, llm.requests) == (2, [])
    assert "labels.jsonl:1: its case has several values of a variable" in ran.err
    ran = calibrate(config(llm, tests), lines(label("a", vars={"q": "two"})))
    assert (ran.code, ran.data["outputs"][0]["vars"]) == (0, {"q": "two"})
    both = lines(label("a", vars={"q": "two"}), label("a", "fail", vars={"q": "one"}))  # another answer each
    ran = calibrate(config(llm, tests), both)
    assert (ran.code, ran.data["overall"]["labels"]) == (0, 2)


def test_two_labels_of_one_output_must_agree(calibrate, llm):
    ran = calibrate(config(llm), lines(label("a"), label("b"), label("a", "fail")))
    assert (ran.code, llm.requests) == (2, [])
    assert "labels.jsonl:3: this output has the other label at labels.jsonl:1" in ran.err


def test_a_conversation_that_is_held_cannot_be_labelled(calibrate, llm):
    turns = [{"role": "user", "content": "hello"}]
    written = config(llm, case("case", turns=turns))
    ran = calibrate(written, lines(label("a")))
    assert (ran.code, llm.requests) == (2, [])
    assert "a live conversation" in ran.err


def test_the_rest_of_the_config_need_not_be_labelled_and_its_rules_need_not_hold(calibrate, llm):
    llm.reply = Scripted(a="F")
    rules = [{"name": "other", "select": {"description": "other"}, "min-pass-rate": 1}]
    written = config(llm, case("case"), case("other"), gate={"rules": rules})
    assert calibrate(written, lines(label("a"))).code == 0


def test_a_labelled_assertion_may_not_show_the_environment(calibrate, llm, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://x")
    tests = case("case", {"type": "llm-rubric", "value": "holds {{env.DATABASE_URL}}"})
    ran = calibrate(config(llm, tests), lines(label("a")))
    assert (ran.code, llm.requests) == (2, [])
    assert "DATABASE_URL" in ran.err


# --- properties -----------------------------------------------------------------------------------------------


@given(st.binary())
def test_any_bytes_are_labels_or_mistakes_at_lines(content):
    found = parse(content, "l.jsonl")
    assert any(found)
    assert all(mistake.origin.file == "l.jsonl" and mistake.cure for mistake in found[1])


@given(st.lists(ROWS, min_size=1, max_size=5))
def test_any_objects_are_labels_or_mistakes_at_their_lines(rows):
    labels, mistakes = parse("\n".join(map(json.dumps, rows)).encode(), "l.jsonl")
    placed = {it.origin.line for it in (*labels, *mistakes)}
    assert placed == set(range(1, len(rows) + 1))


PRINTED = st.text(st.characters(categories=("L", "N", "P")), min_size=1)


@given(st.text(), st.text(min_size=1), st.tuples(st.text(), PRINTED, st.text()).map("".join), st.booleans())
def test_what_a_label_says_is_kept_to_the_letter(description, assertion, output, passes):
    word = "pass" if passes else "fail"
    row = {"description": description, "assertion": assertion, "output": output, "label": word, "who": "extra"}
    ((found,), _) = parse(json.dumps(row).encode(), "l.jsonl")
    assert (found.description, found.assertion, found.output, found.passes) == (description, assertion, output, passes)
