"""examples/aegis from end to end: a hosted run becomes a gate, what comes of it has the form of a hosted run, and so again."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from support.each import each, table
from support.patience import PATIENCE

ROOT = Path(__file__).resolve().parent.parent
AEGIS = ROOT / "examples" / "aegis"
JOBS = yaml.safe_load((ROOT / "examples" / "workflow-aegis.yml").read_text())["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]
# As GET /runs/{id} gives it: the fields that the API documents, with those of a server filled in.
HOSTED = table(__file__, "HOSTED")  # fmt: skip


@pytest.fixture
def run(tmp_path):
    """A command of the workflow, in a checkout of its own."""
    shutil.copytree(AEGIS, tmp_path / "examples" / "aegis")
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src")}

    def run(*line, out=None):
        done = subprocess.run([sys.executable, *line], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=PATIENCE)
        if out:
            (tmp_path / out).write_text(done.stdout)
        return done

    return run


def made(run, source):
    """The gate of a run, by the command of the workflow."""
    (line,) = [step["run"] for step in STEPS if "payload.py" in step.get("run", "")]
    assert line == 'python examples/aegis/payload.py "$RUNNER_TEMP/run/run.json" > "$RUNNER_TEMP/gate.json"'
    return run("examples/aegis/payload.py", source, out="gate.json")


def gated(run):
    (step,) = [step["with"] for step in STEPS if step.get("uses", "").startswith("OWNER/gradegate")]
    replies = "scripted:examples/aegis/replies.yaml"
    return run("-m", "gradegate", "run", step["config"], "-g", replies, *(part for path in step["output"].split() for part in ("-o", path)))


def test_a_hosted_run_is_a_gate_and_what_comes_of_it_is_one_again(run, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(HOSTED))
    assert made(run, "run.json").returncode == 0
    first = json.loads((tmp_path / "gate.json").read_text())
    assert (first["is_blocking"], first["threshold"], first["alias"]) == (True, 80, "capital")
    assert gated(run).returncode == 0
    back = json.loads((tmp_path / "results.aegis.json").read_text())
    assert back.keys() == HOSTED.keys()
    assert back["aggregate_results"] == {"factfulness": 100.0, "is_string": 100.0}
    assert [it.keys() for it in back["evaluations"]] == [it.keys() for it in HOSTED["evaluations"]]
    assert made(run, "results.aegis.json").returncode == 0
    again = json.loads((tmp_path / "gate.json").read_text())
    assert again["evaluations"] == first["evaluations"]
    assert gated(run).returncode == 0


def test_a_row_that_no_longer_holds_blocks(run, tmp_path):
    worse = {**HOSTED, "evaluations": [HOSTED["evaluations"][0], {**HOSTED["evaluations"][1], "output": " "}]}
    (tmp_path / "run.json").write_text(json.dumps(worse))
    made(run, "run.json")
    assert gated(run).returncode == 1


@each(("hosted", "said"), [({}, "has no evaluations"), ({"evaluations": [{"output": "x"}]}, "evaluation 1 of the run names no metric")])
def test_what_is_no_run_is_said(run, tmp_path, hosted, said):
    (tmp_path / "run.json").write_text(json.dumps(hosted))
    done = made(run, "run.json")
    assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (1, True, False)


def test_only_the_step_that_fetches_has_the_key_of_aegis():
    assert [step.get("name") for step in STEPS if "AEGIS_API_KEY" in str(step)] == ["Fetch the run"]
