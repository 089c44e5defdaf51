import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.texts.template import TemplateError, render

VARS = {
    "name": "Ada",
    "list": ["a", "b"],
    "empty": [],
    "void": {},
    "obj": {"a": {"b": "deep"}, "items": "mine"},
    "yes": True,
    "nil": None,
    "one": 1.0,
    "half": 0.5,
    "open": "{{name}}",
    "rows": [{"q": "1"}, {"q": "2"}],
}
NUNJUCKS = [
    ("{{ name }}", "Ada"),
    ("{{missing}}", ""),
    ("{{missing.a.b}}", ""),
    ("{{nil}}", ""),
    ("{{yes}}", "true"),
    ("{{one}} {{half}}", "1 0.5"),
    ("{{list}}", "a,b"),
    ("{{obj}}", "[object Object]"),
    ("{{obj.a.b}}", "deep"),
    ("{{obj.items}}", "mine"),
    ("{{list.length}} {{name.length}}", "2 3"),
    ("{{obj | dump}}", '{"a":{"b":"deep"},"items":"mine"}'),
    ("{% if empty %}true{% endif %}{% if void %}!{% endif %}", "true!"),
    ("{% for k, v in obj.a %}{{k}}={{v}}{% endfor %}", "b=deep"),
    ("{% for r in rows %}{{loop.index}}{{r.q}} {% endfor %}", "11 22 "),
    ("{{ missing | default('x') }}", "x"),
    ("{{ 'a' if missing }}", ""),
    ("{{open}}", "{{name}}"),  # a value is not filled in again
    ("line\n", "line\n"),
    ("{{ ('[1,2]' | load)[1] }}", "2"),
    ("{{ list | join('-') }}", "a-b"),
    ("{{ name + 1 }}", "Ada1"),
    ("{# note #}x", "x"),
    ("no braces", "no braces"),
    ("<b>&</b>{{name}}", "<b>&</b>Ada"),
]


@pytest.mark.parametrize(("source", "expected"), NUNJUCKS)
def test_values_print_as_in_nunjucks(source, expected):
    assert render(source, VARS) == expected


BROKEN = ["{{", "{{ x( }}", "{% if %}", "{{ x | nofilter }}", "{{ missing() }}", "{% include 'x' %}"]


@pytest.mark.parametrize("source", BROKEN)
def test_a_broken_template_is_an_error(source):
    with pytest.raises(TemplateError):
        render(source, VARS)


ATTACKS = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ name.__class__ }}",
    "{{ 'a' * 100000000 }}",
    "{{ list.append('x') }}",
    "{{ lipsum() }}",
    "{{ loop.__init__.__globals__ }}",
    "{{ name['__class__'] }}{{ obj | first }}",
    "{{ '%s' % obj }}",
    "{{ '{0.__class__}'.format(name) }}",
]


@pytest.mark.parametrize("source", ATTACKS)
def test_templates_reach_nothing_of_python(source):
    try:
        assert render(source, VARS) in ("", "NaN", "Infinity")  # numbers, as in Nunjucks
    except TemplateError as e:
        assert str(e)  # noqa: PT017  # refused, or nothing to see


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (-3.0, "-3"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
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
