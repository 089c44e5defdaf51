"""Over generated runs: every report names each failed assertion, the headline counts what blocks, an interrupted run meets no rule."""

import contextlib
import io
import json
import os
import re
import signal
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import yaml
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from gradegate.cli import main as cli
from gradegate.reports.delivery.report import REPORTS
from gradegate.results.results_file import load_decision
from support.each import each
from support.fake_llm import FakeLlm, serve
from support.flips import BAD, GOOD
from support.samples import LINKS

REPORT_FILES = ("junit.xml", "page.html", "agent.md", "results.json")
METRIC = re.compile(r"m\d+x\d+\b")
CASE = re.compile(r"case \d+\b")
COUNT = re.compile(r"(\d+) (?:of \d+ cases? (?:failed|block)\b|new failures? in )")
PLAIN = ["yes", "no", "P", "F", "FPP", "E", "advice"]  # an assertion that needs no model, what a grader says ask by ask, or advice
ASSERTIONS = st.sampled_from(PLAIN) | st.lists(st.sampled_from(PLAIN[:-1]), min_size=1, max_size=3)  # or a set
CASES = st.lists(st.lists(ASSERTIONS, min_size=1, max_size=8), min_size=1, max_size=25)
RULES = [
    {"name": "most", "min-pass-rate": 0.7},
    {"name": "all", "min-pass-rate": 1},
    {"name": "few", "min-pass-rate": 0.1, "min-cases": 1},
    {"name": "words", "select": {"assertion": "contains"}, "min-pass-rate": 0.9},
    {"name": "score", "min-score": 0.6},
    {"name": "advice", "min-pass-rate": 0.5, "blocking": False},
]
GATES = st.fixed_dictionaries(
    {},
    optional={
        "rules": st.lists(st.sampled_from(RULES), min_size=1, max_size=3, unique_by=lambda rule: rule["name"]),
        "errors": st.sampled_from(["block", {"ignore-up-to": 0.5}]),
        "reask": st.just("off"),
        "runs": st.just("2/3"),
    },
)


def assertions(drawn: list[Any], case: int, said: dict[str, str]) -> Iterator[dict]:
    """The assertions of a case, each with a metric of its own; ``said`` gets what the grader says of those that ask it."""
    count = 0

    def made(kind: Any) -> dict:
        nonlocal count
        count += 1
        metric = f"m{case}x{count}"
        if isinstance(kind, list):
            return {"type": "assert-set", "metric": metric, "assert": [made(inner) for inner in kind]}
        if kind in ("yes", "no", "advice"):
            found = {"type": "contains", "metric": metric, "value": "case" if kind == "yes" else "nothing like it"}
            return {**found, "blocking": False} if kind == "advice" else found
        said[metric] = kind
        return {"type": "llm-rubric", "metric": metric, "value": f"is as {metric} wants it"}

    return map(made, drawn)


def played(folder: Path, llm: FakeLlm, said: dict[str, str], stop: int = 0) -> tuple[int, str]:
    """The exit code and the output of a run, which Ctrl-C ends at such a request."""
    left = {metric: iter(word + word[-1] * 200) for metric, word in said.items()}

    def reply(path: str, body: dict) -> str:
        if stop and len(llm.requests) == stop:
            os.kill(os.getpid(), signal.SIGINT)
        metric = METRIC.findall(json.dumps(body["messages"]))[-1]
        return {"P": GOOD, "F": BAD, "E": "I cannot say."}[next(left[metric])]

    llm.requests.clear()
    llm.reply = reply
    out = io.StringIO()
    written = [word for name in REPORT_FILES for word in ("-o", str(folder / name))]
    with contextlib.redirect_stdout(out):
        code = cli.main(["run", str(folder / "gate.yaml"), *written, "--grader-retries", "0", "-j", "1"])
    return code, out.getvalue()


def failures(results: dict) -> dict[str, set[str]]:
    """The failed assertions of each case that has any, by results.json; what the runs of a case tolerate is left out."""
    verdicts = {case["key"]: case["verdict"] for case in results["cases"]}
    found = defaultdict(set)
    for case in results["cases"]:
        for grade in case["grades"]:
            if grade["outcome"] == "fail" and verdicts[case["key"]] != "pass":
                found[case["description"]].add(grade["assertion"]["metric"])
    return found


