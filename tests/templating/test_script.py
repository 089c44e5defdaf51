"""What is run for which text of a config, what is refused before anything runs, and what a call gives."""

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.files.limits import SCRIPT_RUNAWAYS
from gradegate.sandbox.evaluate import evaluate, reset_accounts
from gradegate.templating import script
from gradegate.templating.javascript import split_tokens
from gradegate.templating.script import CodeFile, ScriptError, may_mention, may_read, show_code
from support.each import table


def value(code, output="hello", context=None, read=script.assertion_script):
    return read(code).call(output, context or {}).value


def file(code, function=""):
    return CodeFile(file="a.js", function=function, code=code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [*table(__file__, "an_assertion_is_an_expression_or_a_body"), *table(__file__, "what_is_given_is_read_as_plain_data")],
)
def test_an_assertion_is_an_expression_or_a_body_over_plain_data(code, expected):
    assert value(code, context={"vars": {"n": 2}}) == expected


@pytest.mark.parametrize("number", ["0/0", "1/0", "-1/0"])
def test_numbers_that_json_lacks_are_what_they_are(number):
    assert str(value(number)) == {"0/0": "nan", "1/0": "inf", "-1/0": "-inf"}[number]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        *table(__file__, "what_cannot_work_is_said_before_it_runs"),
        ("'" + "a" * 300_000 + "'", "more than 262,144 characters"),
        *((file(code), words) for code, words in table(__file__, "a_file_that_cannot_work_is_said_before_it_runs")),
    ],
)
def test_what_cannot_work_is_said_before_it_runs(code, words):
    with pytest.raises(ScriptError) as refused:
        script.assertion_script(code)
    assert words in f"{refused.value} -> {refused.value.cure}"


@pytest.mark.parametrize("code", table(__file__, "a_word_that_is_no_use_is_not_refused"))
def test_a_word_that_is_no_use_is_not_refused(code):
    assert value(code, context={"vars": {"process": {}}}) is True


@pytest.mark.parametrize(
    ("code", "words"),
    [
        *table(__file__, "what_throws_or_gives_no_data_is_an_error"),
        *((file(code, name), words) for code, name, words in table(__file__, "a_file_that_does_not_work_is_an_error_with_its_line")),
    ],
)
def test_what_throws_or_gives_no_data_is_an_error(code, words):
    with pytest.raises(ScriptError) as error:
        value(code)
    assert words in str(error.value)


def test_what_is_logged_is_kept_as_far_as_people_read_it():
    returned = script.assertion_script("console.log('a', {b: 1}, [2], undefined);\nconsole.error(new Error('e'));\nreturn 1").call("x", {})
    assert returned.lines == ('a {"b":1} [2] undefined', "Error: e")
    flood = script.assertion_script("for (let i = 0; i < 100; i++) console.log('y'.repeat(1e4));\nreturn true").call("x", {})
    assert (flood.value, len(flood.lines), max(map(len, flood.lines))) == (True, 50, 500)


@pytest.mark.parametrize(("code", "function", "expected"), table(__file__, "a_file_exports_a_function"))
def test_a_file_exports_a_function(code, function, expected):
    assert value(file(code, function), context={"vars": {"n": 2}}) == expected


def test_a_transform_of_one_line_is_an_expression_and_of_more_a_body():
    assert value("output.toUpperCase()", read=script.transform_script) == "HELLO"
    assert value("const a = output;\nreturn a;", read=script.transform_script) == "hello"
    with pytest.raises(ScriptError, match="returns nothing"):
        script.transform_script("output.toUpperCase()\n")


@pytest.mark.parametrize(
    "code",
    ["json.a", "(json) => json.a", "(json, text) => JSON.parse(text).a", "function (json) { return json.a; }", "{ output: json.a }.output"],
)
def test_a_response_may_be_taken_by_a_function(code):
    assert script.response_script(code).call({"a": 1}, '{"a": 1}', {}).value == 1


@pytest.mark.parametrize("code", ["prompt + vars.x", "(prompt, vars) => prompt + vars.x", "const a = prompt + vars.x; return a;"])
def test_a_request_may_be_made_by_a_function(code):
    assert script.request_script(code).call("p", {"x": "y"}, {}).value == "py"


def test_what_no_json_has_is_no_argument():
    with pytest.raises(ScriptError, match="cannot be written as JSON"):
        value("output", output=float("nan"))


