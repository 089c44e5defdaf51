from pathlib import Path

import pytest

from gradegate.files import limits as bounds
from gradegate.files.json_text import DEEPEST
from gradegate.files.yaml_reader import MAX_DEPTH

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "limits.md").read_text()
MIB = bounds.MIB
ROWS = [
    f"| {bounds.EVAL_CPU_SECONDS:g} s of CPU, {bounds.EVAL_WALL_SECONDS:g} s in all, {bounds.WORKER_MEMORY // MIB} MiB of memory |",
    f"| {bounds.RUN_CPU_SECONDS:g} s of CPU, and {bounds.CPU_SECONDS_PER_EVAL * 1000:g} ms more for each |",
    f"| {bounds.SCRIPT_CPU_SECONDS:g} s of CPU, {bounds.EVAL_WALL_SECONDS:g} s in all, {bounds.SCRIPT_MEMORY // MIB} MiB of memory; {bounds.MAX_SCRIPT // 1024} Ki",
    f"| {bounds.RUN_SCRIPT_CPU_SECONDS:g} s of CPU, and {bounds.CPU_SECONDS_PER_SCRIPT_CALL * 1000:g} ms more for each |",
    f"| {bounds.MAX_TEMPLATE_CHARACTERS // MIB} Mi, {bounds.MAX_TEXT_CHARACTERS // MIB} Mi, {bounds.MAX_PATTERN:,}, 1,000 characters |",
    f"| {bounds.MAX_WORKER_MESSAGE // MIB} MiB |",
    f"| {bounds.MAX_FILE // MIB} MiB; {bounds.MAX_TEXT_CHARACTERS // MIB} Mi characters; {bounds.MAX_FILES // MIB} MiB |",
    f"| {bounds.MAX_VALUES:,}, in {MAX_DEPTH} levels; a list",
    f"| {bounds.MAX_ALIASED:,}; a text counts once",
    f"| {bounds.MAX_MATCHES:,}; {bounds.MAX_ENTRIES:,} |",
    f"| {bounds.MAX_COMBINATIONS:,} |",
    f"| {bounds.MAX_ANSWERS:,}; {bounds.MAX_GRADES:,} |",
    f"| {bounds.MAX_PLANNED_CHARACTERS // MIB} Mi characters |",
    f"| {bounds.MAX_BODY // MIB} MiB; {bounds.MAX_BODY_VALUES:,}, in {DEEPEST} levels; {bounds.MAX_ANSWER_CHARACTERS // MIB} Mi characters |",
    f"| {bounds.MAX_RULES} |",
]


@pytest.mark.parametrize("row", ROWS)
def test_the_docs_say_the_limits_as_they_are(row):
    assert row in DOCS
