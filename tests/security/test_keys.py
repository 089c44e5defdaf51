"""Keys go to their own hosts, and nothing that leaves the program shows them."""

import base64
import json
import re
import shlex
import socket
from urllib.parse import quote

import pytest

from gradegate.cli import main as cli
from gradegate.providers.api.json_http import host_of
from support.each import table
from support.fake_llm import FakeLlm, serve
from support.scenes import fill_in_values, scenes

KEY = "sk-canary-0123456789abcdef"
CANARY = "canary"
ELSEWHERE, IN_ADDRESSES, RUNNER = (table(__file__, name) for name in ("ELSEWHERE", "IN_ADDRESSES", "RUNNER"))
REPORTS = ("-o", "r.xml", "-o", "r.md", "-o", "r.html")

test_a_scene = scenes(__file__)


@pytest.fixture
def evil():
    with serve() as fake:
        yield fake


@pytest.fixture
def github(monkeypatch, llm: FakeLlm):
    """The environment of a step on GitHub whose model is served on loopback."""
    for name, value in fill_in_values(table(__file__, "environ"), {"base": llm.base}).items():
        monkeypatch.setenv(name, value)


def opened(fake: FakeLlm) -> tuple[str, str]:
    """What opens the port of a fake in a job, and lets no key go there."""
    return "--ready", fake.base


def config(own, url="", **values):
    """The config with keys of its own, in which `<url>` is an address and `<host>` its host."""
    return fill_in_values({**table(__file__, "config"), **own}, {"url": url, "host": host_of(url) if url else "", **values})


def openai(**options):
    return {"providers": [{"id": "openai:chat:m", "config": options}]}


def everything(ran) -> str:
    files = [path.read_text(errors="replace") for path in ran.folder.iterdir() if path.is_file() and path.suffix != ".yaml"]
    return "\n".join([ran.out, ran.err, *files])


@pytest.mark.parametrize("way", IN_ADDRESSES)
def test_no_address_holds_a_credential_even_where_the_host_may_have_it(gate, llm, evil, github, way):
    ran = gate(config(IN_ADDRESSES[way], evil.base), *REPORTS, "--allowed-hosts", f"127.0.0.1:{evil.port}")
    assert (ran.code, evil.requests) == (2, [])
    assert "would send GH_PAT in `id`: a credential is sent only in headers" in ran.err
    assert CANARY not in everything(ran)


@pytest.mark.parametrize("way", ELSEWHERE)
def test_no_key_goes_to_another_host(gate, llm, evil, github, way):
    ran = gate(config(ELSEWHERE[way], evil.base), *REPORTS, *opened(evil))
    assert ran.code == 2, ran.out
    assert not evil.requests
    assert "is not a host of that key -> allow it: --allowed-hosts 127.0.0.1:" in ran.err
    assert CANARY not in everything(ran)


@pytest.mark.parametrize("way", ["base", "key by name", "header", "http header", "target of a test"])
@pytest.mark.parametrize("form", ["127.0.0.1:{port}", "127.0.0.1", "http://127.0.0.1:{port}/v1"])
def test_the_workflow_allows_a_host(gate, llm, evil, github, way, form):
    port = () if "{port}" in form else opened(evil)  # an entry without one lets keys go to each, and opens the usual ones
    ran = gate(config(ELSEWHERE[way], evil.base), *port, "--allowed-hosts", f"other.example.com, {form.format(port=evil.port)}")
    assert ran.code in (0, 1), ran.err
    assert CANARY in json.dumps(evil.requests)
    assert CANARY not in everything(ran)


@pytest.mark.parametrize("name", ["gateway.a\u00dfets.localhost", "gateway%2eassets.localhost", "gateway.assets.localhost.."])
def test_no_key_goes_to_a_host_that_only_looks_like_one_that_is_allowed(gate, llm, github, name):
    ran = gate(config(openai(apiBaseUrl=f"http://{name}/v1")), "--allowed-hosts", "gateway.assets.localhost")
    assert (ran.code, llm.requests) == (2, [])
    assert "it is not a host name" in ran.err