def parts(text: str, start: str) -> dict[str, set[str]]:
    """The assertions that are named in each part of a text, by the case that its first line is about."""
    found = defaultdict(set)
    for part in re.split(rf"(?m)^(?={start})", text):
        if name := CASE.search(part):
            found[name[0]] |= {*METRIC.findall(part)}
    return found


def check(folder: Path, out: str) -> dict:
    """Whether all reports of a run name what failed and count what blocks; gives its results.json."""
    results = json.loads((folder / "results.json").read_text())
    decision, _ = load_decision(folder / "results.json")
    comment = REPORTS.find("comment").render(decision, LINKS).text
    page, agent = (folder / "page.html").read_text(), (folder / "agent.md").read_text()
    failed = failures(results)
    tests = ET.parse(folder / "junit.xml").getroot().iter("testcase")
    listed, _, evidence = out.partition("\n\n")
    named = {
        "junit": parts("\n".join(ET.tostring(test, encoding="unicode") for test in tests), "<testcase "),
        "html": parts(page.partition("<main>")[2], '<details class="case '),
        "agent": parts(agent, "(?:Blocks|Error|Advises only)(?:, |\n)|case \\d+: "),
        "terminal": parts(evidence if len(failed) > 1 else out, "(?:[A-Z][A-Z ,-]+)  case "),
    }
    if len(failed) > 1:
        named["list"] = parts(listed, "  case ")
    if len(failed) > 20:  # of so many the evidence of some is left out
        del named["terminal"]
    for report, found in named.items():
        assert {case: names - found.get(case, set()) for case, names in failed.items() if names - found.get(case, set())} == {}, report
    lines = [line for line in comment.splitlines() if line.startswith("| ") and CASE.search(line)]
    rows = {CASE.search(line)[0]: {*METRIC.findall(line)} for line in lines}
    missing = re.search(r"\*\*(\d+) more cases? (?:is|are) not shown here, for lack of space;\*\* see", comment)
    assert len(failed.keys() - rows.keys()) <= (int(missing[1]) if missing else 0)
    shortened = {CASE.search(line)[0] for line in lines if "more did not pass, and the log names all" in line}
    assert all(failed[case] <= names for case, names in rows.items() if case in failed and case not in shortened)
    lines = REPORTS.find("annotations").render(decision, LINKS).text.splitlines()
    marked = parts("\n".join(lines), "::")
    missing = sum(int(count) for line in lines for count in re.findall(r"(\d+) more cases?\b.*; see the job summary", line))
    assert len(failed.keys() - marked.keys()) <= missing
    assert all(failed[case] <= names for case, names in marked.items() if case in failed)
    # The headline.
    blocks = {results["cases"][place]["description"] for place in results["blocking"]}
    heads = [comment.splitlines()[0], agent.splitlines()[0], re.search("<h1>.*</h1>", page)[0]]
    counts = [[int(number) for number in COUNT.findall(head)] for head in heads]
    assert counts == [[len(blocks)] if blocks else []] * len(heads), heads
    last = out.strip().splitlines()[-1]  # the reason may follow, with counts of its own
    assert not blocks or COUNT.search(last)[1] == str(len(blocks)), last
    return results


@given(CASES, GATES, st.sampled_from([None, 0.5]), st.data())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None, phases=[Phase.generate])
def test_reports_name_what_failed_headlines_count_what_blocks_and_no_interrupted_run_meets_a_rule(cases, gate, threshold, data):
    with serve() as llm, tempfile.TemporaryDirectory() as name:
        folder, said = Path(name), {}
        tests = [
            {"description": f"case {number}", "vars": {"q": f"case {number}"}, "assert": [*assertions(drawn, number, said)]}
            | ({"threshold": threshold} if threshold and number % 2 else {})
            for number, drawn in enumerate([["yes", "P"], *cases])  # something for each rule to select
        ]
        config = {"prompts": ["{{q}}"], "providers": ["echo"], "defaultTest": {"options": {"provider": llm.spec()}}, "tests": tests}
        (folder / "gate.yaml").write_text(yaml.safe_dump({**config, **({"gate": gate} if gate else {})}, sort_keys=False))
        code, out = played(folder, llm, said)
        assume(code != 2)  # some gates are refused for some cases
        whole = check(folder, out)
        if not llm.requests:
            return
        stop = data.draw(st.integers(1, len(llm.requests)), label="interrupted at the request")
        code, out = played(folder, llm, said, stop)
        cut = check(folder, out)
        assert code == 130
        assert [it["rule"]["name"] for it in cut["rules"] if it["outcome"] == "pass"] == []
        assert not re.search(r"^rule .*: met", out, re.MULTILINE)
        # Only what is certain blocks: whatever the rest of the run says, it blocks the whole run too.
        assert whole["outcome"] == "blocked" or cut["outcome"] != "blocked"
        missed = {it["rule"]["name"] for it in whole["rules"] if it["outcome"] == "fail"}
        assert missed >= {it["rule"]["name"] for it in cut["rules"] if it["outcome"] == "fail"}


