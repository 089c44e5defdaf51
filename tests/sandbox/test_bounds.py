from pathlib import Path

import pytest

from gradegate.files import limits as bounds
from gradegate.files.documents import DEEPEST
from gradegate.files.yaml_reader import MAX_DEPTH

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "limits.md").read_text()
MIB = bounds.MIB
ROWS = [
    f"| {bounds.SECONDS:g} s of CPU, {bounds.WALL:g} s in all, {bounds.MEMORY // MIB} MiB of memory |",
    f"| {bounds.TOTAL_SECONDS:g} s of CPU, and {bounds.EACH_SECONDS * 1000:g} ms more for each |",
    f"| {bounds.SCRIPT_SECONDS:g} s of CPU, {bounds.WALL:g} s in all, {bounds.SCRIPT_MEMORY // MIB} MiB of memory; {bounds.MAX_SCRIPT // 1024} Ki",
    f"| {bounds.SCRIPT_TOTAL:g} s of CPU, and {bounds.SCRIPT_EACH * 1000:g} ms more for each |",
    f"| {bounds.MAX_SOURCE // MIB} Mi, {bounds.MAX_CHARACTERS // MIB} Mi, {bounds.MAX_PATTERN:,}, 1,000 characters |",
    f"| {bounds.MAX_SENT // MIB} MiB |",
    f"| {bounds.MAX_FILE // MIB} MiB; {bounds.MAX_CHARACTERS // MIB} Mi characters; {bounds.MAX_FILES // MIB} MiB |",
    f"| {bounds.MAX_VALUES:,}, in {MAX_DEPTH} levels; a list",
    f"| {bounds.MAX_ALIASED:,}; a text counts once",
    f"| {bounds.MAX_MATCHES:,}; {bounds.MAX_ENTRIES:,} |",
    f"| {bounds.MAX_COMBINATIONS:,} |",
    f"| {bounds.MAX_ANSWERS:,}; {bounds.MAX_GRADES:,} |",
    f"| {bounds.MAX_PLANNED // MIB} Mi characters |",
    f"| {bounds.MAX_BODY // MIB} MiB; {bounds.MAX_BODY_VALUES:,}, in {DEEPEST} levels; {bounds.MAX_SAID // MIB} Mi characters |",
    f"| {bounds.MAX_RULES} |",
]


@pytest.mark.parametrize("row", ROWS)
def test_the_docs_say_the_limits_as_they_are(row):
    assert row in DOCS