def test_off_github_keys_are_bound_when_hosts_are_named(gate, llm, evil, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert gate(config(openai(apiBaseUrl=evil.base))).code == 0
    ran = gate(config(openai(apiBaseUrl=evil.base)), "--allowed-hosts", "api.example.com")
    assert (ran.code, len(evil.requests)) == (2, 1)


def test_a_key_of_the_configs_own_is_bound_to_nothing_and_hidden(gate, evil, github):
    evil.reply = lambda path, body: "ok, own-canary-key-1"
    ran = gate(config(openai(apiKey="own-canary-key-1", apiBaseUrl=evil.base)), *REPORTS, *opened(evil))
    assert ran.code == 0, ran.err
    assert ran.results["keys"] == []
    assert "own-canary-key-1" not in everything(ran)


@pytest.mark.parametrize("name", RUNNER)
@pytest.mark.parametrize("own", table(__file__, "OF_THE_RUNNER"))
def test_what_is_the_runners_own_is_read_by_no_config(gate, llm, evil, github, name, own):
    ran = gate(config(own, evil.base, name=name), "--allowed-hosts", f"127.0.0.1:{evil.port}")
    assert ran.code == 2, ran.out
    assert "the runner's own" in ran.err
    assert not evil.requests
    assert CANARY not in everything(ran)


@pytest.mark.parametrize(("own", "refused"), table(__file__, "TEXTS"))
@pytest.mark.parametrize("text", ["{{env.GH_PAT}}", "{{ env | dump }}", "{{ env['GH' + '_PAT'] }}", "{% for k in env %}{{k}}{% endfor %}"])
def test_texts_outside_a_providers_config_show_no_variable_that_is_closed(gate, llm, github, own, refused, text):
    ran = gate(config(own, text=text), "-g", "openai:chat:m", *REPORTS)
    assert CANARY not in json.dumps([body for _, body, _ in llm.requests]) + everything(ran)
    if "env.GH_PAT" in text and refused:
        assert ran.code == 2
        assert "GH_PAT, allowed only in a provider's config -> allow it: --allowed-env GH_PAT" in ran.err


@pytest.mark.parametrize("form", ["{}", "http://[{}/?q={{{{prompt}}}}", "http://127.0.0.1:{}/?q={{{{prompt}}}}", "http://{}.x/"])
@pytest.mark.parametrize("command", ["run", "validate"])
def test_no_mistake_quotes_what_an_address_shows(github, monkeypatch, tmp_path, capsys, form, command):
    monkeypatch.setenv("WEIRD", "odd-canary-value")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config({"providers": [form.format("{{env.WEIRD}}")]})))
    assert cli.main([command]) == 2
    assert CANARY not in "".join(capsys.readouterr())


def test_a_key_that_a_target_tells_goes_to_no_graders_host_however_it_is_written(gate, llm, evil, github):
    forms = [KEY, KEY.encode().hex(), base64.b64encode(KEY.encode()).decode(), "\u200b".join(KEY), quote(KEY).replace("-", "%2d")]
    (grader,) = openai(apiKey="own", apiBaseUrl=evil.base)["providers"]
    for form in forms:
        llm.reply = lambda path, body, form=form: f"the key is {form}"
        tests = [{"vars": {"x": "1"}, "assert": [{"type": "llm-rubric", "value": "x", "provider": grader}]}]
        ran = gate(config({"tests": tests}), *opened(evil))
        assert (ran.code, [body for body in evil.bodies if body]) == (2, []), form
        assert "outside the credential field of a provider, so it was not sent" in ran.out, form


@pytest.mark.parametrize("url", table(__file__, "addresses_that_are_not_asked"))
@pytest.mark.parametrize(
    "target", [{"id": "<url>", "config": {"body": {"p": "{{prompt}}"}}}, *openai(apiBaseUrl="<url>", apiKey="x")["providers"]]
)
def test_addresses_that_are_not_asked(gate, github, url, target):
    ran = gate(config({"providers": [target]}, url))
    assert ran.code == 2
    assert "would ask" in ran.err


def test_a_model_chosen_beside_a_grader_does_not_repeat_its_mistake(gate, github):
    grader = {"id": "openai:chat:m", "config": {"apiBaseUrl": "https://evil.example/v1"}}
    tests = [{"vars": {"x": "1"}, "assert": [{"type": "llm-rubric", "value": "x"}, {"type": "similar", "value": "x"}]}]
    ran = gate(config({"providers": ["echo"], "defaultTest": {"options": {"provider": grader}}, "tests": tests}), command="validate")
    assert ran.code == 2
    assert "1 mistake; nothing was asked of any model" in ran.err
    assert "openai:embedding" not in ran.err


ASKED = {"config": {"body": {"p": "{{prompt}}"}}}


