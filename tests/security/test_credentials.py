"""A credential leaves as the credential of its provider, or of no vendor in a header, and as nothing else."""

import base64
import html
import json
from collections.abc import Iterator
from urllib.parse import quote, urlencode

import pytest

from gradegate.providers.api.provider import PROVIDERS
from gradegate.security.secret_traces import SearchableText, SecretTraces
from gradegate.security.secrets import sounds_secret
from gradegate.security.vendors import Vendor as Vendors
from support import clouds
from support.each import table
from support.fake_llm import chat
from support.graded import mistakes
from support.loopback import JsonHandler, listening
from support.signs import bold, entities, tag_letters
from support.vendors import claude, converse, gemini, make_message, ollama, output_text, responses

VENDORS = table(__file__, "VENDORS")
OTHERS = {"GATEWAY_KEY": "gw_canaryJ_8c7b6a5d4e", "GH_PAT": "ghp_canaryK_0099887766", "DATABASE_URL": "postgres://u:canaryL@db.example/x"}
CANARIES = VENDORS | OTHERS
ENCODINGS = {
    "plain": lambda text: text,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 behind a name": lambda text: base64.urlsafe_b64encode(f"u:{text}".encode()).decode().rstrip("="),
    "hex": lambda text: text.encode().hex().upper(),
    "percent": lambda text: "".join(f"%{ord(sign):02x}" for sign in text),
    "json": lambda text: "".join(f"\\u{ord(sign):04X}" for sign in text),
    "reversed": lambda text: text[::-1],
}
PASSES = [{"type": "contains", "value": "ok"}]


class Vendor(JsonHandler):
    """Every vendor at once, which keeps every byte of every request, and answers what ``says`` makes of it."""

    seen: list[bytes]
    says: list

    def respond(self) -> None:
        raw = self.raw_requestline + bytes(self.headers) + self.read()
        self.seen.append(raw)
        text = self.says[-1](raw.decode())
        for part, answer in {
            "/messages": claude({"type": "text", "text": text}),
            ":generateContent": gemini({"text": text}),
            "/converse": converse({"text": text}),
            "/api/chat": ollama(text),
            "/responses": responses(make_message(output_text(text))),
        }.items():
            if part in self.path:
                self.answer(200, answer)
                return
        self.answer(200, chat(text))


class World:
    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self.says = [lambda raw: "ok"]
        self.port = 0

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def text(self) -> str:
        return b"\n".join(self.seen).decode()

    def config(self, target, prompt="say {{x}}", **more):
        tests = more.pop("tests", [{"vars": {"x": "1"}, "assert": PASSES}])
        targets = target if isinstance(target, list) else [target]
        return {"prompts": [prompt], "providers": targets, "tests": tests, **more}


@pytest.fixture
def world(monkeypatch, gate) -> Iterator[World]:
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "AZURE_OPENAI_API_HOST"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**CANARIES, "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request"}.items():
        monkeypatch.setenv(name, value)
    made = World()
    with listening(Vendor, seen=made.seen, says=made.says) as made.port:
        yield made


def allowing(world: World) -> tuple[str, str]:
    return "--allowed-hosts", f"127.0.0.1:{world.port}"


# Each kind of provider: its key, and the config that leads it to the fake.
KINDS = table(__file__, "KINDS")
MCP = {"type": "mcp", "server_label": "s", "server_url": "https://evil.example.com/mcp"}
PLACES = {
    "passthrough": lambda key, at: {"passthrough": {"user": key}},
    "metadata": lambda key, at: {"store": True, "metadata": {"note": f"x {key}"}},
    "tools": lambda key, at: {"tools": [{**MCP, "headers": {"Authorization": f"Bearer {key}"}}]},
    "address": lambda key, at: {at: f"BASE/{key}"},
    "query": lambda key, at: {at: f"BASE?k={key}"},
    "behind a filter": lambda key, at: {"passthrough": {"user": key.replace("}}", "| upper }}")}},
    "headers.": lambda key, at: {"headers": {"X-Other": f"Bearer {key}"}},
}


