"""action.yml, the code that reads it, the workflows and the Dockerfile, against each other and against their linters."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gradegate.core.policy import NO_LIMITS
from gradegate.github.inputs import settings_from_inputs
from support.each import each
from support.outputs import OUTPUTS

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
ACTIONS = ("action.yml", "container/action.yml")
EXAMPLES = sorted((ROOT / "examples").glob("*.yml"))
WORKFLOWS = [*sorted((ROOT / ".github" / "workflows").glob("*.yml")), *EXAMPLES]
PINNED = re.compile(r"uses: +([\w.-]+/[\w./-]+@[0-9a-f]{40}|\$/[\w./-]*) # \S.*")  # $/ is this repository at the commit that runs
DIGEST = re.compile(r"^ARG BASE=\S+@sha256:[0-9a-f]{64}$", re.MULTILINE)


class Recorder(dict[str, str]):
    """An environment that remembers which inputs were looked up, in the runner's spelling."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)


def spelled(name: str) -> str:
    return f"INPUT_{name.replace(' ', '_').upper()}"


def defaults() -> dict[str, str]:
    """What the runner passes when a workflow sets nothing."""
    values = {spelled(name): str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()}
    return {name: value.replace("${{ github.token }}", "ghs_x") for name, value in values.items()}


def test_the_inputs_are_those_that_the_code_reads() -> None:
    environ = Recorder(defaults())
    settings_from_inputs(environ, ROOT)
    # A spelling with underscores is a second chance for shells, never a name of its own.
    hyphened = {spelled(name).replace("-", "_") for name in ACTION["inputs"]} - {spelled(n) for n in ACTION["inputs"]}
    assert {name for name in environ.asked if name.startswith("INPUT_")} - hyphened == set(defaults())


def test_the_defaults_mean_what_the_code_means() -> None:
    given, bare = settings_from_inputs(defaults(), ROOT), settings_from_inputs({}, ROOT)
    assert given.token == "ghs_x"
    assert (given.comment, given.when) == (bare.comment, bare.when)
    assert (given.comment_key, given.run.configs, given.run.graders) == ("", (), {})
    assert (given.run.budget, given.run.select) == (NO_LIMITS, ())
    assert given.run.outputs == ("gradegate-results.json", "gradegate-junit.xml")


def test_every_mode_of_the_comment_is_documented() -> None:
    for mode in ("always", "changes", "failures", "off"):
        assert f"`{mode}`" in ACTION["inputs"]["comment"]["description"]


def test_the_outputs_are_those_that_the_code_sets() -> None:
    assert set(ACTION["outputs"]) == set(OUTPUTS)


@each("kind", ["inputs", "outputs"])
def test_every_input_and_output_is_documented(kind: str) -> None:
    for name, entry in ACTION[kind].items():
        assert len(entry["description"]) > 15, name
        assert re.fullmatch(r"[a-z][a-z0-9-]*", name)


def test_the_secrets_have_no_default_and_nothing_reaches_a_shell() -> None:
    for name, entry in ACTION["inputs"].items():
        if name.endswith("-key") and name != "comment-key":
            assert entry["default"] == ""
    step, upload = ACTION["runs"]["steps"]
    assert ACTION["runs"]["using"] == "composite"
    assert step["run"] == 'exec "$GITHUB_ACTION_PATH/container/run.sh"'
    assert step["env"] == {
        "GRADEGATE_IMAGE": "",
        "GRADEGATE_INPUTS": "${{ toJSON(inputs) }}",
        "GRADEGATE_ENV": "${{ toJSON(env) }}",
        "GRADEGATE_MATRIX": "${{ toJSON(matrix) }}",
        "GRADEGATE_FOLDER": "${{ inputs.working-directory }}",
        "GRADEGATE_OUTPUT": "${{ inputs.output }}",
        "GRADEGATE_NODE": "${{ inputs.node }}",
    }
    # What cannot be uploaded fails no check, and is uploaded after a step that failed, too.
    assert upload["continue-on-error"] is True
    assert upload["if"] == "always() && steps.gate.outputs.artifact"
    assert upload["with"] == {
        "name": "${{ steps.gate.outputs.artifact }}",
        "path": "${{ runner.temp }}/gradegate/${{ steps.gate.outputs.artifact }}",
        "overwrite": True,
    }
    assert all(PINNED.search(line) for line in (ROOT / "action.yml").read_text().splitlines() if "uses:" in line)


