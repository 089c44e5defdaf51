"""What `gradegate init --from-pr` says of a repository's workflows."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gradegate.commands.outlook import outlook as outlook_of
from support.each import table
from support.starting import TEMPLATES

ROOT = Path(__file__).parents[2]
WORKFLOW = ".github/workflows/evals.yml"
CASE = {"assert": [{"type": "equals", "value": "x"}]}
PIN = "OWNER/gradegate@" + "1" * 40


def outlook(begun, code=0):
    """What is said of each thing in the one block, and the problems."""
    ended, out, err = begun.do("init", "--from-pr")
    assert ended == code, out + err
    lines = [line for line in out.splitlines() if line.startswith("  ")]
    return {line[2:12].strip(): line[12:] for line in lines}, err


def put(begun, *, job=None, top=None, **step):
    """A workflow with one step of the Action."""
    steps = [{"uses": "actions/checkout@v6"}, {"uses": PIN, **step}]
    workflow = {"on": "pull_request", "jobs": {"gate": {"runs-on": "x", "steps": steps, **(job or {})}}, **(top or {})}
    path = begun.folder / WORKFLOW
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(workflow, sort_keys=False))


def config(begun, provider="openai:chat:gpt-4.1", tests=2, **more):
    path = begun.folder / "promptfooconfig.yaml"
    case = [{"vars": {"n": str(n)}, "assert": [{"type": "contains", "value": "x"}]} for n in range(tests)]
    path.write_text(yaml.safe_dump({"prompts": ["{{n}}"], "providers": [provider], "tests": case, **more}))


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("folder", [(), ("apps/bot",)])
def test_what_init_writes_runs_as_it_stands(begun, template, folder):
    begun.do("init", "--template", template, *folder)
    said, err = outlook(begun)
    assert err == ""
    assert said["blocks"].startswith("yes, by ")
    assert said["forks"].startswith("run as any other")
    assert said["configs"].startswith("/".join((*folder, "promptfooconfig.yaml: ")))


def test_a_fork_gets_no_keys(begun, llm):
    config(begun)
    put(begun, env={"OPENAI_API_KEY": "${{ secrets.OPENAI_API_KEY }}"})
    said, err = outlook(begun)
    assert err == ""
    assert said["configs"] == "promptfooconfig.yaml: 2 answers, 2 assertions"
    assert said["forks"].startswith("not run, as GitHub gives them no secrets: the check fails with exit code 3")


@pytest.mark.parametrize(
    "more",
    [
        {"gate": {"rules": [{"name": "all", "min-pass-rate": 1, "blocking": False}]}},
        {"tests": [{"vars": {"n": "1"}, "assert": [{"type": "contains", "value": "x", "blocking": False}]}]},
    ],
)
def test_a_gate_that_only_advises_blocks_nothing(begun, more):
    config(begun, provider="echo")
    path = begun.folder / "promptfooconfig.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **more}))
    put(begun)
    assert outlook(begun)[0]["blocks"] == "no: every rule or every assertion only advises"


@pytest.mark.parametrize(("passed", "name"), table(__file__, "a_key_may_be_passed_in_four_ways"))
def test_a_key_may_be_passed_in_four_ways(begun, passed, name):
    config(begun)
    put(begun, **passed)
    assert outlook(begun)[1] == ""


def test_a_key_that_nobody_passes_is_a_problem_with_its_cure(begun, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "of this machine")
    config(begun)
    put(begun)
    _, err = outlook(begun, 2)
    assert (
        f"{WORKFLOW}:7: the run needs OPENAI_API_KEY, and the step does not pass it -> "
        "`env: OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}`" in err
    )


def test_a_host_that_no_key_may_go_to_is_told_as_on_the_runner(begun):
    config(begun, provider={"id": "openai:chat:m", "config": {"apiBaseUrl": "https://evil.example/v1"}})
    put(begun, env={"OPENAI_API_KEY": "${{ secrets.X }}"})
    _, err = outlook(begun, 2)
    assert "would send OPENAI_API_KEY to evil.example" in err


@pytest.mark.parametrize(("given", "said"), table(__file__, "mistakes_of_inputs_are_those_of_the_action"))
def test_mistakes_of_inputs_are_those_of_the_action(begun, given, said):
    config(begun, provider="echo")
    put(begun, **given)
    _, err = outlook(begun, 2)
    assert err.startswith(f"{WORKFLOW}:7: ")
    assert said in err


@pytest.mark.parametrize(("given", "key", "text"), table(__file__, "what_a_workflow_says_is_told"))
def test_what_a_workflow_says_is_told(begun, given, key, text):
    config(begun, provider="echo")
    put(begun, **given)
    assert outlook(begun)[0][key].startswith(text)


def test_neutral_forks(begun):
    config(begun)
    put(begun, env={"OPENAI_API_KEY": "${{ secrets.X }}"}, **{"with": {"on-missing-secrets": "neutral"}})
    assert "the check passes (on-missing-secrets: neutral)" in outlook(begun)[0]["forks"]


def test_answers_of_another_job_are_not_needed_to_say_what_grading_takes(begun):
    config(begun, defaultTest={"assert": [{"type": "llm-rubric", "value": "polite"}]}, provider="groq:m")
    given = {"answers": "made/*.jsonl", "grader": "openai:chat:gpt-4.1"}
    put(begun, env={"OPENAI_API_KEY": "${{ secrets.X }}"}, **{"with": given})
    said, err = outlook(begun)
    assert (said["configs"], err) == ("promptfooconfig.yaml: 2 answers, 4 assertions", "")


def test_code_that_has_leave_on_the_runner_is_not_run_here(begun):
    (begun.folder / "app.py").write_text("open('ran', 'w')\ndef call_api(prompt, options, context):\n    return {}\n")
    (begun.folder / "make.py").write_text("open('ran', 'w')\n")
    config(begun, provider="file://app.py")
    put(begun, **{"with": {"allow-exec": "true"}})
    said, err = outlook(begun)
    assert err == ""
    assert "as no code is run: " in said["configs"]
    assert "ran" not in begun.files


def test_the_examples_are_told_without_a_call(begun, llm):
    shutil.copytree(ROOT / "examples", begun.folder / "evals", ignore=shutil.ignore_patterns("*.yml", "out"))
    shutil.copytree(ROOT / "examples", begun.folder / "examples", ignore=shutil.ignore_patterns("*.yml", "out"))
    (begun.folder / ".github" / "workflows").mkdir(parents=True)
    for path in (ROOT / "examples").glob("*.yml"):
        text = path.read_text().replace("evals/promptfooconfig.yaml", "examples/answers/promptfooconfig.yaml")
        (begun.folder / ".github" / "workflows" / path.name).write_text(text)
    code, out, err = begun.do("init", "--from-pr")
    jobs = [job for path in (ROOT / "examples").glob("*.yml") for job in yaml.safe_load(path.read_text())["jobs"].values()]
    gating = [job for job in jobs if any("OWNER/gradegate" in step.get("uses", "") for step in job["steps"])]
    assert out.count(", job ") == len(gating) > 8
    assert "Traceback" not in out + err
    assert code in (0, 2)
    assert llm.requests == []


def test_without_a_workflow_that_is_said(begun):
    _, err = outlook(begun, 2)
    assert err == "no workflow uses gradegate -> `gradegate init` writes one\n"


@pytest.mark.parametrize("text", table(__file__, "what_is_no_workflow_is_passed_over"))
def test_what_is_no_workflow_is_passed_over(begun, text):
    put(begun)
    (begun.folder / WORKFLOW).write_text(text)
    assert "no workflow uses gradegate" in outlook(begun, 2)[1]


@pytest.mark.parametrize("workflow", table(__file__, "a_workflow_of_another_form_ends_in_words"))
def test_a_workflow_of_another_form_ends_in_words(begun, workflow):
    put(begun)
    (begun.folder / WORKFLOW).write_text(workflow)
    code, out, err = begun.do("init", "--from-pr")
    assert code in (0, 2)
    assert "gradegate failed" not in err
    assert "\n::error" not in out


def test_broken_yaml_is_told_with_its_line(begun):
    put(begun)
    (begun.folder / WORKFLOW).write_text("on: [\njobs")
    assert outlook(begun, 2)[1].startswith(f"{WORKFLOW}:1: not valid YAML, column 5")


def test_no_workflow_is_read_through_a_link_that_leads_out(begun, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "x.yml"
    elsewhere.write_text(f"on: pull_request\njobs: {{secret: {{steps: [{{uses: {PIN}}}]}}}}")
    (begun.folder / ".github" / "workflows").mkdir(parents=True)
    (begun.folder / WORKFLOW).symlink_to(elsewhere)
    code, out, err = begun.do("init", "--from-pr")
    assert (code, "secret" in out) == (2, False)
    assert "leads out of the workspace" in err


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["${{ secrets.X }}", "pull_request"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
OTHERS = st.fixed_dictionaries({}, optional=dict.fromkeys(("with", "env", "if", "id", "name"), ANYTHING))
JOBS = st.fixed_dictionaries({}, optional=dict.fromkeys(("permissions", "env", "if", "runs-on"), ANYTHING))
TOPS = st.fixed_dictionaries({}, optional=dict.fromkeys(("on", "permissions", "env", "name"), ANYTHING))


@given(OTHERS, JOBS, TOPS, st.lists(ANYTHING, max_size=2))
def test_whatever_a_workflow_holds_it_is_told_in_words(step, job, top, before):
    with TemporaryDirectory() as folder:
        root = Path(folder)
        workflow = {**top, "jobs": {"a": {**job, "steps": [*before, {**step, "uses": PIN}]}, "b": before}}
        (root / WORKFLOW).parent.mkdir(parents=True)
        (root / WORKFLOW).write_text(yaml.safe_dump(workflow, allow_unicode=True), encoding="utf-8")
        (root / "promptfooconfig.yaml").write_text(yaml.safe_dump({"prompts": ["x"], "providers": ["echo"], "tests": [CASE]}))
        lines, problems = outlook_of(root)
        assert lines or problems


def _with_end(value, end):
    if isinstance(value, dict):
        return {key: _with_end(one, end) for key, one in value.items()}
    return value.replace("\n", end)


@pytest.mark.parametrize("job", table(__file__, "no_value_of_a_workflow_begins_a_line"))
@pytest.mark.parametrize("end", ["\n", "\r", "\u2028"])
def test_no_value_of_a_workflow_begins_a_line(begun, job, end):
    config(begun)
    put(begun, job=_with_end(job, end), **{"with": {"comment-key": f"k{end}  forks"}})
    _, out, _ = begun.do("init", "--from-pr")
    assert [line[12:19] for line in out.splitlines() if line.startswith("  forks")] == ["not run"]


@pytest.mark.parametrize("name", ["config", "working-directory"])
def test_of_configs_that_are_named_when_it_runs_nothing_is_claimed(begun, name):
    config(begun)
    put(begun, **{"with": {name: "${{ matrix.one }}"}})
    said, _ = outlook(begun)
    assert said["configs"].startswith("named when it runs, so nothing else is known;")
    assert not said.keys() & {"blocks", "forks"}