@pytest.mark.parametrize("command", ["run", "validate"])
def test_another_port_of_the_runner_is_not_asked(gate, llm, github, command):
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(0.2)
        port = other.getsockname()[1]
        opened = ("--ready", f"http://127.0.0.1:{llm.port}/v1", "--allowed-hosts", "127.0.0.1")
        ran = gate(config({"providers": [{"id": f"http://127.0.0.1:{port}/x", **ASKED}]}), *opened, command=command)
        assert (ran.code, llm.requests) == (2, [])
        said = (
            f"promptfooconfig.yaml:4: `http://127.0.0.1:{port}/x` would ask 127.0.0.1:{port}: it is on this machine or in a private network, "
            "and the workflow does not open this host and port -> name it in the workflow: "
            f"--ready http://127.0.0.1:{port} or --allowed-hosts 127.0.0.1:{port}"
        )
        assert said in ran.err
        with pytest.raises(TimeoutError):
            other.accept()


@pytest.mark.parametrize(("option", "named"), [("--ready", "http://localhost:{}/v1"), ("--allowed-hosts", "localhost:{}")])
def test_what_the_workflow_names_is_asked(gate, llm, github, option, named):
    ran = gate(config({"providers": [{"id": f"http://localhost:{llm.port}/v1", **ASKED}]}), option, named.format(llm.port))
    assert ran.code == 0, ran.out + ran.err
    assert [body for body in llm.bodies if body] == [{"p": "say 1"}]


@pytest.mark.parametrize("later", [False, True], ids=["at once", "by the time of the connection"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_name_that_leads_to_the_runner_is_not_asked(gate, github, monkeypatch, later, scheme):
    found, looks = socket.getaddrinfo, []

    def rebinding(host, *rest, **more):
        if host != "rebind.example.com":
            return found(host, *rest, **more)
        looks.append(host)
        public = later and len(looks) == 1
        return found("93.184.216.34" if public else "127.0.0.1", *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(0.2)
        port = other.getsockname()[1]
        ran = gate(config({"providers": [{"id": f"{scheme}://rebind.example.com:{port}/x", **ASKED}]}))
        assert ran.code == 2, ran.out
        assert f"rebind.example.com:{port} is not called: it is on this machine" in ran.out
        assert f"`allowed-hosts: rebind.example.com:{port}`" in ran.out
        if later:
            with other.accept()[0] as made:
                assert made.recv(1) == b""  # closed before anything was sent
        else:
            with pytest.raises(TimeoutError):
                other.accept()


@pytest.mark.parametrize("folder", [".git/config", ".npmrc", ".netrc", ".aws/credentials", ".ssh/id_rsa", ".env", ".docker/config.json"])
def test_files_with_credentials_are_not_read(gate, llm, github, folder):
    ran = gate(config({"tests": [{"vars": {"x": f"file://{folder}"}}]}), **{folder: "token-canary"})
    assert (ran.code, llm.requests) == (2, [])
    assert "with credentials, which gradegate does not read" in ran.err


def test_mistakes_and_warnings_show_no_key(gate, llm, github):
    written = config({"providers": [{"id": f"opnai:{KEY}", "config": {"apiKey": "own-canary-5"}}]})
    assert CANARY not in everything(gate(written, *REPORTS))
    assert CANARY not in everything(gate(config(openai(apiBaseUrl=f"not-{KEY}", apiKey="own-canary-5"))))


def test_the_command_for_agents_sends_no_key_of_theirs_elsewhere(gate, llm, evil, github, monkeypatch, capsys):
    other = openai(apiBaseUrl="{{env.OPENAI_BASE_URL | default('<url>')}}")  # on GitHub it is set, and on a machine of their own it is not
    test = {"description": "d", "vars": {"x": "1"}, "assert": [{"type": "contains", "value": "nobody says this"}]}
    ran = gate(config({**other, "tests": [test]}, evil.base), "-o", "x.agent.md")
    assert (ran.code, len(llm.requests)) == (1, 1)
    command = re.search(r"```sh\ngradegate (.*)\n", (ran.folder / "x.agent.md").read_text())
    assert command is not None
    for name in ("GITHUB_ACTIONS", "GITHUB_EVENT_NAME", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name)
    assert cli.main(shlex.split(command[1])) == 2
    assert "would send OPENAI_API_KEY to 127.0.0.1:" in capsys.readouterr().err
    assert evil.requests == []
