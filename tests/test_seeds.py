"""The two factuality configs that the project started from, as they stand, in the four situations that matter."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.fake_llm import FakeLlm

SEEDS = sorted((Path(__file__).parent / "seeds").glob("*.yaml"))
REPORTS = ("-o", "junit.xml", "-o", "comment.md", "-o", "report.html")


@pytest.fixture(params=SEEDS, ids=lambda path: path.stem)
def seed(request, gate, llm: FakeLlm, monkeypatch):
    def run(grade, target="It is Sacramento."):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1234567890")
        monkeypatch.setenv("OPENAI_BASE_URL", llm.base)
        llm.reply = lambda path, body: grade(json.dumps(body)) if body["model"] == "judge" else target
        return gate(request.param.read_text(), "-g", "openai:chat:judge", *REPORTS)

    return run


def reports(ran):
    return {name: (ran.folder / name).read_text() for name in ("junit.xml", "comment.md", "report.html")}


def test_category_a_everywhere_passes(seed):
    ran = seed(lambda asked: '{"reason": "a subset", "category": "A"}')
    assert (ran.code, ran.results["outcome"]) == (0, "pass")
    assert {grade["score"] for grade in ran.grades} == {1}
    assert ElementTree.fromstring(reports(ran)["junit.xml"]).findall(".//failure") == []


def test_one_d_blocks_and_every_report_says_why(seed):
    ran = seed(lambda asked: f'{{"reason": "names another city", "category": "{"D" if "Albany" in asked else "C"}"}}')
    assert (ran.code, ran.results["outcome"]) == (1, "blocked")
    failed = [case for case in ran.cases if case["outcome"] == "fail"]
    assert {case["vars"]["state"] for case in failed} == {"New York"}
    assert failed[0]["grades"][0]["reason"] == "(D) names another city"
    for name, text in reports(ran).items():
        assert "names another city" in text, name
    assert "names another city" in ran.out
    failures = ElementTree.fromstring(reports(ran)["junit.xml"]).findall(".//failure")
    assert len(failures) == len(failed)


def test_a_refused_key_is_the_users_mistake_and_never_green(seed):
    refusal = (401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})
    ran = seed(lambda asked: refusal, target=refusal)
    assert (ran.code, ran.results["outcome"]) == (2, "inconclusive")
    assert {grade["outcome"] for grade in ran.grades} == {"error"}
    assert "the key was refused" in ran.grades[0]["reason"]
    assert "Incorrect API key provided" in ran.out


def test_only_the_graders_key_is_refused(seed):
    ran = seed(lambda asked: (401, {"error": {"message": "no"}}))
    assert (ran.code, ran.results["outcome"]) == (2, "inconclusive")


def test_a_grader_that_is_not_sure_is_an_error_in_every_report(seed):
    ran = seed(lambda asked: "I am not sure")
    assert (ran.code, ran.results["outcome"]) == (3, "inconclusive")
    assert {(case["outcome"], grade["outcome"], grade["score"]) for case in ran.cases for grade in case["grades"]} == {
        ("error", "error", None)
    }
    tree = ElementTree.fromstring(reports(ran)["junit.xml"])
    assert tree.findall(".//failure") == []
    assert len(tree.findall(".//error")) == len(ran.cases)
    assert "I am not sure" in reports(ran)["comment.md"]
