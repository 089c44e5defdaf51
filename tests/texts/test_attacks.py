"""What a hostile snippet may do: fail its own grade, and nothing more."""

import pytest

from gradegate.files.bounds import SCRIPT_RUNAWAYS
from gradegate.processes.evaluate import begin, evaluate
from gradegate.texts import script
from gradegate.texts.script import ScriptError
from support.each import table


def value(code, output="hello", context=None):
    return script.of_assertion(code).call(output, context or {}).value


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
    begin()
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
