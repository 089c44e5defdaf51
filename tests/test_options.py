"""The table of options: what one door has the other has, or the entry says why not; both read the same values."""

import ast
import re
from pathlib import Path

import yaml

from gradegate.cli import main as cli
from gradegate.cli import parser as flags
from gradegate.core.options import resolve_option_names
from gradegate.core.policy import Limits
from gradegate.core.settings import OPTIONS, RUN_OPTIONS
from gradegate.files import documents
from gradegate.github.inputs import settings_from_inputs
from gradegate.github.promptfoo_inputs import promptfoo_answers
from support.each import table

# An option, what somebody writes, and what both doors make of it.
WRITTEN = [
    *table(__file__, "WRITTEN"),
    ("config", "a.yaml", ("a.yaml",)),
    ("output", "r.json", ("r.json",)),
    ("answers", "a.jsonl", ("a.jsonl",)),
    ("select", "metadata.tags=x", (("metadata.tags", "x"),)),
    ("budget", "900 s, 5 calls,0.5 usd", Limits(5, 0.5, 900.0)),
    ("ready", "http://127.0.0.1:1 2", ("http://127.0.0.1:1 2",)),
    ("shard", "3/8", (3, 8)),
    ("allowed-env", "A B", frozenset({"A", "B"})),
    ("exec-env", "A,B", frozenset({"A", "B"})),
]
SOURCE = Path(cli.__file__).parents[1]
NOT_COMPARED = {"merge", "allowed-hosts"}  # an argument of a command of its own; values with names of their own


def parsers():
    (commands,) = cli.build_parser()._subparsers._group_actions
    return commands.choices


def test_both_doors_read_the_same():
    by_name = {option.name: option for option in RUN_OPTIONS}
    wrong = []
    for name, text, value in WRITTEN:
        option = by_name[name]
        words = [f"--{name}"] if value is True else [f"--{name}", text]
        args = cli.build_parser().parse_args(["run", *words])
        read = [flags.context_from_args(args, Path("/w")).settings]
        if not option.no_input:
            read.append(settings_from_inputs({f"INPUT_{name.upper()}": text}, Path("/w")).run)
        wrong += [(name, it) for it in (getattr(settings, option.field) for settings in read) if it != value]
    assert wrong == []
    both = {option.name for option in RUN_OPTIONS if option.commands and not option.no_input}
    assert both - {name for name, *_ in WRITTEN} == NOT_COMPARED


def test_no_removed_option_is_one_of_the_table():
    removed = documents.table("config", "removed.yaml")
    names = {option.name for option in OPTIONS}
    assert [name for kind in ("options", "inputs", "flags") for name in removed[kind] if name in names] == []


def _messages():
    """The texts of the source that people may read at both doors: not its comments, the table of options, and the commands."""
    for path in sorted((SOURCE / "gradegate").rglob("*.yaml")):
        yield from ((path.name, text) for text in documents.strings(yaml.safe_load(path.read_text())) if "commands" not in path.parts)
    for path in sorted((SOURCE / "gradegate").rglob("*.py")):
        if path.parent.name == "commands" or path.name in ("cli.py", "options.py"):
            continue
        tree = ast.parse(path.read_text())
        skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):  # which goes from the outside in
            tables = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("option", "_variable", "Option")
            if tables or isinstance(node, ast.JoinedStr):
                skipped |= {id(it) for it in ast.walk(node) if it is not node}
            if isinstance(node, ast.JoinedStr) and id(node) not in skipped:
                yield path.name, "".join(str(getattr(it, "value", "")) if isinstance(it, ast.Constant) else "X" for it in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
                yield path.name, node.value


def test_messages_leave_the_names_of_options_to_the_door():
    """A flag stands bare in a command alone, or where the Action has no input of that name."""
    inputs, wrong = {option.name for option in OPTIONS if not option.no_input}, []
    reasons = {option.no_flag for option in OPTIONS}
    for name, text in _messages():
        left = re.sub(r"`gradegate [^`]*`", "", resolve_option_names(text, inputs=True))
        unknown = {*re.findall(r"<--([a-z-]+)", text), *re.findall(r"`gradegate run --([a-z-]+)", text)} - inputs
        bare = {*re.findall(r"(?<![\w-])--([a-z][a-z-]*)", left)} & inputs
        wrong += [(name, text)] if unknown or bare or ("command line" in left and text not in reasons) else []
    assert wrong == []
    assert (
        resolve_option_names("with <--grader text=ID> or <--allow-exec>", inputs=True)
        == "with the input `grader: text=ID` or the input `allow-exec`"
    )
    assert resolve_option_names("with <--grader text=ID> or <--allow-exec>", inputs=False) == "with --grader text=ID or --allow-exec"


def test_a_door_without_an_option_says_why():
    lacking = [option.name for option in OPTIONS if bool(option.commands) == bool(option.no_flag) or (option.no_input and option.no_flag)]
    assert lacking == []
    for option in OPTIONS:
        if option.no_input:
            (mistake,) = settings_from_inputs({f"INPUT_{option.name.upper()}": "x"}, Path()).mistakes
            assert str(mistake) == f"there is no input `{option.name}` -> {promptfoo_answers().get(option.name, option.no_input)}"


def test_a_command_has_the_options_of_the_table_and_no_other():
    known = {flag for group in ("no_effect", "refused") for option in flags.promptfoo_options(group) for flag in option.flags}
    own = {"cases": {"-o", "--output"}, "validate": {"--without-keys"}}
    for command in ("run", "merge", "validate", "cases", "calibrate"):
        found = {flag for action in parsers()[command]._actions for flag in action.option_strings}
        table = {flag for option in RUN_OPTIONS if command in option.commands for flag in option.flags}
        assert found - known - {"-h", "--help"} - own.get(command, set()) == table, command


def test_help_names_options_as_the_command_line_does():
    text = " ".join(parsers()["run"].format_help().split())
    assert "ignores --cache and calls every model" in text
    assert "`live` asks the prompts of --base-checkout" in text
