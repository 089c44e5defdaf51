"""Any text that stands where a config has code, a template, a pattern or a path is taken, or refused in words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.sandbox.evaluate import reset_accounts
from gradegate.templating import regex as patterns
from gradegate.templating import script
from gradegate.templating.script import ScriptError, metric_formula, response_script, transform_script
from gradegate.templating.template import TemplateError, fill_prompt, render
from support.each import table

CODE = st.text(alphabet="(){}[]=>;returnoutput \n", max_size=40)
FORMULA = st.text("hits()+-*/^%,.[]?:&|<>=! \n#1\"'$_né", max_size=40)
PATH = st.text(alphabet="outp.context[0]'\"()=>mapjoin ;?`{}", max_size=40)
REGEX = st.text(alphabet="ab\\[]^$.*+?{}()|1,-dswSkux<>=!: ", max_size=12)
VARS = table(__file__, "VARS")


def has_javascript_match(pattern, text):
    patterns.check_pattern(pattern)
    return patterns.has_match(pattern, text, javascript=True)


READ = {  # the texts, what reads them, what it gives, and what it raises
    "code": (st.text(max_size=40) | CODE, lambda text, _: json.dumps(script.assertion_script(text).call("x", {}).value), str, ScriptError),
    "formula": (FORMULA, lambda text, _: metric_formula(text).compute({"hits": 1.0}, {}), float, ScriptError),
    "template": (st.text(), lambda text, _: render(text, VARS), str, TemplateError),
    "prompt": (st.text(), lambda text, value: fill_prompt(text, {"x": value}), str, TemplateError),
    "expression": (REGEX, has_javascript_match, bool, ValueError),
    "path": (PATH, lambda text, _: json.dumps([transform_script(text).body, response_script(text).body]), str, ScriptError),
}


@pytest.mark.parametrize("name", READ)
@given(st.data())
def test_any_text_is_taken_or_refused(name, data):
    reset_accounts()
    texts, read, kind, error = READ[name]
    try:
        assert isinstance(read(data.draw(texts), data.draw(st.text(max_size=6))), kind)
    except error as e:
        assert str(e)  # noqa: PT017