def test_a_case_that_fails_for_certain_names_what_was_not_re_asked(gate, llm):
    llm.reply = lambda path, body: BAD
    assertions = [
        {"type": "equals", "value": "Oslo"},
        {"type": "llm-rubric", "value": "names a city", "metric": "city"},
        {"type": "contains", "value": "Norway"},
    ]
    config = {"prompts": ["x"], "providers": ["echo"], "tests": [{"description": "capital", "assert": assertions}]}
    config["defaultTest"] = {"options": {"provider": llm.spec()}}
    ran = gate(config, "-o", "junit.xml", "-o", "agent.md", "-o", "comment.md", "-o", "page.html", reask="")
    failure = ET.parse(ran.folder / "junit.xml").getroot().find(".//failure")
    texts = [ran.out, failure.get("message"), failure.text, *((ran.folder / it).read_text() for it in ("agent.md", "page.html"))]
    for text in texts:
        assert "equals" in text
        assert "contains" in text
        assert "llm-rubric (city) failed once, not re-asked" in text
    row = next(line for line in (ran.folder / "comment.md").read_text().splitlines() if line.startswith("| ❌") and "capital" in line)
    assert "<br>also: contains failed; llm-rubric (city) failed once, not re-asked" in row
    errors = REPORTS.find("annotations").render(load_decision(ran.folder / "results.json")[0], LINKS).text.splitlines()
    assert [line.partition(" ")[0] for line in errors] == ["::error", "::error", "::warning"]  # nobody has to mend what may be good
    assert all(
        "llm-rubric (city) failed once%2C not re-asked" in line or "llm-rubric (city) failed once, not re-asked" in line for line in errors
    )


def test_of_many_failed_assertions_each_is_named(gate):
    assertions = [{"type": "equals", "value": "y", "metric": f"m1x{number}"} for number in range(30)]
    config = {"prompts": ["x"], "providers": ["echo"], "tests": [{"description": "case 1", "assert": assertions}]}
    ran = gate(config, "-o", "junit.xml", "-o", "agent.md", "-o", "comment.md")
    expected = {it["metric"] for it in assertions}
    for name in ("junit.xml", "agent.md", "comment.md"):
        assert {*METRIC.findall((ran.folder / name).read_text())} == expected, name
    row, *_ = [line for line in (ran.folder / "comment.md").read_text().splitlines() if line.startswith("| ❌") and "case 1" in line]
    assert {*METRIC.findall(row)} == expected


def test_what_failed_in_another_run_of_a_case_is_named(gate, llm):
    """The first run lacks one thing, and the second another."""
    answers = iter(["good and", "good but", "good"])
    llm.reply = lambda path, body: next(answers)
    assertions = [{"type": "contains", "value": "and"}, {"type": "icontains", "value": "but"}]
    config = {"prompts": ["x"], "providers": [llm.spec()], "tests": [{"assert": assertions}], "gate": {"runs": "2/3"}}
    ran = gate(config, "-j", "1")
    assert ran.code == 1
    assert "icontains failed" in ran.out
    assert re.search(r"  contains failed.*\n(.*\n)?    why: in run 2: ", ran.out)


def test_a_case_without_enough_recorded_runs_is_asked_again(gate):
    config = {"prompts": ["x"], "tests": [{"description": "a", "assert": [{"type": "contains", "value": "x"}]}], "gate": {"runs": "2/3"}}
    first = gate({**config, "providers": ["echo"]})
    assert first.code == 0
    old = json.loads((first.folder / "results.json").read_text())
    for case in old["cases"]:
        case["verdict"] = "error"
    (first.folder / "old.json").write_text(json.dumps(old))
    assert cli.main(["run", "--failed", "old.json", "--reask", "off", "--grader-retries", "0"]) == 0


