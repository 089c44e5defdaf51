"""Options of promptfoo's command line: what is run is said, and each other option does something, nothing, or is refused."""

import pytest

from gradegate.cli import main as cli
from gradegate.cli import parser as flags
from support.each import table
from support.graded import mistakes
from support.scenes import scenes

test_a_scene = scenes(__file__)
CONFIG = table(__file__, "base")["config"]


@pytest.mark.parametrize("option", [*flags.promptfoo_options("no_effect")])
def test_options_without_effect_are_accepted_with_a_note(gate, option):
    for flag in option.flags:
        ran = gate(CONFIG, flag, *["x"] * option.values)
        assert ran.code == 0
        assert f"{flag} has no effect: {option.reason}" in ran.err


@pytest.mark.parametrize("option", [*flags.promptfoo_options("refused")])
def test_options_that_no_gate_has_are_mistakes_that_name_the_way(gate, option):
    for flag in option.flags:
        assert f"{flag} of promptfoo is not an option here -> {option.reason}" in mistakes(gate(CONFIG, flag))


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
    run = next(it for it in cli.build_parser()._subparsers._group_actions[0].choices.items() if it[0] == "eval")[1]
    known = {name for action in run._actions for name in action.option_strings}
    assert set(PROMPTFOO) <= known