def refused(kind: str, place: str, variable: str) -> bool:
    """Whether the place is no place for a variable: a header is one for what is no vendor's."""
    return variable in VENDORS or place != "headers."


def test_a_credential_in_any_other_place_is_a_mistake_of_its_own(gate, world):
    targets, wanted = [], []
    for kind, (own, at) in KINDS.items():
        for place, made in PLACES.items():
            for variable in dict.fromkeys((own, "OPENAI_API_KEY", "GATEWAY_KEY")):
                config = {at: world.base, "apiKey": "attackers", **made(f"{{{{ env.{variable} }}}}", at)}
                config[at] = config[at].replace("BASE", world.base)
                label = f"p{len(targets)}"
                targets.append({"id": kind, "label": label, "config": config})
                if place == "query":  # an address has none, whatever is in it
                    wanted.append((kind, place, f"is not an address for `{kind}`"))
                elif refused(kind, place, variable):
                    wanted.append((kind, place, f"`{label}` would send {variable} in `"))
    ran = gate(world.config(targets), *allowing(world))
    assert ran.code == 2
    assert [row for row in wanted if row[2] not in ran.err] == []
    assert ran.err.count("would send") == sum(place != "query" for _, place, _ in wanted)
    assert world.seen == []
    assert "canary" not in ran.out + ran.err


WAYS = table(__file__, "WAYS")


