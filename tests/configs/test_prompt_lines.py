"""A mistake of a prompt names the line of its item, and is said once."""

from support.each import each
from support.graded import mistakes

CONFIG = """prompts:
  - "ok"
  - file://none.txt
  - {raw: 5}
  - {nonsense: 1}
  - 7
  - "{{ q | nofilter }}"
providers: [echo, nosuch:model]
tests:
  - vars: {q: 1}
    assert: [{type: contains, value: ok}]
"""


def test_each_prompt_has_one_mistake_at_its_own_line(gate):
    said = mistakes(gate(CONFIG, name="c.yaml")).splitlines()
    lines = [line.split(" ")[0] for line in said if line.startswith("c.yaml:")]
    assert lines == ["c.yaml:3:", "c.yaml:4:", "c.yaml:5:", "c.yaml:6:", "c.yaml:7:", "c.yaml:8:"]


@each(
    ("prompt", "file"),
    [
        ({"id": "greet", "label": "x", "file": "p.txt"}, "p.txt"),
        ({"id": "greet", "file": "file://p.txt"}, "p.txt"),
        ({"label": "x", "path": "prompts/p.txt"}, "prompts/p.txt"),
    ],
)
def test_a_file_under_a_key_that_nobody_reads_is_a_mistake(gate, prompt, file):
    ran = gate({**TEST, "prompts": [prompt]}, **{"p.txt": "hi"})
    assert f"is named by `raw` or `id`, and by nothing else -> write `raw: file://{file}`" in mistakes(ran)


@each("prompt", [{"id": "greet"}, {"raw": "greet-user"}, "greet-user", "my_prompt", "x.prompt", "./greet", "prompts/greet"])
def test_one_word_that_looks_like_a_name_is_sent_with_a_note(gate, prompt):
    ran = gate({**TEST, "prompts": [prompt]})
    word = next(iter(prompt.values())) if isinstance(prompt, dict) else prompt
    assert ran.cases[0]["output"] == word
    said = f"the prompt is the word `{word}`, and is sent as it is: a file is named by `file://` or its ending"
    assert said in [note["text"] for note in ran.results["notes"]]


@each("prompt", ["hello", "Hi!", "{{q}}", "{{q.a}}", "...", "a" * 100_000 + "/", "say it-now"])
def test_other_texts_have_none(gate, prompt):
    ran = gate({**TEST, "prompts": [prompt]})
    assert [note for note in ran.results["notes"] if "is the word" in note["text"]] == []


TEST = {"providers": ["echo"], "tests": [{"vars": {"q": "a"}, "assert": [{"type": "javascript", "value": "true"}]}]}
