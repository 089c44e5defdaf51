"""Templates give what Nunjucks gives: ``nunjucks/expected.json`` was recorded from it by ``nunjucks/record.js``."""

import json
import re
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
    "{{ 1e3 }}": "`1e3` is no number in Nunjucks: write 1000",
    "{{ 0x1f }}": "`0x1f` is no number in Nunjucks: write 31",
    "{{ 1_000 }}": "`1_000` is no number in Nunjucks: write 1000",
    "{{ True }}": "`True` means nothing in Nunjucks: write `true`",
    "{{ None }}": "`None` means nothing in Nunjucks: write `none`",
    "{% for n in nums if n > 1 %}{{ n }}{% endfor %}": "a loop of Nunjucks has no condition",
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


@pytest.mark.parametrize("name", sorted({*methods.TEXT, *methods.LIST, *methods.NUMBER}))
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
        ("{{ name.upper() }}", "write `toUpperCase()`"),
        ("{{ name.replace('d', '$&') }}", "a meaning of its own"),
        ("{{ range(200000) }}", "at most 100,000 numbers"),
        ("{{ list | unique }}", "there is no filter `unique` in Nunjucks"),
        ("{{ list | tojson }}", "there is no filter `tojson` in Nunjucks: `dump` writes JSON"),
        ("{{ list | uper }}", 'there is no filter `uper` in Nunjucks: did you mean "upper"'),
        ("{{ name | upper | count }}", "there is no filter `count` in Nunjucks: write `length`"),
        ("{% filter max %}x{% endfilter %}", "there is no filter `max` in Nunjucks"),
        ("{{ yes is true }}", "there is no test `true` in Nunjucks: write `== true`"),
        ("{{ yes is not boolean }}", "there is no test `boolean` in Nunjucks"),
        ("{% with a=1 %}{% endwith %}", "Nunjucks has no `{% with %}`: write `{% set %}`"),
        ("{% include 'x' %}", "`{% include %}` is not done: no template reads a file"),
        ("{% for n in nums recursive %}{% endfor %}", "a loop of Nunjucks has no `recursive`"),
        ("{{ nums[1:] }}", "Nunjucks has no slices"),
        ("{{ self }}", "`self` is no variable here"),
        ("{{ range(*nums) }}", "Nunjucks has no `*` in a call"),
        ("{{ 0x" + "f" * 400 + " }}", "`0xffffffffffffffffff…` is no number in Nunjucks"),
        ("{{ cycler }}", "a function is no text"),
        ("{{ list.toSpliced(1) }}", "a list has no `toSpliced` here"),
        ("{{ name.localeCompare('a') }}", "a text has no `localeCompare` here"),
        ("{{ one.toLocaleString() }}", "a number has no `toLocaleString` here"),
        ("{{ list.fill(0) }}", "`fill` would change a variable"),
        ("{{ obj.keys() }}", "`keys` is no method of Nunjucks"),
        ("{{ obj.push(1) }}", "an object has no `push` here"),
        ("{{ name.slice(1, 2, 3, 4) }}", "called with other values than it takes"),
        ("{{ [range] | dump }}", "`dump`: a function is no text"),
        ("{% macro m() %}{% endmacro %}{{ [m] | dump }}", "`dump`: a function is no text"),
        ("{{ list | min }}", "there is no filter `min` in Nunjucks (line"),
        ("{{ name | in }}", "there is no filter `in` in Nunjucks"),
        ("{{ name | join }}", "`join`: the filter is for lists"),
        ("{{ name | load }}", "`load`: Expecting value"),
    ],
)
def test_what_is_refused_is_named(source, said):
    with pytest.raises(TemplateError, match=re.escape(said)) as caught:
        render(source, VARIABLES)
    assert not re.search(r"Error:|object at 0x|'\w+ object'|gradegate\.|_\w+\(\)", str(caught.value))  # Python's words


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
