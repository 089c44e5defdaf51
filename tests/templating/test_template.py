import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.sandbox.evaluate import reset_accounts
from gradegate.templating import filters
from gradegate.templating.template import TemplateError, render, variables_needed, variables_used
from support.each import each, table

VARS = table(__file__, "VARS")


def test_values_print_as_in_nunjucks():
    source = "{{yes}}|{{nil}}|{{one}} {{half}}|{{list}}|{{obj}}|{{obj.items}}|{{missing.a.b}}|{{ 'a' if missing }}|{{open}}|<b>&</b>\n"
    assert render(source, VARS) == "true||1 0.5|a,b|[object Object]|mine|||{{name}}|<b>&</b>\n"  # a value is not filled in again
    assert render("no braces\n", VARS) == "no braces\n"


@pytest.mark.parametrize("source", ["{{", "{{ x( }}", "{% if %}", "{{ x | nofilter }}", "{{ missing() }}", "{% include 'x' %}"])
def test_a_broken_template_is_an_error(source):
    with pytest.raises(TemplateError):
        render(source, VARS)


@pytest.mark.parametrize("source", table(__file__, "ATTACKS"))
def test_templates_reach_nothing_of_python(source):
    try:
        assert render(source, VARS) in ("", "NaN", "Infinity")  # numbers, as in Nunjucks
    except TemplateError as e:
        assert str(e)  # noqa: PT017  # refused, or nothing to see


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *table(__file__, "numbers_are_printed_as_in_javascript"),
        (0.1 + 0.2, "0.30000000000000004"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
        (10**400, "Infinity"),
        (-(10**400), "-Infinity"),
    ],
)
def test_numbers_are_printed_as_in_javascript(value, shown):
    assert render("{{x}}", {"x": value}) == shown


@given(st.text())
def test_any_value_comes_out_as_it_went_in(text):
    assert render("<{{x}}>", {"x": text}) == f"<{text}>"


FOLDER = Path(__file__).parent / "nunjucks"
VARIABLES = json.loads((FOLDER / "variables.json").read_text())
RECORDED = json.loads((FOLDER / "expected.json").read_text())
REFUSED = table(__file__, "REFUSED")


@pytest.fixture(autouse=True)
def new_accounts():
    reset_accounts()


def render_or_none(source):
    try:
        return render(source, VARIABLES)
    except TemplateError:
        return None


def test_all_expressions_are_recorded():
    written = [line for line in (FOLDER / "expressions.txt").read_text().splitlines() if line and not line.startswith("# ")]
    assert [source for source, _ in RECORDED] == written
    assert all(any(f"| {name}" in source for source in written) for name in filters.FILTERS)
    assert all(any(f" is {name}" in source for source in written) for name in filters.TESTS)


def test_templates_give_what_nunjucks_gives():
    assert [[source, render_or_none(source)] for source, _ in RECORDED] == RECORDED


def test_what_is_not_supported_is_named_with_its_line():
    said = {}
    for source in REFUSED:
        with pytest.raises(TemplateError) as caught:
            render(source, VARIABLES)
        said[source] = str(caught.value)
        assert not re.search(r"Error:|object at 0x|'\w+ object'|gradegate\.|_\w+\(\)", said[source])  # Python's words
    assert {source: words for source, words in said.items() if REFUSED[source] not in words} == {}
    assert said["\n\n{{ list | unique }}"].endswith("(line 3 of the template)")


@pytest.mark.slow
@each(
    "source",
    [
        *table(__file__, "what_grows_without_end_is_stopped"),
        "{% set c = 1 %}" + "{% for i in sentence %}" * 6 + "{% set c = c + 1 %}" + "{% endfor %}" * 6,
        "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
    ],
)
def test_what_grows_without_end_is_stopped(source):
    with pytest.raises(TemplateError):
        render(source, VARIABLES)


def test_numbers_are_no_larger_than_those_of_javascript():
    assert render("{% set a = 999999999999 %}" + "{% set a = a * a %}" * 8 + "{{ a }}", {}) == "Infinity"
    assert render("{{ '%2000000000d' % 1 }}{{ [1] | dump(2000000000) }}", {}) == "NaN[\n          1\n]"


def test_what_a_template_asks_for_is_known_beside_what_it_sets():
    source = "{% set total = 0 %}{% for n in nums %}{% set total = total + n %}{% set name = name + n %}{% endfor %}{{ total }}"
    assert variables_used(source) == {"nums", "name"}
    assert variables_needed("{% for x in xs %}{% if sep %}, {% endif %}{% set sep = 1 %}{{ x }}{% endfor %}") == {"xs"}
    assert variables_used("{% if a %}{% set x = 1 %}{% set y = 1 %}{% else %}{% set y = 2 %}{% endif %}{{ x }}{{ y }}") == {"a", "x"}
    assert variables_used("{% for k, v in xs %}{{ k }}{{ v }}{{ loop.index }}{% endfor %}{{ v }}") == {"xs", "v"}


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=6
)
SIGNS = ["+", "-", "*", "/", "%", "~", "==", "===", "!=", "!==", "<", "<=", ">", ">=", "in", "and", "or"]


@given(VALUES, VALUES, st.sampled_from(SIGNS))
def test_every_sign_between_any_values_gives_a_text_or_is_refused(left, right, sign):
    check_text_or_error(f"{{{{ a {sign} b }}}}", {"a": left, "b": right})


@given(
    VALUES,
    st.lists(SCALARS.filter(lambda it: not isinstance(it, int | float) or abs(it) < 99), max_size=2),
    st.sampled_from(sorted(filters.FILTERS)),
)
def test_every_filter_with_any_arguments_gives_a_text_or_is_refused(value, arguments, name):
    given_names = ", ".join(f"x{at}" for at in range(len(arguments)))
    variables = {"a": value} | {f"x{at}": argument for at, argument in enumerate(arguments)}
    check_text_or_error(f"{{{{ a | {name}({given_names}) }}}}", variables)


def check_text_or_error(source, variables):
    try:
        assert isinstance(render(source, variables), str)
    except TemplateError as e:
        assert str(e)  # noqa: PT017


@pytest.mark.parametrize("text_format", ["text", "json"])
def test_a_list_separates_the_items_of_a_list(text_format):
    variables = {"words": ["a", "b", "c", "d"], "signs": ["-", "+"]}
    assert render('"{{ words | join(signs) }}"', variables, text_format=text_format) == '"a-,+b-,+c-,+d"'
    assert render('"{{ words | join([1, 2]) }}"', variables, text_format=text_format) == '"a1,2b1,2c1,2d"'
