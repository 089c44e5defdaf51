"""The repository's own automation: what it may do, what it starts from, and what keeps it up to date."""

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import check_jsonschema
import pytest
import yaml

from gradegate import REPOSITORY
from gradegate.cli import main as cli
from support.each import each, table

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WITH_STEPS = [*WORKFLOWS, *sorted((ROOT / "examples").glob("*.yml"))]
STARTERS = sorted((ROOT / "src" / "gradegate" / "cli" / "init" / "templates").glob("*.yml"))
RELEASE = ROOT / ".github" / "workflows" / "release.yml"
BUILD = RELEASE.with_name("build.yml")  # which the release calls
ACTIONS_SCHEMA = Path(check_jsonschema.__file__).parent / "builtin_schemas" / "vendor" / "github-actions.json"
UPDATES: list[dict[str, Any]] = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]


def jobs(path: Path) -> dict[str, Any]:
    """The jobs with steps of their own."""
    return {name: job for name, job in yaml.safe_load(path.read_text())["jobs"].items() if "uses" not in job}


def calls(path: Path) -> dict[str, Any]:
    """The jobs that are another workflow."""
    return {name: job for name, job in yaml.safe_load(path.read_text())["jobs"].items() if "uses" in job}


# Each needs a right that nothing else has; all run under an approval, or after a job that does.
WRITERS = {("release.yml", "release"), ("release.yml", "notes")}


@each("path", WITH_STEPS, ids=lambda path: path.name)
def test_a_job_asks_for_what_it_needs_and_ends(path: Path) -> None:
    for name, job in jobs(path).items():
        assert job["timeout-minutes"] <= (120 if name == "nightly" else 30), name
        checked_out = any("actions/checkout@" in step.get("uses", "") for step in job["steps"])
        contents = "write" if (path.name, name) in WRITERS else "read" if checked_out else None
        assert job["permissions"].get("contents") == contents, name


