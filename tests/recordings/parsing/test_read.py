"""Files with answers made elsewhere: which form they have, and what is wrong with them, each mistake at its line."""

import json

from hypothesis import given
from hypothesis import strategies as st

from gradegate.config.context import Context
from gradegate.core.settings import Settings
from gradegate.files.yaml_reader import MAX_DEPTH
from gradegate.recordings.parsing.fields import unwritable_part
from gradegate.recordings.parsing.reader import MOST_MISTAKES, load_recordings
from gradegate.sandbox.evaluate import reset_accounts
from support.each import each, table


def recording(tmp_path, content, name="answers.jsonl"):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    reset_accounts()
    return load_recordings(Context(Settings(answers=(name,), cwd=tmp_path)))


LINE = '{"id": "a", "output": "x"}'


@each("content", table(__file__, "FORMS"))
def test_lines_and_documents_are_told_apart_by_what_they_hold(tmp_path, content):
    for name in ("answers.jsonl", "answers.json", "answers"):
        (answer,) = recording(tmp_path, content, name).answers
        assert (answer.id, answer.output) == ("a", "x")


WRONG = [
    *table(__file__, "WRONG"),
    ('{"id": "a", "output": ' + "9" * 5000 + "}", "answers.jsonl:1: a number with too many digits"),
    ('{"id": "a", "output": ' + "[" * 70 + "]" * 70 + "}", f"nested deeper than {MAX_DEPTH} levels"),
    (b'{"id": "a", "output": "\xff"}', "answers.jsonl:1: the line is not UTF-8 text"),
    (b"[\xff]", "answers.jsonl: the file is not UTF-8 text"),
]


@each(("content", "said"), WRONG)
def test_what_is_wrong_is_said_at_its_line(tmp_path, content, said):
    found = recording(tmp_path, content)
    assert not found.answers
    assert said in "\n".join(map(str, found.mistakes))
    assert all(mistake.cure for mistake in found.mistakes)


def test_all_mistakes_of_a_file_are_said_up_to_a_number(tmp_path):
    found = recording(tmp_path, LINE + "\n" + '{"id": 1}\n' * 500)
    assert len(found.mistakes) == MOST_MISTAKES + 1
    assert "450 more mistakes are in this file" in str(found.mistakes[-1])


def test_a_file_of_nothing_but_lines_is_refused(tmp_path):
    found = recording(tmp_path, LINE + "\n" * 1_000_001)
    assert "more than 1,000,000 lines" in str(found.mistakes[0])


def test_a_file_that_is_missing_is_a_mistake(tmp_path):
    (mistake,) = load_recordings(Context(Settings(answers=("none.jsonl",), cwd=tmp_path))).mistakes
    assert "`" in mistake.what
    assert "none.jsonl" in mistake.what
    (mistake,) = load_recordings(Context(Settings(answers=("*.none",), cwd=tmp_path))).mistakes
    assert "matches no file" in mistake.what


def test_a_file_that_is_named_twice_is_read_once(tmp_path):
    (tmp_path / "a.jsonl").write_text(LINE)
    assert len(load_recordings(Context(Settings(answers=("a.jsonl", "./a.jsonl", "*.jsonl"), cwd=tmp_path))).answers) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
KEYS = "id output error messages tool_calls retrieval_context usage cost latency_ms finish_reason metadata".split()
OTHERS = (
    "custom_id response user_input retrieved_contexts input actual_output scenario turns resourceSpans schema_version steps "
    "results testCase prompt provider vars body choices"
).split()


@given(st.dictionaries(st.sampled_from(KEYS + OTHERS), JSON, min_size=1), st.booleans())
def test_no_content_is_more_than_a_mistake(tmp_path_factory, row, listed):
    folder = tmp_path_factory.mktemp("any")
    found = recording(folder, json.dumps([row] if listed else row))
    for answer in found.answers:
        assert answer.output is None or isinstance(answer.output, str)
        assert isinstance(answer.error, str)


@given(st.binary(max_size=200))
def test_no_bytes_are_more_than_a_mistake(tmp_path_factory, raw):
    found = recording(tmp_path_factory.mktemp("any"), raw)
    assert found.answers or found.mistakes


@given(JSON)
def test_what_is_not_strange_can_be_written_as_json(value):
    if not unwritable_part(value):
        json.dumps(value, allow_nan=False).encode()
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


def test_a_line_has_one_mistake_whatever_is_wrong_with_it(tmp_path):
    other = {f"key{number}": number for number in range(20)}
    found = recording(tmp_path, "".join(json.dumps(it) + "\n" for it in (other, {"id": 1, "cost": -1, "outptu": 1})))
    first, second = map(str, found.mistakes)
    assert first.startswith("answers.jsonl:1: `id` is missing; unknown key `key0`; unknown key `key1`; unknown key `key2`; ...")
    assert second.startswith("answers.jsonl:2: `id` must be text, not 1; `cost` must be")
    assert "unknown key `outptu`" in second
    assert "docs/answers.md" in second


RAGAS = {"user_input": "a", "response": "x"}


@each(("row", "names"), table(__file__, "TWO_SHAPES"))
def test_a_row_of_two_shapes_is_a_mistake(tmp_path, row, names):
    for rows in ([row], [RAGAS, row]):
        found = recording(tmp_path, json.dumps(rows))
        assert not found.answers
        assert f"the row has two shapes at once: {names}" in str(found.mistakes[0])


def test_rows_of_one_file_have_one_shape(tmp_path):
    for rows in ([RAGAS, json.loads(LINE)], [json.loads(LINE), RAGAS]):
        found = recording(tmp_path, "".join(json.dumps(row) + "\n" for row in rows))
        assert not found.answers
        assert "answers.jsonl:2: the row has the shape" in str(found.mistakes[0])


def test_files_of_different_shapes_are_read_together(tmp_path):
    (tmp_path / "a.jsonl").write_text(LINE)
    (tmp_path / "b.jsonl").write_text(json.dumps(RAGAS))
    found = load_recordings(Context(Settings(answers=("a.jsonl", "b.jsonl"), cwd=tmp_path)))
    assert [(it.id, it.output) for it in found.answers] == [("a", "x"), ("", "x")]


def test_mistakes_are_counted_for_each_file(tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text('{"id": 1}\n' * 60)
    found = load_recordings(Context(Settings(answers=("a.jsonl", "b.jsonl"), cwd=tmp_path)))
    assert len(found.mistakes) == 2 * (MOST_MISTAKES + 1)
