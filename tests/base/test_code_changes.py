"""What a pull request does to a gate that code of the repository is part of; what became another is in test_changes.yaml."""

import pytest

from gradegate.errors import ConfigError
from support.checkouts import CONFIG, compared, said
from support.each import each, table


def test_without_leave_nothing_of_either_side_runs(tmp_path):
    files = {CONFIG: {"prompts": ["x"], "providers": ["echo"], "tests": ["file://gen.py:f"]}, "gen.py": "def f(): return []\n"}
    with pytest.raises(ConfigError, match="code of the repository"):
        compared(files, {**files, "gen.py": f"open({str(tmp_path / 'ran')!r}, 'w')\n"})
    assert not (tmp_path / "ran").exists()


LABELLED = {"id": "echo", "label": "app"}
WORDED = {"label": "p", "raw": "Say {{q}}"}


def seen(*assertions, target=LABELLED, prompt=WORDED, options=None, files=None):
    """What another label of the target and another text of the prompt come to, each by itself."""
    found = []
    for change in ({"providers": [{**target, "label": "lenient"}]}, {"prompts": [{**prompt, "raw": "Do say {{q}}"}]}):
        test = {"vars": {"q": "a"}, "assert": list(assertions), "options": options or {}}
        base = {"providers": [target], "prompts": [prompt], "tests": [test]}
        one, two = ({CONFIG: made, **(files or {})} for made in (base, {**base, **change}))
        found.append(any("settings that its code reads" in said(c) for c in compared(one, two, allow_exec=True).found))
    return found


@each(("kind", "value", "expected"), table(__file__, "what_code_reads_of_target_and_prompt_is_part_of_the_gate"))
def test_what_code_reads_of_target_and_prompt_is_part_of_the_gate(kind, value, expected):
    files = {
        "node.mjs": 'import { known } from "./known.mjs"; export default (output, context) => known(context)\n',
        "pack.cjs": "module.exports = require('./main')",
        "main/package.json": '{"main": "./real.js"}',
        "main/real.js": "module.exports = (output, { prompt }) => prompt.includes('Do')\n",
        "known.mjs": "export const known = ({ vars, prompt }) => prompt.includes('Do')\n",
        "check.js": "module.exports = (output, { provider }) => provider.label === 'lenient'",
        "check.py": "from other import known\ndef get_assert(output, context): return known(context)\n",
        "other.py": "def known(context): return 'Do' in context['prompt']\n",
    }
    assert seen({"type": kind, "value": value}, files=files) == expected
    inside = {"type": "assert-set", "assert": [{"type": kind, "value": value}]}
    assert seen(inside, files=files) == expected


def test_what_transforms_read_of_the_prompt_is_part_of_the_gate():
    check = {"type": "equals", "value": "a"}
    code = "context.prompt.raw.includes('Do') ? 'a' : output"
    assert seen(check) == [False, False]
    assert seen(check, options={"transform": code}) == [False, True]
    assert seen(check, target={**LABELLED, "transform": code}) == [False, True]
    label = "context.prompt.label"
    assert seen({**check, "transform": label}) == [False, True]
    assert seen({"type": "javascript", "value": "true", "transform": label}) == [False, True]
