"""What `gradegate init --from-pr` says of a repository's workflows."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gradegate.cli.init.workflows import describe_workflows
from support.each import table
from support.scenes import scenes
from support.starting import TEMPLATES

test_a_scene = scenes(__file__)

ROOT = Path(__file__).parents[3]
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
    said, err = outlook(begun, 2)
    assert err.endswith("is a placeholder -> put the commit of a release in place of the zeros\n")
    assert err.count("\n") == 1
    assert said["blocks"].startswith("yes, by ")
    assert said["forks"].startswith("run like any other")
    assert said["configs"].startswith("/".join((*folder, "promptfooconfig.yaml: ")))


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
    assert out.count(", job ") == len(gating) >= 8
    assert "Traceback" not in out + err
    assert code in (0, 2)
    assert llm.requests == []


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
        report = describe_workflows(root)
        assert report.lines or report.problems


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
