"""What the default branch leaves and later runs are compared with: what comes and goes, and what is not believed."""

import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gradegate.github import action, artifact
from gradegate.github.client import connect
from gradegate.structs import replace
from support.each import each
from support.events import HEAD, pull_request
from support.fake_github import FakeGitHub, Token
from support.fake_llm import FakeLlm
from support.step import Here, Left, Step

CONFIG = """\
prompts: ["{{x}}"]
providers: ["openai:chat:m"]
tests:
  - {description: one, vars: {x: one}, assert: [{type: contains, value: fine}]}
  - {description: two, vars: {x: two}, assert: [{type: contains, value: fine}]}
gate: {rules: [{name: new, max-new-failures: 0}]}
"""
SHAS = {number: f"{number:x}" * 40 for number in range(1, 16)}
OWN = ".github/workflows/evals.yml"


@dataclass
class Repository:
    """A repository whose workflow has one step, ours, and what the action's second step uploads."""

    step: Step
    failing: set[str]  # what the model has no good answer to

    def run(self, number: int, event: str, **inputs: str) -> Left:
        github, proposed = self.step.github, event == "pull_request"
        sha = HEAD if proposed else SHAS[number]
        owner = {"repository": {"full_name": github.repository, "default_branch": "main"}}
        self.step.payload = (
            {"schedule": "0 0 * * *"} if event == "schedule" else {**(pull_request() if proposed else {"after": sha}), **owner}
        )
        self.step.event = event
        ref = "refs/pull/7/merge" if proposed else "refs/heads/main"
        self.step.environ |= {
            "GITHUB_REF": ref,
            "GITHUB_RUN_ID": str(number),
            "GITHUB_WORKFLOW_REF": f"{github.repository}/{OWN}@{ref}",
            "RUNNER_TEMP": str(self.step.root / "runner_temp"),
        }
        if not proposed:
            github.commits.append(sha)
        left = self.step.run(**{"baseline": "auto", **inputs})
        github.ran(number, sha, event=event, branch="topic" if proposed else "main")
        if name := left.outputs.get("artifact"):
            folder = self.step.root / "runner_temp" / name
            github.left(number, name, zipped({path.name: path.read_bytes() for path in folder.iterdir()}))
        return left

    def push(self, number: int, *failing: str, **inputs: str) -> Left:
        self.failing.clear()
        self.failing.update(failing)
        return self.run(number, "push", **inputs)

    def propose(self, number: int, *failing: str, **inputs: str) -> Left:
        self.failing.clear()
        self.failing.update(failing)
        return self.run(number, "pull_request", **inputs)

    def notes(self) -> str:
        return json.dumps(json.loads((self.step.workspace / "gradegate-results.json").read_text().partition("\n")[0] + "]}")["notes"])


