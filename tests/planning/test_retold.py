"""A run as arguments: what the part for agents says to run is what ran."""

import re
import shlex
from pathlib import Path

import pytest

from gradegate.cli import main as cli
from gradegate.cli import parser as flags
from gradegate.config.context import Context, build_context
from gradegate.core.settings import Settings
from gradegate.planning.command import rerun_arguments
from gradegate.security.hosts import parse_hosts
from support.each import each, table

CONFIG = table(__file__, "CONFIG")


def test_every_option_is_one_of_the_command_line() -> None:
    settings = Settings(
        graders={"*": "openai:chat:m", "embedding": "openai:embedding:e"},
        providers=("echo",),
        answers=("a*.jsonl",),
        assertions=("contains:x",),
        variables={"a": "b c"},
        select=(("metadata.k", "v*"), ("first", "2")),
        filter_pattern="^x$",
        filter_metadata=(("k", "v"),),
        filter_first=3,
        filter_providers="echo",
        repeat=2,
        reask="grader",
        grader_retries=0,
        allowed_env=frozenset({"B", "A"}),
        allow_exec=True,
        exec_env=frozenset({"C"}),
    )
    told = [*rerun_arguments(Context(settings))]
    args = cli._parser().parse_args(["run", "a.yaml", *told])
    again = flags.context_of(args, Path.cwd())
    for name in table(__file__, "every_option_is_one_of_the_command_line"):
        assert getattr(again.settings, name) == getattr(settings, name), name
    assert (again.settings.allow_exec, again.settings.exec_env) == (False, frozenset())  # who runs it gives leave to run code
    assert not again.egress.bound
    assert (again.settings.filter_pattern, again.settings.filter_first) == ("", None)  # the pattern is that of the case


@each("written", [["gw.example.com", "app:8080", "https://x.example.com"], []])
def test_keys_that_were_bound_to_hosts_are_bound_by_the_options(written: list[str]) -> None:
    context = build_context(Settings(allowed_hosts=parse_hosts(written)), {"GITHUB_ACTIONS": "true"})
    args = cli._parser().parse_args(["run", "a.yaml", *rerun_arguments(context)])
    again = flags.context_of(args, Path.cwd())
    assert again.egress.bound
    assert again.settings.allowed_hosts == parse_hosts(written or ["nobody.invalid"])


@pytest.mark.parametrize("folder", ["", "evals"])
def test_the_command_asks_the_case_again(gate, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    (gate(CONFIG, "-r", "echo").folder / ".git").mkdir()
    ran = gate(None, "-r", "echo", "--var", "more=it's so", "-o", "agent.md")
    assert (ran.code, ran.results["made"]["titles"]) == (1, {"promptfooconfig.yaml": "Two words"})
    if folder:
        (ran.folder / folder).mkdir()
        monkeypatch.chdir(ran.folder / folder)
        gate(CONFIG, "-r", "echo", "--var", "more=it's so", "-o", "agent.md", name="../promptfooconfig.yaml")
    text = (ran.folder / folder / "agent.md").read_text()
    (command,) = re.findall(r"^gradegate run .*$|^cd .*$", text, re.MULTILINE)
    words = shlex.split(command)
    if folder:
        assert words[:3] == ["cd", folder, "&&"]
        words = words[3:]
    assert words[:2] == ["gradegate", "run"]
    again = gate(None, *words[3:], name=words[2])
    assert (again.code, [case["description"] for case in again.results["cases"]]) == (1, ["says (yes)?"])
    assert again.results["cases"][0]["prompt"] == "no it's so"
    assert again.results["blocking"] == [0]
