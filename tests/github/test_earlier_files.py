"""Files, links and folders of the checkout that have the names of reports: no later step may take one for a report."""

import json
import shutil

import pytest

from support.each import each
from support.fake_github import Token
from support.job import CONFIG, Job

NAMES = ("gradegate-junit.xml", "results.json", "out/agent.md", "page.html")
OUTPUT = "\n".join(NAMES)
# What stops a step before it asks anything: files, variables of the step, inputs, its event.
STOPS = {
    "a broken config": ({"evals/promptfooconfig.yaml": "tests: ["}, {}, {}, "pull_request"),
    "a config that is not there": ({}, {}, {"config": "evals/none.yaml"}, "pull_request"),
    "a missing key": ({}, {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}, {}, "pull_request"),
    "a refused event": ({}, {"GITHUB_SHA": "d" * 40}, {}, "workflow_run"),
    "a wrong input": ({}, {}, {"comment": "sometimes"}, "pull_request"),
    "an input that does not exist": ({}, {}, {"outputs": "x"}, "pull_request"),
    "an output outside of the workspace": ({}, {}, {"output": f"{OUTPUT}\n../x.json"}, "pull_request"),
    "a variable that an event filled": ({}, {"GRADEGATE_ENV": json.dumps({"TITLE": "a\0b"})}, {}, "pull_request"),
}


def forge(job: Job) -> None:
    """Have the checkout bring something of each name: two files, a link to a file and a dangling link."""
    for name in NAMES:
        (job.root / name).unlink(missing_ok=True)
    for name in ("gradegate-junit.xml", "out/agent.md"):
        (job.root / name).parent.mkdir(exist_ok=True)
        (job.root / name).write_text("forged")
    (job.root / "results.json").symlink_to("evals/README.md")
    (job.root / "page.html").symlink_to("/nowhere")
    (job.root / "evals/promptfooconfig.yaml").write_text(CONFIG)
    job.commit()


@each("name", STOPS)
def test_a_step_that_stops_leaves_nothing_under_the_name_of_a_report(job: Job, name: str) -> None:
    forge(job)
    files, environ, inputs, event = STOPS[name]
    for path, text in files.items():
        (job.root / path).write_text(text)
    job.environ = environ
    code, outputs = job.run(event, **{"output": OUTPUT, "when": "always", **inputs})
    assert (code, outputs["decision"], outputs.get("reports")) == (2, "mistake", None)
    assert job.llm.requests == []
    assert [path for path in NAMES if (job.root / path).is_symlink() or (job.root / path).exists()] == []
    assert (job.root / "evals" / "README.md").read_text() == "about"


def test_a_complete_run_writes_its_own_reports_in_place_of_files_and_links(job: Job) -> None:
    forge(job)
    code, outputs = job.run(output=OUTPUT, when="always")
    assert (code, sorted(outputs["reports"].splitlines())) == (0, sorted(NAMES))
    for name in NAMES:
        assert not (job.root / name).is_symlink()
        assert (job.root / name).read_text() not in ("forged", "about")
    assert (job.root / "evals" / "README.md").read_text() == "about"


def test_a_shard_removes_them_too(job: Job) -> None:
    forge(job)
    assert job.run(output=OUTPUT, when="always", shard="1/2")[0] == 0
    assert [name for name in NAMES if (job.root / name).exists()] == []


@each("way", ["a folder", "a folder in the place of one of several", "a link on the way"])
def test_what_cannot_be_removed_stops_the_step(job: Job, way: str, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = job.root / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    if (job.root / "out").exists():  # of an earlier row
        shutil.rmtree(job.root / "out")
    (elsewhere / "junit.xml").write_text("forged")
    if way == "a link on the way":
        (job.root / "out").symlink_to("elsewhere")
        why = "`out` is a symbolic link, and reports follow none"
    else:
        (job.root / "out" / "junit.xml").mkdir(parents=True)
        (job.root / "out" / "junit.xml" / "forged.xml").write_text("forged")
        why = "it is a folder"
    (job.root / "results.json").write_text("forged")
    code, outputs = job.run(output="out/junit.xml\nresults.json" if "several" in way else "results.json\nout/junit.xml", when="always")
    assert (code, outputs["decision"], outputs.get("reports")) == (2, "mistake", None)
    assert f"the output `out/junit.xml` exists and cannot be removed: {why} -> remove it from the repository" in capsys.readouterr().out
    assert not (job.root / "results.json").exists()
    assert (elsewhere / "junit.xml").read_text() == "forged"
    assert job.llm.requests == []


INPUTS = (
    {"answers": "made.json", "output": "made.json"},
    {"answers": "answers/*.json", "output": "answers/r.json"},
    {"answers": "answers/**/*.json", "output": "answers/r.json"},
    {"answers": "answers/**/*.json", "output": "answers/a/b/r.json"},
    {"answers": "[m]ade.json", "output": "[m]ade.json"},
    {"baseline": "base", "output": "base/results.json"},
    {"baseline": "base.json", "output": "base.json"},
    {"config": "evals/c.json", "output": "./evals/../evals/c.json"},
    {"config": "evals/c.json", "output": "evals/C.json"},
)


@each("inputs", INPUTS)
def test_an_output_that_is_an_input_is_a_mistake_and_stays(job: Job, inputs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    path = job.root / inputs["output"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("precious")
    assert job.run(when="always", **inputs)[0] == 2
    said = f"the output `{inputs['output']}` is a file that this run reads -> write the report to another file"
    assert said in capsys.readouterr().out
    assert path.read_text() == "precious"


def test_an_output_beside_inputs_is_none(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    (job.root / "answers").mkdir()
    (job.root / "answers" / "a.json").write_text("[]")
    inputs = {"answers": "answers/*.json", "config": "evals/*.yaml", "baseline": str(job.root.parent / "base")}
    job.run(when="always", output="answers/reports/r.json\nevals/r.json\nr.json\nbase.json", **inputs)
    assert "is a file that this run reads" not in capsys.readouterr().out


@each("answer", ["fine", "wrong"])
def test_a_missing_report_keeps_the_decision_and_is_never_green(job: Job, answer: str) -> None:
    (job.root / "out").write_text("a file where a folder should be")
    job.llm.reply = lambda path, body: answer
    code, outputs = job.run(output="out/junit.xml\nresults.json", when="always")
    assert (code, outputs["decision"]) == ((3, "pass") if answer == "fine" else (1, "blocked"))
    assert outputs["reports"] == "results.json"


def test_a_comment_that_cannot_be_posted_changes_no_exit_code(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    job.github.tokens["ghs_actions"] = Token("github-actions[bot]", writes=False)
    code, outputs = job.run(output="results.json", when="always")
    assert (code, outputs["decision"], outputs["reports"]) == (0, "pass", "results.json")
    assert "No comment was posted" in capsys.readouterr().out
