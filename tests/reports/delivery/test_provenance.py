"""Commit, config and tool stand in every report, no secret does, and scores stand beside their thresholds."""

import hashlib
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml

from gradegate.core.policy import Rule
from gradegate.core.provider_spec import Verbatim
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.line_numbers import Seq
from gradegate.reports.delivery.redact import redact_mistakes, redact_values
from gradegate.reports.format.charts import BAR_WIDTH, MetricScores, metric_scores, outcome_chart
from gradegate.reports.view.run_summary import provenance
from gradegate.results.accounts import AskedModel, Made
from gradegate.results.grades import Grade, GradedAssertion, Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import RuleResult, RunResult
from gradegate.security.redaction import redactor
from support import samples, screens

TITLE = "Answers of the support desk"
ONE, TWO = hashlib.sha256(b"a").hexdigest(), hashlib.sha256(b"b").hexdigest()


def rendered(name: str) -> str:
    return samples.render_report(name, screens.mixed(), screens.LINKS)


def test_one_config_has_its_own_digest_and_none_has_none() -> None:
    assert Made(configs={"a.yaml": ONE}).digest == ONE
    assert Made().digest == ""


def test_several_configs_have_the_digest_that_coreutils_give(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    command = "sha256sum b a | cut -c1-64 | sort | sha256sum"
    said = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert Made(configs={"b": TWO, "a": ONE}).digest == said[:64]
    assert Made(configs={"evals/a": ONE, "evals/b": TWO}).digest == said[:64]  # wherever it was started


def test_what_is_not_known_is_left_out() -> None:
    assert [*provenance(Made())] == []
    assert [*provenance(Made(tool="1.2.3"))] == [("gradegate-version", "1.2.3")]


def test_every_report_of_a_run_names_them() -> None:
    made = screens.MADE
    for name in ("html", "comment", "summary"):
        assert all(value in rendered(name) for value in (made.commit, made.digest, made.tool)), name
    assert f'"digest":"{made.digest}"' in rendered("json")
    (first, *others) = JUnitXml.fromstring(rendered("junit").encode())
    properties = {item.name: item.value for item in first.properties()}
    assert properties["started"] == made.started
    assert ET.fromstring(rendered("junit")).get("name") == TITLE
    page = rendered("html")
    assert f"<title>Blocked: {TITLE} - gradegate</title>" in page
    head = re.sub(r"<[^>]+>", " ", page.partition("<h1>")[2].partition("</header>")[0])
    told = "Config Answers of the support desk – evals/support.yaml Target openai:chat:gpt-5 Grader openai:chat:gpt-5-mini"
    assert f"{told} Commit 1f3a9c0 Date 2026-01-01 00:00 UTC" in " ".join(head.split())
    wanted = {"commit": made.commit, "config-sha256": made.digest, "gradegate-version": made.tool}
    assert {name: properties[name] for name in wanted} == wanted
    assert all("commit" not in {item.name for item in suite.properties()} for suite in others)


# --- redact ---------------------------------------------------------------------------------------------------
SECRET = 'sk-"canary"/äö+& 1'


def test_a_run_is_concealed_in_depth_and_not_copied_without_need():
    def row(text):
        grade = Grade(GradedAssertion("contains"), Outcome.FAIL, 0.0, reason=text, evidence={"list": [{"k": text}]})
        documents = Seq(1, [Verbatim(text), Verbatim("clean")])
        return Row("s", "d", "p", "l", text, {"v": text, "context": documents}, Outcome.FAIL, output=text, grades=(grade,))

    clean, dirty = row("nothing"), row(f"has {SECRET}")
    run = redact_values(RunResult((clean, dirty)), redactor([SECRET]))
    assert run.rows[0] is clean
    assert SECRET not in repr(run)
    assert run.rows[1].grades[0].evidence == {"list": [{"k": "has ***"}]}
    assert run.rows[1].vars["context"] == ["has ***", "clean"]
    assert redact_values(run, redactor([SECRET])) is run


def test_the_names_of_models_are_hidden_too():
    model = AskedModel(f"http://h/{SECRET}", f"{SECRET}.example.com", "file")
    run = redact_values(RunResult((), models=(model,)), redactor([SECRET]))
    assert [str(model) for model in run.models] == ["http://h/*** at ***.example.com"]
    assert run.models[0].replies_from == "file"


def test_mistakes_are_concealed_with_their_places():
    error = ConfigError(Mistake(f"no such provider `{SECRET}`", Origin(f"{SECRET}.yaml", 3), "x"), Mistake("plain"))
    assert str(redact_mistakes(error, redactor([SECRET]))) == "***.yaml:3: no such provider `***` -> x\nplain"


# --- the scores of a metric -----------------------------------------------------------------------------------


def scores(*pairs: tuple[float | None, Outcome], **options: object) -> MetricScores:
    grades = [samples.grade(outcome, "similar", score=score, **options) for score, outcome in pairs]
    (found,) = metric_scores([samples.row("x", Outcome.PASS, grade) for grade in grades])
    return found


def test_a_metric_has_its_counts_its_mean_and_its_thresholds() -> None:
    found = scores(
        (0.05, Outcome.FAIL), (0.7, Outcome.PASS), (0.75, Outcome.PASS), (1.0, Outcome.PASS), (None, Outcome.ERROR), threshold=0.5
    )
    assert (found.counts.passed, found.counts.failed, found.counts.errored) == (3, 1, 1)
    assert (found.average, found.thresholds) == (0.625, (0.5,))


def test_a_limit_from_above_on_what_was_measured_is_no_threshold_of_the_score() -> None:
    assert scores((0.0, Outcome.FAIL), threshold=500.0, most=True).thresholds == ()


def test_what_is_no_usual_number_is_in_no_mean() -> None:
    assert scores((None, Outcome.ERROR), (float("nan"), Outcome.FAIL), (1e300, Outcome.PASS)).average is None


def test_a_metric_is_counted_under_its_name_and_members_of_a_set_are_not() -> None:
    named = samples.grade(Outcome.PASS, score=1.0)
    member = samples.grade(Outcome.PASS, "equals", score=1.0, inner=True)
    assert [it.name for it in metric_scores([samples.row("x", Outcome.PASS, named, member)])] == ["factuality"]


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.none() | st.floats(0, 1))
def test_the_shares_of_a_rule_fill_its_bar(passed: int, failed: int, errored: int, least: float | None) -> None:
    drawn = outcome_chart(RuleResult(Rule("x", min_pass_rate=least), Outcome.PASS, "", passed, failed, errored))
    assert sum(box.width for box in drawn.boxes) == pytest.approx(BAR_WIDTH if drawn.boxes else 0, abs=0.2)
    assert all(0 <= x <= BAR_WIDTH for x in drawn.lines)
