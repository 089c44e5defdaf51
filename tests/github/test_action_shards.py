"""The action in shards: what the jobs of examples/workflow-shards.yml do, each as a process with its inputs."""

import json
from pathlib import Path

import pytest
import yaml

from support.each import each
from support.events import pull_request
from support.fake_github import serve
from support.scenarios import KEY, answers, step
from support.step import Local

pytestmark = pytest.mark.slow
WORKFLOW = Path(__file__).resolve().parents[2] / "examples" / "workflow-shards.yml"


@pytest.fixture
def action(tmp_path, llm):
    with serve() as github:
        made = step(tmp_path, Local(), github, llm, pull_request())
        llm.reply = answers("D")
        yield made


def keyless(action, **inputs):
    """A step without keys."""
    environ, action.environ = action.environ, {}
    left = action.run(**inputs)
    action.environ = environ
    return left


def steps_of(job):
    return yaml.safe_load(WORKFLOW.read_text())["jobs"][job]["steps"]


def inputs(job, **values):
    """The inputs that a job of the workflow gives to the action, but for what it names by expressions."""
    (given,) = [it["with"] for it in steps_of(job) if it.get("uses", "").startswith("OWNER/gradegate@")]
    found = {name.replace("-", "_"): text for name, text in given.items() if "${{" not in text}
    return {**found, **values}


def in_shards(action, of, has_keys=True):
    """The shards and the merge, as the workflow has them; gives what the merge left behind."""
    shards = [action.run(**inputs("shard", shard=f"{number}/{of}")) for number in range(1, of + 1)]
    assert [left.code for left in shards] == [0] * of, [left.log for left in shards]
    assert action.github.comments == []
    assert {left.summary for left in shards} == {""}
    return action.run(**inputs("gate")) if has_keys else keyless(action, **inputs("gate"))


def test_shards_say_nothing_and_the_merge_re_asks_and_comments_once(action, llm):
    merged = in_shards(action, 2)
    assert (merged.code, merged.outputs["decision"], merged.outputs["failed"]) == (1, "blocked", "1")
    (comment,) = action.github.comments
    assert "because of D" in comment["body"]
    assert "because of D" in merged.summary
    assert KEY not in "".join(path.read_text() for path in (action.workspace / "evals/gradegate-parts").iterdir())
    results = json.loads((action.workspace / "evals" / "gradegate-results.json").read_text())
    assert "OPENAI_API_KEY" in results["hidden"]
    requests = len(llm.requests)
    whole = action.run()
    assert (whole.code, whole.outputs["decision"]) == (1, "blocked")
    assert len(llm.requests) == 2 * requests


def test_a_merge_without_a_key_decides_what_needs_no_re_ask(action, llm):
    llm.reply = answers("A")
    merged = in_shards(action, 3, has_keys=False)
    assert (merged.code, merged.outputs["decision"]) == (0, "pass")


def test_a_merge_without_a_key_says_which_variable_its_re_asks_need(action, llm):
    merged = in_shards(action, 2, has_keys=False)
    assert (merged.code, merged.outputs["decision"]) == (3, "inconclusive")
    assert "not re-asked: no OPENAI_API_KEY in the merge job" in action.github.comments[0]["body"]
    assert len(llm.requests) == 4


def test_a_part_that_is_missing_is_named_on_the_pull_request(action, llm):
    llm.reply = answers("A")
    action.run(**inputs("shard", shard="1/2"))
    merged = keyless(action, **inputs("gate"))
    assert (merged.code, merged.outputs["decision"]) == (3, "inconclusive")
    assert "shard 2/2 is missing" in action.github.comments[0]["body"]


@each(("mode", "code"), [("fail", 3), ("neutral", 0)])
def test_of_a_fork_neither_shards_nor_merge_are_run_and_all_say_so(tmp_path, llm, mode, code):
    with serve() as github:
        action = step(tmp_path, Local(), github, llm, pull_request("stranger/octo-repo"))
        mode, action.environ = {"on_missing_secrets": mode}, {}
        asked = [action.run(**inputs("shard", shard=f"{number}/2", **mode)) for number in (1, 2)]
        merged = action.run(**inputs("gate", **mode))
    assert [left.code for left in (*asked, merged)] == [code] * 3
    assert merged.outputs["decision"] == "not-run"
    assert all("OPENAI_API_KEY is not set" in left.log for left in (*asked, merged))
    assert llm.requests == []


