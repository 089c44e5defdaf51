"""yaml-language-server reads our schema as editors do: what it marks, offers and shows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gradegate.assertions.grading.evaluator import EVALUATORS
from support.each import each, table
from support.language_server import Editor, editor

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language server")]
ROOT = Path(__file__).resolve().parents[2]
HEAD = f"# yaml-language-server: $schema={(ROOT / 'docs' / 'config.schema.json').as_uri()}\n"
ASSERT = "tests:\n  - vars: {q: hi}\n    assert:\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Editor]:
    with editor() as one:
        yield one


@each(("text", "marks"), [*table(__file__, "what_is_marked"), *table(__file__, "what_is_not_marked")])
def test_what_is_marked(server, text, marks):
    assert server.faults(HEAD + text) == [(line, said) for line, said in marks]


def test_a_type_that_there_is_not_is_marked_with_those_that_there_are(server):
    ((line, said),) = server.faults(HEAD + ASSERT + "      - type: contians\n        value: hi\n")
    assert line == 5
    assert '"contains"' in said


@each("path", sorted((ROOT / "examples").glob("*/promptfooconfig.yaml")), ids=lambda it: it.parent.name)
def test_examples_have_no_mark(server, path):
    assert server.faults(HEAD + path.read_text()) == []


def test_every_type_is_offered_with_its_sentence(server):
    offered = server.completions(HEAD + ASSERT + "      - type: |\n")
    assert set(offered) == {*EVALUATORS.names(), "assert-set"}
    assert offered["contains"] == "The answer holds a text."
    assert all(offered.values())


@each(("text", "some"), table(__file__, "keys_are_offered"))
def test_keys_are_offered(server, text, some):
    assert set(some.split()) <= set(server.completions(HEAD + text))


@each(("text", "said"), table(__file__, "what_is_shown_for_a_word"))
def test_what_is_shown_for_a_word(server, text, said):
    assert said in server.hover(HEAD + text)
