"""Every report says the same of a case: that it blocks, could not be told, failed once, was known, or advises. Through the command."""

import json
import re
import tempfile
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradegate.cli import main as cli
from gradegate.reports.delivery.report import REPORTS
from gradegate.results.results_file import load_decision
from support.fake_llm import serve
from support.flips import BAD, GOOD, flipping, script_replies, suite
from support.samples import LINKS

REPORT_FILES = ("junit.xml", "page.html", "agent.md", "results.json")
OUTCOMES = {"fail": "blocks", "error": "unclear", "once": "once", "known": "known", "advisory": "advises", "pass": "passed"}
CASE = re.compile(r"case \d+")
SAID = {"blocked": 1, "inconclusive": 3, "pass": 0, "advisory": 0}
RULES = st.lists(
    st.sampled_from(
        [
            {"name": "all", "select": {"assertion": "llm-rubric"}, "min-pass-rate": 1},
            {"name": "most", "select": {"assertion": "llm-rubric"}, "min-pass-rate": 0.7},
            {"name": "words", "select": {"assertion": "contains"}, "min-pass-rate": 0.9},
            {"name": "score", "select": {"assertion": "llm-rubric"}, "min-score": 0.8},
            {"name": "new", "max-new-failures": 0},
            {"name": "enough", "select": {"assertion": "llm-rubric"}, "min-pass-rate": 0.1, "min-cases": 6},
        ]
    ),
    max_size=3,
    unique_by=lambda rule: rule["name"],
)