def test_a_file_is_shown_by_its_name_and_tells_other_code():
    one, two = show_code(file("a", "f")), show_code(file("b", "f"))
    assert one.startswith("file://a.js:f (SHA-256 ")
    assert one != two
    assert show_code("code") == "code"


def test_what_a_snippet_may_look_at():
    assert may_mention("context.vars.a", "context")
    assert not may_mention("output.length", "context")
    assert may_mention("arguments[1]", "context")
    assert may_mention(file("x"), "context")


@given(st.text(alphabet="`${}'\"/\\()[]*;\n =>aexport import", max_size=60))
def test_any_text_has_tokens_in_order(text):
    places = [token.position for token in split_tokens(text)]
    assert places == sorted(set(places))
    assert all(text[place : place + 1] for place in places)


@pytest.mark.parametrize("code", ["return true", "return output.length > 0;", "const ok = output > 1; return ok"])
def test_a_return_on_the_only_line_has_a_cure_that_works(code):
    with pytest.raises(ScriptError) as told:
        script.assertion_script(code)
    assert told.value.cure.startswith("remove `return`: one line is an expression")
    script.assertion_script(code.replace("return ", ""))
    script.assertion_script("const ok = output > 1;\nreturn ok;")


def test_no_function_of_the_engine_has_rules_of_languages_of_its_own():
    """Each throws, but for those that need no language; a newer engine may have more of them."""
    names = "toLocaleString toLocaleDateString toLocaleTimeString toLocaleUpperCase toLocaleLowerCase localeCompare"
    assert set(value(f"return {table(__file__, 'NAMED')}\n;")) == set(names.split())
    for receiver in ("1", "1n", "[1]", "new Uint8Array(1)", "new Float64Array(1)", "new Date(0)"):
        with pytest.raises(ScriptError, match="`toLocaleString` needs language rules"):
            value(f"({receiver})['toLocale' + 'String']()")


def same_in_node(code, **environ):
    node = subprocess.run(
        ["node", "-p", f"JSON.stringify({code})"], capture_output=True, text=True, check=True, env={**os.environ, **environ}
    )
    assert json.loads(value(f"JSON.stringify({code})")) == json.loads(node.stdout)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
def test_graphemes_are_those_of_node():
    parts = ["a", "\u0301", "\u200d", "\ufe0f", "\U0001f469", "\U0001f3fd", "\U0001f1e9", "\r", "\n", "\uac00", "\u0e33"]
    for first in parts:  # not all at once: a script has half a second
        texts = [first + "".join(text) for text in itertools.product(parts, repeat=2)]
        same_in_node(f"{json.dumps(texts)}.map((it) => [...new Intl.Segmenter('en').segment(it)].map((part) => part.segment))")


PLAIN = st.text(alphabet="abzABZ019 ", max_size=6)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
def test_plain_texts_are_compared_as_node_does():
    texts = ["", " ", *"a A b B ab aB Ab".split(), "a b", *"a1 1a 10 9 z Z aZ Az".split(), "zz top"]
    same_in_node(f"{json.dumps(texts)}.map((one) => {json.dumps(texts)}.map((two) => one.localeCompare(two)))", LANG="en_US.UTF-8")


@given(PLAIN, PLAIN, PLAIN)
def test_plain_texts_have_one_order(one, two, three):
    compare = "context.t.map((x) => context.t.map((y) => x.localeCompare(y)))"
    signs = value(compare, context={"t": [one, two, three]})
    assert all(signs[i][j] == -signs[j][i] for i in range(3) for j in range(3))
    if signs[0][1] <= 0 and signs[1][2] <= 0:
        assert signs[0][2] <= 0


def test_what_is_logged_is_text_whatever_the_snippet_does_to_texts():
    tampered = "String.prototype.slice = () => ({}); Array.prototype.map = Array.prototype.join = () => [1];"
    logged = "console.log('a', { b: 1 }, { toJSON() { throw 1; } });\nreturn true"
    assert script.assertion_script(f"{tampered}\n{logged}").call("x", {}).lines == ('a {"b":1} (what cannot be shown)',)


