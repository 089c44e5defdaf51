"""``gradegate view``: the page that a run wrote comes of its results.json, and a browser is told where it is."""

import functools
import json
import operator
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gradegate.cli import main as cli
from support import samples, screens, showcase
from support.each import table

OURS = '<meta name="generator" content="gradegate">'
MADE = {
    "showcase": showcase.showcase,
    "blocked": samples.blocked_decision,
    "weakened": screens.weakened,
    "not-run": screens.not_run,
    "inconclusive": screens.inconclusive,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    (tmp_path / "results.json").write_text(samples.render_report("json", showcase.showcase(), screens.LINKS))
    return tmp_path


@pytest.mark.parametrize("name", MADE)
def test_the_page_is_that_of_the_run_to_the_byte(folder: Path, name: str) -> None:
    decision = MADE[name]()
    (folder / "results.json").write_text(samples.render_report("json", decision, screens.LINKS))
    assert cli.main(["view", "results.json", "--no-open"]) == 0
    assert (folder / "results.html").read_text() == samples.render_report("html", decision, screens.LINKS)


def test_a_run_and_its_page(gate, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    ran = gate(
        {"prompts": ["hi"], "providers": ["echo"], "tests": [{"assert": [{"type": "equals", "value": "ho"}]}]}, *("-o", "direct.html")
    )
    assert ran.code == 1
    assert cli.main(["view", "results.json", "--no-open", "-o", "later.html"]) == 0
    assert capsys.readouterr().out == f"{ran.folder / 'later.html'}\n"
    assert (ran.folder / "later.html").read_text() == (ran.folder / "direct.html").read_text()


def test_it_lies_beside_the_results_and_is_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "runs").mkdir()
    (folder / "results.json").rename(folder / "runs" / "one.json")
    for _ in range(2):
        assert cli.main(["view", "runs/one.json", "--no-open"]) == 0
        assert capsys.readouterr().out == f"{folder / 'runs' / 'one.html'}\n"


@pytest.mark.parametrize("named", [[], ["-o", "results.html"]])
@pytest.mark.parametrize("mine", ["<p>mine", f"<body>{OURS}", f"<p>{'mine ' * 400}{OURS}"], ids=["other", "quoted", "far-down"])
def test_what_is_no_page_of_ours_is_not_replaced(folder: Path, capsys: pytest.CaptureFixture[str], named: list[str], mine: str) -> None:
    (folder / "results.html").write_text(mine)
    assert cli.main(["view", "results.json", "--no-open", *named]) == 2
    said = "results.html` exists already and is not a page of gradegate -> move it away, or name another with -o"
    assert said in capsys.readouterr().err
    assert (folder / "results.html").read_text() == mine
    assert cli.main(["view", "results.json", "--no-open", "-o", "other.html"]) == 0


@pytest.mark.parametrize(("arguments", "said"), table(__file__, "mistakes"))
def test_mistakes(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    (folder / "folder").mkdir()
    (folder / "broken.json").write_text("{")
    (folder / "bom.json").write_text("{}", "utf-16")
    (folder / "latin.json").write_text('{"é": 1}', "latin-1")
    (folder / "circle.json").symlink_to("circle.json")
    code = cli.main(["view", "--no-open", *arguments])
    told = capsys.readouterr()
    assert said in told.err + told.out
    assert code == (0 if "nowhere" in arguments[-1] else 2)  # inside the folder of the run, folders are made


def opened(folder: Path, **environ: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """What the command did, and the address that the browser of its user was given."""
    browser, told = folder / "browser", folder / "told.txt"
    browser.write_text(f'#!/bin/sh\necho "$1" > {told}\n')
    browser.chmod(0o755)
    left = {name: text for name, text in os.environ.items() if name not in ("CI", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER")}
    command = [sys.executable, "-m", "gradegate", "view", "results.json"]
    environ = {name: text.format(browser=browser) for name, text in environ.items()}
    done = subprocess.run(command, cwd=folder, env={**left, **environ}, capture_output=True, text=True, check=True)
    return done, told.read_text() if told.exists() else ""


def test_the_browser_of_the_user_is_opened(folder: Path) -> None:
    done, told = opened(folder, BROWSER="{browser} %s")
    assert told.strip() == (folder / "results.html").as_uri()
    assert done.stdout == f"{folder / 'results.html'}\n"
    assert done.stderr == ""


@pytest.mark.parametrize("environ", [{}, {"BROWSER": "{browser} %s", "CI": "true"}])
def test_where_no_browser_is_the_path_is_said(folder: Path, environ: dict[str, str]) -> None:
    done, told = opened(folder, **environ)
    assert told == ""
    assert done.stdout == f"{folder / 'results.html'}\n"
    assert "open the page by hand" in done.stderr


@pytest.mark.parametrize(("links", "kept"), table(__file__, "a_page_leads_where_its_run_was_and_nowhere_else"))
def test_a_page_leads_where_its_run_was_and_nowhere_else(folder: Path, links: dict[str, str], kept: bool) -> None:
    document = json.loads((folder / "results.json").read_text())
    document["links"] |= links
    (folder / "results.json").write_text(json.dumps(document))
    assert cli.main(["view", "results.json", "--no-open"]) == 0
    page = (folder / "results.html").read_text()
    assert ('href="https://github.com/octo/shop/blob/' in page) == kept
    assert ("href=" in page) == kept


def test_an_address_of_the_run_elsewhere_is_left_out(folder: Path) -> None:
    document = json.loads((folder / "results.json").read_text())
    document["links"]["run"] = "https://evil.test/octo/shop/"
    (folder / "results.json").write_text(json.dumps(document))
    assert cli.main(["view", "results.json", "--no-open"]) == 0
    assert "evil.test" not in (folder / "results.html").read_text()


@pytest.mark.parametrize("forged", table(__file__, "a_file_that_contradicts_itself"))
def test_a_file_that_contradicts_itself_is_said(gate, capsys: pytest.CaptureFixture[str], forged: dict[str, object]) -> None:  # type: ignore[no-untyped-def]
    tests = [{"vars": {"q": text}, "assert": [{"type": "equals", "value": "one"}]} for text in ("one", "two", "three")]
    config = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": tests, "gate": {"rules": [{"name": "most", "min-pass-rate": 0.8}]}}
    document = gate(config).results
    for path, value in forged.items():
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        functools.reduce(operator.getitem, steps, document)[last] = value
    Path("x.json").write_text(json.dumps(document))
    said = "the file contradicts itself: its verdict or its figures do not follow from its cases"
    for command in (["view", "x.json", "--no-open"], ["explain", "2", "x.json"]):
        assert cli.main(command) == 0
        assert capsys.readouterr().err == (f"x.json: {said}\n" if forged else "")
    assert (f"<dt>Note</dt><dd>{said}" in Path("x.html").read_text()) == bool(forged)


def test_runs_of_a_case_in_quarantine_contradict_nothing(gate, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    until = (datetime.now(UTC) + timedelta(7)).date().isoformat()
    checks = [{"type": "contains", "value": "o"}, {"type": "equals", "value": "one"}]
    test = {"vars": {"q": "two"}, "assert": checks, "flaky": until}
    good = {"vars": {"q": "one"}, "assert": checks}
    ran = gate({"prompts": ["{{q}}"], "providers": ["echo"], "tests": [test, good], "gate": {"runs": "2/3"}})
    assert (ran.cases[0]["outcome"], ran.grades[1]["quarantine"]) == ("fail", until)
    assert cli.main(["view", "results.json", "--no-open"]) == 0
    assert capsys.readouterr().err == ""
