"""Configs ask and decide what promptfoo asks and decides, as benchmarks/promptfoo_side_by_side.py has recorded it."""

import json
import re
from pathlib import Path

import pytest
import yaml

from gradegate.cli import main as cli
from support import side_by_side as both
from support.each import each

RECORDED = json.loads(both.EXPECTED.read_text())["configs"]
INTENDED = both.load_intended_differences()
TEXTS = {path.stem: path.read_text() for path in both.CONFIGS.glob("*.yaml")}
CONFIGS = sorted(TEXTS)
ROWS = [
    (f"{table}: {row}", pattern)
    for table, rows in yaml.safe_load(both.ROWS.read_text()).items()
    if table != "elsewhere"
    for row, pattern in rows.items()
]
RUN = [
    pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=f"waits for {INTENDED['waits'][name]}"))
    if name in INTENDED["waits"]
    else name
    for name in CONFIGS
]
UNSET = "GITHUB_WORKSPACE CI GITHUB_ACTIONS OPENAI_API_BASE_URL OPENAI_API_HOST HTTP_PROXY HTTPS_PROXY NOT_THERE".split()


def test_every_config_is_recorded_and_every_intended_difference_has_its_config():
    assert sorted(RECORDED) == CONFIGS
    assert all(ran["promptfoo"]["cases"] or name in INTENDED["configs"] for name, ran in RECORDED.items())
    assert {*INTENDED["configs"], *INTENDED["waits"]} <= set(CONFIGS)


@each("pattern", [pytest.param(pattern, id=row) for row, pattern in ROWS])
def test_what_real_configs_use_is_in_a_config(pattern):
    assert any(re.search(pattern, text, re.MULTILINE) for text in TEXTS.values())


@each("name", RUN)
def test_a_config_is_asked_and_decided_as_in_promptfoo(name, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for variable in UNSET:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(both.CONFIGS)
    out = tmp_path / f"{name}.json"
    with both.serve() as model:
        for variable, value in model.environ().items():
            monkeypatch.setenv(variable, value)
        cli.main(["run", f"{name}.yaml", "-o", str(out), "--grader-retries", "0", *both.flags(name)])
    results = json.loads(out.read_text()) if out.exists() else {"cases": [], "derived": []}
    decided = both.verdicts_of_gradegate(results)
    meant = INTENDED["configs"].get(name, {})
    check_against_recording(both.plain_requests(model.of_targets()), RECORDED[name], "requests", meant.get("requests"))
    check_against_recording(decided, RECORDED[name], "cases", meant.get("verdicts"))
    recorded = RECORDED[name]["gradegate" if meant.get("verdicts") else "promptfoo"]
    assert both.metrics_of_gradegate(results) == recorded.get("metrics", [])


def check_against_recording(mine: list, recorded: dict, part: str, reason: str | None) -> None:
    """Equal to promptfoo's; where a difference is meant, equal to what was recorded of gradegate, and different."""
    change = both.plain_requests if part == "requests" else list
    assert mine == change(recorded["gradegate" if reason else "promptfoo"][part])
    assert not reason or mine != change(recorded["promptfoo"][part]), "no difference is left"