@each("fails", [True, False])
def test_a_failed_member_of_a_set_that_passes_is_named(fails, gate):
    """In a case that fails by another assertion, and in one that passes."""
    members = [{"type": "contains", "value": "x"}, {"type": "contains", "value": "MISS", "metric": "m1x1"}]
    checks = [{"type": "assert-set", "threshold": 0.5, "assert": members}, {"type": "equals", "value": "no" if fails else "x"}]
    config = {"prompts": ["x"], "providers": ["echo"], "tests": [{"description": "case 1", "assert": checks}]}
    ran = gate(config, "-o", "junit.xml", "-o", "agent.md", "-o", "comment.md", "-o", "page.html")
    assert ran.code == fails
    texts = {name: (ran.folder / name).read_text() for name in ("junit.xml", "agent.md", "comment.md")} | {"terminal": ran.out}
    decision, _ = load_decision(ran.folder / "results.json")
    texts |= {name: REPORTS.find(name).render(decision, LINKS).text for name in ("console", "summary", "annotations")}
    assert [name for name, text in texts.items() if "contains (m1x1) failed (in the set)" not in text] == []
    page = (ran.folder / "page.html").read_text()
    assert '<div class="grade advisory">\n<p><span class="word">contains (m1x1) failed (in the set)' in page
    assert f"<summary>{2 if fails else 3} assertions passed" in page
    assert fails or "within the set" in page
    assert fails or texts["annotations"].startswith("::notice ")


@each("big", [["case 3"], ["case 1"], [f"case {number}" for number in range(1, 9)]])
def test_a_case_with_many_failures_hides_no_other(big, gate):
    """Nor does its line say less than how many of its assertions it leaves out, and where they are."""
    tests = []
    for number in range(1, 10):
        count = 300 if f"case {number}" in big else 1
        checks = [{"type": "contains", "value": "z", "metric": f"m{number}x{place} {'long ' * 8}"} for place in range(count)]
        tests.append({"description": f"case {number}", "assert": checks})
    ran = gate({"prompts": ["x"], "providers": ["echo"], "tests": tests}, "-o", "comment.md", "-o", "agent.md")
    rows = [line for line in (ran.folder / "comment.md").read_text().splitlines() if line.startswith("| ❌&nbsp;blocks")]
    assert [CASE.search(row)[0] for row in rows] == [test["description"] for test in tests]
    for row in rows:
        left = re.search(r"(\d+) more did not pass, and the log names all", row)
        count = len({*METRIC.findall(row)}) + (int(left[1]) if left else 0)
        assert count == (300 if CASE.search(row)[0] in big else 1)
    expected = {name for test in tests for it in test["assert"] for name in METRIC.findall(it["metric"])}
    assert {*METRIC.findall(ran.out)} == expected
    agent = (ran.folder / "agent.md").read_text()
    assert {f"case: {test['description']}" for test in tests} <= {*agent.splitlines()}
    if len(big) == 1:
        assert {*METRIC.findall(agent)} == expected


def test_an_annotation_counts_other_answers_and_not_assertions(gate):
    """The first of three assertions that stand at one line names the other two."""
    line = "[{type: equals, value: a}, {type: equals, value: b}, {type: equals, value: c}]"
    config = "prompts: [x]\nproviders: [echo]\ndefaultTest: {assert: " + line + "}\ntests: [%s]\n"
    for cases, more in (("{description: case 1}", ""), ("{description: case 1}, {description: case 2}", "1 more answer at this line")):
        ran = gate(config % cases)
        text = REPORTS.find("annotations").render(load_decision(ran.folder / "results.json")[0], LINKS).text
        assert text.count("::error ") == 1
        assert "also: equals failed (2 times)" in text
        assert (more in text) if more else ("more answer" not in text)


def test_a_case_without_an_answer_stands_at_one_line_in_every_report(gate, llm):
    llm.reply = lambda path, body: ""
    config = "prompts: [x]\nproviders: [%s]\ntests:\n- description: case 1\n  assert:\n  - {type: equals, value: a}\n"
    ran = gate(config % llm.spec(), "-o", "agent.md")
    assert ran.cases[0]["error"]
    decision, _ = load_decision(ran.folder / "results.json")
    texts = {name: REPORTS.find(name).render(decision, LINKS).text for name in ("annotations", "comment", "summary")}
    texts |= {"agent": (ran.folder / "agent.md").read_text()}
    lines = {name: {*re.findall(r"promptfooconfig.yaml(?::|#L|,line=)(\d+)", text)} for name, text in texts.items()}
    assert lines == {name: {"4"} for name in texts}
