"""results.json holds every value that it was written from."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import ConfigError, Origin
from gradegate.reporting.deliver import render
from gradegate.reporting.report import Links
from gradegate.results.file import reread, reread_file
from gradegate.values.account import AskedModel, BaselineReport, ConfirmReport, DerivedMetric, Made
from gradegate.values.conversation import Image, Turn, Usage
from gradegate.values.result import (
    Asserted,
    Counterpart,
    Counts,
    Decision,
    GateOutcome,
    Grade,
    Outcome,
    Row,
    RuleResult,
    RunResult,
    Vote,
    cases_of,
)
from gradegate.values.suite import NOWHERE, Note, Rule, Select
from support import samples
from support.each import each

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
SHARE = st.floats(0, 1)
COUNT = st.integers(0, 10**6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
ORIGIN = st.just(NOWHERE) | st.builds(Origin, TEXT.filter(bool), st.integers(0, 9999))
OUTCOME = st.sampled_from(Outcome)
USAGE = st.builds(Usage, COUNT, COUNT, COUNT, SHARE, COUNT, SHARE, COUNT)
DIGEST = st.just(b"") | st.binary(min_size=32, max_size=32)
STATUS = st.sampled_from(["", "ok", "fixed", "pre-existing", "new-failure", "unsteady", "undecided"])
ASSERTED = st.builds(Asserted, TEXT, JSON, SHARE, TEXT, st.booleans(), OBJECT, TEXT, st.booleans(), ORIGIN, DIGEST, DIGEST)
GRADE = st.builds(
    Grade,
    ASSERTED,
    OUTCOME,
    st.none() | NUMBER,
    st.none() | NUMBER,
    TEXT,
    OBJECT,
    USAGE,
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 100]),
    TEXT,
    st.booleans(),
    votes=st.lists(st.builds(Vote, OUTCOME, st.none() | NUMBER, TEXT, TEXT), max_size=3).map(tuple),
    confirmed=st.none() | st.booleans(),
    status=STATUS,
    base=st.none() | st.builds(Counterpart, OUTCOME, OUTCOME),
    undone=st.booleans(),
    unheard=st.booleans(),
)
TURN = st.builds(
    Turn,
    st.sampled_from(["user", "assistant"]),
    TEXT,
    st.lists(TEXT | TEXT.map(Image), max_size=2).map(tuple),
    st.lists(TEXT, max_size=2).map(tuple),
    OBJECT,
)
ROW = st.builds(
    Row,
    suite=TEXT,
    description=TEXT,
    provider=TEXT,
    prompt_label=TEXT,
    prompt=TEXT,
    vars=OBJECT,
    outcome=OUTCOME,
    output=st.none() | TEXT,
    error=TEXT,
    grades=st.lists(GRADE, max_size=2).map(tuple),
    score=st.none() | NUMBER,
    threshold=st.none() | NUMBER,
    reason=TEXT,
    usage=USAGE,
    case=COUNT,
    repeat=st.integers(0, 3),
    turns=st.lists(TURN, max_size=3).map(tuple),
    metadata=OBJECT,
    origin=ORIGIN,
    key=DIGEST,
    definition=DIGEST,
    base=st.none() | OUTCOME,
    undone=st.booleans(),
)
RULE = st.builds(
    Rule,
    TEXT,
    st.builds(Select, TEXT, TEXT, TEXT, TEXT),
    st.none() | SHARE,
    st.none() | NUMBER,
    st.none() | COUNT,
    st.none() | SHARE,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 100]),
    TEXT,
    ORIGIN,
    st.none() | COUNT,
    st.none() | SHARE,
)
BESIDE = st.builds(BaselineReport, TEXT, st.none() | COUNT, *[COUNT] * 7, st.lists(TEXT, max_size=2).map(tuple), st.booleans())
CONFIRM = st.builds(ConfirmReport, st.sampled_from(["off", "answers, grader"]), SHARE, *[COUNT] * 9)
COUNTS = st.builds(Counts, COUNT, COUNT, COUNT)
RUN = st.builds(
    RunResult,
    cases=st.lists(ROW, max_size=3).map(cases_of),
    target_usage=USAGE,
    grader_usage=USAGE,
    interrupted=TEXT,
    notes=st.lists(st.builds(Note, TEXT, st.none() | ORIGIN.filter(lambda o: o.file)), max_size=2, unique=True).map(tuple),
    seconds=SHARE,
    models=st.lists(st.builds(AskedModel, TEXT, TEXT, st.sampled_from(["model", "file"])), max_size=2).map(tuple),
    about=st.dictionaries(TEXT, OBJECT, max_size=2),
    baseline=st.none() | BESIDE,
    made=st.builds(Made, TEXT, TEXT, TEXT, st.dictionaries(TEXT, TEXT, max_size=2)),
    confirm=st.none() | CONFIRM,
    derived=st.lists(st.builds(DerivedMetric, TEXT, TEXT, TEXT, TEXT, st.none() | NUMBER, TEXT, COUNT, COUNT), max_size=2).map(tuple),
)
DECISION = st.builds(
    Decision,
    st.sampled_from(GateOutcome),
    TEXT,
    st.lists(
        st.builds(
            RuleResult,
            *(RULE, OUTCOME, TEXT, COUNT, COUNT, COUNT),
            *(st.none() | SHARE, st.none() | NUMBER, st.none() | SHARE, st.none() | SHARE),
            *(st.none() | COUNT, st.none() | COUNT, st.none() | COUNT, st.none() | SHARE),
        ),
        max_size=2,
    ).map(tuple),
    RUN,
    COUNTS,
    COUNTS,
    st.booleans(),
)


def written(decision):
    return render("json", decision, Links(), str).text.encode()


@given(DECISION)
def test_what_was_written_is_read_back(decision):
    back = reread(written(decision), "results.json")
    assert back == decision
    turns = [turn for row in back.run.rows for turn in row.turns]
    before = [turn for row in decision.run.rows for turn in row.turns]
    assert [[type(text) for text in turn.retrieval_context] for turn in turns] == [
        [type(text) for text in turn.retrieval_context] for turn in before
    ]
    assert [turn.metadata for turn in turns] == [turn.metadata for turn in before]  # no part of equality


@each("decision", [samples.passed(), samples.blocked(), samples.inconclusive()])
def test_a_second_writing_is_the_same_to_the_byte(decision):
    first = written(decision)
    assert written(reread(first, "results.json")) == first


def test_an_answer_can_be_graded_again_from_what_was_read():
    turn = Turn("assistant", "At ten.", ("Open from ten.",), metadata={"tool_calls": [{"name": "hours"}]})
    row = replace(samples.passing(), turns=(Turn("user", "When?"), turn), metadata={"tool_calls": [{"name": "hours"}]})
    decision = samples.decision(GateOutcome.PASS, "so", row)
    (back,) = reread(written(decision), "results.json").run.rows
    assert back.transcript == row.transcript
    assert back.transcript.turns[-1].metadata == {"tool_calls": [{"name": "hours"}]}


@each(
    ("content", "words"),
    [
        (b"", "EOF"),
        (b"[]", "of this version: must be a mapping, not a list"),
        (b'{"version": 2}', "version must be 1, not 2 -> read it with the gradegate that wrote it, or write"),
        (b'{"version": true}', "of this version: version is not a whole number"),
        (b'{"version": 1}', "made is missing"),
    ],
)
def test_what_is_no_results_json_is_a_mistake(content, words):
    with pytest.raises(ConfigError, match=words) as error:
        reread(content, "old.json")
    assert str(error.value).startswith("old.json: not a results.json of this version")


def test_a_file_that_is_missing_is_a_mistake(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        reread_file(tmp_path / "absent.json")


def test_what_a_run_writes_names_commit_tool_time_and_config(gate, llm):
    ran = gate({"prompts": ["hi"], "providers": ["echo"], "tests": [{"assert": [{"type": "contains", "value": "hi"}]}]})
    made = ran.results["made"]
    assert made["tool"]
    assert made["started"].endswith("+00:00")
    assert [len(digest) for digest in made["configs"].values()] == [64]
    assert json.dumps(ran.results)
