"""Keys go to their own hosts, and nothing that leaves the program shows them."""

import base64
import json
import re
import shlex
from urllib.parse import quote

import pytest

from gradegate import cli
from gradegate.asking.wire import host_of
from support.each import table
from support.fake_llm import FakeLlm, serve

KEY = "sk-canary-0123456789abcdef"
PAT = "ghp_canary-9876543210"
RUNNER = table(__file__, "RUNNER")
CANARY = "canary"
PASSES = [{"type": "contains", "value": "ok"}]


@pytest.fixture
def evil():
    with serve() as fake:
        yield fake


@pytest.fixture
def github(monkeypatch, llm: FakeLlm):
    """The environment of a step on GitHub whose model is served on loopback."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-canary-5566778899")
    monkeypatch.setenv("TOWN", "town-canary")
    monkeypatch.setenv("GH_PAT", PAT)
    monkeypatch.setenv("DATABASE_URL", "postgres://u:pw-canary@db/x")
    for name, value in RUNNER.items():
        monkeypatch.setenv(name, value)


def config(target, prompt="say {{x}}", **more):
    test = {"vars": {"x": "1"}, "assert": PASSES, **more.pop("test", {})}
    return {"prompts": [prompt], "providers": [target], "tests": [test], **more}


def openai(**options):
    return {"id": "openai:chat:m", "config": options}


def requests(*fakes: FakeLlm) -> str:
    return json.dumps([(path, body, headers) for fake in fakes for path, body, headers in fake.requests])


def everything(ran) -> str:
    files = [path.read_text(errors="replace") for path in ran.folder.iterdir() if path.suffix != ".yaml"]
    return "\n".join([ran.out, ran.err, *files])


REPORTS = ("-o", "r.xml", "-o", "r.md", "-o", "r.html")


def test_a_key_goes_to_the_host_that_the_environment_names(gate, llm, github):
    ran = gate(config("openai:chat:m"), *REPORTS)
    assert ran.code == 0, ran.err
    assert llm.requests[0][2]["Authorization"] == f"Bearer {KEY}"
    assert ran.results["keys"] == [{"name": "OPENAI_API_KEY", "host": f"127.0.0.1:{llm.port}"}]
    assert {"OPENAI_API_KEY", "GH_PAT", "DATABASE_URL"} <= set(ran.results["hidden"])
    assert f"OPENAI_API_KEY -> 127.0.0.1:{llm.port}" in ran.out
    assert CANARY not in everything(ran)


def test_the_name_of_a_variable_is_no_secret_where_a_key_is_written_with_it(gate, llm, github):
    ran = gate(config(openai(apiKey="${OPENAI_API_KEY}")))
    assert ran.code == 0, ran.err
    assert "OPENAI_API_KEY" in ran.results["hidden"]


ELSEWHERE = {
    "base": lambda url: config(openai(apiBaseUrl=url)),
    "env": lambda url: config("openai:chat:m", env={"OPENAI_BASE_URL": url}),
    "env of provider": lambda url: config({"id": "openai:chat:m", "env": {"OPENAI_API_BASE_URL": url}}),
    "header": lambda url: config(openai(apiKey="own", apiBaseUrl=url, headers={"X": "{{env.GH_PAT}}"})),
    "key by template": lambda url: config(openai(apiKey="{{ env.GH_PAT }}", apiBaseUrl=url)),
    "key by index": lambda url: config(openai(apiKey="{{ env['GH_PAT'] }}", apiBaseUrl=url)),
    "key by name": lambda url: config(openai(apiKeyEnvar="GH_PAT", apiBaseUrl=url)),
    "another's key": lambda url: config(openai(apiKeyEnvar="ANTHROPIC_API_KEY")),
    "literal that shows it": lambda url: config(
        {"id": "openai:chat:m", "env": {"K": "{{env.GH_PAT}}"}, "config": {"apiKeyEnvar": "K", "apiBaseUrl": url}}
    ),
    "literal of the config": lambda url: config(openai(apiKeyEnvar="K", apiBaseUrl=url), env={"K": "{{env.GH_PAT}}"}),
    "http header": lambda url: config(
        {"id": url, "config": {"body": {"p": "{{prompt}}"}, "headers": {"A": "{{ env.GH_PAT }}"}}}
    ),
    "host header": lambda url: config(openai(headers={"hOST": host_of(url)})),
    "host header of http": lambda url: config(
        {"id": "{{env.OPENAI_BASE_URL}}", "config": {"body": {"p": "{{prompt}}"}, "headers": {"Host": host_of(url)}}}
    ),
    "http body": lambda url: config({"id": url, "config": {"body": {"p": "{{prompt}}{{env.TOWN}}"}}}),
    "provider id": lambda url: config({"id": "openai:chat:{{env.TOWN}}", "config": {"apiBaseUrl": url, "apiKey": "x"}}),
    "passthrough": lambda url: config(openai(apiKey="x", apiBaseUrl=url, passthrough={"user": "{{env.TOWN}}"})),
    "target of a test": lambda url: config("openai:chat:m", test={"provider": openai(apiBaseUrl=url)}),
    "grader of a member": lambda url: config(
        "openai:chat:m",
        test={
            "assert": [
                {
                    "type": "assert-set",
                    "assert": [{"type": "llm-rubric", "value": "x", "provider": openai(apiBaseUrl=url)}],
                }
            ]
        },
    ),
    "grader": lambda url: config("openai:chat:m", defaultTest={"options": {"provider": openai(apiBaseUrl=url)}},
                                 test={"assert": [{"type": "llm-rubric", "value": "x"}]}),
}  # fmt: skip


IN_ADDRESSES = {
    "http url": lambda url: config({"id": f"{url}/{{{{prompt}}}}/{{{{env.GH_PAT}}}}", "config": {"method": "GET"}}),
    "text with a key": lambda url: config(f"{url}/{{{{env.GH_PAT}}}}?q={{{{prompt}}}}"),
    "text with letters of a key": lambda url: config(f"{url}/{{{{env['GH_PAT'] | upper}}}}?q={{{{prompt}}}}"),
    "grader as a text": lambda url: config(
        "openai:chat:m",
        test={"assert": [{"type": "llm-rubric", "value": "x", "provider": f"{url}/{{{{env.GH_PAT}}}}?q={{{{prompt}}}}"}]},
    ),
    "model of a metric": lambda url: config(
        "openai:chat:m",
        test={"assert": [{"type": "faithfulness", "config": {"model": f"{url}/{{{{env.GH_PAT}}}}?q={{{{prompt}}}}"}}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", IN_ADDRESSES)
def test_no_address_holds_a_credential_even_where_the_host_may_have_it(gate, llm, evil, github, way):
    ran = gate(IN_ADDRESSES[way](evil.base), *REPORTS, "--allowed-hosts", f"127.0.0.1:{evil.port}")
    assert (ran.code, evil.requests) == (2, [])
    assert "would send GH_PAT in `id`: a credential is sent only in headers" in ran.err
    assert CANARY not in everything(ran)


@pytest.mark.parametrize("way", ELSEWHERE)
def test_no_key_goes_to_another_host(gate, llm, evil, github, way):
    ran = gate(ELSEWHERE[way](evil.base), *REPORTS)
    assert ran.code == 2, ran.out
    assert not evil.requests
    assert "is not a host of that key -> allow it: --allowed-hosts 127.0.0.1:" in ran.err
    assert CANARY not in everything(ran)


@pytest.mark.parametrize("way", ["base", "key by name", "header", "http header", "target of a test"])
@pytest.mark.parametrize("form", ["127.0.0.1:{port}", "127.0.0.1", "http://127.0.0.1:{port}/v1"])
def test_the_workflow_allows_a_host(gate, llm, evil, github, way, form):
    ran = gate(ELSEWHERE[way](evil.base), "--allowed-hosts", f"other.example.com, {form.format(port=evil.port)}")
    assert ran.code in (0, 1), ran.err
    assert CANARY in requests(evil)
    assert CANARY not in everything(ran)


@pytest.mark.parametrize("name", ["gateway.a\u00dfets.localhost", "gateway%2eassets.localhost", "gateway.assets.localhost.."])
def test_no_key_goes_to_a_host_that_only_looks_like_one_that_is_allowed(gate, llm, github, name):
    target = openai(apiBaseUrl=f"http://{name}/v1")
    ran = gate(config(target), "--allowed-hosts", "gateway.assets.localhost")
    assert (ran.code, llm.requests) == (2, [])
    assert "it is not a host name" in ran.err


def test_a_host_header_that_a_test_fills_in_leads_no_key_elsewhere(gate, llm, github):
    headers = {"Host": "{{x}}"}
    target = {"id": llm.base, "config": {"body": {"p": "{{prompt}}"}, "headers": {"X-Auth": "{{env.GH_PAT}}", **headers}}}
    ran = gate(config(target), "--allowed-hosts", host_of(llm.base))
    assert (ran.code, llm.requests) == (2, [])
    assert "would send GH_PAT to {{x}}" in ran.err


def test_no_config_says_where_a_request_ends(gate, llm, github):
    ran = gate(config(openai(headers={"Transfer-Encoding": "chunked"})))
    assert (ran.code, llm.requests) == (2, [])
    assert "promptfooconfig.yaml:4: the header `transfer-encoding` of `openai:chat:m`" in ran.err


def test_off_github_keys_are_bound_when_hosts_are_named(gate, llm, evil, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert gate(config(openai(apiBaseUrl=evil.base))).code == 0
    ran = gate(config(openai(apiBaseUrl=evil.base)), "--allowed-hosts", "api.example.com")
    assert (ran.code, len(evil.requests)) == (2, 1)


def test_a_key_of_the_configs_own_is_bound_to_nothing_and_hidden(gate, evil, github):
    evil.reply = lambda path, body: "ok, own-canary-key-1"
    ran = gate(config(openai(apiKey="own-canary-key-1", apiBaseUrl=evil.base)), *REPORTS)
    assert ran.code == 0, ran.err
    assert ran.results["keys"] == []
    assert "own-canary-key-1" not in everything(ran)


@pytest.mark.parametrize("name", RUNNER)
@pytest.mark.parametrize(
    "way",
    [
        lambda name, url: config(openai(apiKeyEnvar=name, apiBaseUrl=url)),
        lambda name, url: config(openai(apiKey=f"{{{{env['{name}']}}}}", apiBaseUrl=url)),
        lambda name, url: config({"id": url, "config": {"body": f"{{{{prompt}}}}{{{{env['{name}']}}}}"}}),
        lambda name, url: config({"id": "openai:chat:m", "env": {"K": f"{{{{env['{name}']}}}}"}}),
        lambda name, url: config("openai:chat:m", f"{{{{env['{name}']}}}} {{{{x}}}}"),
    ],
)
def test_what_is_the_runners_own_is_read_by_no_config(gate, llm, evil, github, name, way):
    ran = gate(way(name, evil.base), "--allowed-hosts", f"127.0.0.1:{evil.port}")
    assert ran.code == 2, ran.out
    assert "the runner's own" in ran.err
    assert not evil.requests
    assert CANARY not in everything(ran)


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: config("openai:chat:m", text),
        lambda text: config("openai:chat:m", test={"vars": {"x": text}}),
        lambda text: config("openai:chat:m", test={"vars": {"x": {"y": [text]}}}, prompts=["{{x.y[0]}}"]),
        lambda text: config("openai:chat:m", test={"assert": [{"type": "contains", "value": text}]}),
        lambda text: config("openai:chat:m", test={"assert": [{"type": "llm-rubric", "value": text}]}),
        lambda text: config("openai:chat:m", test={"assert": [{"type": "contains", "value": "ok", "metric": text}]}),
        lambda text: config("openai:chat:m", f'[{{"role": "user", "content": "{text} {{{{x}}}}"}}]'),
        lambda text: config("openai:chat:m", test={"options": {"prefix": text}}),
    ],
)
@pytest.mark.parametrize("text", ["{{env.GH_PAT}}", "{{ env | dump }}", "{{ env['GH' + '_PAT'] }}", "{% for k in env %}{{k}}{% endfor %}"])
def test_texts_outside_a_providers_config_show_no_variable_that_is_closed(gate, llm, github, edit, text):
    ran = gate(edit(text), "-g", "openai:chat:m", *REPORTS)
    assert CANARY not in json.dumps([body for _, body, _ in llm.requests]) + everything(ran)
    if "env.GH_PAT" in text and not {"metric", "y"} & set(json.dumps(edit(text)).split('"')):
        assert ran.code == 2
        assert "GH_PAT, allowed only in a provider's config -> allow it: --allowed-env GH_PAT" in ran.err


def test_the_workflow_opens_a_variable(gate, llm, github, monkeypatch):
    monkeypatch.setenv("TOWN", "Oslo")
    assert gate(config("openai:chat:m", "{{env.TOWN}} {{x}} {{env.CI}}"), "--allowed-env", "TOWN").code == 0
    assert "Oslo 1 " in llm.prompts[0]
    ran = gate(config("openai:chat:m"), "--allowed-env", "GITHUB_TOKEN")
    assert (ran.code, "`GITHUB_TOKEN` in `allowed-env` is the runner" in ran.err) == (2, True)


@pytest.mark.parametrize("form", ["{}", "http://[{}/?q={{{{prompt}}}}", "http://127.0.0.1:{}/?q={{{{prompt}}}}", "http://{}.x/"])
@pytest.mark.parametrize("command", ["run", "validate"])
def test_no_mistake_quotes_what_an_address_shows(github, monkeypatch, tmp_path, capsys, form, command):
    monkeypatch.setenv("WEIRD", "odd-canary-value")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config(form.format("{{env.WEIRD}}"))))
    assert cli.main([command]) == 2
    assert CANARY not in "".join(capsys.readouterr())


def test_a_key_that_a_target_tells_goes_to_no_graders_host_however_it_is_written(gate, llm, evil, github):
    forms = [KEY, KEY.encode().hex(), base64.b64encode(KEY.encode()).decode(), "\u200b".join(KEY), quote(KEY).replace("-", "%2d")]
    for form in forms:
        llm.reply = lambda path, body, form=form: f"the key is {form}"
        grader = openai(apiKey="own", apiBaseUrl=evil.base)
        ran = gate(config("openai:chat:m", test={"assert": [{"type": "llm-rubric", "value": "x", "provider": grader}]}))
        assert (ran.code, evil.requests) == (2, []), form


def test_addresses_and_models_by_variables(gate, llm, github, monkeypatch):
    monkeypatch.setenv("APP_HOST", f"127.0.0.1:{llm.port}")
    monkeypatch.setenv("MODEL", "m-1")
    ran = gate(config({"id": "http://{{env.APP_HOST}}/v1", "config": {"body": {"p": "{{prompt}}"}}}))
    assert (ran.code, f"key: APP_HOST -> 127.0.0.1:{llm.port}" in ran.out) == (0, True)
    assert "`allowed-env: MODEL`" in gate(config("openai:chat:{{env.MODEL}}")).err
    assert gate(config("openai:chat:{{env.MODEL}}"), "--allowed-env", "MODEL").code == 0
    assert llm.bodies[-1]["model"] == "m-1"


def test_a_variable_that_is_not_set_is_a_mistake_in_a_providers_config(gate, llm, github, monkeypatch):
    ran = gate(config(openai(apiBaseUrl="{{env.NOPE}}")))
    assert (ran.code, llm.requests) == (2, [])
    assert "promptfooconfig.yaml:4: `{{ env.NOPE }}` is not set" in ran.err
    other = openai(apiKey="own", apiBaseUrl="{{env.NOPE | default('" + llm.base + "')}}")
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert gate(config(other)).code == 0


@pytest.mark.parametrize("url", table(__file__, "addresses_that_are_not_asked"))
@pytest.mark.parametrize("way", [lambda url: {"id": url, "config": {"body": {"p": "{{prompt}}"}}},
                                 lambda url: openai(apiBaseUrl=url, apiKey="x")])  # fmt: skip
def test_addresses_that_are_not_asked(gate, github, url, way):
    ran = gate(config(way(url)))
    assert ran.code == 2
    assert "would ask" in ran.err


def test_a_name_that_leads_to_a_closed_address_is_not_asked(gate, llm, github, monkeypatch):
    monkeypatch.setattr("gradegate.access.egress.is_private", lambda address: True)  # as if loopback were inside a network
    ran = gate(config({"id": f"http://localhost:{llm.port}/v1", "config": {"body": {"p": "{{prompt}}"}}}))
    assert (ran.code, llm.requests) == (2, [])
    assert "localhost is not called: it is an address inside a private network" in ran.out


def test_a_test_cannot_turn_a_host_into_another(gate, llm, github):
    target = {"id": "http://127.0.0.1{{end}}/x", "config": {"body": {"p": "{{prompt}}"}}}
    ran = gate(config(target, test={"vars": {"x": "1", "end": f":{llm.port}"}}))
    assert (ran.code != 0, llm.requests) == (True, [])
    assert "turn 127.0.0.1 into another host" in ran.out


@pytest.mark.parametrize("folder", [".git/config", ".npmrc", ".netrc", ".aws/credentials", ".ssh/id_rsa", ".env", ".docker/config.json"])
def test_files_with_credentials_are_not_read(gate, llm, github, folder):
    ran = gate(config("openai:chat:m", test={"vars": {"x": f"file://{folder}"}}), **{folder: "token-canary"})
    assert (ran.code, llm.requests) == (2, [])
    assert "with credentials, which gradegate does not read" in ran.err


def test_a_key_that_an_answer_tells_is_hidden_in_every_report(gate, llm, github):
    long = "x" * 190
    llm.reply = lambda path, body: f"ok {KEY} {long}{KEY} {KEY[:13]}\u200b{KEY[13:]}"
    ran = gate(config("openai:chat:m", test={"assert": [{"type": "equals", "value": "no"}]}), *REPORTS)
    assert ran.code == 1
    assert CANARY not in everything(ran)


def test_mistakes_and_warnings_show_no_key(gate, llm, github):
    written = config({"id": f"opnai:{KEY}", "config": {"apiKey": "own-canary-5"}})
    assert CANARY not in everything(gate(written, *REPORTS))
    assert CANARY not in everything(gate(config(openai(apiBaseUrl=f"not-{KEY}", apiKey="own-canary-5"))))


def test_the_command_for_agents_sends_no_key_of_theirs_elsewhere(gate, llm, evil, github, monkeypatch, capsys):
    other = f"{{{{env.OPENAI_BASE_URL | default('{evil.base}')}}}}"  # on GitHub it is set, and on a machine of their own it is not
    asserts = [{"type": "contains", "value": "nobody says this"}]
    ran = gate(config(openai(apiBaseUrl=other), test={"description": "d", "assert": asserts}), "-o", "x.agent.md")
    assert (ran.code, len(llm.requests)) == (1, 1)
    command = re.search(r"```sh\ngradegate (.*)\n", (ran.folder / "x.agent.md").read_text())
    assert command is not None
    for name in ("GITHUB_ACTIONS", "GITHUB_EVENT_NAME", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name)
    assert cli.main(shlex.split(command[1])) == 2
    assert "would send OPENAI_API_KEY to 127.0.0.1:" in capsys.readouterr().err
    assert evil.requests == []
