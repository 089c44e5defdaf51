"""Where the results of the base are read from: never from what the pull request could have written."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gradegate import cli
from gradegate.base.checkout import stored
from gradegate.errors import ConfigError
from gradegate.reporting.deliver import render
from gradegate.reporting.report import Links
from gradegate.results.earlier_run import Baseline
from gradegate.values.account import Made
from gradegate.values.result import GateOutcome
from gradegate.values.settings import Settings
from support import samples
from support.each import each

COMMITS = {name: digit * 40 for name, digit in (("head", "1"), ("base", "2"), ("artifact", "3"))}


def written(path: Path, commit: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    decision = samples.decision(GateOutcome.PASS, "so")
    decision = replace(decision, run=replace(decision.run, made=Made(commit=COMMITS[commit])))
    path.write_text(render("json", decision, Links(), str).text)
    return path


@pytest.fixture
def repository(tmp_path):
    """A checkout with a results.json of its own, another of the base beside it, and one outside both."""
    head = tmp_path / "work"
    (head / ".git").mkdir(parents=True)
    (head / ".base" / ".git").mkdir(parents=True)
    written(head / "evals" / "results.json", "head")
    written(head / ".base" / "evals" / "results.json", "base")
    written(tmp_path / "temp" / "results.json", "artifact")
    return head


def read(head, baseline, base="", environ=None):
    settings = Settings(baseline=str(baseline), base=base, cwd=head, environ=environ or {})
    found = stored(settings, ())
    if not isinstance(found, Baseline):
        return found[0].text
    return next(name for name, commit in COMMITS.items() if commit == found.commit)


def test_a_file_outside_the_repository_is_read(repository):
    assert read(repository, "../temp/results.json") == "artifact"
    assert read(repository, repository.parent / "temp" / "results.json", ".base") == "artifact"


def test_a_file_of_the_repository_is_read_from_the_base(repository):
    assert read(repository, "evals/results.json", ".base") == "base"
    assert read(repository, repository / "evals" / "results.json", ".base") == "base"
    assert read(repository, ".base/evals/results.json", ".base") == "base"
    assert "cannot be used" in read(repository, "evals/absent.json", ".base")


@each(
    ("name", "said"),
    [
        ("evals/results.json", "could have written.*give <--base>"),
        ("evals/../evals/results.json", "could have written"),
        ("absent.json", "the file of <--baseline> `absent.json` does not exist -> correct the path"),
        (".git/x.json", "does not exist"),
    ],
)
def test_without_a_base_a_file_of_the_repository_is_a_mistake(repository, name, said):
    with pytest.raises(ConfigError, match=said):
        read(repository, name)


def test_the_command_line_finds_no_baseline_by_itself(repository):
    with pytest.raises(ConfigError, match="`baseline: auto` is for the Action"):
        read(repository, "auto")


def test_links_do_not_change_whose_file_it_is(repository):
    outside = repository.parent / "temp"
    (repository / "link.json").symlink_to(outside / "results.json")
    (repository / "folder").symlink_to(outside)
    (outside / "back.json").symlink_to(repository / "evals" / "results.json")
    for name in ("link.json", "folder/results.json", "../temp/back.json"):
        with pytest.raises(ConfigError, match="could have written"):
            read(repository, name)
    assert read(repository, "../temp/back.json", ".base") == "base"


def test_a_link_of_the_base_does_not_lead_to_the_pull_requests_file(repository):
    (repository / ".base" / "evals" / "results.json").unlink()
    (repository / ".base" / "evals" / "results.json").symlink_to(repository / "evals" / "results.json")
    with pytest.raises(ConfigError, match="leads out of the base"):
        read(repository, "evals/results.json", ".base")


def test_on_github_a_workspace_without_git_is_a_repository_too(tmp_path):
    written(tmp_path / "work" / "results.json", "head")
    assert read(tmp_path / "work", "results.json") == "head"  # elsewhere it is a plain folder
    with pytest.raises(ConfigError, match="could have written"):
        read(tmp_path / "work", "results.json", environ={"GITHUB_WORKSPACE": str(tmp_path / "work")})


def test_a_mistaken_place_ends_the_run_before_any_call(gate, llm):
    config = {"prompts": ["hi"], "providers": [llm.spec()], "tests": [{"assert": [{"type": "contains", "value": "x"}]}]}
    ran = gate(config)
    (ran.folder / ".git").mkdir()
    before = len(llm.requests)
    assert cli.main(["run", "--baseline", "old.json", "promptfooconfig.yaml"]) == 2
    assert len(llm.requests) == before


def test_a_report_over_the_baseline_is_a_mistake(gate):
    config = {"prompts": ["hi"], "providers": ["echo"], "tests": [{"assert": [{"type": "contains", "value": "hi"}]}]}
    gate(config)
    ran = gate(config, "--baseline", "results.json")
    assert ran.code == 2
    assert "is a file that this run reads" in ran.err


def test_a_baseline_that_cannot_be_used_is_a_note(gate):
    config = {"prompts": ["hi"], "providers": ["echo"], "tests": [{"assert": [{"type": "contains", "value": "hi"}]}]}
    ran = gate(config, "--baseline", "old.json", **{"old.json": "{}"})
    assert ran.code == 0
    (note,) = ran.results["notes"]
    assert note["text"].startswith("the baseline `old.json` cannot be used, so every failure counts as new: ")


def test_links_in_a_circle_are_a_note(repository):
    outside = repository.parent / "temp"
    (outside / "a.json").symlink_to(outside / "b.json")
    (outside / "b.json").symlink_to(outside / "a.json")
    assert "cannot be used" in read(repository, "../temp/a.json")


def test_a_baseline_of_other_cases_is_a_note_and_every_failure_is_new(gate):
    config = {
        "prompts": ["{{word}}"],
        "providers": ["echo"],
        "tests": [{"description": "c", "vars": {"word": "a"}, "assert": [{"type": "contains", "value": "b"}]}],
        "gate": {"rules": [{"name": "regressions", "max-new-failures": 0}]},
    }
    content = json.dumps(gate(config).results)
    config["tests"][0]["description"] = "d"
    ran = gate(config, "--baseline", "base.json", **{"base.json": content})
    assert (ran.code, ran.grades[0]["status"], ran.results["baseline"]) == (1, "new-failure", None)
    assert "the baseline has no case of this run, so every failure counts as new" in ran.out