def zipped(files: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return held.getvalue()


@pytest.fixture
def repository(tmp_path: Path, github: FakeGitHub, llm: FakeLlm, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository(Step(tmp_path, Here(), github, {}), set())
    made.step.write({"promptfooconfig.yaml": CONFIG})
    made.step.inputs = {"github_token": "ghs_actions"}
    made.step.environ = {"OPENAI_API_KEY": "sk-canary-0123456789", "OPENAI_BASE_URL": llm.base}
    made.step.inputs |= {"output": "gradegate-results.json", "comment": "off"}
    llm.reply = lambda path, body: "bad" if body["messages"][0]["content"] in made.failing else "fine"
    monkeypatch.setattr(action, "connect", lambda *about, **more: replace(connect(*about, **more), pause=lambda seconds: None))
    return made


def outcome(left: Left) -> tuple[str, str]:
    return left.outputs["decision"], left.outputs["new-failures"]


def test_baseline_comes_and_goes_with_pushes_and_pull_requests(repository: Repository, github: FakeGitHub, llm: FakeLlm) -> None:
    first = repository.push(1, "two")
    assert outcome(first) == ("blocked", "")
    assert "has left the artifact gradegate-evals-yml-gate" in repository.notes()

    assert outcome(repository.propose(2, "two")) == ("pass", "0")
    assert "nothing for" not in repository.notes()
    assert outcome(repository.propose(3, "one", "two")) == ("blocked", "1")

    llm.reply, good = (lambda path, body: (500, "down")), llm.reply
    assert repository.push(4).outputs.get("artifact") is None  # a run with errors is nothing to compare with
    llm.reply = good
    assert outcome(repository.propose(5, "two")) == ("pass", "0")
    repository.failing.clear()
    assert outcome(repository.run(6, "schedule")) == ("pass", "0")
    assert outcome(repository.propose(7, "two")) == ("blocked", "1")

    assert [run for run, _, _ in github.artifacts] == [1, 6]  # a pull request leaves nothing
    assert len(github.handed) == 6
    assert all("authorization" not in headers and "ghs_actions" not in str(headers) for headers in github.handed)
    assert list((repository.step.root / "runner_temp").glob("gradegate-*/*.zip")) == []


FIRST_RUN = """\
prompts: ["{{x}}"]
providers: [{id: "openai:chat:m", config: {inputCost: 0.001, outputCost: 0.001}}]
defaultTest: {assert: [{type: contains, value: fine}]}
tests: [{vars: {x: one}}, {vars: {x: two}}, {vars: {x: three}}, {vars: {x: four}}, {vars: {x: five}}]
gate: {rules: [{name: worse, max-drop: 0.02}, {name: pace, max-cost-increase: 9, max-latency-increase: 900}]}
"""
OTHER_RULE = "gate: {rules: [{name: rate, min-pass-rate: 1}, "
NOT_DECIDED = (
    "not decided: worse: the default branch has no baseline of its cases yet; pace: the default branch has no baseline of its cases yet"
)


def decision(repository: Repository) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((repository.step.workspace / "gradegate-results.json").read_text().partition("\n")[0] + "]}")
    return results


def rules(repository: Repository) -> list[str | None]:
    return [rule["outcome"] for rule in decision(repository)["rules"]]


def test_rules_that_compare_start_on_the_default_branch(repository: Repository, github: FakeGitHub) -> None:
    repository.step.write({"promptfooconfig.yaml": FIRST_RUN})
    assert repository.propose(1).outputs["decision"] == "inconclusive"  # nowhere else
    assert rules(repository) == ["error", "error"]
    first = repository.push(2)
    assert (first.code, first.outputs["decision"], rules(repository)) == (0, "advisory", [None, None])
    assert decision(repository)["reason"] == NOT_DECIDED
    assert "rule worse (blocking): not decided; the default branch has no baseline of its cases yet;" in first.log
    assert (repository.push(3).outputs["decision"], rules(repository)) == ("pass", ["pass", "pass"])
    assert (repository.propose(4).outputs["decision"], rules(repository)) == ("pass", ["pass", "pass"])
    assert [run for run, _, _ in github.artifacts] == [2, 3]


def test_a_limit_of_flaky_cases_starts_on_the_default_branch(repository: Repository, github: FakeGitHub) -> None:
    config = FIRST_RUN.partition("gate:")[0] + "gate: {rules: [{name: flaky, max-flaky: 0}]}\n"
    repository.step.write({"promptfooconfig.yaml": config})
    assert repository.propose(1).outputs["decision"] == "inconclusive"
    first = repository.push(2)
    assert (first.code, first.outputs["decision"], rules(repository)) == (0, "advisory", [None])
    assert decision(repository)["reason"] == "not decided: flaky: the default branch has no history of its cases yet"
    assert (repository.push(3).outputs["decision"], rules(repository)) == ("pass", ["pass"])


def test_other_rules_decide_while_one_waits_for_its_baseline(repository: Repository, github: FakeGitHub) -> None:
    repository.step.write({"promptfooconfig.yaml": FIRST_RUN.replace("gate: {rules: [", OTHER_RULE)})
    failed = repository.push(1, "one")
    assert (failed.code, rules(repository)) == (1, ["fail", None, None])
    github.artifacts.clear()
    assert (repository.push(2).code, rules(repository)) == (0, ["pass", None, None])
    assert decision(repository)["reason"] == f"pass rate 100%, at least 100%; {NOT_DECIDED}"
    # A rule of several limits waits, and its other limits miss it.
    both = FIRST_RUN.replace("max-drop: 0.02", "max-drop: 0.02, min-pass-rate: 1")
    repository.step.write({"promptfooconfig.yaml": both})
    github.artifacts.clear()
    assert (repository.push(3).code, rules(repository)) == (0, [None, None])
    github.artifacts.clear()
    assert (repository.push(4, "one").code, rules(repository)) == (1, ["fail", None])


def test_a_test_that_is_new_on_the_default_branch_waits_for_its_baseline(repository: Repository) -> None:
    added = FIRST_RUN.replace("max-drop: 0.02", "max-drop: 0.02, select: {description: added}")
    repository.step.write({"promptfooconfig.yaml": added.replace("{x: one}", "{x: one}, description: added")})
    repository.push(1)
    repository.step.write({"promptfooconfig.yaml": added.replace("{x: one}", "{x: uno}, description: added")})
    assert (repository.push(2).code, rules(repository)) == (3, [None, "error"])  # four answers were measured on both sides
    assert (repository.push(3).code, rules(repository)) == (0, ["pass", "pass"])


def test_without_rules_old_failures_do_not_block_and_new_ones_do(repository: Repository) -> None:
    """What README says of `baseline: auto`."""
    for gate in ("", "gate: {errors: block}\n"):
        text = FIRST_RUN.partition("gate:")[0] + gate
        repository.step.write({"promptfooconfig.yaml": text})
        repository.push(1, "one")
        old = repository.propose(2, "one")
        assert (outcome(old), "warning" in repository.notes()) == (("pass", "0"), False)
        new = repository.propose(3, "one", "two")
        assert outcome(new) == ("blocked", "1")
        assert decision(repository)["reason"].startswith("1 new failure, passing on the base")


def test_a_gate_that_never_uses_the_baseline_says_what_to_write(repository: Repository) -> None:
    unused = FIRST_RUN.partition("gate:")[0] + "gate: {rules: [{name: rate, min-pass-rate: 1}]}\n"
    repository.step.write({"promptfooconfig.yaml": unused})
    repository.push(1, "one")
    assert repository.propose(2, "one").code == 1
    assert "no rule of the gate uses the baseline" in repository.notes()
    assert "write `- {name: regressions, max-new-failures: 0}` under `gate.rules`" in repository.notes()


RUBRIC = """\
prompts: ["{{x}}"]
providers: ["openai:chat:m"]
defaultTest: {options: {provider: "openai:chat:judge"}}
tests: [{description: one, vars: {x: one}, assert: [{type: llm-rubric, value: is kind}]}]
"""


def test_history_comes_and_goes_and_no_vote_of_a_pull_request_enters_it(repository: Repository, github: FakeGitHub, llm: FakeLlm) -> None:
    def reply(path: str, body: dict[str, Any]) -> Any:
        return "hello" if body["model"] == "m" else json.dumps({"pass": not repository.failing, "score": 1, "reason": "so"})

    def votes() -> list[str]:
        with zipfile.ZipFile(io.BytesIO(github.artifacts[-1][2])) as archive:
            assert sorted(archive.namelist()) == ["history.jsonl", "results.json"]
            (line,) = archive.read("history.jsonl").splitlines()
        return [run["votes"] for run in json.loads(line)["runs"]]

    def read() -> dict[str, Any] | None:
        return json.loads((repository.step.workspace / "gradegate-results.json").read_text().partition("\n")[0] + "]}")["history"]

    llm.reply = reply
    # What a pull request commits is read nowhere.
    own = {"v": 1, "grade": "0" * 64, "name": "x", "runs": []}
    repository.step.write({"promptfooconfig.yaml": RUBRIC, "history.jsonl": f"{json.dumps(own)}\n" * 2})
    repository.push(1)
    assert (votes(), read()) == (["P"], None)
    repository.propose(2, "one")
    assert (read() or {})["grades"] == 1
    repository.push(3)
    assert votes() == ["P", "P"]
    github.trouble("GET", 502, times=9, path="/actions/")
    lost = repository.push(4)  # it cannot tell what there is, and leaves nothing in its place
    assert ("artifact" in lost.outputs, "so this run keeps nothing for later runs" in repository.notes()) == (False, True)
    github.troubles.clear()
    repository.propose(8)
    repository.push(5, "one")
    assert votes()[:2] == ["P", "P"]
    assert set(votes()[2]) == {"F"}
    late = github.artifacts.pop()
    repository.push(9)  # at the same time as 5, which it does not see
    github.artifacts.append(late)
    repository.push(10)
    assert votes() == ["P"] * 4  # those of 5 are lost, and nothing else
    repository.push(10, "one")  # started again, it takes the place of its first attempt
    repository.push(11)
    assert [vote[0] for vote in votes()] == ["P", "P", "P", "F", "P"]
    changed(github, expired=True)
    github.artifacts[1:] = []
    repository.propose(6)
    assert read() is None
    assert "nothing for `baseline: auto`: what run 1 of main (commit 1111111) left has expired" in repository.notes()
    assert repository.propose(7, baseline="kept").code == 2  # inside the repository


@pytest.mark.parametrize("outside", [False, True])
def test_a_folder_is_rewritten_by_the_default_branch_alone(repository: Repository, llm: FakeLlm, outside: bool) -> None:
    folder = (repository.step.root / "runner_temp" if outside else repository.step.workspace) / "kept"
    assert outcome(repository.push(1, "two", baseline=str(folder))) == ("blocked", "")
    first = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert sorted(first) == ["history.jsonl", "results.json"]
    assert outcome(repository.push(2, "two", baseline=str(folder))) == ("pass", "0")
    second = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert second["results.json"] != first["results.json"]
    proposed = repository.propose(3, "one", baseline=str(folder))
    assert (outcome(proposed) if outside else proposed.code) == (("blocked", "1") if outside else 2)
    llm.reply = lambda path, body: (500, "down")
    repository.push(4, baseline=str(folder))  # an outage
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == second


def test_a_base_that_is_asked_in_the_same_run_reads_the_votes_of_the_default_branch(repository: Repository, github: FakeGitHub) -> None:
    repository.step.write({".base/promptfooconfig.yaml": CONFIG, ".base/.git/HEAD": "b" * 40})
    pushed = repository.push(1, baseline="live")  # there is no base to ask
    assert pushed.outputs["artifact"].startswith("gradegate-evals-yml-gate")
    asked = repository.propose(2, "two", baseline="live", base_checkout=".base")
    assert outcome(asked) == ("pass", "0")  # it fails on both sides
    results = json.loads((repository.step.workspace / "gradegate-results.json").read_text().partition("\n")[0] + "]}")
    assert (results["baseline"]["fresh"], results["history"]["commit"]) == (True, "")
    assert repository.propose(3, baseline="live").code == 2


def foreign(github: FakeGitHub, **about: Any) -> None:
    """The run that left the artifact was another than it seems."""
    github.filters = False
    github.runs[0].update(about)


def changed(github: FakeGitHub, packed: bytes | None = None, **about: Any) -> None:
    run, listed, own = github.artifacts[0]
    github.artifacts[0] = run, {**listed, **about}, own if packed is None else packed


def repacked(github: FakeGitHub, files: dict[str, bytes]) -> None:
    name = github.artifacts.pop()[1]["name"]
    github.left(1, name, zipped(files))


def bomb(github: FakeGitHub) -> None:
    name = github.artifacts.pop()[1]["name"]
    packed = bytearray(zipped({"results.json": bytes(1000), "history.jsonl": b""}))
    at = packed.rfind(b"PK\1\2") + 24  # the size that the list says
    packed[at : at + 4] = (1 << 30).to_bytes(4, "little")
    github.left(1, name, bytes(packed))


def torn(github: FakeGitHub) -> None:
    """The first file is whole, the second is not."""
    name = github.artifacts.pop()[1]["name"]
    packed = zipped({"results.json": b"{}", "history.jsonl": b"votes" * 99})
    github.left(1, name, packed.replace(packed[packed.rfind(b"PK\3\4") + 43 :][:4], b"\0\0\0\0", 1))


def many(github: FakeGitHub) -> None:
    name = github.artifacts.pop()[1]["name"]
    packed = zipped({f"{number}.json": b"" for number in range(2000)})
    github.left(1, name, packed[:-14] + b"\1\0\1\0" + packed[-10:])  # and says that it lists one


REFUSED: list[tuple[Callable[[FakeGitHub], object], str]] = [
    (lambda it: foreign(it, head_repository={**it.runs[0]["head_repository"], "id": 5}), "it ran for a fork"),
    (lambda it: foreign(it, event="pull_request"), "it ran for the event pull_request"),
    (lambda it: foreign(it, head_branch="topic"), "it ran for topic, and not for main"),
    (lambda it: foreign(it, path=".github/workflows/other.yml"), "it is a run of .github/workflows/other.yml"),
    (lambda it: it.commits.remove(SHAS[1]), "its commit is none of main"),  # of a tag that is called main
    (lambda it: changed(it, name="gradegate-evals-yml-gate-000000000000"), "has left the artifact"),
    (lambda it: changed(it, expired=True), "has expired"),
    (lambda it: changed(it, size_in_bytes=65 << 20), "has more than 64 MiB"),
    (lambda it: changed(it, digest="sha256:" + "0" * 64), "does not have the digest"),
    (lambda it: changed(it, digest=None), "does not have the digest"),
    (lambda it: changed(it, it.artifacts[0][2][:-1]), "does not have the digest"),
    (lambda it: repacked(it, {"results.json": b"{}", "../x": b""}), "it holds other files than ours"),
    (lambda it: repacked(it, {"/results.json": b"{}"}), "it holds other files than ours"),
    (lambda it: repacked(it, {}), "it holds other files than ours"),
    (lambda it: repacked(it, {"results.json": b"{", "history.jsonl": b""}), "cannot be used"),
    (bomb, "it unpacks to more than 512 MiB"),
    (torn, "cannot be unpacked"),
    (many, "it does not list two files"),
    (lambda it: it.tokens.update(ghs_actions=Token("github-actions[bot]", actions=False)), "`permissions: actions: read`"),
    (lambda it: it.trouble("GET", 503, times=9, path="/actions/"), "is unavailable"),
    (lambda it: setattr(it, "storage", "http://127.0.0.1:1"), "cannot be reached"),
]


@each(("change", "words"), REFUSED)
def test_what_is_not_believed_is_said_and_the_run_goes_on_without(change: Any, words: str, tmp_path_factory: Any, request: Any) -> None:
    repository = request.getfixturevalue("repository")
    github: FakeGitHub = repository.step.github
    for held in (github.runs, github.artifacts, github.commits, github.troubles):
        held.clear()
    github.filters, github.tokens = True, {"ghs_actions": Token("github-actions[bot]")}
    repository.push(1, "two")
    github.commits.append(SHAS[9])
    change(github)
    assert outcome(repository.propose(2, "two")) == ("blocked", "")
    assert words in repository.notes()


@each("key, job, file", [("", "gate", "other.yml"), ("", "other", "evals.yml"), ("k", "gate", "evals.yml"), ("gate", "", "evals.yml")])
def test_two_gates_do_not_meet(key: str, job: str, file: str) -> None:
    def named(key: str, job: str, file: str) -> str:
        return artifact.job_name({"GITHUB_JOB": job, "GITHUB_WORKFLOW_REF": f"o/r/.github/workflows/{file}@refs/x"}, key)

    assert named(key, job, file) != named("", "gate", "evals.yml")
    assert len(named("ü/x" * 200, job, file)) < 150


ODD = 'odd "a" <b>:|*?.yaml'  # signs that no artifact may have in its name
OTHERS: list[tuple[dict[str, str], dict[str, str]]] = [
    ({"GRADEGATE_MATRIX": '{"model": "a:b/c"}'}, {"GRADEGATE_MATRIX": '{"model": "a:b/d"}'}),
    ({}, {"INPUT_CONFIG": ODD}),
    ({"INPUT_CONFIG": f"promptfooconfig.yaml\n{ODD}"}, {"INPUT_CONFIG": ODD}),
    ({"INPUT_COMMENT-KEY": "k"}, {"INPUT_COMMENT-KEY": "k", "INPUT_CONFIG": "*.yaml"}),
]


@each(("first", "second"), OTHERS)
def test_two_gates_of_a_job_keep_a_baseline_each(
    first: dict[str, str], second: dict[str, str], tmp_path_factory: Any, request: Any
) -> None:
    repository: Repository = request.getfixturevalue("repository")
    github, step = repository.step.github, repository.step
    for held in (github.runs, github.artifacts, github.commits):
        held.clear()
    step.write({ODD: CONFIG})
    plain = dict(step.environ)
    outcomes = []
    for number, run in ((1, repository.push), (2, repository.propose)):
        for gate, failing in ((first, ["two"]), (second, ["one"])):
            step.environ = {**plain, **gate}
            outcomes.append(outcome(run(number, *failing)))
    step.environ = plain
    names = [about["name"] for _, about, _ in github.artifacts]
    assert len(set(names)) == 2
    assert all(re.fullmatch(r"[A-Za-z0-9.-]{1,180}", name) for name in names)
    assert [decision for decision, _ in outcomes] == ["blocked", "blocked", "pass", "pass"]


def test_a_step_that_names_another_config_keeps_the_baseline_that_its_job_left(repository: Repository, github: FakeGitHub) -> None:
    repository.step.write({"more.yaml": CONFIG})
    repository.push(1, "two")
    assert outcome(repository.propose(2, "two", config="promptfooconfig.yaml\nmore.yaml"))[1] == "1"  # that of the new config
    assert "nothing for" not in repository.notes()
    repository.push(3, "two", config="more.yaml")
    repository.run(3, "push")  # the second step of the same run
    repository.propose(4, "two", config="promptfooconfig.yaml\nmore.yaml")
    assert "nothing for" not in repository.notes()  # of run 1
    github.artifacts[:] = github.artifacts[1:]
    repository.propose(5, "two", config="promptfooconfig.yaml\nmore.yaml")
    assert "has left the artifact" in repository.notes()  # nobody can tell which of the two it would be


def test_what_an_earlier_release_left_is_found_until_there_is_something_newer(repository: Repository, github: FakeGitHub) -> None:
    repository.push(1, "two")
    name = github.artifacts[0][1]["name"]
    changed(github, name=name.rpartition("-")[0])
    assert outcome(repository.propose(2, "two")) == ("pass", "0")
    repository.push(3, "one")
    late = {**github.artifacts[0][1], "id": 99}
    github.artifacts.append((3, late, github.artifacts[0][2]))
    assert outcome(repository.propose(4, "one")) == ("pass", "0")


def test_our_artifact_is_found_among_hundreds(repository: Repository, github: FakeGitHub) -> None:
    for number in range(250):
        github.left(1, f"report {number}", b"")
    repository.push(1, "two")
    assert outcome(repository.propose(2, "two")) == ("pass", "0")


def test_auto_is_for_a_job_that_asks_everything(repository: Repository) -> None:
    left = repository.propose(2, shard="1/2")
    assert (left.code, "`baseline: auto` is for a job" in left.log) == (2, True)