@pytest.mark.parametrize("code", ["/[", ";", "; ", "\n", "f(", "a.localeCompare(", "`${", "fetch(1);", "export ", "{a:"])
def test_a_text_as_long_as_allowed_is_looked_through_at_once(code):
    """These once took minutes, as the time grew with the square of the length."""

    def seconds(length: int) -> float:
        text = (code * length)[:length]
        started = time.process_time()
        for end in ("x", "\nreturn return", "; const fetch = 1, f = 1"):
            for read in (script.assertion_script, script.transform_script, script.response_script, script.request_script):
                with contextlib.suppress(ScriptError):
                    read(text + end)
            with contextlib.suppress(ScriptError):
                script.assertion_script(file(text + end))
        return time.process_time() - started

    assert seconds(262_100) < 16 * seconds(32_000) + 1  # 8 times as long; the square would be 67 times


@pytest.mark.parametrize(
    ("code", "name", "expected"),
    [
        *table(__file__, "which_part_of_its_context_code_may_read"),
        (file("module.exports = (output, { provider }) => provider.label"), "provider", True),
        (file("module.exports = (output, context) => context.vars.provider_"), "provider", False),
    ],
)
def test_which_part_of_its_context_code_may_read(code, name, expected):
    assert may_read(code, name) is expected


ENDLESS = table(__file__, "ENDLESS")
LARGE = table(__file__, "LARGE")
DEEP = {
    "recursion": "(function f() { return f() + 1; })()",
    "brackets": "JSON.parse('['.repeat(1e6))",
    "arguments": "Math.max(...Array(1e6).fill(1))",
}


def test_a_script_that_runs_away_is_not_run_for_ever():
    said = []
    for answer in range(SCRIPT_RUNAWAYS + 2):
        with pytest.raises(ScriptError) as error:
            value("while (output) {}\nreturn 1", output=f"answer {answer}")
        said.append("is not run again" in str(error.value))
    assert said == [False] * SCRIPT_RUNAWAYS + [True] * 2
    assert value("output.length") == 5
    assert evaluate("support.tasks:echo", 1) == 1
    reset_accounts()
    with pytest.raises(ScriptError, match="takes more than"):
        value("while (output) {}\nreturn 1")


@pytest.mark.parametrize("code", [*ENDLESS.values(), *LARGE.values(), *DEEP.values()], ids=[*ENDLESS, *LARGE, *DEEP])
def test_it_costs_its_own_grade_alone(code):
    with pytest.raises(ScriptError):
        value(code)
    assert value("output.length") == 5


@pytest.mark.parametrize("code", table(__file__, "nothing_of_one_call_is_left_for_the_next"))
def test_nothing_of_one_call_is_left_for_the_next(code):
    value(f"(() => {{ {code.rsplit(';', 1)[0]}; return 1; }})()")
    clean = "({}).pass === undefined && !output.includes('x') && typeof leak === 'undefined' && ![].includes(1)"
    assert value(clean) is True
    assert value("JSON.parse('{\"a\": [1]}').a") == [1]
    assert value("({ a: 1 })") == {"a": 1}


def test_there_is_nothing_to_reach():
    names = "process require module std os fetch XMLHttpRequest WebSocket setTimeout setInterval Deno Bun Atomics scriptArgs print load"
    listed = str(names.split())
    assert value(f"{listed}.filter((name) => typeof globalThis[name] !== 'undefined')") == []
    assert value("[typeof process, typeof require, typeof module].join()") == "undefined,undefined,undefined"


def test_the_environment_of_the_gate_is_not_seen(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "in-the-environment")
    everything = "JSON.stringify(Object.getOwnPropertyNames(globalThis).map((n) => String(globalThis[n])))"
    assert "in-the-environment" not in value(everything)


@pytest.mark.parametrize("code", ["import('fs')", "import('std')"])
def test_no_module_is_loaded_however_it_is_asked_for(code):
    hidden = f"new Function('return {code.replace(chr(39), chr(92) + chr(39))}')()"
    with pytest.raises(ScriptError):
        value(hidden)


@pytest.mark.parametrize("answer", ["</script>", "\u2028\u2029", "'); while(1){}; ('", "${1}", "\x00", "\ud800", "{{ x }}", "`"])
def test_an_answer_is_data(answer):
    assert value("output", output=answer) == answer
    assert value("[output, context.vars.a]", output=answer, context={"vars": {"a": answer}}) == [answer, answer]


def test_a_key_of_an_answer_changes_no_prototype():
    assert value(
        "context.vars.a.pass === undefined && ({}).pass === undefined", context={"vars": {"a": {"__proto__": {"pass": True}}}}
    ) in (True, False)
    assert value("({}).pass", context={"vars": {"__proto__": {"pass": True}}}) is None
