"""Which answer of the base stands for which, and what each grade is beside it."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from dulwich.index import Index, IndexEntry

from gradegate.cli import main as cli
from gradegate.config.context import Context
from gradegate.core.settings import Settings
from gradegate.errors import ConfigError
from gradegate.files.git import default_branch_is_checked_out
from gradegate.files.plain_files import Place
from gradegate.reports.delivery.deliver import render_report
from gradegate.reports.delivery.report import Links
from gradegate.results.accounts import Made
from gradegate.results.baseline import Baseline, age_in_days, baseline_remarks, grade_status, summarize_baseline, with_counterparts
from gradegate.results.grades import Counterpart, Grade, GradedAssertion, Outcome
from gradegate.results.results_file import load_baseline
from gradegate.results.rows import AnswerId, Row
from gradegate.results.run_result import GateOutcome
from gradegate.runner.baseline_folder import folder_to_read, write_baseline
from gradegate.security.environment import Environment
from gradegate.structs import replace
from support import samples
from support.each import each, table

P, F, E = Outcome.PASS, Outcome.FAIL, Outcome.ERROR
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def grade(outcome, base=None, definition="d"):
    return Grade(GradedAssertion("contains", key="k", definition=definition), outcome, base=base and Counterpart(base, base))


def answer(key="a", outcome=P, definition="d", name=""):
    return replace(row(outcome, key, definition), description=name or key, grades=(grade(outcome, definition=definition),), output="x")


def row(outcome=P, key="a", definition="d"):
    return Row("s", "c", "p", "l", "", {}, outcome, grades=(grade(outcome),), key=key, definition=definition)


@each(
    ("head", "base", "again", "settled", "expected"),
    [
        (P, None, None, True, "ok"),
        (P, P, None, True, "ok"),
        (P, E, None, True, "ok"),
        (P, F, None, True, "fixed"),
        (F, F, None, False, "pre-existing"),
        (F, F, None, True, "pre-existing"),
        (F, None, None, True, "new-failure"),
        (F, E, None, True, "new-failure"),
        (F, None, None, False, ""),
        (F, P, None, False, ""),
        (F, P, None, True, ""),  # confirmed, and the base's answer was not graded again
        (F, P, P, True, "new-failure"),
        (F, P, F, True, "unsteady"),
        (F, P, E, True, "undecided"),
        (E, P, None, True, "undecided"),
        (E, F, None, True, "undecided"),
        (E, None, None, True, "undecided"),
    ],
)
def test_each_pair_of_verdicts_has_its_status(head, base, again, settled, expected):
    assert grade_status(grade(head, base), again, settled) == expected


def test_what_is_defined_otherwise_is_not_compared():
    assert with_counterparts(row(F), answer(outcome=P)).grades[0].base == Counterpart(P, P)
    other = with_counterparts(row(F, definition="e"), answer(outcome=P))
    assert other.base is None
    changed = replace(row(F), grades=(grade(F, definition="e"),))
    assert with_counterparts(changed, answer(outcome=P)).grades[0].base is None
    assert with_counterparts(row(F), None) == row(F)


def test_the_report_counts_cases():
    rows = [
        replace(row(F), grades=(replace(grade(F, P), status="new-failure"),), base=P),
        replace(row(F), grades=(replace(grade(F, F), status="pre-existing"),), base=F),
        replace(row(P), grades=(replace(grade(P, F), status="fixed"),), base=F),
        replace(row(P), grades=(replace(grade(P), status="ok"),)),
    ]
    base = Baseline((), "abc", (NOW - timedelta(days=3)).isoformat())
    paired = {AnswerId(number, 0): base_row for number, base_row in enumerate([answer(), answer(), answer(), None])}
    found = summarize_baseline(rows, replace(base, paired=paired, removed=("gone",)), NOW)
    counts = (found.compared, found.new_failures, found.pre_existing, found.fixed, found.unsteady, found.new)
    assert counts == (3, 1, 1, 1, 0, 1)
    assert (found.commit, found.age_days, found.removed) == ("abc", 3, ("gone",))


@each(("started", "days"), table(__file__, "an_age_is_of_whole_days_or_unknown"))
def test_an_age_is_of_whole_days_or_unknown(started, days):
    assert age_in_days(started, NOW) == days


def test_what_makes_a_baseline_doubtful_is_said():
    good = Baseline((), "abcdef123", NOW.isoformat(), ("gpt",), "grader")
    assert list(baseline_remarks(good, NOW, "abcdef123", ["gpt"])) == []
    assert list(baseline_remarks(good, NOW, "", ["gpt"])) == []
    said = list(baseline_remarks(Baseline((), "", "", ("a", "b"), ""), NOW, "abcdef123", ["b", "c"]))
    assert said == [
        "the baseline does not say when it was made",
        "the baseline is from commit unknown, but the base is at abcdef1",
        "the baseline was made with other models: `a` there, `c` here",
        "the baseline was made without re-asks: a failure in it may be noise, and may hide a new failure",
    ]
    old = replace(good, started=(NOW - timedelta(days=15)).isoformat())
    assert list(baseline_remarks(old, NOW, "", ["gpt"])) == ["the baseline is 15 days old"]


# --- baseline -------------------------------------------------------------------------------------------------
COMMITS = {name: digit * 40 for name, digit in (("head", "1"), ("base", "2"), ("artifact", "3"))}


def written(path: Path, commit: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    decision = samples.decision(GateOutcome.PASS, "so")
    decision = replace(decision, run=replace(decision.run, made=Made(commit=COMMITS[commit])))
    path.write_text(render_report("json", decision, Links(), str).text)
    return path


@pytest.fixture
def repository(tmp_path):
    """A checkout with a results.json of its own, another of the base beside it, and one outside both."""
    head = tmp_path / "work"
    (head / ".git").mkdir(parents=True)
    (head / ".base" / ".git").mkdir(parents=True)
    written(head / "kept" / "results.json", "head")
    written(head / ".base" / "kept" / "results.json", "base")
    written(tmp_path / "temp" / "results.json", "artifact")
    return head


def read(head, baseline, base="", environ=None, *, on_default_branch=False):
    settings = Settings(baseline=str(baseline), base_checkout=base, cwd=head)
    folder = folder_to_read(Context(settings, Environment(environ or {}), on_default_branch=on_default_branch))
    assert folder is not None
    found = load_baseline(folder / "results.json")
    return next(name for name, commit in COMMITS.items() if commit == found.commit)


def test_a_folder_outside_the_repository_is_read(repository):
    assert read(repository, "../temp") == "artifact"
    assert read(repository, repository.parent / "temp", ".base") == "artifact"


def test_a_folder_of_the_repository_is_read_from_the_base(repository):
    assert read(repository, "kept", ".base") == "base"
    assert read(repository, repository / "kept", ".base") == "base"
    assert read(repository, ".base/kept", ".base") == "base"


@each(
    ("name", "said"),
    [
        ("kept", "could have written.*give <--base-checkout>"),
        ("kept/../kept", "could have written"),
        ("absent", "could have written"),
        (".git/x", "could have written"),
        ("kept/results.json", "is a file -> name the folder"),
        (".", "could have written"),
        ("../work", "could have written"),
        ("x" * 300, "cannot be found: File name too long"),
    ],
)
def test_without_a_base_a_folder_of_the_repository_is_a_mistake(repository, name, said):
    with pytest.raises(ConfigError, match=said):
        read(repository, name)


def test_the_default_branch_reads_a_folder_that_git_does_not_track(repository):
    assert read(repository, "kept", on_default_branch=True) == "head"
    index = Index(repository / ".git" / "index", read=False)
    index[b"kept/results.json"] = IndexEntry(0, 0, 0, 0, 0o100644, 0, 0, 0, b"0" * 40)
    index.write()
    with pytest.raises(ConfigError, match=r"git tracks the baseline `kept`.*list it in .gitignore"):
        read(repository, "kept", on_default_branch=True)
    assert read(repository, "kept", ".base") == "base"


@each(
    ("head", "origin", "variables", "is_default"),
    [
        ("ref: refs/heads/main", None, {}, True),
        ("ref: refs/heads/master", None, {}, True),
        ("ref: refs/heads/topic", None, {}, False),
        ("0" * 40, None, {}, False),
        ("ref: refs/heads/trunk", "trunk", {}, True),
        ("ref: refs/heads/main", "trunk", {}, False),
        ("0" * 40, None, {"CI_DEFAULT_BRANCH": "trunk", "CI_COMMIT_BRANCH": "trunk"}, True),
        ("ref: refs/heads/main", None, {"CI_DEFAULT_BRANCH": "main"}, False),  # a merge request of GitLab has no branch
        ("ref: refs/heads/main", None, {"CI_DEFAULT_BRANCH": "trunk", "CI_COMMIT_BRANCH": "main"}, False),
        ("ref: refs/heads/master", "", {}, False),  # where there is a main, it is the default branch
    ],
)
def test_the_default_branch_is_known_by_git_or_by_the_runner(tmp_path_factory, head, origin, variables, is_default):
    folder = tmp_path_factory.mktemp("work")
    remote = folder / ".git" / "refs" / "remotes" / "origin"
    remote.mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(f"{head}\n")
    if origin == "":
        (folder / ".git" / "packed-refs").write_text(f"{'a' * 40} refs/remotes/origin/main\n")
    elif origin:
        (remote / "HEAD").write_text(f"ref: refs/remotes/origin/{origin}\n")
    assert default_branch_is_checked_out(folder, variables) == is_default


def test_the_command_line_finds_no_baseline_by_itself(repository):
    with pytest.raises(ConfigError, match="`--baseline auto` is for the Action"):
        read(repository, "auto")


def test_links_do_not_change_whose_folder_it_is(repository):
    outside = repository.parent / "temp"
    (repository / "folder").symlink_to(outside)
    (outside / "back").symlink_to(repository / "kept")
    for name in ("folder", "../temp/back"):
        with pytest.raises(ConfigError, match="could have written"):
            read(repository, name)
    assert read(repository, "../temp/back", ".base") == "base"


def test_a_link_of_the_base_does_not_lead_to_the_pull_requests_folder(repository):
    shutil.rmtree(repository / ".base" / "kept")
    (repository / ".base" / "kept").symlink_to(repository / "kept")
    with pytest.raises(ConfigError, match="leads out of the base"):
        read(repository, "kept", ".base")


def test_on_github_a_workspace_without_git_is_a_repository_too(tmp_path):
    written(tmp_path / "work" / "kept" / "results.json", "head")
    assert read(tmp_path / "work", "kept") == "head"  # elsewhere it is a plain folder
    with pytest.raises(ConfigError, match="could have written"):
        read(tmp_path / "work", "kept", environ={"GITHUB_WORKSPACE": str(tmp_path / "work")})


def test_a_mistaken_place_ends_the_run_before_any_call(gate, llm):
    config = {"prompts": ["hi"], "providers": [llm.spec()], "tests": [{"assert": [{"type": "contains", "value": "x"}]}]}
    ran = gate(config)
    (ran.folder / ".git").mkdir()
    before = len(llm.requests)
    assert cli.main(["run", "--baseline", "old", "promptfooconfig.yaml"]) == 2
    assert len(llm.requests) == before


def test_a_report_over_the_baseline_is_a_mistake(gate):
    config = {"prompts": ["hi"], "providers": ["echo"], "tests": [{"assert": [{"type": "contains", "value": "hi"}]}]}
    gate(config)
    ran = gate(config, "--baseline", ".")
    assert ran.code == 2
    assert "is a file that this run reads" in ran.err


def test_a_baseline_that_cannot_be_used_is_a_note(gate):
    config = {"prompts": ["hi"], "providers": ["echo"], "tests": [{"assert": [{"type": "contains", "value": "hi"}]}]}
    ran = gate(config, "--baseline", "old", **{"old/results.json": "{}"})
    assert ran.code == 0
    history, results = ran.results["notes"]
    assert results["text"].startswith("the baseline `old/results.json` cannot be used, so every failure counts as new: ")
    assert history["text"].startswith("the history `old/history.jsonl` cannot be used, so no case is decided with it: No such file")


@each(
    ("make", "said"),
    [
        (
            lambda file, content: (file.with_name("x").write_bytes(content), file.symlink_to("x")),
            "it is a symbolic link, and none is followed",
        ),
        (lambda file, content: file.write_bytes(b"\xef\xbb\xbf" + content), "begins with a byte order mark: save it as UTF-8 without one"),
        (lambda file, content: file.write_text(content.decode(), "utf-16"), "begins with a byte order mark: save it as UTF-8 without one"),
        (lambda file, content: file.write_bytes(content.replace(b'"hi"', b'"\xff"', 1)), ": line 2: is not UTF-8 at byte "),
        (lambda file, content: file.write_bytes(content.replace(b'"started":"20', b'"started":"99')), "that it was made at `99"),
        (lambda file, content: file.write_bytes(content.replace(b'"started":"20', b'"started":"T')), "which is not a time in the past"),
    ],
)
def test_what_is_wrong_with_the_file_of_a_baseline_is_said(gate, make, said):
    config = {"prompts": ["hi"], "providers": ["echo"], "tests": [{"assert": [{"type": "contains", "value": "hi"}]}]}
    ran = gate(config)
    content = (ran.folder / "results.json").read_bytes()
    file = ran.folder / "old" / "results.json"
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    make(file, content)
    texts = [note["text"] for note in gate(None, "--baseline", "old").results["notes"]]
    assert any(said in text for text in texts), texts


def test_a_link_in_place_of_a_baseline_is_named(tmp_path):
    (tmp_path / "results.json").symlink_to("x")
    said = write_baseline({"results.json": Place(tmp_path, ("results.json",))}, {"results.json": list})
    assert said == "the baseline could not be written: `results.json` is a symbolic link, and reports follow none"


def test_an_empty_baseline_is_one_note(gate):
    config = {"prompts": ["hi"], "providers": ["echo"], "tests": [{"assert": [{"type": "contains", "value": "hi"}]}]}
    (note,) = gate(config, "--baseline", "nowhere").results["notes"]
    assert note["text"] == "there is nothing in the baseline `nowhere` yet, so every failure counts as new"


def test_links_in_a_circle_are_a_mistake(repository):
    outside = repository.parent / "temp"
    (outside / "a").symlink_to(outside / "b")
    (outside / "b").symlink_to(outside / "a")
    with pytest.raises(ConfigError, match=r"the baseline `../temp/a` cannot be found"):
        read(repository, "../temp/a")


def test_a_baseline_of_other_cases_is_a_note_and_every_failure_is_new(gate):
    config = {
        "prompts": ["{{word}}"],
        "providers": ["echo"],
        "tests": [{"description": "c", "vars": {"word": "a"}, "assert": [{"type": "contains", "value": "b"}]}],
        "gate": {"rules": [{"name": "regressions", "max-new-failures": 0}]},
    }
    content = json.dumps(gate(config).results)
    config["tests"][0]["description"] = "d"
    ran = gate(config, "--baseline", "base", **{"base/results.json": content})
    assert (ran.code, ran.grades[0]["status"], ran.results["baseline"]) == (1, "new-failure", None)
    assert "the baseline has no case of this run, so every failure counts as new" in ran.out
