"""A mistake of a prompt names the line of its item, and is said once."""

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
