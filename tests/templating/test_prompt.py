import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.provider_spec import Verbatim
from gradegate.templating import template_names as engine
from gradegate.templating.template import TemplateError, fill_prompt, has_open_braces, mentioned_names, mentions_name, undefined_names
from support.each import table

JSON_CHAT = '[{"role": "user", "content": "say {{x}}"}]'
YAML_CHAT = "- role: user\n  content: |\n    say {{x}}\n"


def first_content(text: str) -> str:
    return json.loads(text)[0]["content"]


def test_chat_json_is_filled_value_by_value():
    assert fill_prompt(JSON_CHAT, {"x": 'a "quote"\nand more'}) == (
        '[\n  {\n    "role": "user",\n    "content": "say a \\"quote\\"\\nand more"\n  }\n]'
    )


@given(st.text())
def test_no_value_ends_a_message(text):
    assert first_content(fill_prompt(JSON_CHAT, {"x": text})) == f"say {text}"
    assert first_content(fill_prompt(YAML_CHAT, {"x": text})) == f"say {text}\n"


def test_chat_yaml_that_is_yaml_only_once_it_is_filled_in_is_a_text():
    assert fill_prompt("- role: user\n  content: {{ x | dump }}", {"x": "a"}) == '- role: user\n  content: "a"'
    loop = "- role: system\n  content: s\n{% for x in xs %}- role: user\n  content: {{x}}\n{% endfor %}"
    assert fill_prompt(loop, {"xs": ["a"]}) == "- role: system\n  content: s\n- role: user\n  content: a\n"


@pytest.mark.parametrize(("text", "as_it_is"), table(__file__, "a_text_with_braces_that_stay_open_is_no_template"))
def test_a_text_with_braces_that_stay_open_is_no_template(text, as_it_is):
    assert has_open_braces(text) is as_it_is
    assert (fill_prompt(text, {"x": "1"}) == text) is (as_it_is or "{" not in text)


@pytest.mark.parametrize(
    ("value", "filled"),
    [*table(__file__, "a_value_is_filled_in_unless_it_asks_for_what_nobody_defines"), (Verbatim("{{name}}"), "{{name}}")],
)
def test_a_value_is_filled_in_unless_it_asks_for_what_nobody_defines(value, filled):
    variables = {"env": {"TOWN": "Oslo"}, "name": "Ada", "words": ["a", "b"], "v": value}
    assert fill_prompt("<{{v}}>", variables) == f"<{filled}>"
    assert bool(undefined_names(value, variables)) is ("gone" in filled or "{{x}}" in filled)


def test_values_in_a_chat_are_no_templates():
    assert first_content(fill_prompt(JSON_CHAT, {"x": "{{ name | upper }}", "name": "Ada"})) == "say {{ name | upper }}"


def test_a_value_that_cannot_be_read_is_said():
    with pytest.raises(TemplateError, match="in a variable: "):
        fill_prompt("{{v}}", {"v": "{{ name name }}", "name": "Ada"})


# What promptfoo looks for, as it writes it.
OPEN = re.compile(r"\{\{[^}\n]*$|\{%[^%\n]*$|\{#[^#\n]*$", re.MULTILINE)
USES = re.compile(r"\{[{%][^}]*\b_c\b")
TEXTS = st.lists(st.sampled_from(["{", "}", "%", "#", "a", " ", "\n", "_c", "|", "if "]), max_size=20).map("".join)


@given(TEXTS)
def test_open_braces_are_found_as_the_patterns_find_them(text):
    templated = re.search(r"\{[{%#]", text) is not None
    assert has_open_braces(text) == (templated and OPEN.search(text) is not None)


@given(TEXTS)
def test_a_name_is_found_as_the_pattern_finds_it(text):
    assert mentions_name(text, "_c") == (USES.search(text) is not None)


@given(TEXTS)
def test_a_long_text_asks_for_the_same_as_a_short_one(text):
    assert mentioned_names(text + " " * 600) == engine.mentioned_names(text)
