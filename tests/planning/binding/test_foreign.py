"""Names of promptfoo, DeepEval and Ragas: each is supported, or refused by name with what comes nearest."""

import ast
import re
import tarfile
import zipfile

import pytest

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.core.assertion import Assertion
from gradegate.files.documents import table
from gradegate.planning.binding.unknown_types import fold_name, foreign_types, unknown_type_error
from support.each import each
from support.installed import ROOT
from support.packages import npm_archive, wheel

TYPES = {*EVALUATORS.names(), "assert-set"}
# Of what deepeval.metrics exports: bases of metrics, and what is no metric.
NO_METRICS = {"BaseMetric", "BaseConversationalMetric", "BaseArenaMetric", "Verdict", "GEvalTemplate"}


def describe_type(kind: str) -> str:
    mistake = unknown_type_error(Assertion(kind)).mistakes[0]
    return f"{mistake.what} -> {mistake.cure}"


def spellings(name: str) -> set[str]:
    """A class's name as people write it for a type."""
    base = name.removesuffix("Metric")
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", base)
    return {name, base, words, *(words.lower().replace(" ", between) for between in " -_")}


@each("it", [*foreign_types()], ids=lambda it: it.name)
def test_what_comes_nearest_is_there(it):
    assert it.here.removeprefix("not-") in TYPES if it.here else "remove it" in it.way
    named = set(re.findall(r"\b[a-z]+(?:[:_-][a-z]+)+\b", re.sub(r"`[^`]*`|--[a-z-]+|well-formed", "", it.cure)))
    assert {name.removeprefix("not-") for name in named} <= TYPES, it


@each("it", [it for it in foreign_types() if it.tool != "promptfoo"], ids=lambda it: it.name)
def test_a_name_is_known_in_every_spelling(it):
    for name in spellings(it.name) - TYPES:
        for kind in (name, f"not-{name}"):
            told = describe_type(kind)
            assert "did you mean" not in told, (kind, told)
            assert it.here.removeprefix("not-") in told, (kind, told)


def test_what_another_word_may_mean_is_there():
    meant = table("planning.binding", "types.yaml")
    words = {name for names in meant.values() for name in names.split()}
    assert set(meant) <= set(EVALUATORS.names())
    assert not words & set(EVALUATORS.names())
    assert not {fold_name(name) for name in words} & {fold_name(it.name) for it in foreign_types()}


@pytest.mark.slow
def test_every_metric_of_deepeval_is_known():
    with zipfile.ZipFile(wheel("deepeval", "4.3.1")) as archive:
        tree = ast.parse(archive.read("deepeval/metrics/__init__.py"))
        modules = {name: archive.read(name).decode() for name in archive.namelist() if "deepeval/metrics/" in name}
    (exported,) = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)]
    metrics = set(exported) - NO_METRICS
    assert len(metrics) > 50
    assert metrics <= {it.name for it in foreign_types() if it.tool == "DeepEval"}
    shown = {name for text in modules.values() for name in re.findall(r'def __name__\(self\):\s+return "([^"]+)"', text)}
    assert {name for name in shown if not name.startswith("Base ")} > {"Plan Quality", "PII Leakage"}
    for name in sorted(metrics | {name for name in shown if not name.startswith("Base ")}):
        told = describe_type(name)
        assert "did you mean" not in told, told
        assert "docs/assertions/README.md" not in told, told


@pytest.mark.slow
def test_every_type_of_promptfoo_is_known():
    text = ""
    with tarfile.open(npm_archive("promptfoo", "0.123.1"), "r|gz") as archive:
        for entry in archive:
            if re.fullmatch(r"package/dist/src/tables-\w+\.js", entry.name) and not text:
                text = archive.extractfile(entry).read().decode()
    lists = re.findall(r"(?:Base|Special)AssertionTypesSchema = z\$?\d*\.enum\(\[(.*?)\]\)", text, re.DOTALL)
    types = {name for names in lists for name in re.findall(r'"([^"]+)"', names)}
    assert len(types) > 65
    assert types - TYPES <= {it.name for it in foreign_types() if it.tool == "promptfoo"}
    for kind in types - TYPES:
        assert "is a type of promptfoo that gradegate does not have ->" in describe_type(kind)


@each(("tool", "page"), [("DeepEval", "deepeval-metrics.csv"), ("promptfoo", "from-promptfoo.md")])
def test_the_page_has_every_name(tool, page):
    """What the pages say of each is made by `make generated`."""
    text = (ROOT / "docs" / page).read_text()
    assert [it.name for it in foreign_types() if it.tool == tool and not re.search(rf"(?<![\w-]){re.escape(it.name)}(?![\w-])", text)] == []