def test_no_detour_leads_a_vendors_key_out_of_its_field(gate, world, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", world.base)
    for place, written in WAYS.items():
        ran = gate(world.config({"id": "openai:chat:m", **written}), *allowing(world), "--allowed-env", "OPENAI_API_KEY")
        assert (ran.code, world.seen) == (2, []), place
        told = f"would send OPENAI_API_KEY in `{place}`: a vendor's key is sent only as the credential of a provider"
        assert told in ran.err
        assert "promptfooconfig.yaml:4: " in ran.err


def test_http_sends_no_vendors_key_and_others_in_headers_to_listed_hosts(gate, world, monkeypatch):
    def app(**config):
        return world.config({"id": world.base, "config": {"body": {"q": "{{prompt}}"}, **config}})

    monkeypatch.setenv("OPENAI_BASE_URL", world.base)  # leads providers there, and no application
    bearer = {name: {"Authorization": f"Bearer {{{{ env.{name} }}}}"} for name in CANARIES}
    for name in VENDORS:
        ran = gate(app(headers=bearer[name]), *allowing(world))
        assert (ran.code, world.seen) == (2, []), name
        assert f"would send {name} in `headers.Authorization`: `http:` is for applications" in ran.err
        assert "give the gateway's key its own variable name" in ran.err
    for name in OTHERS:
        for elsewhere in ({"body": {"q": "{{prompt}}", "k": f"{{{{env.{name}}}}}"}}, {"queryParams": {"k": f"{{{{env.{name}}}}}"}}):
            assert gate(app(**elsewhere), *allowing(world)).code == 2
        assert "is not a host of that key" in gate(app(headers=bearer[name])).err
        assert world.seen == []
        assert gate(app(headers=bearer[name]), *allowing(world)).code == 0
        assert f"Authorization: Bearer {CANARIES[name]}".encode() in world.seen.pop()
    monkeypatch.delenv("GITHUB_ACTIONS")  # on one's own machine no list is needed
    assert gate(app(headers=bearer["GATEWAY_KEY"])).code == 0
    assert gate(app(headers=bearer["OPENAI_API_KEY"])).code == 2


GATEWAYS = table(__file__, "GATEWAYS")


def test_a_gateways_key_stands_in_any_header_where_the_workflow_or_the_environment_leads(gate, world, monkeypatch):
    for name, config in GATEWAYS.items():
        target = {"id": "openai:chat:m", "config": {**config, "apiBaseUrl": world.base}}
        ran = gate(world.config(target), "--ready", world.base)  # opens the port, and lets no key go there
        assert (ran.code, world.seen) == (2, []), name
        assert "would send GATEWAY_KEY to 127.0.0.1:" in ran.err, name
        assert gate(world.config(target), *allowing(world)).code == 0, name
        assert name in world.seen.pop().decode().partition(OTHERS["GATEWAY_KEY"])[0].splitlines()[-1]
        with monkeypatch.context() as patched:
            patched.setenv("OPENAI_BASE_URL", world.base)
            assert gate(world.config({"id": "openai:chat:m", "config": config})).code == 0, name
        assert OTHERS["GATEWAY_KEY"] in world.seen.pop().decode()


def test_each_kind_sends_its_key_once_and_in_its_own_field(gate, world):
    targets = [
        {"id": kind, "config": {at: world.base, **({"apiKeyEnvar": key} if key == "GATEWAY_KEY" else {})}}
        for kind, (key, at) in KINDS.items()
    ]
    targets.append({"id": "openai:chat:vendor/m", "config": {"apiBaseUrl": world.base, "apiKeyEnvar": "OPENROUTER_API_KEY"}})
    ran = gate(world.config(targets), *allowing(world))
    assert ran.code == 0, ran.out + ran.err
    fields = {"authorization", "x-api-key", "api-key", "x-goog-api-key"}
    assert len(world.seen) == len(targets)
    for raw in world.seen:
        shown = [name for name, value in CANARIES.items() if value in raw.decode()]
        lines = [line for line in raw.decode().splitlines() if "canary" in line.lower()]
        assert (len(shown), len(lines)) == (1, 1), raw
        assert lines[0].partition(":")[0].lower() in fields


def test_values_that_are_no_credentials_go_where_they_went(gate, world, monkeypatch):
    for name, value in {"MODEL": "gpt-oss", "MAX_TOKENS": "77", "ACCOUNT": "acc-1", "BASE": world.base}.items():
        monkeypatch.setenv(name, value)
    options = {"apiBaseUrl": "{{env.BASE}}", "apiKey": "k", "max_tokens": "{{env.MAX_TOKENS}}", "user": "{{env.ACCOUNT}}"}
    config = world.config({"id": "openai:chat:{{env.MODEL}}", "config": options})
    ran = gate(config, *allowing(world))
    assert "would send MAX_TOKENS in `max_tokens`: a credential is sent only in headers" in ran.err
    assert "`allowed-env: MAX_TOKENS`" in ran.err
    assert gate(config, *allowing(world), "--allowed-env", "MAX_TOKENS").code == 0
    assert "gpt-oss" in world.text
    assert "acc-1" in world.text


def test_what_the_workflow_opens_is_never_a_vendors_key(gate, world):
    for text in ("{{env.OPENAI_API_KEY}} {{x}}", "{{ env['OPENAI_API_KEY'] | upper }} {{x}}"):
        target = {"id": "openai:chat:m", "config": {"apiBaseUrl": world.base, "apiKey": "own"}}
        ran = gate(world.config(target, text), *allowing(world), "--allowed-env", "OPENAI_API_KEY")
        assert (ran.code, world.seen) == (2, [])
        assert "a vendor's key is never allowed in a text, even with `allowed-env`" in ran.err


def test_a_credential_that_is_brought_in_whole_is_sent_nowhere_in_any_spelling(gate, world):
    told = [(name, way, made(value)) for name, value in CANARIES.items() for way, made in ENCODINGS.items()]

    def says(raw: str) -> str:
        case = raw.partition("case number ")[2].partition(".")[0]
        return f"ok, it is <{told[int(case)][2]}>" if case.isdigit() else "ok"

    world.says.append(says)
    grader = {"id": "openai:chat:grader", "config": {"apiBaseUrl": world.base, "apiKey": "own"}}
    rubric = [{"type": "llm-rubric", "value": "is polite", "provider": grader}]
    tests = [{"vars": {"x": f"case number {case}."}, "assert": rubric} for case in range(len(told))]
    target = {"id": "openai:chat:m", "config": {"apiBaseUrl": world.base, "apiKey": "own"}}
    gated = world.config(target, tests=tests, gate={"errors": {"ignore-up-to": 0.99}})
    ran = gate(gated, *allowing(world), "-j", "4")
    assert ran.code == 2  # no share of errors is left out that a credential is behind
    assert len(world.seen) == len(told)  # the targets, and no grader
    grades = {case["vars"]["x"]: case["grades"][0] for case in ran.results["cases"]}
    wrong = [
        (*told[number][:2], grade["outcome"])
        for number in range(len(told))
        for grade in [grades[f"case number {number}."]]
        if grade["outcome"] != "error" or "outside the credential field" not in grade["reason"]
    ]
    assert wrong == []
    assert all(grade["withheld"] for grade in grades.values())
    traces = SecretTraces.from_whole_secrets(CANARIES.values())
    assert [raw for raw in world.seen if traces.are_in(SearchableText.from_text(raw.decode()))] == []


def test_the_name_of_every_vendors_key_says_that_it_is_one():
    names = {name for _, build in PROVIDERS for name in getattr(build, "vendor", Vendors()).keys}
    assert {name for name in names if not sounds_secret(name)} == set()
    assert {*VENDORS, "HF_TOKEN", "AWS_ACCESS_KEY_ID", "GOOGLE_OAUTH_ACCESS_TOKEN"} <= names


def test_parts_of_credentials_and_words_like_them_stop_nobody(gate, world, monkeypatch):
    monkeypatch.setenv("SHORT_TOKEN", "it is fine, no?")  # 15 characters
    texts = [value[:-3] for value in CANARIES.values()] + ["it is fine, no?", "sk-proj- and sk-ant-", "-----BEGIN PRIVATE KEY-----"]
    monkeypatch.setenv("SIGNING_KEY", "-----BEGIN PRIVATE KEY-----\nMIIcanaryM0123456789\n-----END PRIVATE KEY-----")
    target = {"id": "openai:chat:m", "config": {"apiBaseUrl": world.base, "apiKey": "own"}}
    ran = gate(world.config(target, tests=[{"vars": {"x": text}, "assert": PASSES} for text in texts]), *allowing(world))
    assert ran.code == 0, ran.out
    assert len(world.seen) == len(texts)


def test_an_application_hears_no_vendors_key_in_a_header_that_a_test_fills_in(gate, world):
    headers = {"X-Seen": "{{x}}"}
    target = {"id": world.base, "config": {"body": {"q": "{{prompt}}"}, "headers": headers}}
    for name, value in CANARIES.items():
        world.seen.clear()
        gate(world.config(target, "say", tests=[{"vars": {"x": value}, "assert": PASSES}]), *allowing(world))
        assert bool(world.seen) is (name in OTHERS), name


def test_each_spelling_is_found_in_each_case_and_at_each_offset():
    secret = "sk-Canary+4f9A/z0=Q"
    traces = SecretTraces.from_whole_secrets([secret])
    spellings = {
        **ENCODINGS,
        **{f"offset {n}": lambda text, n=n: base64.b64encode(b"\0" * n + text.encode() + b"xyz").decode() for n in range(3)},
        "lower hex": lambda text: text.encode().hex(),
        "upper percent": lambda text: quote(text, safe=""),
        "percent of base64": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
        "json of json": lambda text: json.dumps(json.dumps(text)),
        "marks on letters": "\u0301".join,
        "marks in json": lambda text: json.dumps("\u0301".join(text)),
        "tag letters": tag_letters,
        "tag letters in json": lambda text: json.dumps(tag_letters(text)),
        "tag letters between": lambda text: json.dumps(text[:5] + tag_letters("no") + text[5:]),
        "bold in json": lambda text: json.dumps(bold(text)),
        "in lines": "\n".join,
        "hex backwards": lambda text: text.encode().hex()[::-1],
        "base64 backwards": lambda text: base64.b64encode(text.encode()).decode()[::-1],
    }
    missed = [
        (name, text)
        for name, made in spellings.items()
        for text in (secret, secret[::-1])
        if not traces.are_in(SearchableText.from_text(f"({made(text)})"))
    ]
    assert missed == []
    assert not traces.are_in(SearchableText.from_text(f"{secret[:-2]} {secret[2:]}"))


def test_a_credential_that_is_escaped_twice_is_found_in_a_url_a_form_and_a_body():
    secret = "sk-Canary+4f9A/z0=Q"
    traces = SecretTraces.from_whole_secrets([secret])
    written = [
        html.escape(entities(secret)),
        quote(entities(secret), safe=""),
        quote(quote(secret, safe=""), safe=""),
        json.dumps(json.dumps(secret)),
    ]
    sent = {
        "url": lambda text: f"https://a.example/?q={quote(text, safe='')}",
        "form": lambda text: urlencode({"q": text}),
        "body": lambda text: json.dumps({"q": text}),
    }
    missed = [
        (place, text) for place, encode in sent.items() for text in written if not traces.are_in(SearchableText.from_text(encode(text)))
    ]
    assert missed == []


def test_a_sign_in_holds_a_credential_in_its_own_fields_alone(gate, monkeypatch, tmp_path):
    def says(seen):
        return claude({"type": "text", "text": "ok"})

    for name, told in {"ANTHROPIC_WORKSPACE_ID": 0, "HARMLESS": 1}.items():
        with monkeypatch.context() as patched, clouds.job(patched, tmp_path, clouds.world(*clouds.ENDPOINTS, answer=says)) as cloud:
            canary = "canary-0123456789-abcdef"
            for variable, value in {**clouds.IDS["anthropic"], "GH_PAT": canary, name: canary}.items():
                patched.setenv(variable, value)
            ran = gate(World().config("anthropic:messages:m"))
            asked = [seen for seen in cloud.seen if seen.path == clouds.ANTHROPIC.path]
            assert len(asked) == told, ran.out
            assert ("the request holds GH_PAT" in ran.out) is (told == 0)


SIGNS = "bedrock:eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
SECRET = "{{ env.AWS_SECRET_ACCESS_KEY }}"
AS_SIGNED = {"region": "eu-central-1", "accessKeyId": "{{ env.AWS_ACCESS_KEY_ID }}", "secretAccessKey": SECRET}


def test_what_signs_is_sent_in_no_field(gate, world, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIACANARYM000000000")
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK")
    refused = {
        "as the id": {"id": SIGNS, "config": {**AS_SIGNED, "accessKeyId": SECRET}},
        "as the session": {"id": SIGNS, "config": {**AS_SIGNED, "sessionToken": SECRET}},
        "as the key": {"id": SIGNS, "config": {"region": "eu-central-1", "apiKey": SECRET}},
        "as the named key": {"id": SIGNS, "config": {"region": "eu-central-1", "apiKeyEnvar": "AWS_SECRET_ACCESS_KEY"}},
        "by a detour": {"id": SIGNS, "env": {"AWS_ACCESS_KEY_ID": SECRET}, "config": {"region": "eu-central-1"}},
        "by another detour": {"id": SIGNS, "env": {"AWS_BEARER_TOKEN_BEDROCK": SECRET}, "config": {"region": "eu-central-1"}},
        "of another vendor": {"id": "openai:chat:m", "config": {"apiKeyEnvar": "AWS_SECRET_ACCESS_KEY"}},
        "of a server": {"id": "vllm:m", "config": {"apiKeyEnvar": "AWS_SECRET_ACCESS_KEY", "apiBaseUrl": "http://127.0.0.1:1/v1"}},
    }
    tests = [{"assert": PASSES}]
    opened = "--allowed-hosts", "127.0.0.1:1"  # of the server: it is the key that must not go there
    said = {name: mistakes(gate({"prompts": ["hi"], "providers": [it], "tests": tests}, *opened)) for name, it in refused.items()}
    assert {name: text for name, text in said.items() if "is for signing and must not be sent" not in text} == {}


def test_an_address_of_a_config_leads_to_the_path_of_its_provider_alone(gate):
    addresses = (
        "https://api.openai.com/v1/organization/admin_api_keys?x=",
        "https://api.openai.com/v1/assistants#",
        "https://api.openai.com/v1/../v1/batches",
        "https://api.openai.com/v1/%2e%2e/batches",
        "https://api.openai.com/v1\\files",
    )
    configs = {
        url: {"prompts": ["hi"], "providers": [{"id": "openai:chat:m", "config": {"apiBaseUrl": url}}], "tests": [{"assert": PASSES}]}
        for url in addresses
    }
    assert {url for url, config in configs.items() if "is not an address for" not in mistakes(gate(config))} == set()
