"""The action as action.yml starts it: a script on the runner, a container on the runner's network."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from support import docker
from support.events import pull_request
from support.fake_github import FakeGitHub
from support.fake_llm import FakeLlm
from support.intruder import intrude
from support.patience import PATIENCE
from support.scenarios import KEY, Scenarios, answers, step
from support.step import CANARY, Step

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEP, _ = ACTION["runs"]["steps"]
OWN = ("file_commands", "workflow")
# Of a hosted runner, what no step declares and nothing needs to know.
MACHINE = {"JAVA_HOME": "/jvm", "AWS_SECRET_ACCESS_KEY": f"{CANARY}-machine", "ACTIONS_RUNTIME_TOKEN": f"{CANARY}-runtime"}


def as_laid(path: str, root: Path) -> str:
    """A path as a runner has it: its own files lie in folders of RUNNER_TEMP."""
    for name in OWN:
        inside, place = root / "runner_temp" / f"_{name}", root / name
        if not place.is_symlink():
            place.rename(inside)
            place.symlink_to(inside)
        path = path.replace(str(place), str(inside))
    return path


@dataclass
class Composite:
    """Starts the script with the environment that the runner gives a step of a composite action."""

    folder: Path
    image: str = ""
    declared: dict[str, str] = field(default_factory=dict)  # by `env:` of the workflow
    fails: dict[str, str] = field(default_factory=dict)
    owner: int = 1001  # of the runner's files, as on hosted runners

    def mounted(self, root: Path) -> str:
        return str(root)

    def launch(self, root: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        inputs = {name.removeprefix("INPUT_").lower(): value for name, value in environ.items() if name.startswith("INPUT_")}
        runners = {name: as_laid(value, root) for name, value in environ.items() if re.match(r"(GITHUB|RUNNER|CI)", name)}
        own = {"GITHUB_ACTION_PATH": str(ROOT)}
        declared = {name: value for name, value in environ.items() if name.startswith("OPENAI_")} | self.declared
        given = {
            "GRADEGATE_IMAGE": self.image,
            "GRADEGATE_INPUTS": json.dumps(inputs),
            "GRADEGATE_ENV": json.dumps({**declared, "GRADEGATE_IMAGE": self.image}),
            "GRADEGATE_MATRIX": environ.get("GRADEGATE_MATRIX", "null"),
            "GRADEGATE_NODE": inputs.get("node", ""),
            "GRADEGATE_FOLDER": inputs.get("working-directory", ""),
            "GRADEGATE_OUTPUT": inputs.get("output", ""),
        }
        assert set(given) == set(STEP["env"])
        if os.geteuid() == 0:
            for place in (root, *root.rglob("*")):
                os.chown(place, self.owner, self.owner, follow_symlinks=False)
        path = f"{self.folder}:{os.environ['PATH']}"
        return subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEP["run"]],
            cwd=root / "workspace",
            env={"PATH": path, **MACHINE, **declared, **runners, **own, **given, **self.fails},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )


@pytest.fixture
def composite(tmp_path: Path) -> Composite:
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "docker"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} {docker.__file__} "$@"\n')
    command.chmod(0o755)
    return Composite(folder, fails={"DOCKER_LOG": str(tmp_path / "docker.log")})


@pytest.fixture
def action(tmp_path: Path, github: FakeGitHub, llm: FakeLlm, composite: Composite) -> Step:
    return step(tmp_path, composite, github, llm, pull_request())


class TestComposite(Scenarios):
    """All of them, by way of the script."""

    def test_no_secret_leaves_by_any_door(self, action: Step, llm: FakeLlm) -> None:
        """Tokens of the runner never come in, so that nobody can know them."""
        llm.reply = answers("D", f"the key is {KEY}, the token ghs_actions")
        left = action.run()
        written = [path.read_text() for path in action.workspace.rglob("*") if path.is_file()]
        texts = [left.log, left.summary, *written, *(str(seen.body) for seen in action.github.seen)]
        assert left.code == 2, left.log  # an answer that holds a key is sent to no grader
        assert [text for text in texts for secret in (KEY, "ghs_actions", CANARY) if secret in text] == []


def started(composite: Composite) -> list[list[str]]:
    return [json.loads(line) for line in Path(composite.fails["DOCKER_LOG"]).read_text().splitlines()]


class Daemon(BaseHTTPRequestHandler):
    """What docker's own command asks of its daemon for a container, which it then does not get."""

    asked: list[dict[str, Any]]

    def do_HEAD(self) -> None:
        self.reply(200)

    def do_GET(self) -> None:
        self.reply(200)

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.reply(500)

    def reply(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Api-Version", "1.43")
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b'{"Id": "sha256:1", "message": "none today"}')

    def log_message(self, *words: Any) -> None:
        pass


