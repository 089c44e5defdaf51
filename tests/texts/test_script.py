"""What is run for which text of a config, what is refused before anything runs, and what a call gives."""

import contextlib
import json
import shutil
import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.texts import script
from gradegate.texts.script import CodeFile, ScriptError, mentions, reads, shown
from gradegate.texts.script_words import tokens


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
        ("const a = output", "it returns nothing, whatever the answer is -> end it with the value"),
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
        ("[...require('fs')]", "`require` loads a module"),
        ("ouput.length", "`ouput` is not declared, and the engine does not have it (line 1) -> did you mean `output`?"),
        ("const a = 1;\nreturn new URL(output).host", "`URL` is not declared, and the engine does not have it (line 2)"),
        ("new Intl.NumberFormat('en').format(1)", "`Intl` is not declared"),
        ("structuredClone(output)", "`structuredClone` is not declared"),
        ("Buffer.from(output).length", "`Buffer` is not declared"),
        ("new TextEncoder().encode(output)", "`TextEncoder` is not declared"),
        ("typeof Atomics.wait", "`Atomics` is not declared"),
        ("new WeakRef({}).deref()", "`WeakRef` is not declared"),
        ("window.output", "`window` is not declared"),
        ("({ Buffer: Buffer.from('a') })", "`Buffer` is not declared"),
        ("(1234.5).toLocaleString() === '1,234.5'", "`toLocaleString` needs the rules of a language"),
        ("new Date(0)?.toLocaleDateString?.('en-US')", "`toLocaleDateString` needs the rules of a language"),
        ("new Date(0).toLocaleTimeString()", "`toLocaleTimeString` needs the rules of a language"),
        ("output.toLocaleUpperCase('tr')", "name no language"),
        ("output.toLocaleLowerCase(['tr'])", "name no language"),
        ("output.localeCompare('a', 'de')", "give it no options"),
        ("output.localeCompare(f(1, 2), undefined, { numeric: true })", "give it no options"),
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
        "typeof Intl === 'undefined' || Intl.NumberFormat",
        "output.toLocaleUpperCase() === 'HELLO' && output.toLocaleLowerCase(undefined) === output",
        "({ toLocaleString(x) { return x; } }).toLocaleString(true)",
        "output.localeCompare(['hello', 1][0]) === 0",
        "((first, ...rest) => rest.every((x) => x))(0, true)",
        "(function count(n) { return n ? count(n - 1) : true; })(3)",
        "`${[1].map((n) => n)[0]}` === '1'",
        "(x = 5, x.toFixed(1) === '5.0')",
        "(globalThis.shared = [true], shared.pop())",
        "0.5.toFixed(1) === '0.5' && 1e3.toString() === '1000' && 1..toFixed() === '1'",
        "((output) => { if (output) /URL(x)/.test(output); return true; })(output)",
        "(() => { class A { #p = 1; static of(x) { return new A(x); } get p() { return this.#p; } } return A.of(1).p === 1; })()",
        "(() => { outer: for (const [k, { v }] of Object.entries({ a: { v: [1] } })) { v.pop(); continue outer; } return true; })()",
        "(() => { try { throw new Error('x'); } catch ({ message }) { return message.length === 1; } })()",
        "(({ a: { b }, c: d = b }) => b.valueOf() === d.valueOf())({ a: { b: 1 } })",
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
        ("new Number(1)", "an object around a value, such as `new Number(1)`, is no plain data"),
        ("new Boolean(false)", "no plain data"),
        ("[new String('good')]", "no plain data"),
        ("let deep = [];\nfor (let i = 0; i < 201; i++) deep = [deep];\nreturn deep", "nested more than 200 deep"),
        ("(() => { const a = {}; a.a = a; return a; })()", "cannot be read"),
        ("({ get a() { throw new Error('getter'); } })", "getter"),
        ("new Proxy({}, { ownKeys() { throw new Error('trap'); } })", "trap"),
        ("require", "require"),
        ("new Function('return new Intl.NumberFormat()')()", "Intl"),
        ("(1)['toLocale' + 'String']()", "`toLocaleString` needs the rules of a language"),
        ("(() => { try { return [1]['toLocale' + 'String']() } catch { return 'caught' } })()", "needs the rules"),
        ("(() => { try { return 'é'.localeCompare('e') } catch { return 0 } })()", "needs the rules of a language"),
        ("'a'['localeCompare']('b', 'de')", "needs the rules of a language"),
        ("'I'['toLocaleLowerCase']('tr')", "needs the rules of a language"),
    ],
)
def test_what_throws_or_gives_no_data_is_an_error(code, words):
    with pytest.raises(ScriptError) as error:
        value(code)
    assert words in str(error.value)


