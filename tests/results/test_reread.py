"""results.json holds every value that it was written from."""

import json
from collections.abc import Mapping
from datetime import date, datetime
from enum import Enum
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.conversation import Image, Turn
from gradegate.core.policy import CaseRuns, Note, Runs
from gradegate.core.provider_spec import NOWHERE
from gradegate.core.usage import Usage
from gradegate.errors import ConfigError, Origin
from gradegate.reports.delivery.deliver import render_report
from gradegate.reports.delivery.report import Links
from gradegate.reports.format.case_story import summarize_case, tell_case
from gradegate.results.grades import Outcome
from gradegate.results.results_file import load_decision, parse_decision
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, GateOutcome
from gradegate.structs import field_names, replace
from support import samples, screens, showcase
from support.decided import decide_rows
from support.decided import make_rows as made_by_hand
from support.each import each

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
COUNT = st.integers(0, 10**6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
PLACED = st.builds(Origin, TEXT.filter(bool), st.integers(0, 9999))
KINDS = {
    str: TEXT,
    float: st.floats(0, 1),
    int: COUNT,
    bool: st.booleans(),
    date: st.dates(),
    bytes: st.just(b"") | st.binary(min_size=32, max_size=32),
    Any: JSON,
    Origin: st.just(NOWHERE) | PLACED,
    Usage: st.builds(Usage, COUNT, COUNT, COUNT, st.floats(0, 1), COUNT, st.floats(0, 1), COUNT),
    tuple[Row, ...]: st.lists(st.deferred(lambda: values_of_type(Row)), max_size=3).map(tuple),
    tuple[Note, ...]: st.lists(st.builds(Note, TEXT, st.none() | PLACED), max_size=2, unique=True).map(tuple),
    frozenset[int]: st.frozensets(COUNT, max_size=3),
    CaseRuns | None: st.none() | st.builds(CaseRuns, st.builds(Runs, COUNT, COUNT, PLACED), COUNT, st.booleans()),
    tuple[tuple[str, str], ...]: st.dictionaries(TEXT.filter(bool), TEXT.filter(bool), max_size=2).map(lambda it: tuple(it.items())),
}
FIELDS = {  # by what else a field may hold than its type
    "status": st.sampled_from(["", "ok", "fixed", "pre-existing", "new-failure", "unsteady", "undecided"]),
    "scale": st.sampled_from([1, 100]),
    "retrieval_context": st.lists(TEXT | TEXT.map(Image), max_size=2).map(tuple),
    "repeat": st.integers(0, 3),
    "started": st.just("") | st.datetimes().map(datetime.isoformat),
    "live_models": st.just(()),  # which is in no file: `setup` says what follows from it
    "powers": st.just(()),  # its rules have them
    "parties": st.none() | st.tuples(*[st.tuples(TEXT, TEXT, TEXT)] * 2),
}


def values_of_type(kind: Any) -> st.SearchStrategy:
    """Any value of that type that a run may give."""
    if kind in KINDS:
        return KINDS[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    if field_names(kind):
        hints = get_type_hints(kind)
        return st.builds(kind, **{name: FIELDS[name] if name in FIELDS else values_of_type(hints[name]) for name in field_names(kind)})
    if get_origin(kind) is tuple:
        return st.lists(values_of_type(get_args(kind)[0]), max_size=2).map(tuple)
    if get_origin(kind) is Mapping:
        return st.dictionaries(TEXT, values_of_type(get_args(kind)[1]), max_size=2)
    return st.none() | values_of_type(get_args(kind)[0])


def written(decision):
    return render_report("json", decision, Links(), str).text.encode()


@given(values_of_type(Decision))
def test_what_was_written_is_read_back(decision):
    back, _ = parse_decision(written(decision), "results.json")
    assert back == decision
    turns = [turn for row in back.run.rows for turn in row.turns]
    before = [turn for row in decision.run.rows for turn in row.turns]
    assert [[type(text) for text in turn.retrieval_context] for turn in turns] == [
        [type(text) for text in turn.retrieval_context] for turn in before
    ]
    assert [turn.metadata for turn in turns] == [turn.metadata for turn in before]  # no part of equality


@each("decision", [samples.passed_decision(), samples.blocked_decision(), samples.inconclusive(), samples.weakened_decision()])
def test_a_second_writing_is_the_same_to_the_byte(decision):
    first = written(decision)
    assert written(parse_decision(first, "results.json")[0]) == first


def test_an_answer_can_be_graded_again_from_what_was_read():
    turn = Turn("assistant", "At ten.", ("Open from ten.",), metadata={"tool_calls": [{"name": "hours"}]})
    row = replace(samples.passing(), turns=(Turn("user", "When?"), turn), metadata={"tool_calls": [{"name": "hours"}]})
    decision = samples.decision(GateOutcome.PASS, "so", row)
    (back,) = parse_decision(written(decision), "results.json")[0].run.rows
    assert back.transcript == row.transcript
    assert back.transcript.turns[-1].metadata == {"tool_calls": [{"name": "hours"}]}


@each(
    ("content", "words"),
    [
        (b"", "is no JSON, or breaks off"),
        (b"[]", "of this version: must be a mapping, not a list"),
        (b'{"version": 1}', "version cannot be 1 -> read it with the gradegate that wrote it, or write"),
        (b'{"version": 3}', "version cannot be 3 -> read it with the gradegate that wrote it, or write"),
        (b'{"version": true}', "of this version: version must be a whole number, not true or false"),
        (b'{"version": 2}', "made is missing"),
    ],
)
def test_what_is_no_results_json_is_a_mistake(content, words):
    with pytest.raises(ConfigError, match=words) as error:
        parse_decision(content, "old.json")
    assert str(error.value).startswith("old.json: not a results.json of this version")


def test_a_file_that_is_missing_is_a_mistake(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load_decision(tmp_path / "absent.json")


def test_what_a_run_writes_names_commit_tool_time_and_config(gate, llm):
    ran = gate({"prompts": ["hi"], "providers": ["echo"], "tests": [{"assert": [{"type": "contains", "value": "hi"}]}]})
    made = ran.results["made"]
    assert made["tool"]
    assert made["started"].endswith("+00:00")
    assert [len(digest) for digest in made["configs"].values()] == [64]
    assert json.dumps(ran.results)


# --- from outside ---------------------------------------------------------------------------------------------


def written_from_outside(decision: Any) -> dict[str, Any]:
    return json.loads(samples.render_report("json", decision, Links()))


def leaves(value: Any, path: tuple = ()) -> list[tuple]:
    """The paths of everything in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path] if path else []
    for key, item in items:
        found += leaves(item, (*path, key))
    return found


WHOLE = [written_from_outside(make()) for make in (showcase.showcase, samples.blocked_decision, screens.mixed)]
PATHS = [leaves(document) for document in WHOLE]
ODD = st.one_of(
    st.sampled_from([None, True, -1, 0, 10**9, 10**400, 1e308, -1e308, 1e-308, "", "x", "\u202e::error::x", [], {}]),
    st.sampled_from([[None], [{}], [[]], {"claim": "x"}, [{"claim": "x", "verdict": "no"}], "pass", "<b>", "a" * 30_000]),
    st.text(max_size=5),
    st.floats(allow_nan=False, allow_infinity=False),
)


def check_reread(content: bytes) -> None:
    try:
        decision, _ = parse_decision(content, "results.json")
    except ConfigError as e:
        said = str(e)
    else:
        shown(decision)
        return
    assert said.startswith("results.json: not a results.json of this version: ")


def shown(decision: Decision) -> None:
    for name in ("html", "junit", "summary"):
        assert samples.render_report(name, decision, Links()).encode()
    for at in range(len(decision.run.rows)):
        assert tell_case(decision, at)
        assert summarize_case(decision, at)


@given(st.data())
def test_any_value_anywhere_is_refused_or_shown(data: st.DataObject) -> None:
    which = data.draw(st.integers(0, len(WHOLE) - 1))
    document = json.loads(json.dumps(WHOLE[which]))
    for path in data.draw(st.lists(st.sampled_from(PATHS[which]), min_size=1, max_size=3)):
        place: Any = document
        try:
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = data.draw(ODD)
        except (TypeError, KeyError, IndexError):  # an earlier change took it away
            continue
    check_reread(json.dumps(document).encode())


@given(st.binary(max_size=60))
def test_no_bytes_make_a_traceback(content: bytes) -> None:
    check_reread(content)


def test_a_pattern_that_this_version_does_not_know_is_left_out() -> None:
    document = json.loads(json.dumps(WHOLE[0]))
    document["rules"][0]["rule"]["select"]["language"] = "en"
    check_reread(json.dumps(document).encode())


def test_counts_below_nothing_are_refused() -> None:
    document = json.loads(json.dumps(WHOLE[0]))
    document["rules"][1]["passed"] = -1
    with pytest.raises(ConfigError, match=r"rules\.1\.passed must be a whole number >= 0"):
        parse_decision(json.dumps(document).encode(), "results.json")


def test_runs_that_count_together_are_summed_up():
    rows = [replace(it, verdict=Outcome.PASS, of=3, run=number, key=b"k" * 32) for number, it in enumerate(made_by_hand("P P"), 1)]
    other = replace(rows[0], of=5)
    assert json.loads(written(decide_rows([*rows, other])))["runs"] == {"cases": 2, "made": 3, "most": 8}
    assert json.loads(written(decide_rows("P P")))["runs"] is None


def test_keys_that_joined_later_have_their_defaults_where_a_file_lacks_them():
    content = json.loads(written(decide_rows("P=0.5")))
    for name in ("quarantine", "withheld", "votes", "confirmed", "base"):
        del content["cases"][0]["grades"][0][name]
    for name in ("run", "hidden", "took"):
        del content["cases"][0][name]
    decision, _ = parse_decision(json.dumps(content).encode(), "old.json")
    (row,) = decision.run.rows
    (grade,) = row.grades
    assert (grade.quarantine, grade.withheld, grade.votes, grade.confirmed, grade.base) == (None, False, (), None, None)
    assert (row.run, row.hidden, row.took) == (0, False, None)
    del content["cases"][0]["grades"][0]["outcome"]
    with pytest.raises(ConfigError, match=r"cases\[0\]|outcome"):
        parse_decision(json.dumps(content).encode(), "old.json")
