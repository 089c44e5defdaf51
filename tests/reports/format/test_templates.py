"""Whatever a template prints is escaped, however it comes to be printed; only text of its own format stays as it is."""

import pytest
from jinja2 import UndefinedError

from gradegate.reports.format.charts import HTML
from gradegate.reports.format.markdown import MARKDOWN, Markdown
from gradegate.reports.format.plain import PLAIN
from support.each import each

FORMATS = {"markdown": (MARKDOWN, "*a*"), "html": (HTML, "<b>"), "plain": (PLAIN, "\x1b[1m")}
WAYS = [
    "{{ text }}",
    "{{ text ~ text }}",
    "{{ [text, text] | join(text) }}",
    "{{ text | safe }}",
    "{{ text | upper | lower }}",
    "{{ '%s' | format(text) }}",
    "{{ '{}'.format(text) }}",
    "{% for word in [text] %}{{ word }}{% endfor %}",
    "{% macro say(word) %}{{ word }}{% endmacro %}{{ say(text) }}",
    "{% macro say(word) %}{{ word }}{% endmacro %}{{ say(text) ~ text }}",
    "{% set word %}{{ text }}{% endset %}{{ word }}",
    "{% set word %}{{ text }}{% endset %}{{ word | replace(word, text) }}",
]


@each("name", FORMATS)
@each("way", WAYS)
def test_a_value_is_escaped(name, way):
    made, text = FORMATS[name]
    for value in (text, [text]):
        assert text not in made.environment.from_string(way).render(text=value), value


@each("name", FORMATS)
def test_our_own_words_stay(name):
    made, text = FORMATS[name]
    template = f"{text}{{% macro say() %}}{text}{{% endmacro %}}{{{{ say() }}}}"
    assert made.environment.from_string(template).render() == text * 2


@each("helper", ["fence", "link('x')", "details(text)", "quote_lines", "break_lines", "tidy", "dots", "together", "first_names(9, 9)"])
def test_a_helper_escapes_what_is_not_markdown_yet(helper):
    rendered = MARKDOWN.environment.from_string(f"{{{{ text | {helper} }}}}").render(text="<b>\n")
    assert "<b>" not in rendered or helper == "fence"


def test_a_name_that_a_template_has_wrong_is_an_error():
    with pytest.raises(UndefinedError):
        MARKDOWN.environment.from_string("{{ decision.outcom }}").render(decision=Markdown())
