"""What a first-time user gets wrong: one message for each mistake, with the cure."""

import json

import pytest

from gradegate.cli import main as cli
from gradegate.core.numbers import format_dollars
from gradegate.files import limits
from gradegate.files.documents import table as own_table
from gradegate.security.redaction import shorten_line
from support.each import table

MISTAKES = table(__file__, "mistakes")
TEST = "{vars: {q: a}, assert: [{type: equals, value: a}]}"
CONFIG = f"prompts: ['{{{{q}}}}']\nproviders: [echo]\ntests: [{TEST}]\n"
KEY = "sk-0123456789abcdef0123"
KEYED = f"prompts: [x]\nproviders:\n  - id: openai:chat:m\n    config: {{apiBaseUrl: BASE, HOLDER}}\ntests: [{TEST}]\n"


@pytest.mark.parametrize("name", MISTAKES)
def test_one_mistake_is_one_message(name, begun, monkeypatch):
    for row in MISTAKES[name]:
        for file, text in row.get("files", {}).items():
            path = begun.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("<config>", CONFIG).replace("<test>", TEST))
        with monkeypatch.context() as patch:
            for variable, value in row.get("env", {}).items():
                patch.setenv(variable, value)
            patch.chdir(begun.folder / row.get("in", ""))
            code, out, err = begun.do(*row.get("command", ["validate", "c.yaml"]))
        said = [line for line in err.splitlines() if not line.endswith("nothing was asked of any model")]
        also = [line for line in said if row.get("also", "\0") in line]
        assert (code, out) == (2, "")
        assert len(said) == 1 + len(also), said
        assert next(line for line in said if line not in also).startswith(row["says"]), said
        for file in row.get("files", {}):
            (begun.folder / file).unlink()


def test_a_key_that_was_pasted_with_a_line_break_is_the_key(begun, llm, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base)
    llm.reply = lambda path, body: f"a {KEY}"
    (begun.folder / "c.yaml").write_text(KEYED.replace("apiBaseUrl: BASE, HOLDER", "").replace("equals", "contains"))
    code, out, err = begun.do("run", "c.yaml", "-o", "results.json")
    assert code == 0, out + err
    assert llm.requests[0][2]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in (begun.folder / "results.json").read_text()


@pytest.mark.parametrize("holder", [f"apiKey: {KEY}", f"headers: {{Authorization: Bearer {KEY}}}, apiKey: k"])
def test_a_key_in_the_config_is_warned_of(holder, begun, llm):
    text = KEYED.replace("BASE", llm.base).replace("HOLDER", holder)
    (begun.folder / "promptfooconfig.yaml").write_text(text)
    workflow = begun.folder / ".github/workflows/w.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(
        "on: pull_request\njobs:\n  e:\n    steps:\n      - uses: o/gradegate@abc\n"
        f"        with: {{allowed-hosts: '127.0.0.1:{llm.port}'}}\n"
    )
    said = f"`{holder.partition(':')[0]}` of `openai:chat:m` contains a key: everybody who reads the file can use it"
    place = "promptfooconfig.yaml:4"
    llm.reply = lambda path, body: "a"
    for command in (["validate"], ["run"], ["init", "--from-pr"]):
        _, out, err = begun.do(*command)
        line = next((line for line in (out + err).splitlines() if said in line), out + err)
        assert place in line, line
        assert KEY not in out + err


def test_a_key_from_the_environment_or_of_a_local_server_is_not_warned_of(begun, llm, monkeypatch):
    monkeypatch.setenv("OTHER_KEY", KEY)
    for holder in ("apiKey: '{{env.OTHER_KEY}}'", "apiKeyEnvar: OTHER_KEY", "apiKey: local"):
        (begun.folder / "c.yaml").write_text(KEYED.replace("BASE", llm.base).replace("HOLDER", holder))
        code, out, _ = begun.do("validate", "c.yaml")
        assert code == 0
        assert "contains a key" not in out


def test_a_test_without_assertions_names_the_variable_that_was_meant(begun):
    other = "{vars: {q: b, expected: b}}"
    (begun.folder / "c.yaml").write_text(CONFIG.replace(TEST, f"{TEST}, {other}"))
    code, out, _ = begun.do("validate", "c.yaml")
    assert code == 0
    assert "the test has no assertion, so its answer is not checked; `expected` is only a variable: name its column" in out


def test_tables_of_gradegate_count_for_no_limit(monkeypatch):
    monkeypatch.setattr(limits.READ, "values", limits.MAX_VALUES)
    own_table.cache_clear()
    assert own_table("providers", "compatible.yaml")
    assert limits.READ.values == limits.MAX_VALUES


def test_amounts_have_no_exponent():
    amounts = {5.2e-05: "0.000052 USD", 0.0123: "0.0123 USD", 0: "0 USD", 1234.5: "1,234.5 USD", 1e-9: "0.000000001 USD"}
    assert {value: format_dollars(value) for value in amounts} == amounts


def test_a_line_is_cut_between_words():
    assert shorten_line("names the approval limit of the department", 20) == "names the approval…"
    assert shorten_line("names the approval limit", 18) == "names the approval…"
    assert shorten_line("x" * 50, 20) == "x" * 20 + "…"
    assert shorten_line("short", 20) == "short"


def test_a_page_that_leaves_cases_out_says_so_where_it_is_searched(begun, monkeypatch):
    monkeypatch.setattr("gradegate.reports.html.MOST_CASES", 2)
    tests = ", ".join(f"{{vars: {{q: {n}}}, assert: [{{type: equals, value: '{n}'}}]}}" for n in range(5))
    (begun.folder / "c.yaml").write_text(CONFIG.replace(TEST, tests))
    code, out, err = begun.do("run", "c.yaml", "-o", "r.html", "-o", "r.json")
    assert code == 0, out + err
    assert len(json.loads((begun.folder / "r.json").read_text())["cases"]) == 5
    page = (begun.folder / "r.html").read_text()
    assert 'data-left="3 more cases not on this page, which the search does not see; r.json has all of them"' in page


def test_a_run_says_a_small_cost_in_plain_figures(begun, llm):
    spec = {"inputCost": 1e-06, "outputCost": 1e-06}
    llm.reply = lambda path, body: "a"
    (begun.folder / "c.yaml").write_text(
        KEYED.replace("BASE", llm.base).replace("HOLDER", ", ".join([*(f"{k}: {v:.6f}" for k, v in spec.items()), "apiKey: k"]))
    )
    assert cli.main(["validate", "c.yaml"]) == 0
    out = begun.capsys.readouterr().out
    cost = next(line for line in out.splitlines() if line.startswith("cost:"))
    assert "e-0" not in cost
