"""What is run for which text of a config, what is refused before anything runs, and what a call gives."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.scripting import script
from gradegate.scripting.script import CodeFile, ScriptError, mentions, shown
from gradegate.scripting.tokens import tokens


def value(code, output="hello", context=None, read=script.of_assertion):
    return read(code).call(output, context or {}).value


def file(code, function=""):
    return CodeFile(file="a.js", function=function, code=code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("output.length", 5),
        ("output.length > 3;", True),
        ("output === 'hello'\n", True),
        ("  output.trim()  ", "hello"),
        ("const n = output.length; n > 3", True),
        ("const s = output; s === 'a;b'", False),
        ("let f = (x) => { return x; }; f(output)", "hello"),
        ("var a = `;${output};`; a.length;;", 7),
        ("const n = output.length;\nreturn n;", 5),
        ("{pass: true, score: 1, reason: 'x'}", {"pass": True, "score": 1, "reason": "x"}),
        ("(() => output.length)()", 5),
        ("context.vars.n", 2),
        ("Promise.resolve(output.length)", 5),
        ("(async () => { await null; return 7; })()", 7),
        ("this === globalThis", True),
        ("null", None),
        ("undefined", None),
        ("0.1 + 0.2", 0.30000000000000004),
        ("1e21", 1e21),
        ("'\\u2028</script>\\u0000'", "\u2028</script>\x00"),
        ("'\\ud800'", "\ud800"),
    ],
)
def test_an_assertion_is_an_expression_or_a_body(code, expected):
    assert value(code, context={"vars": {"n": 2}}) == expected


@pytest.mark.parametrize("number", ["0/0", "1/0", "-1/0"])
def test_numbers_that_json_lacks_are_what_they_are(number):
    assert str(value(number)) == {"0/0": "nan", "1/0": "inf", "-1/0": "-inf"}[number]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("const a = output;\na.length > 3", "it returns nothing"),
        ("(() => {\n  return true;\n})()", "it returns nothing"),
        ("const a = output", "it returns nothing"),
        ("output => output.length", "a function, which nobody calls"),
        ("async (output, context) => true", "a function, which nobody calls"),
        ("return true", "no JavaScript"),
        ("((output: string) => true)(output)", "remove the types"),
        ("const x: any = 1;\nreturn x;", "remove the types"),
        ("a b", "no JavaScript: expecting ';' (line 1)"),
        ("const a = 1;\n\nreturn [a;", "(line 3)"),
        ("await f(output)", "`async` function"),
        ("   ", "it is empty"),
        ("'" + "a" * 300_000 + "'", "more than 262,144 characters"),
        ("'\0'", "NUL"),
        ("require('fs')", "`require` loads a module"),
        ("const fs = require('fs');\nreturn fs.existsSync('x');", "`require` loads a module"),
        ("return 1;\nfetch('http://x')", "`fetch` asks the network"),
        ("process.env.KEY === 'x'", "`process` reads the process"),
        ("process?.env", "`process` reads the process"),
        ("import('fs')", "`import` loads a module"),
        ("setTimeout(() => {}, 1)", "`setTimeout` waits"),
        ("`${require('fs')}`", "`require` loads a module"),
    ],
)
def test_what_cannot_work_is_said_before_it_runs(code, words):
    with pytest.raises(ScriptError) as refused:
        script.of_assertion(code)
    assert words in f"{refused.value} -> {refused.value.cure}"


@pytest.mark.parametrize(
    "code",
    [
        "!output.includes('require(x)')",
        "!output.includes(\"fetch('a')\")",
        "true // require('fs')",
        "/* fetch(1) */ true",
        "`process.env ${1}` !== ''",
        "/require\\('/.test('a') === false",
        "({ fetch(x) { return x; } }).fetch(true)",
        "({ process: true }).process",
        "context.vars.process.env === undefined || true",
        "typeof require === 'undefined' || require('x')",
        "typeof process === 'undefined' || process.env.X",
        "const require = (x) => x; require(true)",
        "[true].map((fetch) => fetch).pop()",
        "output.import === undefined",
        "((a) => a / 2 > 1 / 2)(3)",
        "'a /* b'.length > 0 && 'c */'.length > 0",
    ],
)
def test_a_word_that_is_no_use_is_not_refused(code):
    assert value(code, context={"vars": {"process": {}}}) is True


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("output.missing.length", "throws TypeError: cannot read property 'length' of undefined (line 1)"),
        ("const a = 1;\nconst b = a.c.d;\nreturn b;", "(line 2)"),
        ("JSON.parse(output)", "throws SyntaxError"),
        ("(() => { throw 'text'; })()", "text"),
        ("(() => { throw null; })()", "null"),
        ("(() => { throw { toString() { throw 1; } }; })()", "{}"),
        ("Promise.reject(new Error('late'))", "throws Error: late"),
        ("new Promise(() => {})", "never comes"),
        ("10n", "bigint"),
        ("Symbol('x')", "symbol"),
        ("JSON.parse", "a function"),
        ("({ a: 10n })", "cannot be read"),
        ("(() => { const a = {}; a.a = a; return a; })()", "cannot be read"),
        ("({ get a() { throw new Error('getter'); } })", "getter"),
        ("new Proxy({}, { ownKeys() { throw new Error('trap'); } })", "trap"),
        ("require", "require"),
        ("new Intl.NumberFormat()", "Intl"),
    ],
)
def test_what_throws_or_gives_no_data_is_an_error(code, words):
    with pytest.raises(ScriptError) as error:
        value(code)
    assert words in str(error.value)


def test_what_is_logged_is_kept_as_far_as_people_read_it():
    returned = script.of_assertion(
        "console.log('a', {b: 1}, [2], undefined);\nconsole.error(new Error('e'));\nreturn 1"
    ).call("x", {})
    assert returned.lines == ('a {"b":1} [2] undefined', "Error: e")
    flood = script.of_assertion("for (let i = 0; i < 1e4; i++) console.log('y'.repeat(1e4));\nreturn true").call(
        "x", {}
    )
    assert (flood.value, len(flood.lines), max(map(len, flood.lines))) == (True, 50, 500)


@pytest.mark.parametrize(
    ("code", "function", "expected"),
    [
        ("module.exports = (output) => output.length", "", 5),
        ("module.exports = function (output, context) { return context.vars.n }", "", 2),
        ("exports.check = (output) => output + '!'", "check", "hello!"),
        ("module.exports.a = () => 1; module.exports.b = () => 2", "b", 2),
        (
            "export default (output) => ({ pass: true, score: 1, reason: output })",
            "",
            {"pass": True, "score": 1, "reason": "hello"},
        ),
        ("export default function name(output) {\n  return output;\n}", "", "hello"),
        ("export default async function (output) { return output }", "", "hello"),
        ("const f = (o) => o;\nexport { f as g, f };", "g", "hello"),
        ("export const f = () => 3;\nexport function h() { return f() + 1 }", "h", 4),
        ("export async function h() { return 4 }", "h", 4),
        ("const text = 'export default 1';\nmodule.exports = () => text", "", "export default 1"),
        ("'use strict';\nfunction f() { return this === undefined }\nmodule.exports = f", "", True),
    ],
)
def test_a_file_exports_a_function(code, function, expected):
    assert value(file(code, function), context={"vars": {"n": 2}}) == expected


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import fs from 'fs'\nexport default () => 1", "`import` loads a module (line 1)"),
        ("\nimport 'x'", "(line 2)"),
        ("export { a } from 'b'", "from` loads a module"),
        ("const fs = require('fs');\nmodule.exports = () => 1", "`require` loads a module"),
        ("export * as x", "`export` is written in a way"),
        ("module.exports = (", "no JavaScript"),
        ("module.exports = (output: string): boolean => true", "no JavaScript"),
    ],
)
def test_a_file_that_cannot_work_is_said_before_it_runs(code, words):
    with pytest.raises(ScriptError) as refused:
        script.of_assertion(file(code))
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("code", "function", "words"),
    [
        ("const a = 1", "", "it exports no function"),
        ("module.exports = null", "", "it exports no function"),
        ("exports.a = 1", "a", "does not export a function `a`"),
        ("exports.a = () => 1", "constructor", "does not export a function `constructor`"),
        ("throw new Error('load')", "", "throws Error: load (line 1)"),
        ("\nmodule.exports = (o) => o.a.b", "", "(line 2)"),
    ],
)
def test_a_file_that_does_not_work_is_an_error_with_its_line(code, function, words):
    with pytest.raises(ScriptError) as error:
        value(file(code, function))
    assert words in str(error.value)


def test_a_transform_of_one_line_is_an_expression_and_of_more_a_body():
    assert value("output.toUpperCase()", read=script.of_transform) == "HELLO"
    assert value("const a = output;\nreturn a;", read=script.of_transform) == "hello"
    with pytest.raises(ScriptError, match="returns nothing"):
        script.of_transform("output.toUpperCase()\n")


@pytest.mark.parametrize(
    "code",
    [
        "json.a",
        "(json) => json.a",
        "(json, text) => JSON.parse(text).a",
        "function (json) { return json.a; }",
        "{ output: json.a }.output",
    ],
)
def test_a_response_may_be_taken_by_a_function(code):
    assert script.of_response(code).call({"a": 1}, '{"a": 1}', {}).value == 1


@pytest.mark.parametrize(
    "code", ["prompt + vars.x", "(prompt, vars) => prompt + vars.x", "const a = prompt + vars.x; return a;"]
)
def test_a_request_may_be_made_by_a_function(code):
    assert script.of_request(code).call("p", {"x": "y"}, {}).value == "py"


def test_what_no_json_has_is_no_argument():
    with pytest.raises(ScriptError, match="cannot be written as JSON"):
        value("output", output=float("nan"))


def test_a_file_is_shown_by_its_name_and_tells_other_code():
    one, two = shown(file("a", "f")), shown(file("b", "f"))
    assert one.startswith("file://a.js:f (SHA-256 ")
    assert one != two
    assert shown("code") == "code"


def test_what_a_snippet_may_look_at():
    assert mentions("context.vars.a", "context")
    assert not mentions("output.length", "context")
    assert mentions("arguments[1]", "context")
    assert mentions(file("x"), "context")


@given(st.text(alphabet="`${}'\"/\\()[]*;\n =>aexport import", max_size=60))
def test_any_text_has_tokens_in_order(text):
    places = [token.place for token in tokens(text)]
    assert places == sorted(set(places))
    assert all(text[place : place + 1] for place in places)


@given(st.text(max_size=40) | st.text(alphabet="(){}[]=>;returnoutput \n", max_size=40))
def test_any_text_runs_or_is_refused(text):
    try:
        json.dumps(script.of_assertion(text).call("x", {}).value)
    except ScriptError:
        return


@pytest.mark.parametrize("code", ["return true", "return output.length > 0;", "const ok = output > 1; return ok"])
def test_a_return_on_the_only_line_has_a_cure_that_works(code):
    with pytest.raises(ScriptError) as told:
        script.of_assertion(code)
    assert told.value.cure.startswith("remove `return`: one line is an expression")
    script.of_assertion(code.replace("return ", ""))
    script.of_assertion("const ok = output > 1;\nreturn ok;")