def test_every_output_of_the_step_is_one_of_the_action() -> None:
    values = {name: entry["value"] for name, entry in ACTION["outputs"].items()}
    assert values == {name: f"${{{{ steps.gate.outputs.{name} }}}}" for name in values}


def test_the_action_for_jobs_in_a_container_differs_in_how_it_starts_alone() -> None:
    inside = yaml.safe_load((ROOT / "container" / "action.yml").read_text())
    assert inside["runs"] == {"using": "docker", "image": "../Dockerfile"}
    assert inside["inputs"] == ACTION["inputs"]
    assert set(inside["outputs"]) == set(ACTION["outputs"])


def documents() -> Iterator[Path]:
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def test_every_input_and_output_stands_in_the_documentation() -> None:
    text = "\n".join(path.read_text() for path in documents())
    missing = [name for name in (*ACTION["inputs"], *ACTION["outputs"]) if f"`{name}`" not in text]
    assert missing == []


def test_the_documentation_names_no_input_that_does_not_exist() -> None:
    used = re.compile(r"uses: \S*gradegate@.*?\n(?:.*\n)*?\s+with:\n((?:\s{10,}\S.*\n)+)")
    texts = [path.read_text() for path in (*documents(), *EXAMPLES)]
    blocks = "\n".join(block for text in texts for block in used.findall(text))
    names = set(re.findall(r"^\s+([\w-]+):", blocks, re.MULTILINE))
    assert "config" in names
    assert names <= set(ACTION["inputs"])


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name(str(command[0]))
    return subprocess.run([program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)


@each("path", ACTIONS)
def test_action_yml_is_valid(path: str) -> None:
    done = run("check-jsonschema", "--builtin-schema", "vendor.github-actions", path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@each("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_is_valid_pinned_and_starts_without_permissions(path: Path) -> None:
    done = run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", path)
    assert done.returncode == 0, done.stdout
    text = path.read_text()
    assert yaml.safe_load(text)["permissions"] == {}
    uses = re.findall(r"\buses:.*", text)
    assert uses
    assert [line for line in uses if not PINNED.fullmatch(line)] == []


def test_the_workflows_and_the_action_are_safe() -> None:
    done = run("zizmor", "--offline", "--no-progress", "--no-config", "--persona=pedantic", *ACTIONS, *WORKFLOWS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_linters_of_this_file_find_what_is_wrong(tmp_path: Path) -> None:
    bad = tmp_path / ".github" / "workflows" / "bad.yml"
    bad.parent.mkdir(parents=True)
    bad.write_text("on: pull_request_target\njobs: {a: {runs-on: x, steps: [{run: 'echo ${{ github.event.issue.title }}'}]}}")
    assert run("zizmor", "--offline", "--no-progress", "--no-config", bad).returncode != 0
    (tmp_path / "action.yml").write_text("name: x\ndescription: y\nruns: {using: rocket}\n")
    assert run("check-jsonschema", "--builtin-schema", "vendor.github-actions", tmp_path / "action.yml").returncode == 1
    (tmp_path / "Dockerfile").write_text("FROM debian\nRUN cd / && apt-get install x\n")
    assert run("hadolint", tmp_path / "Dockerfile").returncode != 0


def test_the_image_is_pinned_and_lint_free_and_starts_out_of_reach_of_the_checkout() -> None:
    done = run("hadolint", "Dockerfile")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (ROOT / "Dockerfile").read_text()
    assert DIGEST.search(text)
    assert 'ENTRYPOINT ["/opt/gradegate/bin/python", "-I", ' in text
    assert "--require-hashes" in text
    assert not re.search(r"^USER", text, re.MULTILINE)


def test_the_lock_holds_every_run_time_package_by_hash_and_no_address() -> None:
    text = (ROOT / "requirements.lock").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    locked = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.MULTILINE))
    wanted = {re.split(r"[<>=!~ ;\[]", line)[0].lower().replace("_", "-") for line in project["dependencies"]}
    assert wanted - {"rich"} <= set(locked)  # it draws on terminals, and the image has none
    assert "rich" not in locked
    assert f"{len(locked)} packages pinned by hash" in (ROOT / "docs" / "for-reviewers.md").read_text()
    assert not re.search(r"://|^ *--(?!hash=sha256:)", text, re.MULTILINE)
    for entry in re.split(r"\n(?=[a-z])", text.strip()):
        assert entry.startswith("#") or "--hash=sha256:" in entry, entry
