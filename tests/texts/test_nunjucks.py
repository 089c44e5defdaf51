"""Templates give what Nunjucks gives: ``nunjucks/expected.json`` was recorded from it by ``nunjucks/record.js``."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.bounded.begin import begin
from gradegate.texts import filters, methods
from gradegate.texts.template import TemplateError, needs, render, uses

FOLDER = Path(__file__).parent / "nunjucks"
VARIABLES = json.loads((FOLDER / "variables.json").read_text())
RECORDED = json.loads((FOLDER / "expected.json").read_text())
REFUSED = {  # what Nunjucks fills in and we refuse, with what the message says of it
    "{{ name.toUpperCase }}": "a function is no text",
    '{{ name.replace(r/d/g, "D") }}': "regular expressions are not read in templates",
    "{{ r/a/.test(name) }}": "regular expressions are not read in templates",
    '{{ name.match("d") }}': "`match` takes a function or a regular expression",
    '{{ name.search("d") }}': "`search` takes a function or a regular expression",
}


@pytest.fixture(autouse=True)
def _account():
    begin()


def test_all_expressions_are_recorded():
    written = [
        line for line in (FOLDER / "expressions.txt").read_text().splitlines() if line and not line.startswith("# ")
    ]
    assert [source for source, _ in RECORDED] == written
    assert len(written) > 250


@pytest.mark.parametrize(("source", "expected"), RECORDED)
def test_templates_give_what_nunjucks_gives(source, expected):
    if source in REFUSED or expected is None:
        with pytest.raises(TemplateError, match=REFUSED.get(source, ".")):
            render(source, VARIABLES)
    else:
        assert render(source, VARIABLES) == expected


@pytest.mark.parametrize("name", sorted({*methods.TEXT, *methods.LIST}))
def test_every_method_is_among_the_recorded_or_mirrors_one_that_is(name):
    twins = {"toLocaleUpperCase", "toLocaleLowerCase", "valueOf", "toSorted", "toReversed", "unshift"}
    assert name in twins or any(f".{name}(" in source for source, _ in RECORDED)


@pytest.mark.parametrize("name", sorted(filters.FILTERS))
def test_every_filter_is_among_the_recorded(name):
    assert name == "forceescape" or any(f"| {name}" in source for source, _ in RECORDED)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{{ list.map(1) }}", "`map` takes a function"),
        ("{{ list.push(1) }}", "`push` would change a variable"),
        ("{{ list.sort() }}", "`sort` would change a variable"),
        ("{{ name.upper() }}", "write `toUpperCase\\(\\)`"),
        ("{{ name.replace('d', '$&') }}", "a meaning of its own"),
        ("{{ range(200000) }}", "at most 100,000 numbers"),
    ],
)
def test_what_is_refused_is_named(source, said):
    with pytest.raises(TemplateError, match=said):
        render(source, VARIABLES)


def test_a_variable_is_the_same_after_a_template_that_sorts_a_copy():
    given = {"list": ["b", "a"]}
    assert render("{{ list.slice().sort() }} {{ list }}", given) == "a,b b,a"
    assert given == {"list": ["b", "a"]}


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a'.repeat(999999999) }}",
        "{{ 'a'.padEnd(999999999, 'xy') }}",
        "{{ 'a' | center(999999999) }}",
        "{{ 'a\nb' | indent(999999999) }}",
        "{{ [1] | batch(999999999, 'x') }}",
        "{{ [1] | slice(999999999) }}",
        "{% set l = ['a'] %}{% for i in range(99) %}{% set l = l.concat(l) %}{% endfor %}{{ l | length }}",
        "{% set t = 'aa' %}{% for i in range(99) %}{% set t = t.replaceAll('a', t) %}{% endfor %}{{ t.length }}",
        "{% set l = [] %}{% set n = l.push(l) %}{{ l }}{{ l | dump }}",
        "{% set c = 1 %}{% for i in range(99999) %}{% for j in range(99999) %}{% set c = c + 1 %}{% endfor %}{% endfor %}",
        "{{ pi.toFixed(999999) }}",
    ],
)
def test_what_grows_without_end_is_stopped(source):
    with pytest.raises(TemplateError):
        render(source, VARIABLES)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{% set a = 999999 ** 64 %}" + "{% set a = a * a %}" * 40 + "{{ a > 1 }}", "true"),
        ("{% set a = 999999 ** 64 %}" + "{% set a = a * a %}" * 8 + "{{ a }}", "Infinity"),
        ("{{ '%2000000000d' % 1 }}", "NaN"),
        ("{{ [1] | dump(2000000000) }}", "[\n          1\n]"),
    ],
)
def test_numbers_are_no_larger_than_those_of_javascript(source, text):
    assert render(source, {}) == text


def test_what_a_template_asks_for_is_known_beside_what_it_sets():
    source = "{% set total = 0 %}{% for n in nums %}{% set total = total + n %}{% set name = name + n %}{% endfor %}{{ total }}"
    assert uses(source) == {"nums", "name"}
    assert needs("{% for x in xs %}{% if sep %}, {% endif %}{% set sep = 1 %}{{ x }}{% endfor %}") == {"xs"}


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
SIGNS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "===", "!=", "!==", "<", "<=", ">", ">=", "in", "and", "or"]
NAMES = sorted({*methods.TEXT, *methods.LIST, *methods.NUMBER} - {"repeat", "padStart", "padEnd"})


@given(VALUES, VALUES, st.sampled_from(SIGNS))
def test_every_sign_between_any_values_gives_a_text_or_is_refused(left, right, sign):
    _text_or_refused(f"{{{{ a {sign} b }}}}", {"a": left, "b": right})


@given(VALUES, st.lists(SCALARS, max_size=3), st.sampled_from(NAMES))
def test_every_method_with_any_arguments_gives_a_text_or_is_refused(value, arguments, name):
    given_names = ", ".join(f"x{at}" for at in range(len(arguments)))
    variables = {"a": value} | {f"x{at}": argument for at, argument in enumerate(arguments)}
    _text_or_refused(f"{{{{ a.{name}({given_names}) }}}}", variables)


@given(
    VALUES,
    st.lists(SCALARS.filter(lambda it: not isinstance(it, int | float) or abs(it) < 99), max_size=2),
    st.sampled_from(sorted(filters.FILTERS)),
)
def test_every_filter_with_any_arguments_gives_a_text_or_is_refused(value, arguments, name):
    given_names = ", ".join(f"x{at}" for at in range(len(arguments)))
    variables = {"a": value} | {f"x{at}": argument for at, argument in enumerate(arguments)}
    _text_or_refused(f"{{{{ a | {name}({given_names}) }}}}", variables)


def _text_or_refused(source, variables):
    try:
        assert isinstance(render(source, variables), str)
    except TemplateError as e:
        assert str(e)  # noqa: PT017
