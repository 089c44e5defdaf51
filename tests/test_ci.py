"""The repository's own automation: what it may do, what it starts from, and what keeps it up to date."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WITH_STEPS = [*WORKFLOWS, *sorted((ROOT / "examples").glob("*.yml"))]
UPDATES: list[dict[str, Any]] = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]


def jobs(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text())["jobs"])


@pytest.mark.parametrize("path", WITH_STEPS, ids=lambda path: path.name)
def test_a_job_asks_for_what_it_needs_and_ends(path: Path) -> None:
    for name, job in jobs(path).items():
        assert job["timeout-minutes"] <= 30, name
        assert set(job["permissions"]) >= {"contents"}, name
        assert job["permissions"]["contents"] == "read", name


@pytest.mark.parametrize("path", WITH_STEPS, ids=lambda path: path.name)
def test_no_checkout_leaves_its_token_behind(path: Path) -> None:
    checkouts = [
        step for job in jobs(path).values() for step in job["steps"] if "actions/checkout@" in step.get("uses", "")
    ]
    assert checkouts
    assert [step for step in checkouts if step["with"]["persist-credentials"] is not False] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_our_own_workflows_run_at_no_event_that_has_secrets_for_strangers(path: Path) -> None:
    events = yaml.safe_load(path.read_text())[True]  # YAML 1.1 reads `on` as true
    assert set(events) <= {"pull_request", "merge_group", "push", "schedule", "branch_protection_rule"}


def test_one_version_of_each_action_is_used() -> None:
    pins = defaultdict(set)
    for path in WITH_STEPS:
        for action, pin in re.findall(r"uses: +([\w./-]+)@(\S+ # \S+)", path.read_text()):
            if not action.startswith("OWNER/"):
                pins[action].add(pin)
    assert len(pins) >= 6
    assert {action: pin for action, pin in pins.items() if len(pin) > 1} == {}


def test_the_scorecard_job_holds_what_its_publisher_accepts() -> None:
    (job,) = jobs(ROOT / ".github" / "workflows" / "scorecard.yml").values()
    assert [step for step in job["steps"] if set(step) - {"uses", "with"}] == []
    assert {name for name, right in job["permissions"].items() if right == "write"} == {"id-token", "security-events"}


def test_the_audit_reads_the_lock_that_the_image_installs() -> None:
    steps = jobs(ROOT / ".github" / "workflows" / "audit.yml")["dependencies"]["steps"]
    (audited,) = [step["with"] for step in steps if "pip-audit" in step["uses"]]
    assert audited == {"inputs": "requirements.lock", "require-hashes": True, "disable-pip": True}
    assert "-r /build/requirements.lock" in (ROOT / "Dockerfile").read_text()


@pytest.mark.parametrize(
    "command",
    [
        ("check-jsonschema", "--builtin-schema", "vendor.dependabot", ".github/dependabot.yml"),
        ("zizmor", "--offline", "--no-progress", "--no-config", "--persona=pedantic", ".github/dependabot.yml"),
        ("hadolint", ".github/base/Dockerfile"),
    ],
    ids=lambda command: str(command[0]),
)
def test_what_keeps_us_up_to_date_is_valid(command: tuple[str, ...]) -> None:
    program = Path(sys.executable).with_name(command[0])
    done = subprocess.run([program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_dependabot_waits_for_new_versions_to_be_known() -> None:
    assert {update["package-ecosystem"] for update in UPDATES} == {"pip", "github-actions", "docker"}
    assert [update for update in UPDATES if update["cooldown"]["default-days"] < 7] == []


def test_the_image_that_dependabot_watches_is_the_one_that_is_built_on() -> None:
    (watched,) = [update["directory"] for update in UPDATES if update["package-ecosystem"] == "docker"]
    (image,) = re.findall(
        r"^FROM (\S+@sha256:[0-9a-f]{64})$", (ROOT / f".{watched}" / "Dockerfile").read_text(), re.MULTILINE
    )
    assert re.findall(r"^ARG BASE=(\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE) == [image]
