"""Jobs and steps that share a pull request: each has a comment and an artifact of its own, and none overwrites another's."""

import json
from pathlib import Path

import pytest

from gradegate.github import action
from gradegate.github.client import connect
from gradegate.github.comment import Stamp
from gradegate.structs import replace
from support.each import each
from support.events import pull_request
from support.fake_github import FakeGitHub
from support.fake_llm import FakeLlm
from support.step import Here, Step

BOT = "github-actions[bot]"
CONFIG = '{prompts: [x], providers: ["openai:chat:m"], tests: [{assert: [{type: contains, value: fine}]}]}'
ODD = 'evals/a "b" <c>:|*?.yaml'  # signs that no artifact may have in its name


@pytest.fixture
def step(tmp_path: Path, github: FakeGitHub, llm: FakeLlm, monkeypatch: pytest.MonkeyPatch) -> Step:
    made = Step(tmp_path, Here(), github, pull_request())
    made.write(dict.fromkeys(("promptfooconfig.yaml", "other.yaml", "evals/promptfooconfig.yaml", ODD), CONFIG))
    made.inputs = {"github_token": "ghs_actions", "output": "out.json"}
    made.environ = {"OPENAI_API_KEY": "sk-canary-0123456789", "OPENAI_BASE_URL": llm.base}
    monkeypatch.setattr(action, "connect", lambda *about, **more: replace(connect(*about, **more), pause=lambda seconds: None))
    return made


def run_step(step: Step, llm: FakeLlm, answer: str, environ: dict[str, str] | None = None, **inputs: str) -> None:
    """One step of a job; the answer `fine` passes, any other blocks."""
    llm.reply = lambda path, body: answer
    before, step.environ = step.environ, {**step.environ, **(environ or {})}
    step.run(**inputs)
    step.environ = before


def heads(github: FakeGitHub) -> list[str]:
    """Outcome and gate of each comment, oldest first."""
    found = []
    for comment in github.comments:
        _, title, _, below, *_ = comment["body"].split("\n")
        found.append(f"{title.split()[3].strip(':')} {below.split('`')[1]}")
    return found


def matrix(**values: object) -> dict[str, str]:
    return {"GRADEGATE_MATRIX": json.dumps(values)}


TWO = {
    "two jobs": ({"GITHUB_JOB": "a"}, {}, {"GITHUB_JOB": "b"}, {}, ["a", "b"]),
    "two jobs of a matrix": (matrix(model="m:1", n=1), {}, matrix(model="m:1", n=2), {}, ["gate (m:1, 1)", "gate (m:1, 2)"]),
    "a matrix of lists and of what JSON writes otherwise": (
        matrix(models=["a", "é"], fast=True, seed=None),
        {},
        matrix(models=["a"], fast=False, seed={"b": 1}),
        {},
        ['gate (["a", "é"], true, null)', 'gate (["a"], false, {"b": 1})'],
    ),
    "a number and a text of the same digits": (matrix(n=1), {}, matrix(n="1"), {}, ["gate (1)", "gate (1)"]),
    "two steps": ({}, {}, {}, {"config": "other.yaml"}, ["gate", "gate"]),
    "two folders": ({}, {}, {}, {"working_directory": "evals"}, ["gate", "gate"]),
    "a config of odd signs": ({}, {"config": ODD}, {}, {"config": "other.yaml"}, ["gate", "gate"]),
    # What tells them apart the Action is not told: a matrix outside of a reusable workflow, or that of a step in its own container.
    "two that nobody can tell apart": ({}, {}, {}, {}, ["gate", "gate"]),
    "two with one key": ({"GITHUB_JOB": "a"}, {"comment_key": "k"}, {"GITHUB_JOB": "b"}, {"comment_key": "k"}, ["k", "k"]),
}


