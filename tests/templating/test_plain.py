"""Templates filled in here and in the worker give the same text, and no template of any kind exceeds the limits."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.sandbox.evaluate import TaskRefused, evaluate, reset_accounts
from gradegate.templating import nunjucks as engine
from gradegate.templating.filters import FILTERS as FILTERS_THERE_ARE
from gradegate.templating.template import TemplateError, env_variables, is_plain, render, variables_needed, variables_used, with_json_text
from support.each import table

VARS = {"a": "text", "b": ["x", {"k": "v"}, []], "c": {"d": {"e": 1.0}, "length": 3}, "n": None, "t": True, "i": 7}
PATHS = ["a", "b", "c", "n", "t", "i", "missing", "c.d", "c.d.e", "b[1].k", "b[0]", "c['d']", "a.length", "missing.x.y"]
FILTERS = ["", " | trim", " | length", " | first", " | default('z')", " | default(a)", " | string", " | last", " | upper"]
PLAIN = st.recursive(
    st.one_of(
        st.text("ab {}<&\n\"'", max_size=8).filter(lambda text: "{" not in text),
        st.builds("{{{{ {}{} }}}}".format, st.sampled_from(PATHS), st.sampled_from(FILTERS)),
        st.builds("{{{{ {} | dump }}}}".format, st.sampled_from(PATHS)),
        st.builds("{{{{ 'p' if {} else {} }}}}".format, st.sampled_from(PATHS), st.sampled_from(PATHS)),
        st.builds("{{{{ {} == {} }}}}".format, st.sampled_from(PATHS), st.sampled_from(PATHS)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map("".join),
        st.builds("{{% if {} %}}{}{{% else %}}{}{{% endif %}}".format, st.sampled_from(PATHS), inner, inner),
        st.builds("{{% if {} is defined and not t %}}{}{{% endif %}}".format, st.sampled_from(PATHS), inner),
    ),
    max_leaves=6,
)


@given(PLAIN, st.booleans(), st.sampled_from(["text", "json", "url"]))
def test_here_and_in_the_worker_the_text_is_the_same(source, as_json, text_format):
    assert is_plain(engine.parse_template(source)) or source.count(" == ") > 4
    values = {name: with_json_text(value) for name, value in VARS.items()} if as_json else VARS
    asked = {name: values[name] for name in variables_used(source) if name in values}
    try:
        there = evaluate("gradegate.templating.nunjucks:fill_template", source, asked, [*asked] if as_json else [], text_format)
    except TaskRefused:
        with pytest.raises(TemplateError, match=r"."):
            render(source, values, text_format=text_format)
    else:
        assert render(source, values, text_format=text_format) == there


@given(PLAIN)
def test_here_and_in_the_worker_the_same_is_asked_for(source):
    asked = [frozenset(names) for names in evaluate("gradegate.templating.nunjucks:template_names", source)]
    if "{{" in source or "{%" in source:
        assert [variables_used(source), variables_needed(source), *env_variables(source)] == asked[:4]


@pytest.mark.parametrize("source", [*table(__file__, "what_may_grow_is_not_plain"), "{{ x" + " | trim" * 30 + " }}"])
def test_what_may_grow_is_not_plain(source):
    assert not is_plain(engine.parse_template(source))


BINARY = ["+", "-", "*", "/", "%", "~", "<", "==", "in", "and", "or"]
NUMBERS = ["0", "-1", "3", "64", "99999", "9999999999", "1.5"]


def random_expression(draw, depth=0):
    kind = draw.randrange(5 if depth < 4 else 2)
    if kind == 0:
        return draw.choice([*PATHS, "loop.index", "[]", "'a'"])
    if kind == 1:
        return draw.choice(NUMBERS)
    left = random_expression(draw, depth + 1)
    if kind == 2:
        return f"({left} {draw.choice(BINARY)} {random_expression(draw, depth + 1)})"
    if kind == 3:
        name = draw.choice(sorted(FILTERS_THERE_ARE))
        arguments = ", ".join(random_expression(draw, depth + 2) for _ in range(draw.randrange(3)))
        return f"({left} | {name}({arguments}))"
    return f"({left} if {random_expression(draw, depth + 1)} else {random_expression(draw, depth + 1)})"


def random_statement(draw, depth=0):
    kind = draw.randrange(4 if depth < 3 else 1)
    if kind == 0:
        return f"{{{{ {random_expression(draw)} }}}}"
    inner = "".join(random_statement(draw, depth + 1) for _ in range(draw.randrange(1, 3)))
    if kind == 1:
        return f"{{% for x in {random_expression(draw)} %}}{inner}{{% endfor %}}"
    if kind == 2:
        return f"{{% set a = {random_expression(draw)} %}}{inner}"
    return f"{{% if {random_expression(draw)} %}}{inner}{{% endif %}}"


@pytest.mark.slow
def test_a_template_of_any_kind_is_filled_in_or_refused():
    draw = random.Random(10)  # the same templates each time
    refused = 0
    for _ in range(600):
        reset_accounts()
        try:
            assert isinstance(render(random_statement(draw), VARS), str)
        except TemplateError as e:
            refused += bool(str(e))
    assert 0 < refused < 600