@pytest.mark.skipif(shutil.which("docker") is None, reason="takes docker's own command, and no daemon")
def test_docker_reads_what_the_container_may_do(action: Step, composite: Composite) -> None:
    handler = type("Recording", (Daemon,), {"asked": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (composite.folder / "docker").unlink()
    composite.image = f"docker://ghcr.io/owner/gradegate@{docker.IMAGE}"
    composite.fails |= {"DOCKER_HOST": f"tcp://127.0.0.1:{server.server_port}"}
    composite.declared = {"OPENAI_API_KEY": "sk-canary-0123456789"}
    left = action.run()
    server.shutdown()
    server.server_close()
    assert left.code == docker.REFUSED, left.log
    (asked,) = handler.asked
    host, temp = asked["HostConfig"], f"{action.root}/runner_temp"
    assert asked["Image"] == f"ghcr.io/owner/gradegate@{docker.IMAGE}"
    assert host["CapDrop"] == ["ALL"]
    assert sorted(name.removeprefix("CAP_") for name in host["CapAdd"]) == sorted(docker.CAPABILITIES)
    assert (host["SecurityOpt"], host["Privileged"], host["NetworkMode"]) == (["no-new-privileges"], False, "host")
    assert host["ReadonlyRootfs"] is True
    assert host["Tmpfs"] == {"/tmp": "exec,size=1g", temp: "mode=0700,size=16m"}
    assert host["PidsLimit"] == 4096
    memory = int(Path("/proc/meminfo").read_text().split()[1]) * 1024
    assert memory * 0.74 < host["Memory"] == host["MemorySwap"] <= memory * 0.75
    mounted = [
        f"{action.workspace}:{action.workspace}",
        f"{temp}/gradegate:{temp}/gradegate",
        f"{temp}/_file_commands/output_1:{temp}/_file_commands/output_1",
        f"{temp}/_file_commands/summary_1:{temp}/_file_commands/summary_1",
        f"{temp}/_workflow/event.json:{temp}/_workflow/event.json:ro",
    ]
    assert (sorted(host["Binds"]), host.get("Mounts")) == (sorted(mounted), None)
    variables = dict(pair.split("=", 1) for pair in asked["Env"])
    assert (variables["HOME"], variables["RUNNER_TEMP"]) == (temp, f"{temp}/gradegate")
    assert variables.keys().isdisjoint({"PATH", *MACHINE, *composite.declared})


PYTHON = Path("/usr/bin/python3")
ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0 or not PYTHON.exists(), reason="takes rights to give up, and a Python for everybody")


@ONLY_ROOT
def test_code_of_a_pull_request_runs_and_gets_nothing_that_the_step_has(action: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (action.root / "runner_temp" / "key").write_text(CANARY)  # of an earlier step
    left, got = intrude(action)
    assert got == []
    assert left.code == 0, left.log
    assert CANARY not in left.log + str(action.github.comments)


# Of several kinds, so that one worker that evaluates takes the place of another.
CHECKS = [
    {"type": "javascript", "value": "output.length === 16"},
    {"type": "regex", "value": "(?<=: )."},
    {"type": "is-json", "value": {"type": "object"}},
    {"type": "javascript", "value": "output.length < 17"},
]
CODE = {"prompts": ["{{ 'say' | upper }}"], "providers": ["file://app.py"], "tests": [{"assert": CHECKS}]}
APP = """
import os, subprocess

def call_api(prompt, options, context):
    subprocess.Popen(["sleep", "300"], start_new_session=True)
    return {"output": '{"word": "fine"}' if os.getuid() else "root"}
"""


@ONLY_ROOT
@pytest.mark.parametrize("without", ["", *docker.CAPABILITIES])
def test_no_capability_could_be_left_out(action: Step, composite: Composite, monkeypatch: pytest.MonkeyPatch, without: str) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    composite.fails["DOCKER_WITHOUT"] = without
    action.write({"evals/promptfooconfig.yaml": json.dumps(CODE), "evals/app.py": APP, "evals/.npmrc": "secret"})
    left = action.run(allow_exec="true", grader="")
    whole = left.code == 0 and left.outputs.get("decision") == "pass" and len(left.outputs["reports"].splitlines()) == 4
    assert whole == (without == ""), left.log


def test_a_file_of_an_earlier_step_lies_where_the_container_sees_it(action: Step) -> None:
    recorded = action.root / "runner_temp" / "recorded"
    for place in (recorded, recorded.parent / "gradegate-2", recorded.parent):
        left = action.run(answers=f"{place}/answers.jsonl")
        assert (left.code, left.outputs) == (2, {"decision": "mistake"})
        assert (
            "an input names a file of RUNNER_TEMP that the container does not see -> put it below ${{ runner.temp }}/gradegate" in left.log
        )
    seen = action.root / "runner_temp" / "gradegate" / "promptfooconfig.json"
    left = action.run(answers=str(seen))
    assert "the container does not see" not in left.log


def forge(action: Step) -> str:
    """Have the checkout bring something under the name of each report; gives the input that names them."""
    folder = action.workspace / "evals"
    (folder / "out").mkdir(exist_ok=True)
    for name in ("gradegate-junit.xml", "out/agent.md", "up.md", "whole.md", "README.md"):
        (folder / name).write_text("forged")
    for name, to in (("results.json", "README.md"), ("page.html", "/nowhere")):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(to)
    return "\n".join(["gradegate-junit.xml", "  results.json ", "", "./page.html", "out//agent.md", "..x/../up.md", f"{folder}/whole.md"])


STOPS: dict[str, tuple[dict[str, str], str, int]] = {
    "no image is built": ({"DOCKER_BUILD_FAILS": "1"}, "", 3),
    "no image is pulled": ({"DOCKER_PULL_FAILS": "1"}, f"docker://ghcr.io/o/n@{docker.IMAGE}", 3),
    "no container is started": ({"DOCKER_RUN_FAILS": "1"}, "", docker.REFUSED),
    "no docker": ({"PATH": "only"}, "", 2),
}


@pytest.mark.parametrize("name", STOPS)
def test_a_step_without_a_container_leaves_nothing_under_the_name_of_a_report(
    action: Step, composite: Composite, tmp_path: Path, name: str
) -> None:
    fails, composite.image, code = STOPS[name]
    (tmp_path / "only").mkdir()
    for program in ("bash", "env", "rm"):
        (tmp_path / "only" / program).symlink_to(f"/bin/{program}")
    composite.fails |= {key: str(tmp_path / value) if key == "PATH" else value for key, value in fails.items()}
    output = forge(action)
    left = action.run(output=output)
    assert left.code == code, left.log
    assert "reports" not in left.outputs
    folder = action.workspace / "evals"
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "out", "promptfooconfig.yaml"]
    assert list((folder / "out").iterdir()) == []
    assert (folder / "README.md").read_text() == "forged"


@pytest.mark.parametrize("way", ["a folder", "a link on the way"])
def test_what_the_script_cannot_remove_is_said(action: Step, composite: Composite, way: str) -> None:
    composite.fails["DOCKER_BUILD_FAILS"] = "1"
    folder = action.workspace / "evals"
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "junit.xml").write_text("forged")
    if way == "a folder":
        (folder / "out" / "junit.xml").mkdir(parents=True)
    else:
        (folder / "out").symlink_to("elsewhere")
    (folder / "results.json").write_text("forged")
    left = action.run(output="out/junit.xml\nresults.json")
    assert (left.code, left.outputs) == (2, {"decision": "mistake"})
    assert "the output `out/junit.xml` may still be a file of the checkout -> remove it from the repository" in left.log
    assert "the image cannot be built" in left.log
    assert not (folder / "results.json").exists()
    assert (folder / "elsewhere" / "junit.xml").read_text() == "forged"