def run(folder: Path, config: dict, *options: str) -> int:
    (folder / "gate.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    written = [word for name in REPORT_FILES for word in ("-o", str(folder / name))]
    return cli.main(["run", str(folder / "gate.yaml"), *written, "--grader-retries", "0", *options])


def by_page(folder: Path) -> dict[str, set[str]]:
    page = (folder / "page.html").read_text()
    found = defaultdict(set)
    for outcome, case in re.findall(r'data-outcome="(\w+)".*?<summary>.*?(case \d+)', page, re.DOTALL):
        found[OUTCOMES[outcome]].add(case)
    return found


def by_comment(text: str) -> dict[str, set[str]]:
    found = defaultdict(set)
    for line in text.splitlines():
        if (sign := re.match(r"\| (\S+)&nbsp;(.*?) \|", line)) and CASE.search(line):
            where = {"❌": "blocks", "❔": "unclear", "🔁": "once"}.get(sign[1]) or (
                "known" if re.fullmatch("known(, unsteady on the base)?", sign[2]) else "advises"
            )
            found[where] |= {*CASE.findall(line.split(" | ")[1])}
        elif line.startswith("<details><summary>") and "more</summary>" not in line:
            break
    return found


def by_junit(folder: Path) -> tuple[dict[str, set[str]], list[ET.Element]]:
    cases = list(ET.parse(folder / "junit.xml").getroot().iter("testcase"))
    found = defaultdict(set)
    for case in cases:
        skipped = case.find("skipped")
        kind = "blocks" if case.find("failure") is not None else "unclear" if case.find("error") is not None else "other"
        if skipped is not None and skipped.get("message") == "failed once, not re-asked":
            kind = "once"
        found[kind] |= {*CASE.findall(case.get("name"))}
    return found, cases


def by_agent(folder: Path) -> dict[str, set[str]]:
    text = (folder / "agent.md").read_text()
    head, *parts = re.split(r"^(?=(?:Blocks|Error|Advises only)(?:, |\n))", text, flags=re.MULTILINE)
    found = defaultdict(set)
    found["once"] = {*CASE.findall(head.partition("Failed once")[2])}
    for part in parts:
        kind = "blocks" if part.startswith("Blocks") else "unclear" if part.startswith("Error") else "advises"
        found[kind] |= {*CASE.findall(re.search(r"^case:.*?(?=^\w+:)", part, re.MULTILINE | re.DOTALL)[0])}
        found[kind] |= {*CASE.findall("".join(re.findall(r"^also:.*?(?=^```)", part, re.MULTILINE | re.DOTALL)))}
    return found


def compare(folder: Path, code: int) -> None:
    """All reports of a run against its results.json, and against the exit code."""
    results = json.loads((folder / "results.json").read_text())
    decision, _ = load_decision(folder / "results.json")
    page, (junit, cases), agent = by_page(folder), by_junit(folder), by_agent(folder)
    comment = by_comment(REPORTS.find("comment").render(decision, LINKS).text)
    blocks = {results["cases"][place]["description"] for place in results["blocking"]}
    assert code == SAID[results["outcome"]]
    assert page["blocks"] == comment["blocks"] == junit["blocks"] == agent["blocks"] == blocks
    assert page["unclear"] == agent["unclear"] >= junit["unclear"] | comment["unclear"]  # of like ones, a comment names the first
    assert page["once"] == comment["once"] == junit["once"] == agent["once"]
    assert page["known"] == comment["known"]
    assert page["known"] | page["advises"] == comment["known"] | comment["advises"] == agent["advises"]
    # What is left unconfirmed is in no list that has it mended, and whatever is in such a list was asked to its end.
    failed = {case["description"]: [it for it in case["grades"] if it["outcome"] == "fail"] for case in results["cases"]}
    assert all(any(not grade["unconfirmed"] for grade in failed[case]) for case in blocks)
    assert all(all(grade["unconfirmed"] for grade in failed[case]) for case in page["once"])
    assert any(case.find("failure") is not None or case.find("error") is not None for case in cases) == (code != 0)
    lines = REPORTS.find("annotations").render(decision, LINKS).text.splitlines()
    errors = [line.partition("title=")[2].partition("::")[0] for line in lines if line.startswith("::error ")]
    marked = {case for title in errors for case in CASE.findall(title)}
    assert marked <= blocks | page["unclear"]
    assert blocks <= marked or len(errors) == 10  # GitHub shows no more


@given(st.lists(st.sampled_from(["P"] * 6 + ["F" * 9, "FP", "FPFPP", "F", "E", "FFE" * 3]), min_size=6, max_size=12), RULES, st.data())
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_all_reports_and_the_exit_code_say_the_same(scripts, rules, data):
    wrong = data.draw(st.sets(st.sampled_from(range(len(scripts))), max_size=3), label="contains fails")
    old = data.draw(st.sampled_from(["", "F", "P"]), label="the base says")
    reask = data.draw(st.sampled_from(["grader", "off"]), label="reask")
    with serve() as llm, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = suite(llm.spec(), len(scripts), gate={"reask": reask, **({"rules": rules} if rules else {})})
        for number, test in enumerate(config["tests"]):
            contains = {"type": "contains", "value": "nothing like it" if number in wrong else "case"}
            test["assert"] = [contains, {"type": "llm-rubric", "value": "is good"}]  # each at a line of its own
        config["defaultTest"].pop("assert")
        options = []
        if old:
            llm.reply = (lambda path, body: BAD) if old == "F" else (lambda path, body: GOOD)
            run(folder, {**config, "gate": {"reask": "off"}})
            (folder / "base").mkdir()
            (folder / "results.json").rename(folder / "base" / "results.json")
            options = ["--baseline", str(folder / "base")]
        llm.reply = script_replies({number: said + said[-1] * 40 for number, said in enumerate(scripts)})
        compare(folder, run(folder, config, *options))


@pytest.mark.parametrize("seed", [1, 2])
def test_no_good_case_is_listed_beside_broken_ones(gate, llm, seed):
    """100 cases, 5 of them broken, and a judge that flips 5 % of its verdicts; 50 seeds at night."""
    blocked, asks = blaming(gate, llm, seed)
    assert blocked <= {f"case {number}" for number in range(5)}
    assert asks <= 170


def blaming(gate, llm, seed):
    llm.requests.clear()
    llm.reply = flipping(0.05, seed, broken=range(5))
    ran = gate(suite(llm.spec(), 100), "-j", "8", reask="")
    assert ran.code == 1
    return {ran.cases[place]["description"] for place in ran.results["blocking"]}, len(llm.requests)


@pytest.mark.slow
def test_over_fifty_seeds_good_cases_are_blamed_in_one_run_at_most(gate, llm):
    found = [blaming(gate, llm, seed) for seed in range(50)]
    good = {f"case {number}" for number in range(5, 100)}
    assert sum(bool(blocked & good) for blocked, _ in found) <= 1
    assert sum(asks for _, asks in found) / 50 / 100 <= 1.4