@each("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_that_is_called_gets_the_most_that_a_job_of_it_asks_for(path: Path) -> None:
    for name, job in calls(path).items():
        called = ROOT / job["uses"].removeprefix("$/")  # of this commit
        asked: dict[str, str] = {}
        for one in jobs(called).values():
            asked |= {right: level for right, level in one["permissions"].items() if asked.get(right) != "write"}
        assert job["permissions"] == asked, name
        assert "secrets" not in job, name


@each("path", WITH_STEPS, ids=lambda path: path.name)
def test_no_checkout_leaves_its_token_behind(path: Path) -> None:
    checkouts = [step for job in jobs(path).values() for step in job["steps"] if "actions/checkout@" in step.get("uses", "")]
    assert checkouts
    assert [step for step in checkouts if step["with"]["persist-credentials"] is not False] == []


@each("path", WORKFLOWS, ids=lambda path: path.name)
def test_our_own_workflows_run_at_no_event_that_has_secrets_for_strangers(path: Path) -> None:
    events = yaml.safe_load(path.read_text())[True]  # YAML 1.1 reads `on` as true
    besides = {RELEASE: {"workflow_dispatch"}, BUILD: {"workflow_call"}}.get(path, set())
    assert set(events) <= {"pull_request", "merge_group", "push", "schedule", "branch_protection_rule", *besides}


def test_one_version_of_each_action_is_used() -> None:
    pins = defaultdict(set)
    for path in WITH_STEPS:
        for action, pin in re.findall(r"uses: +([\w./-]+)@(\S+ # \S+)", path.read_text()):
            if not action.startswith(REPOSITORY):
                pins[action].add(pin)
    assert len(pins) >= 6
    assert {action: pin for action, pin in pins.items() if len(pin) > 1} == {}


@each("path", [*STARTERS, *(path for path in WITH_STEPS if f"{REPOSITORY}@" in path.read_text())], ids=lambda path: path.name)
def test_a_starter_workflow_uploads_the_page_that_the_comment_links(path: Path) -> None:
    text = path.read_text()
    assert ("gradegate-report.html" in text) == ("id: gate" in text)
    page = (
        r"if: always\(\) && contains\(steps\.gate\.outputs\.reports, 'gradegate-report\.html'\) # .+\n"
        r" +uses: actions/upload-artifact@.+\n +with:\n +path: (?:gradegate-report\.html|__PAGE__)\n"
    )
    assert len(re.findall(page, text)) == text.count("id: gate"), path


def test_every_file_names_this_repository_alike() -> None:
    named = re.compile(
        r"(?:uses: |github\.com/|githubusercontent\.com/|ghcr\.io/|--repo |-workflow )([\w-]+)/gradegate\b|([\w-]+)\.github\.io/gradegate"
    )
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    owners: dict[str, set[str]] = defaultdict(set)
    for file in files:
        text = "" if (ROOT / file).is_symlink() else (ROOT / file).read_bytes().decode(errors="replace")
        placeholders = re.findall(r"\bOWNER(?=(?:\.github\.io)?/gradegate\b)", text)
        for owner in (*placeholders, *(one or other for one, other in named.findall(text) if not file.startswith("tests/"))):
            owners[owner].add(file)
    assert {owner: found for owner, found in owners.items() if owner != REPOSITORY.partition("/")[0]} == {}
    assert len(owners) == 1


def test_the_hook_of_pre_commit_finds_mistakes_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    starts = [name for name in ("evals/promptfooconfig.json", "prompt.txt") if re.search(hook["files"], name)]
    assert (hook["language"], starts) == ("python", ["evals/promptfooconfig.json"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    config = "prompts: [x]\nproviders: [openai:chat:gpt-4.1]\ntests: [{assert: [{type: contains, value: x}]}]\n"
    for more, code, said in (
        ("", 0, "a run needs OPENAI_API_KEY"),
        ("gate: {confrm: off}\n", 2, "promptfooconfig.yaml:4: unknown key `confrm`"),
    ):
        Path("promptfooconfig.yaml").write_text(config + more)
        assert cli.main(hook["entry"].split()[1:]) == code
        assert said in "".join(capsys.readouterr())


def needed(name: str) -> set[str]:
    """A job of the release with all jobs before it."""
    needs = {**jobs(RELEASE), **calls(RELEASE)}[name].get("needs", [])
    before = [needs] if isinstance(needs, str) else needs
    return {name}.union(*(needed(one) for one in before))


def test_nothing_is_released_that_was_not_checked_and_approved() -> None:
    assert list(yaml.safe_load(RELEASE.read_text())[True]) == ["workflow_dispatch"]
    for name, job in {**jobs(RELEASE), **calls(RELEASE)}.items():
        assert "check" in needed(name)
        assert "if" not in job  # a job that runs whatever became of those before it
    steps = [step.get("run", "") for step in jobs(RELEASE)["check"]["steps"]]
    assert '"$GITHUB_REF" = refs/heads/main' in steps[0]
    assert "release.py check" in steps[2]
    assert "release.py green" in steps[3]
    assert jobs(RELEASE)["release"]["environment"] == "release"
    assert "release" in needed("pypi") & needed("notes")
    assert "build" in needed("release")
    assert jobs(RELEASE)["release"]["env"]["IMAGE"] == "${{ needs.build.outputs.image }}"


def test_what_is_released_is_built_and_signed_by_a_workflow_of_its_own() -> None:
    """By another identity than who builds: level 3 of SLSA's build track."""
    assert calls(RELEASE)["build"]["uses"] == "$/.github/workflows/build.yml"
    assert list(yaml.safe_load(BUILD.read_text())[True]) == ["workflow_call"]
    signing = [
        (path.name, name)
        for path in WORKFLOWS
        for name, job in jobs(path).items()
        if any("actions/attest@" in step.get("uses", "") for step in job["steps"])
    ]
    assert signing == [("build.yml", "attest")]
    assert jobs(BUILD)["attest"]["needs"] == ["package", "image"]
    assert [job.get("if") for job in jobs(BUILD).values()] == [None] * 3
    for name in ("package", "image"):  # which run what the commit says
        assert jobs(BUILD)[name]["permissions"].keys() <= {"contents", "packages"}


def test_each_file_of_a_release_has_its_signature_beside_it_and_is_compared_with_it() -> None:
    def downloads(name: str) -> set[str]:
        return {step["with"]["name"] for step in jobs(RELEASE)[name]["steps"] if "download-artifact@" in step.get("uses", "")}

    uploads = {
        step["with"]["name"]: step["with"]["path"] for step in jobs(BUILD)["attest"]["steps"] if "upload-artifact@" in step.get("uses", "")
    }
    assert uploads == {"signatures": "dist/*.sigstore.json"}
    assert downloads("release") == downloads("notes") == {"package", "signatures"}
    assert downloads("pypi") == {"package"}  # it takes nothing else
    (created,) = [step["run"] for step in jobs(RELEASE)["notes"]["steps"] if "gh release create" in step.get("run", "")]
    assert 'gh release create "v$VERSION" dist/* ' in created
    text = RELEASE.read_text()
    assert '--signer-workflow "$GITHUB_REPOSITORY/.github/workflows/build.yml"' in text
    assert 'gh attestation verify "$file" --bundle "$file.sigstore.json" "${signed[@]}"' in text
    for page in ("SECURITY.md", "docs/for-reviewers.md", "docs/contributing/release.md"):
        named = re.findall(r"workflows/(\w+)\.yml", "".join(re.findall(r"--signer-workflow \S+", (ROOT / page).read_text())))
        assert set(named) == {"build"}, page


def test_the_release_asks_whether_our_own_workflows_are_green() -> None:
    names = re.search(r"for workflow in ([\w ]+);", RELEASE.read_text())
    assert names
    for name in names[1].split():
        assert "main" in yaml.safe_load((RELEASE.parent / f"{name}.yml").read_text())[True]["push"]["branches"]


def test_who_may_sign_or_publish_runs_nothing_that_was_built() -> None:
    for name, job in [*jobs(RELEASE).items(), *jobs(BUILD).items()]:
        rights = {right for right, level in job["permissions"].items() if level == "write"}
        if rights & {"id-token", "attestations"}:
            assert not any("actions/checkout@" in step.get("uses", "") for step in job["steps"]), name
        if "contents" in rights:
            runs = [step["run"] for step in job["steps"] if "run" in step]
            programs = {word for run in runs for word in re.findall(r"\b(?:pip|make|bash|python3?)\b [^\n|>]*", run)}
            assert all(word.startswith("python3 scripts/release.py ") for word in programs), name
    imports = re.findall(r"^(?:import|from) (\w+)", (ROOT / "scripts" / "release.py").read_text(), re.MULTILINE)
    assert set(imports) <= sys.stdlib_module_names


def test_the_release_puts_nothing_of_a_context_into_a_shell() -> None:
    runs = [step["run"] for path in WORKFLOWS for job in jobs(path).values() for step in job["steps"] if "run" in step]
    assert [run for run in runs if "${{" in run] == []


def test_ci_runs_on_every_python_that_the_package_names_and_the_image_has_the_last() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [one.rpartition(" ")[2] for one in project["classifiers"] if one.startswith("Programming Language")]
    assert jobs(WORKFLOWS[0].parent / "ci.yml")["test"]["strategy"]["matrix"]["python"] == named
    assert project["requires-python"] == f">={named[0]}.5"  # the first in which possessive quantifiers are right
    assert [int(one.partition(".")[2]) for one in named] == list(range(11, 11 + len(named)))
    (image,) = re.findall(r"^ARG BASE=python:(\d+\.\d+)\.", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    (built,) = [
        step["with"]["python-version"] for step in jobs(BUILD)["package"]["steps"] if "with" in step and "python-version" in step["with"]
    ]
    assert image == built == named[-1]


def test_every_image_that_a_workflow_starts_is_pinned() -> None:
    images = re.findall(r"^ +(?:BUILDER|SCANNER): (\S+)$", BUILD.read_text(), re.MULTILINE)
    assert len(images) == 2
    assert [image for image in images if not re.search(r":v?[\d.]+@sha256:[0-9a-f]{64}$", image)] == []


def test_the_scorecard_job_holds_what_its_publisher_accepts() -> None:
    (job,) = jobs(ROOT / ".github" / "workflows" / "scorecard.yml").values()
    assert [step for step in job["steps"] if set(step) - {"uses", "with"}] == []
    assert {name for name, right in job["permissions"].items() if right == "write"} == {"id-token", "security-events"}


def test_our_code_and_our_workflows_are_looked_through_at_each_change() -> None:
    for name in ("codeql", "audit"):
        events = yaml.safe_load((RELEASE.with_name(f"{name}.yml")).read_text())[True]
        assert {"pull_request", "push", "schedule"} <= set(events)
    (job,) = jobs(RELEASE.with_name("codeql.yml")).values()
    assert job["strategy"]["matrix"]["language"] == ["actions", "javascript-typescript", "python"]
    assert {name for name, right in job["permissions"].items() if right == "write"} == {"security-events"}
    lines = [step.get("run", "") for step in jobs(RELEASE.with_name("audit.yml"))["workflows"]["steps"]]
    assert [line for line in lines if line.startswith(".venv/bin/zizmor ")]
    assert [line for line in lines if re.match(r"go run github\.com/rhysd/actionlint/cmd/actionlint@v\d+\.\d+\.\d+ ", line)]


def test_the_audit_reads_the_lock_that_the_image_installs() -> None:
    steps = jobs(ROOT / ".github" / "workflows" / "audit.yml")["dependencies"]["steps"]
    (audited,) = [step["with"] for step in steps if "pip-audit" in step["uses"]]
    inputs = "requirements.lock .github/package/requirements.txt .github/site/requirements.txt"
    assert audited == {"inputs": inputs, "require-hashes": True, "disable-pip": True}
    assert "--require-hashes --requirement .github/package/requirements.txt" in BUILD.read_text()
    assert "--require-hashes --requirement $<" in (ROOT / "Makefile").read_text()
    assert "-r /build/requirements.lock" in (ROOT / "Dockerfile").read_text()


@each("command", table(__file__, "what_keeps_us_up_to_date_is_valid"))
def test_what_keeps_us_up_to_date_is_valid(command: tuple[str, ...]) -> None:
    program = Path(sys.executable).with_name(command[0])
    done = subprocess.run([program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_dependabot_waits_for_new_versions_to_be_known() -> None:
    assert {update["package-ecosystem"] for update in UPDATES} == {"pip", "github-actions", "docker"}
    assert [update for update in UPDATES if update["cooldown"]["default-days"] < 7] == []


def test_the_images_that_dependabot_watches_are_those_that_are_used() -> None:
    (folders,) = [update["directories"] for update in UPDATES if update["package-ecosystem"] == "docker"]
    places = {"/.github/base": ("Dockerfile", "ARG BASE"), "/.github/node": ("container/run.sh", "node_image")}
    assert set(folders) == set(places)
    for folder, (file, name) in places.items():
        (image,) = re.findall(r"^FROM (\S+@sha256:[0-9a-f]{64})$", (ROOT / f".{folder}" / "Dockerfile").read_text(), re.MULTILINE)
        assert re.findall(rf"^{name}=(\S+)$", (ROOT / file).read_text(), re.MULTILINE) == [image]


def test_the_marketplace_takes_the_action() -> None:
    """GitHub refuses to list an action that breaks one of these rules, and says so only when somebody publishes it."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    branding = json.loads(ACTIONS_SCHEMA.read_text())["properties"]["branding"]["properties"]
    assert re.fullmatch(r"[\w -]{1,50}", action["name"])
    assert 0 < len(action["description"]) < 125
    assert action["branding"]["icon"] in branding["icon"]["enum"]
    assert action["branding"]["color"] in branding["color"]["enum"]
    metadata = subprocess.run(["git", "ls-files", "action.y*ml"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert metadata.stdout.split() == ["action.yml"]  # one file, in the root
