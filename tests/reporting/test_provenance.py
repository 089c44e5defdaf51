"""Commit, config and tool of a run stand in every report under the same names."""

import hashlib
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

from junitparser import JUnitXml

from gradegate.reporting.account import provenance
from gradegate.values.account import Made
from support import samples, screens

TITLE = "Answers of the support desk"
ONE, TWO = hashlib.sha256(b"a").hexdigest(), hashlib.sha256(b"b").hexdigest()


def rendered(name: str) -> str:
    return samples.rendered(name, screens.mixed(), screens.LINKS)


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
