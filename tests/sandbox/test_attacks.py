"""Configs that hang or fill an evaluator without bounds: each is a mistake at its line, or an ERROR, and soon."""

import json

import pytest

from support.spent import spend

pytestmark = pytest.mark.slow
SECONDS = 60  # on a busy machine; alone, each takes less than ten
MEGABYTES = 500
DOUBLED = "{% set q = [1] %}" + "{% set q = q + q %}" * 60 + "{{ q | length }}"
TEMPLATES = {
    "nested loops": "{% for a in 'aaaaaaaaaaaaaaaaaaaa' %}" * 8 + "{% endfor %}" * 8,
    "list doubling": DOUBLED,
    "~ doubling": DOUBLED.replace("[1]", "'aaaaaaaa'").replace("q + q", "q ~ q"),
    "+ doubling": DOUBLED.replace("[1]", "'aaaaaaaa'"),
    "replace": "{% set q = 'aaaaaaaa' %}" + "{% set q = q | replace('a', q) %}" * 9 + "{{ q | length }}",
    "join": DOUBLED.replace("[1]", "[1, 2]").replace("q + q", "[q, q] | join(q)"),
    "center": "{{ 'a' | center(10000000000) }}",
    "repeat": "{{ 'a'.repeat(3000000000) | length }}",
    "indent": "{{ ('a\\n' ~ 'b\\n') | indent(2000000000) | length }}",
    "macro": "{% macro m(n) %}{{ m(n) }}{% endmacro %}{{ m(1) }}",
    "dump of dump": "{{ '\\\\'" + " | dump" * 40 + " | length }}",
    "deep": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "nots": "{{ " + "not " * 5000 + "1 }}",
    "ifs": "{% if x %}" * 500 + "x" + "{% endif %}" * 500,
    "chain of filters": "{{ x" + " | trim" * 3000 + " }}",
    "many prints": "{{x}}" * 200_000,
    "long": "{{x}}" + "a" * 5_000_000,
    "include": "{% include 'x' %}",
}


def config(**parts):
    test = {"vars": {"x": "y"}, "assert": [{"type": "contains", "value": "h"}]}
    return json.dumps({"prompts": ["hi"], "providers": ["echo"], "tests": [test], **parts})


def recorded(answer, **assertion):
    return config(tests=[{"vars": {"x": "y"}, "providerOutput": answer, "assert": [assertion]}])


def check(spent):
    assert spent.seconds < SECONDS
    assert spent.memory < MEGABYTES


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_that_takes_too_much_is_a_mistake_at_its_line(tmp_path, name):
    spent = spend(tmp_path, config(prompts=[TEMPLATES[name]]))
    check(spent)
    assert spent.code == 2
    assert spent.err.startswith("c.yaml:1: the prompt cannot be filled in: ")


def doubling_schema(levels):
    both = {f"d{n}": {"allOf": [{"$ref": f"#/definitions/d{n - 1}"}] * 2} for n in range(1, levels)}
    return {"definitions": {"d0": {"type": "string"}, **both}, "$ref": f"#/definitions/d{levels - 1}"}