def test_what_is_logged_is_kept_as_far_as_people_read_it():
    returned = script.of_assertion("console.log('a', {b: 1}, [2], undefined);\nconsole.error(new Error('e'));\nreturn 1").call("x", {})
    assert returned.lines == ('a {"b":1} [2] undefined', "Error: e")
    flood = script.of_assertion("for (let i = 0; i < 1e4; i++) console.log('y'.repeat(1e4));\nreturn true").call("x", {})
    assert (flood.value, len(flood.lines), max(map(len, flood.lines))) == (True, 50, 500)


@pytest.mark.parametrize(
    ("code", "function", "expected"),
    [
        ("module.exports = (output) => output.length", "", 5),
        ("module.exports = function (output, context) { return context.vars.n }", "", 2),
        ("exports.check = (output) => output + '!'", "check", "hello!"),
        ("module.exports.a = () => 1; module.exports.b = () => 2", "b", 2),
        ("export default (output) => ({ pass: true, score: 1, reason: output })", "", {"pass": True, "score": 1, "reason": "hello"}),
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
    ["json.a", "(json) => json.a", "(json, text) => JSON.parse(text).a", "function (json) { return json.a; }", "{ output: json.a }.output"],
)
def test_a_response_may_be_taken_by_a_function(code):
    assert script.of_response(code).call({"a": 1}, '{"a": 1}', {}).value == 1


@pytest.mark.parametrize("code", ["prompt + vars.x", "(prompt, vars) => prompt + vars.x", "const a = prompt + vars.x; return a;"])
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


def test_no_function_of_the_engine_has_rules_of_languages_of_its_own():
    """Each throws, but for those that need no language; a newer engine may have more of them."""
    named = (
        "[...new Set(Object.getOwnPropertyNames(globalThis).flatMap((name) => {\n"
        "  const kind = globalThis[name]?.prototype;\n"
        "  const all = kind ? [kind, Object.getPrototypeOf(kind)] : [];\n"
        "  return all.filter((it) => it && it !== Object.prototype).flatMap((it) =>\n"
        "    Object.getOwnPropertyNames(it).filter((key) => /locale/i.test(key)).map((key) => `${key}`));\n"
        "}))]"
    )
    found = value(f"return {named}\n;")
    assert set(found) == {
        *("toLocaleString", "toLocaleDateString", "toLocaleTimeString"),
        *("toLocaleUpperCase", "toLocaleLowerCase", "localeCompare"),
    }
    for receiver in ("1", "1n", "[1]", "new Uint8Array(1)", "new Float64Array(1)", "new Date(0)"):
        with pytest.raises(ScriptError, match="`toLocaleString` needs the rules"):
            value(f"({receiver})['toLocale' + 'String']()")


PLAIN = st.text(alphabet="abzABZ019 ", max_size=6)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
def test_plain_texts_are_compared_as_node_does():
    texts = json.loads('["", " ", "a", "A", "b", "B", "ab", "aB", "Ab", "a b", "a1", "1a", "10", "9", "z", "Z", "aZ", "Az", "zz top"]')
    code = f"JSON.stringify({json.dumps(texts)}.map((one) => {json.dumps(texts)}.map((two) => one.localeCompare(two))))"
    node = subprocess.run(["node", "-p", code], capture_output=True, text=True, check=True, env={"LANG": "en_US.UTF-8"})
    assert json.loads(value(code)) == json.loads(node.stdout)


@given(PLAIN, PLAIN, PLAIN)
def test_plain_texts_have_one_order(one, two, three):
    compare = "context.t.map((x) => context.t.map((y) => x.localeCompare(y)))"
    signs = value(compare, context={"t": [one, two, three]})
    assert all(signs[i][j] == -signs[j][i] for i in range(3) for j in range(3))
    if signs[0][1] <= 0 and signs[1][2] <= 0:
        assert signs[0][2] <= 0


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("({ pass: false, toJSON() { return { pass: true }; } })", {"pass": False}),
        ("Object.prototype.toJSON = () => 7;\nreturn { a: [1], f() {} }", {"a": [1]}),
        ("Function.prototype.toJSON = () => 7;\nreturn [() => 1, Symbol('x'), undefined]", [None, None, None]),
        ("Object.prototype.pass = true; Object.prototype.value = 9;\nreturn { score: 1 }", {"score": 1}),
        ("class A { x = 1; get y() { return 2; } }\nreturn new A()", {"x": 1}),
        ("({ at: new Date(0), never: new Date(NaN) })", {"at": "1970-01-01T00:00:00.000Z", "never": None}),
        ("({ get a() { return [1]; } })", {"a": [1]}),
        ("[, NaN, -0, { ['__proto__']: 1 }]", [None, None, 0, {"__proto__": 1}]),
        ("Object.assign(Object.create(null), { a: new Map([[1, 2]]) })", {"a": {}}),
    ],
)
def test_what_is_given_is_read_as_plain_data(code, expected):
    assert value(code) == expected


