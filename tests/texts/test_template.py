import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.texts.template import TemplateError, render
from support.each import table

VARS = table(__file__, "VARS")


def test_values_print_as_in_nunjucks():
    source = "{{yes}}|{{nil}}|{{one}} {{half}}|{{list}}|{{obj}}|{{obj.items}}|{{missing.a.b}}|{{ 'a' if missing }}|{{open}}|<b>&</b>\n"
    assert render(source, VARS) == "true||1 0.5|a,b|[object Object]|mine|||{{name}}|<b>&</b>\n"  # a value is not filled in again
    assert render("no braces\n", VARS) == "no braces\n"


BROKEN = ["{{", "{{ x( }}", "{% if %}", "{{ x | nofilter }}", "{{ missing() }}", "{% include 'x' %}"]


@pytest.mark.parametrize("source", BROKEN)
def test_a_broken_template_is_an_error(source):
    with pytest.raises(TemplateError):
        render(source, VARS)


ATTACKS = table(__file__, "ATTACKS")


@pytest.mark.parametrize("source", ATTACKS)
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
    ],
)
def test_numbers_are_printed_as_in_javascript(value, shown):
    assert render("{{x}}", {"x": value}) == shown


@given(st.text())
def test_any_value_comes_out_as_it_went_in(text):
    assert render("<{{x}}>", {"x": text}) == f"<{text}>"


@given(st.text())
def test_any_template_is_filled_or_refused(text):
    try:
        assert isinstance(render(text, VARS), str)
    except TemplateError as e:
        assert str(e)  # noqa: PT017