SCHEMAS = {
    "allOf": doubling_schema(40),
    "itself": {"allOf": [{"$ref": "#"}]},
    "each other": {"definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}, "$ref": "#/definitions/a"},
}
CHECKS = {
    "pattern": ({"pattern": "^(a+)+$"}, json.dumps("a" * 60 + "b")),
    "patternProperties": ({"patternProperties": {"^(a+)+$": {}}}, json.dumps({"a" * 60 + "b": 1})),
    "uniqueItems": ({"uniqueItems": True}, json.dumps([{"a": n} for n in range(20_000)])),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_without_end_is_a_mistake_at_its_line(tmp_path, name):
    spent = spend(tmp_path, recorded("{}", type="is-json", value=SCHEMAS[name]))
    check(spent)
    assert spent.code == 2
    assert spent.err.startswith(("c.yaml:1: `is-json`: ", "c.yaml:1: `#` refers to itself"))


def test_a_reference_to_the_whole_config_is_a_mistake_at_its_line(tmp_path):
    spent = spend(tmp_path, recorded("{}", type="is-json", value={"$ref": "#"}))
    check(spent)
    assert spent.code == 2
    assert spent.err.startswith("c.yaml:1: `#` refers to itself")


@pytest.mark.parametrize("name", CHECKS)
def test_an_answer_that_takes_too_long_to_check_is_an_error(tmp_path, name):
    schema, answer = CHECKS[name]
    spent = spend(tmp_path, recorded(answer, type="is-json", value=schema))
    check(spent)
    assert spent.code == 3
    assert [grade["outcome"] for grade in spent.grades] == ["error"]
    assert "takes more than 2 seconds" in spent.grades[0]["reason"]


@pytest.mark.parametrize("pattern", ["(" * 5000 + ")" * 5000, "a" * 30_000], ids=["deep", "long"])
def test_a_pattern_that_cannot_be_compiled_is_a_mistake(tmp_path, pattern):
    spent = spend(tmp_path, recorded("a", type="regex", value=pattern))
    check(spent)
    assert spent.code == 2
    assert spent.err.startswith("c.yaml:1: `regex`: `value` ")


def test_a_pattern_that_backtracks_is_an_error_and_many_are_too(tmp_path):
    test = {"providerOutput": "a" * 2000 + "b", "assert": [{"type": "regex", "value": "^(a|aa)+$"}]}
    spent = spend(tmp_path, config(tests=[test] * 300))
    check(spent)
    assert spent.code == 3
    assert {grade["outcome"] for grade in spent.grades} == {"error"}


def test_a_filter_pattern_that_backtracks_is_a_mistake(tmp_path):
    tests = [{"description": "a" * 60 + "b", "assert": [{"type": "contains", "value": "h"}]}]
    spent = spend(tmp_path, config(tests=tests), "--filter-pattern", "^(a+)+$")
    check(spent)
    assert (spent.code, "--filter-pattern cannot be used" in spent.err) == (2, True)


BRANCHES = [f"x-b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)]
REST = "prompts: ['{{ b | dump }}']\nproviders: [echo]\ntests:\n- vars: {b: *a8}\n  assert: [{type: contains, value: h}]\n"
YAML = {
    "bomb": "x-b0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(BRANCHES) + REST,
    "text repeated": f"x-l: &l '{'x' * 2_000_000}'\nx-m: [{', '.join(['*l'] * 100_000)}]\n",
    "text in a list": f"x-l: &l ['{'x' * 2_000_000}']\nx-m: [{', '.join(['*l'] * 100_000)}]\n",
    "merges": f"x-a: &a {{{', '.join(f'k{n}: 1' for n in range(2000))}}}\nx-m: [{', '.join(['{<<: *a}'] * 2000)}]\n",
    "lists": "x: [" + "[]," * 5_000_000 + "]",
    "numbers": "x: [" + "1," * 20_000_000 + "]",
    "mappings": "x: [" + "{a: }," * 3_000_000 + "]",
    "deep": "x: " + "[" * 100_000,
}


@pytest.mark.parametrize("name", YAML)
def test_a_file_that_multiplies_is_a_mistake_at_its_line(tmp_path, name):
    spent = spend(tmp_path, YAML[name])
    check(spent)
    assert spent.code == 2
    assert spent.err.startswith("c.yaml")


FILES = {
    "b.json": "[" + '{"vars": {"a": 1}},' * 2_000_000 + "{}]",
    "a.json": "[" + "{}," * 10_000_000 + "{}]",
    "a.jsonl": '{"vars": {"a": [' + "1," * 10_000_000 + "1]}}\n",
    "b.jsonl": '{"vars": {"a": 1}}\n' * 1_000_000,
    "a.csv": "a,b\n" + "c,d\n" * 3_000_000,
    "a.yaml": "- vars: {a: 1}\n" * 2_000_000,
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_millions_of_values_is_a_mistake(tmp_path, name):
    (tmp_path / name).write_text(FILES[name])
    spent = spend(tmp_path, config(tests=f"file://{name}"))
    check(spent)
    assert spent.code == 2
    assert "values together" in spent.err
    assert spent.err.startswith(name)


def lists(**more):
    return {"vars": {name: list("0123456789") for name in "abcd"}, "assert": [{"type": "contains", "value": "h"}], **more}


LABELLED = [{"id": "echo", "label": f"e{number}"} for number in range(400)]
PLANS = {
    "lists in many tests": {"tests": [lists()] * 1000},
    "lists, prompts, providers": {"prompts": list("abcdefgh"), "providers": LABELLED[:100], "tests": [lists()]},
    "prompts and providers": {"prompts": [f"p{n}" for n in range(400)], "providers": LABELLED},
    "repetitions": {"evaluateOptions": {"repeat": 10_000}, "tests": [lists()]},
    "assertions": {"evaluateOptions": {"repeat": 10_000}, "tests": [{"assert": lists()["assert"] * 1000}]},
}


@pytest.mark.parametrize("name", PLANS)
def test_what_multiplies_to_too_large_a_plan_is_a_mistake(tmp_path, name):
    spent = spend(tmp_path, config(**PLANS[name]))
    check(spent)
    assert spent.code == 2
    assert "ask fewer tests in one run" in spent.err
    assert spent.err.startswith("c.yaml:1: ")


def test_a_large_prompt_of_many_tests_is_a_mistake(tmp_path):
    (tmp_path / "p.txt").write_text("{{x}}" + "a" * 3_000_000)
    spent = spend(tmp_path, config(prompts=["file://p.txt"], tests=json.loads(config())["tests"] * 10_000))
    check(spent)
    assert (spent.code, "256 MiB" in spent.err) == (2, True)


def test_variables_put_into_one_another_do_not_grow_without_end(tmp_path):
    names = {f"v{n}": f"{{{{v{n - 1}}}}}" * 3 for n in range(1, 300)}
    test = {"vars": {"v0": "a" * 10_000, **names}, "assert": [{"type": "contains", "value": "h"}]}
    spent = spend(tmp_path, config(prompts=["{{v299}}"], tests=[test]))
    check(spent)
    assert (spent.code, "filled into each other" in spent.err) == (2, True)


@pytest.mark.parametrize("written", ["{{ x }}\n" + "{{ " * 500_000, "{{x}}\n" + "{% if x " * 200_000], ids=["print", "if"])
def test_braces_that_stay_open_take_no_square_of_the_time(tmp_path, written):
    spent = spend(tmp_path, config(prompts=[written]))
    check(spent)
    assert spent.code == 1  # the prompt is sent as it is, and the echo holds no h


def test_a_thousand_unknown_keys_are_said_in_a_moment(tmp_path):
    spent = spend(tmp_path, config(**{f"k{n}": 1 for n in range(60_000)}))
    check(spent)
    assert (spent.code, "more mistakes are here" in spent.err) == (2, True)