@pytest.mark.parametrize("sign", ["\r", "\x0b", "\x85", "\xa0", "\u2028"])
def test_an_output_that_the_script_may_read_in_another_way_is_said(action: Step, composite: Composite, sign: str) -> None:
    composite.fails["DOCKER_BUILD_FAILS"] = "1"
    (action.workspace / "evals" / "junit.xml").write_text("forged")
    left = action.run(output=f"junit.xml{sign}results.json")
    assert (left.code, left.outputs) == (2, {"decision": "mistake"})
    assert "may still be a file of the checkout -> remove it from the repository, and name the report with characters of ASCII" in left.log


def test_the_script_removes_nothing_outside_of_the_workspace_and_in_git(action: Step, composite: Composite) -> None:
    composite.fails["DOCKER_BUILD_FAILS"] = "1"
    kept = {action.root / "beside.xml": "../../beside.xml", action.workspace / ".git" / "config": "../.git/config"}
    for path in kept:
        path.parent.mkdir(exist_ok=True)
        path.write_text("precious")
    for written in (*kept.values(), *map(str, kept), "/", "..", "*"):
        assert action.run(output=written).code == 3, written
    assert [path for path in kept if path.read_text() != "precious"] == []


def test_the_container_is_given_what_is_named_and_no_socket(action: Step, composite: Composite) -> None:
    composite.declared = {"OPENAI_API_KEY": "sk-canary-0123456789", "ODD-NAME": "x"}
    action.run()
    (build, run) = started(composite)
    assert build[0] == "build"
    assert run[-1] == docker.IMAGE
    named = {run[at + 1] for at, word in enumerate(run) if word == "--env"}
    assert "GITHUB_STEP_SUMMARY" in named
    assert named.isdisjoint({"PATH", "HOME", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", *MACHINE, *composite.declared})
    assert [word for word in run if "canary" in word or "docker.sock" in word] == []


def test_the_variables_of_the_step_are_those_that_configs_may_read(action: Step, composite: Composite) -> None:
    composite.declared = {"GREETING": "fine", "PYTHONPATH": "/nowhere", "GITHUB_SHA": "x", "INPUT_REPEAT": "7"}
    config = '{prompts: ["{{env.GREETING}}"], providers: [echo], tests: [{assert: [{type: equals, value: fine}]}]}'
    action.write({"evals/promptfooconfig.yaml": config})
    assert action.run(allowed_env="GREETING").outputs["passed"] == "1"


def test_the_jobs_of_a_matrix_are_told_apart(action: Step) -> None:
    for model in ("a", "b"):
        action.environ["GRADEGATE_MATRIX"] = json.dumps({"model": model})
        action.run()
    assert [f"`gate ({model})`" in comment["body"] for model, comment in zip("ab", action.github.comments, strict=True)] == [True, True]


def test_an_input_that_does_not_exist_is_a_mistake(action: Step) -> None:
    left = action.run(repaet="3")
    assert left.code == 2
    assert "there is no input `repaet`" in left.log


@pytest.mark.parametrize(
    ("fails", "image", "code", "outcome"),
    [
        ({"DOCKER_BUILD_FAILS": "1"}, "", 3, "inconclusive"),
        ({"DOCKER_PULL_FAILS": "1"}, f"docker://ghcr.io/o/n@{docker.IMAGE}", 3, "inconclusive"),
    ],
)
def test_an_image_that_cannot_be_had_leaves_outputs_and_a_summary(
    action: Step, composite: Composite, fails: dict[str, str], image: str, code: int, outcome: str
) -> None:
    composite.fails |= fails
    composite.image = image
    left = action.run()
    assert (left.code, left.outputs) == (code, {"decision": outcome})
    assert "could not run" in left.summary


def test_without_docker_the_message_says_what_to_write(action: Step, composite: Composite, tmp_path: Path) -> None:
    for name in ("bash", "env", "rm"):
        (tmp_path / "only" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "only" / name).symlink_to(f"/bin/{name}")
    composite.fails["PATH"] = str(tmp_path / "only")
    left = action.run()
    assert (left.code, left.outputs["decision"]) == (2, "mistake")
    assert "OWNER/gradegate/container" in left.log


def test_a_node_for_code_of_the_repository_is_mounted_alone_and_not_to_be_written(
    action: Step, composite: Composite, tmp_path: Path
) -> None:
    program = tmp_path / "tools" / "bin" / "node"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    official = f"{action.root}/runner_temp/gradegate-node"
    ways = [
        ({"node": str(program)}, f"{program}:{program}:ro"),
        ({"node": str(tmp_path / "tools")}, f"{program}:{program}:ro"),
        ({"node": "official"}, f"{official}:/usr/local/bin/node:ro"),
    ]
    for inputs, mounted in ways:
        assert action.run(**inputs).code != 125
        run = started(composite)[-1]
        volumes = [run[at + 1] for at, word in enumerate(run) if word == "--volume"]
        assert volumes[-1] == mounted
    assert [words[0] for words in started(composite)[-5:]] == ["build", "create", "cp", "rm", "run"]
    assert re.fullmatch(r"node:22\.\S+@sha256:[0-9a-f]{64}", started(composite)[-4][1])
    left = action.run(node=str(tmp_path))
    assert (left.code, left.outputs["decision"]) == (2, "mistake")
    assert "'node: official'" in left.log
    composite.fails["DOCKER_CREATE_FAILS"] = "1"
    assert action.run(node="official").code == 3


def test_a_published_image_is_pulled_and_never_built(action: Step, composite: Composite) -> None:
    composite.image = f"docker://ghcr.io/owner/gradegate@{docker.IMAGE}"
    action.run()
    assert [words[0] for words in started(composite)] == ["image", "pull", "run"]
    assert started(composite)[-1][-1] == f"ghcr.io/owner/gradegate@{docker.IMAGE}"


@pytest.fixture
def application() -> Iterator[str]:
    """What an earlier step started on 127.0.0.1, and nowhere else."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"answer": "fine"}')

        def log_message(self, *words: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/chat"
    server.shutdown()
    server.server_close()


def local(url: str) -> str:
    provider = {"id": url, "config": {"method": "POST", "body": {"q": "{{prompt}}"}, "transformResponse": "json.answer"}}
    tests = [{"assert": [{"type": "equals", "value": "fine"}]}]
    return json.dumps({"prompts": ["hello"], "providers": [provider], "tests": tests})


def test_an_application_on_the_runners_loopback_is_reached_by_its_own_url(action: Step, application: str) -> None:
    action.write({"evals/promptfooconfig.yaml": local(application)})
    host = application.split("/")[2]
    left = action.run()
    assert (left.code, left.outputs["decision"]) == (2, "mistake"), left.log
    assert f"the input `allowed-hosts: {host}`" in left.log
    left = action.run(allowed_hosts=host)
    assert (left.code, left.outputs["decision"]) == (0, "pass"), left.log


def test_an_application_is_waited_for(action: Step, application: str) -> None:
    action.write({"evals/promptfooconfig.yaml": local(application)})
    assert action.run(ready=f"{application} 20").code == 0


def test_an_application_that_is_not_ready_is_inconclusive_and_nothing_is_asked(action: Step, llm: FakeLlm) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    left = action.run(ready=f"http://127.0.0.1:{port} 0.5")
    assert (left.code, left.outputs["decision"], left.outputs["passed"]) == (3, "inconclusive", "0")
    assert llm.requests == []
    assert f"127.0.0.1:{port} was not ready within 0.5 s" in left.log
    assert "was not ready" in left.summary


def test_in_a_container_of_its_own_the_message_says_what_to_change(action: Step, application: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from support.step import Local

    action.launcher, action.environ = Local(), {"GRADEGATE_NETWORK": "container"}
    action.write({"evals/promptfooconfig.yaml": local(application)})
    left = action.run()
    assert (left.code, left.outputs["decision"]) == (2, "mistake")
    assert "127.0.0.1 is the container of the action, not the runner" in left.log
    assert "without `/container`" in left.log
