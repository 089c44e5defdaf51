"""What a pull request does to a gate that code of the repository is part of."""

import pytest

from gradegate.values.settings import Settings
from support.checkouts import CONFIG, compared, said
from support.each import each, table

JUDGE = "from words import GOOD\ndef get_assert(output, context): return output in GOOD\n"
GRADER = 'def call_api(prompt, options, context): return {\'output\': \'{"pass": true, "score": 1, "reason": ""}\'}\n'
APP = "def call_api(prompt, options, context): return {'output': 'a'}\n"
TESTS = "def f(): return [{'description': 'one', 'vars': {'q': 'a'}, 'assert': [{'type': 'equals', 'value': 'a'}]}]\n"
FILES = {
    CONFIG: {
        "prompts": ["file://p.py:f"],
        "providers": ["file://app.py", "exec: python3 app.py", "file://app.mjs"],
        "tests": [
            {
                "description": "judged",
                "assert": [
                    {"type": "python", "value": "file://judge.py"},
                    {"type": "python", "value": "len(output) < 9"},
                    {"type": "javascript", "value": "file://judge.mjs"},
                    {"type": "llm-rubric", "value": "is kind", "provider": "file://grader.py"},
                    {"type": "llm-rubric", "value": "is kind", "provider": "exec: python3 grader.py"},
                ],
            },
            {"description": "shaped", "options": {"transform": "file://shape.py"}, "assert": [{"type": "equals", "value": "b"}]},
            "file://gen.py:f",
        ],
    },
    "shape.py": "def get_transform(output, context): return output\n",
    "judge.py": JUDGE,
    "words.py": "GOOD = ['a']\n",
    "judge.mjs": 'import { good } from "./lib"; import "#rules"; export default (output) => good.includes(output)\n',
    "lib/index.mjs": 'const data = "./good.json"; export const good = [data]\n',
    "lib/good.json": "[]",
    "rules.mjs": "",
    "package.json": '{"imports": {"#rules": "./rules.mjs"}}',
    "app.mjs": "export default class { callApi() { return { output: 'a' } } }\n",
    "grader.py": GRADER,
    "app.py": APP,
    "p.py": "def f(context): return 'say it'\n",
    "gen.py": TESTS,
}


def changes(named: dict[str, str] | None = None, **files: str) -> list[str]:
    head = {**FILES, **{name.replace("_py", ".py"): text for name, text in files.items()}, **(named or {})}
    return [said(change) for change in compared(FILES, head, allow_exec=True).found]


def test_nothing_changed():
    assert changes() == []


@each(
    "files",
    [
        {"judge_py": JUDGE.replace("output in GOOD", "True")},
        {"words_py": "GOOD = ['a', 'b']\n"},
        {"grader_py": GRADER + "# milder\n"},
        {"shape_py": "def get_transform(output, context): return 'a'\n"},
        {"named": {"judge.mjs": "export default () => true\n"}},
        {"named": {"lib/index.mjs": "export const good = ['a', 'b']\n"}},
        {"named": {"lib/good.json": '["a"]'}},
        {"named": {"rules.mjs": "Array.prototype.includes = () => true\n"}},
        {"named": {"package.json": '{"imports": {"#rules": "./milder.mjs"}}'}},
    ],
)
def test_code_that_judges_is_part_of_the_gate(files):
    assert changes(**files)


@each(
    "files", [{"app_py": APP + "# new\n"}, {"p_py": "def f(context): return 'say so'\n"}, {"named": {"app.mjs": "export default class {}"}}]
)
def test_code_that_answers_is_what_is_tested_and_no_part_of_the_gate(files):
    assert changes(**files) == []


def test_tests_that_code_makes_are_compared_as_they_are_made():
    assert changes(gen_py="# another way\n" + TESTS) == []
    (found,) = changes(gen_py=TESTS.replace("equals", "contains"))
    assert "equals" in found


def test_the_code_of_a_config_is_compared_as_its_value():
    config = {**FILES[CONFIG], "tests": [{"assert": [{"type": "python", "value": "len(output) < 9"}]}]}
    milder = {**config, "tests": [{"assert": [{"type": "python", "value": "len(output) < 99"}]}]}
    base, head = ({**FILES, CONFIG: made} for made in (config, milder))
    assert compared(base, head, allow_exec=True).found


def test_without_leave_nothing_of_either_side_runs(tmp_path):
    from gradegate.errors import ConfigError

    with pytest.raises(ConfigError, match="code of the repository"):
        compared(FILES, {**FILES, "gen.py": f"open({str(tmp_path / 'ran')!r}, 'w')\n"})
    assert not (tmp_path / "ran").exists()
    assert not Settings().allow_exec


LABELLED = {"id": "echo", "label": "app"}
WORDED = {"label": "p", "raw": "Say {{q}}"}


def seen(*assertions, target=LABELLED, prompt=WORDED, options=None, files=None):
    """What another label of the target and another text of the prompt come to, each by itself."""
    found = []
    for change in ({"providers": [{**target, "label": "lenient"}]}, {"prompts": [{**prompt, "raw": "Do say {{q}}"}]}):
        test = {"vars": {"q": "a"}, "assert": list(assertions), "options": options or {}}
        base = {"providers": [target], "prompts": [prompt], "tests": [test]}
        one, two = ({CONFIG: made, **(files or {})} for made in (base, {**base, **change}))
        found.append(any("reads of the target or the prompt" in said(c) for c in compared(one, two, allow_exec=True).found))
    return found


@each(("kind", "value", "expected"), table(__file__, "what_code_reads_of_target_and_prompt_is_part_of_the_gate"))
def test_what_code_reads_of_target_and_prompt_is_part_of_the_gate(kind, value, expected):
    files = {
        "node.mjs": 'import { known } from "./known.mjs"; export default (output, context) => known(context)\n',
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