def test_what_is_logged_is_text_whatever_the_snippet_does_to_texts():
    tampered = "String.prototype.slice = () => ({}); Array.prototype.map = Array.prototype.join = () => [1];"
    logged = "console.log('a', { b: 1 }, { toJSON() { throw 1; } });\nreturn true"
    assert script.of_assertion(f"{tampered}\n{logged}").call("x", {}).lines == ('a {"b":1} (what cannot be shown)',)


@pytest.mark.parametrize("code", ["/[", ";", "; ", "\n", "f(", "a.localeCompare(", "`${", "fetch(1);", "export ", "{a:"])
def test_a_text_as_long_as_allowed_is_looked_through_at_once(code):
    """These once took minutes."""
    text = (code * 262_144)[:262_100]
    started = time.process_time()
    for end in ("x", "\nreturn return", "; const fetch = 1, f = 1"):
        for read in (script.of_assertion, script.of_transform, script.of_response, script.of_request):
            with contextlib.suppress(ScriptError):
                read(text + end)
        with contextlib.suppress(ScriptError):
            script.of_assertion(file(text + end))
    assert time.process_time() - started < 60


@pytest.mark.parametrize(
    ("code", "name", "expected"),
    [
        ("context.prompt.includes('a')", "prompt", True),
        ("context?.['prompt']", "prompt", True),
        ("const { prompt } = context; prompt", "prompt", True),
        ("JSON.stringify(context).includes('lenient')", "prompt", True),
        ("((c) => c.vars)(context)", "prompt", True),
        ("context['pro' + 'mpt']", "prompt", True),
        ("arguments[1]['x']", "prompt", True),
        ("!output.includes('system prompt') && context.vars.a // prompt", "prompt", False),
        ("context.vars.q && context?.test && context['vars']", "prompt", False),
        ("context.providerResponse.cached", "provider", False),
        ("output.prompt", "provider", False),
        (file("module.exports = (output, { provider }) => provider.label"), "provider", True),
        (file("module.exports = (output, context) => context.vars.provider_"), "provider", False),
    ],
)
def test_which_part_of_its_context_code_may_read(code, name, expected):
    assert reads(code, name) is expected
