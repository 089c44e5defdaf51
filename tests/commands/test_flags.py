"""Options of promptfoo's command line: what is run is said, and each other option does something, nothing, or is refused."""

import pytest

from gradegate import cli
from gradegate.commands import flags
from support.each import table
from support.graded import mistakes

TESTS = table(__file__, "TESTS")
ASSERTED = {"assert": [{"type": "contains", "value": "{{q}}"}]}


def config(**keys):
    providers = [{"id": "echo", "label": "one"}, {"id": "echo", "label": "two"}]
    tests = [{**test, **ASSERTED} for test in TESTS]
    return {"prompts": ["{{q}}/{{lang | default('-')}}"], "providers": providers, "tests": tests, **keys}


def described(ran):
    assert ran.code == 0, ran.out + ran.err
    return sorted({case["description"] for case in ran.cases})


@pytest.mark.parametrize(("arguments", "left"), table(__file__, "filters_keep_tests_as_promptfoo_does_and_every_report_says_so"))
def test_filters_keep_tests_as_promptfoo_does_and_every_report_says_so(gate, arguments, left):
    ran = gate(config(), *arguments, "-o", "r.xml", "-o", "r.md", "-o", "r.html", "-o", "r.json")
    assert described(ran) == left
    said, some = f"only {len(left)} of 3 tests of", len(left) < 3
    assert (said in ran.out) is some
    for name in ("r.xml", "r.md", "r.html", "r.json"):
        assert (said in (ran.folder / name).read_text()) is some, name


@pytest.mark.parametrize("option", ["--filter-providers", "--filter-targets"])
def test_a_filter_of_providers_matches_id_or_label(gate, option):
    ran = gate(config(), option, "tw")
    assert {case["provider"] for case in ran.cases} == {"two"}
    assert "only 1 of 2 providers of" in ran.out
    assert {case["provider"] for case in gate(config(), option, "^echo$").cases} == {"one", "two"}


def test_a_test_for_a_provider_that_is_left_out_is_not_run(gate):
    tests = [{**TESTS[0], **ASSERTED, "providers": ["one"]}, {**TESTS[1], **ASSERTED}]
    assert described(gate(config(tests=tests), "--filter-providers", "two")) == ["beta"]


@pytest.mark.parametrize(("arguments", "said"), table(__file__, "a_filter_that_leaves_nothing_is_a_mistake_and_never_green"))
def test_a_filter_that_leaves_nothing_is_a_mistake_and_never_green(gate, arguments, said):
    assert said in mistakes(gate(config(), *arguments))


@pytest.mark.parametrize("written", ["x", "=x", "--"])
def test_a_pair_needs_a_name_and_a_sign(gate, written):
    assert gate(config(), "--var", written).code == 2


def test_a_variable_of_the_command_line_lies_between_the_default_test_and_the_test(gate):
    default = {"vars": {"lang": "en", "q": "z"}}
    ran = gate(config(defaultTest=default), "--var", "lang=de", "--filter-providers", "one")
    assert [case["vars"]["lang"] for case in ran.cases] == ["de", "fr", "de"]
    ran = gate(config(), "--var", "lang=a=b", "--filter-providers", "one")
    assert [case["vars"]["lang"] for case in ran.cases] == ["a=b", "fr", "a=b"]


@pytest.mark.parametrize("names", flags.NO_EFFECT, ids=" ".join)
def test_options_without_effect_are_accepted_with_a_note(gate, names):
    count, why = flags.NO_EFFECT[names]
    for name in names:
        ran = gate(config(), name, *["x"] * count)
        assert ran.code == 0
        assert f"{name} has no effect: {why}" in ran.err


@pytest.mark.parametrize("names", flags.REFUSED, ids=" ".join)
def test_options_that_no_gate_has_are_mistakes_that_name_the_way(gate, names):
    for name in names:
        assert f"{name} of promptfoo is not an option here -> {flags.REFUSED[names][1]}" in mistakes(gate(config(), name))


# `promptfoo eval --help` of 0.123.1, written down by hand.
PROMPTFOO = """
-c --config -a --assertions -p --prompts -r --providers -t --tests -v --vars --model-outputs --prompt-prefix --prompt-suffix
--var --tag -j --max-concurrency --repeat --delay --no-cache --remote -n --filter-first-n --filter-pattern --filter-range
--filter-prompts --filter-providers --filter-targets --filter-sample --filter-sample-seed --filter-failing
--filter-failing-only --filter-errors-only --filter-metadata -o --output --table --no-table --table-cell-max-length --share
--no-share --resume --retry-errors --no-write --grader --suggest-prompts -w --watch -x --extension --description
--no-progress-bar --env-file --env-path -h --help --verbose
""".split()


def test_every_option_of_promptfoo_eval_has_an_answer():
    run = next(it for it in cli._parser()._subparsers._group_actions[0].choices.items() if it[0] == "eval")[1]
    known = {name for action in run._actions for name in action.option_strings}
    assert set(PROMPTFOO) <= known


def test_the_flags_of_a_promptfoo_job_run(gate):
    flags_of_a_job = ("--no-cache", "--no-progress-bar", "--no-table", "--no-write", "-j", "2", "--repeat", "2", "--no-share")
    ran = gate(config(), *flags_of_a_job)
    assert ran.code == 0
    assert len(ran.cases) == 12