@each("author", ["octo-org/octo-repo", "stranger/octo-repo"])
def test_shards_that_had_keys_and_asked_nothing_leave_parts_that_say_why(tmp_path, llm, author):
    with serve() as github:
        action = step(tmp_path, Local(), github, llm, pull_request(author))
        late = {"ready": "http://127.0.0.1:9/health 1", "on_missing_secrets": "neutral"}  # nobody listens there
        shards = [action.run(**inputs("shard", shard=f"{n}/2", **late)) for n in (1, 2)]
        merged = keyless(action, **inputs("gate", on_missing_secrets="neutral"))
    assert [left.code for left in shards] == [3, 3]
    assert (merged.code, merged.outputs["decision"]) == (3, "inconclusive")
    assert "shard 1/2 did not run" in merged.summary
    assert "was not ready within 1 s" in merged.summary


def test_parts_that_are_of_no_use_are_a_mistake_for_a_fork_too(tmp_path, llm):
    with serve() as github:
        action = step(tmp_path, Local(), github, llm, pull_request("stranger/octo-repo"))
        (action.workspace / "evals/gradegate-parts").mkdir()
        (action.workspace / "evals/gradegate-parts/part.jsonl").write_text("{}\n")
        left = keyless(action, **inputs("gate", on_missing_secrets="neutral"))
    assert (left.code, left.outputs["decision"]) == (2, "mistake")


def test_no_shard_comments_on_a_mistake_and_the_merge_does(action):
    wrong = {"reask": "x"}
    assert action.run(**inputs("shard", shard="1/2", **wrong)).code == 2
    assert action.github.comments == []
    assert keyless(action, **inputs("gate")).code == 2
    assert "is not a folder with parts" in action.github.comments[0]["body"]


@each("shard", ["0/2", "3/2", "1", "a/b", "1/257", "-1/2"])
def test_a_shard_that_is_none_is_a_mistake(action, shard):
    left = action.run(shard=shard)
    assert left.code == 2
    assert f"the input `shard` is '{shard}' -> give the number of a part and how many there are, such as 3/8" in left.log


def test_keys_reach_one_step_of_a_job_only_shards_write_nothing_and_the_required_job_always_runs():
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    assert set(jobs) == {"shard", "gate"}
    for job in jobs.values():
        (gate,) = [it for it in job["steps"] if it.get("uses", "").startswith("OWNER/gradegate@")]
        assert gate["env"] == {"OPENAI_API_KEY": "${{ secrets.openai-api-key }}"}
        assert json.dumps(job).count("secrets.") == 1
    assert jobs["shard"]["permissions"] == {"contents": "read"}
    assert jobs["gate"]["permissions"] == {"contents": "read", "actions": "read", "pull-requests": "write"}
    assert (jobs["gate"]["if"], jobs["gate"]["needs"]) == ("always()", "shard")


@each("job", ["shard", "gate"])
def test_no_folder_of_the_workflow_holds_what_a_pull_request_committed(job):
    # An upload follows links, and a merge reads whatever lies there.
    steps = steps_of(job)
    named = [it["with"].get(name, "") for it in steps for name in ("path", "merge") if "with" in it]
    # What gradegate has written is a plain file: `reports` names nothing else.
    pages = {"gradegate-report.html"}
    folders = {Path(text).parts[0] for text in named if text and "${{" not in text} - pages
    (removed,) = [it["run"].split()[2:] for it in steps if it.get("run", "").startswith("rm -rf ")]
    emptied = set(removed[: removed.index("#")] if "#" in removed else removed)
    assert folders <= emptied
    assert [it for it in steps if "uses" in it or "run" in it][1]["run"].startswith("rm -rf ")
