from pathlib import Path

import pytest

from gradegate.files import limits as bounds
from gradegate.files.json_text import DEEPEST

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "gate.md").read_text()
MIB = bounds.MIB
ROWS = [
    f"| {bounds.EVAL_CPU_SECONDS:g} s of CPU, {bounds.EVAL_WALL_SECONDS:g} s in all, {bounds.WORKER_MEMORY // MIB} MiB of memory |",
    f"| {bounds.MAX_FILE // MIB} MiB; {bounds.MAX_TEXT_CHARACTERS // MIB} Mi characters; {bounds.MAX_FILES // MIB} MiB |",
    f"| {bounds.MAX_COMBINATIONS:,} |",
    f"| {bounds.MAX_ANSWERS:,}; {bounds.MAX_GRADES:,} |",
    f"| {bounds.MAX_BODY // MIB} MiB; {bounds.MAX_BODY_VALUES:,}, in {DEEPEST} levels; {bounds.MAX_ANSWER_CHARACTERS // MIB} Mi characters |",
    f"| {bounds.MAX_RULES} |",
]


@pytest.mark.parametrize("row", ROWS)
def test_the_docs_say_the_limits_as_they_are(row):
    assert row in DOCS