@each("name", TWO)
def test_neither_of_two_gates_takes_the_comment_of_the_other(step: Step, github: FakeGitHub, llm: FakeLlm, name: str) -> None:
    github.comments.clear()
    first, its_inputs, second, other_inputs, shown = TWO[name]
    for number in ("5", "6"):
        run_step(step, llm, "bad", {**first, "GITHUB_RUN_ID": number}, **its_inputs)
        run_step(step, llm, "fine", {**second, "GITHUB_RUN_ID": number}, **other_inputs)
        assert sorted(heads(github)) == sorted([f"BLOCKED {shown[0]}", f"PASSED {shown[1]}"]), number
        assert all(f"run={number} " in comment["body"] for comment in github.comments)


def test_a_job_that_runs_again_finds_its_comment(step: Step, github: FakeGitHub, llm: FakeLlm) -> None:
    run_step(step, llm, "bad", {"GITHUB_RUN_ATTEMPT": "1"})
    run_step(step, llm, "fine", {"GITHUB_RUN_ATTEMPT": "2"})
    assert heads(github) == ["PASSED gate"]


def test_of_two_with_one_key_the_one_that_runs_again_leaves_the_others_comment(step: Step, github: FakeGitHub, llm: FakeLlm) -> None:
    for answer in ("bad", "fine"):
        run_step(step, llm, answer, {"GITHUB_RUN_ATTEMPT": "1"})
    run_step(step, llm, "fine", {"GITHUB_RUN_ATTEMPT": "2"})
    assert heads(github) == ["BLOCKED gate", "PASSED gate", "PASSED gate"]
    run_step(step, llm, "fine", {"GITHUB_RUN_ID": "4712"})  # of what an older run left, nothing stays
    assert heads(github) == ["PASSED gate"]


@each("text", ["[" * 3000, '{"a": ' + "[" * 3000 + "]" * 3000 + "}", "[]", "[1]", "1", "null", '"a"', "{"])
def test_a_matrix_that_cannot_be_read_names_no_gate(step: Step, github: FakeGitHub, llm: FakeLlm, text: str) -> None:
    github.comments.clear()
    run_step(step, llm, "fine", {"GRADEGATE_MATRIX": text})
    assert heads(github) == ["PASSED gate"]


def test_the_order_of_the_configs_and_of_the_matrix_does_not_matter(step: Step, github: FakeGitHub, llm: FakeLlm) -> None:
    run_step(step, llm, "bad", matrix(a=1, b=2), config="promptfooconfig.yaml\nother.yaml")
    run_step(step, llm, "fine", {**matrix(b=2, a=1), "GITHUB_RUN_ID": "4712"}, config="./other.yaml\npromptfooconfig.yaml")
    assert heads(github) == ["PASSED gate (2, 1)"]


@each("former", [Stamp().line, Stamp(run=3, attempt=1).line])
def test_the_comment_of_an_earlier_release_is_updated_in_place(step: Step, github: FakeGitHub, llm: FakeLlm, former: str) -> None:
    github.comments.clear()
    github.add(BOT, f"{former}\nblocked", "Bot")
    number = github.comments[0]["id"]
    run_step(step, llm, "fine", {"GITHUB_JOB": "a"})
    run_step(step, llm, "bad", {"GITHUB_JOB": "b"})
    assert heads(github) == ["PASSED a", "BLOCKED b"]
    assert github.comments[0]["id"] == number


def test_the_comment_of_an_earlier_release_that_still_runs_is_left_to_it(step: Step, github: FakeGitHub, llm: FakeLlm) -> None:
    own = f"{Stamp(run=4711, attempt=1).line}\nof the other step"
    github.add(BOT, own, "Bot")
    run_step(step, llm, "fine")
    assert github.comments[0]["body"] == own
    assert len(github.comments) == 2
    # With a key of its own there never was another one.
    github.comments[:] = github.comments[:1]
    run_step(step, llm, "fine", {"GITHUB_RUN_ID": "4712"}, comment_key="k")
    assert github.comments[0]["body"] == own
