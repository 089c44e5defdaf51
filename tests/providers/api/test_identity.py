"""Tokens of vendors for GitHub's identity: what is sent where, what is refused, and what nobody is shown."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gradegate.errors import ProviderError
from gradegate.http.client import Client
from gradegate.providers.api.federation import describe_claims, identity_token
from gradegate.security.environment import Environment
from gradegate.structs import replace
from support import clouds as fake
from support.clouds import ANTHROPIC, ENDPOINTS, ENTRA, IDS, OPENAI, OPENROUTER, REQUEST_TOKEN, RUNNER, Seen, world
from support.each import table
from support.fake_llm import chat
from support.vendors import claude, embeddings, make_message, output_text, responses

PASSES = [{"type": "contains", "value": "yes"}]
TARGETS = {
    "openai": ("openai:chat:m", "api.openai.com", OPENAI),
    "anthropic": ("anthropic:messages:claude-x", "api.anthropic.com", ANTHROPIC),
    "openrouter": ("openrouter:m", "openrouter.ai", OPENROUTER),
    "azure": ("azure:chat:d", "mine.openai.azure.com", ENTRA),
}
CANARIES = ("canary", "Y2FuYXJ5")  # of tokens, and of the signature of GitHub's


def says(seen: Seen):
    """The vendors' APIs: who has no token that they gave is refused."""
    if seen.headers.get("authorization") not in {f"Bearer {end.token}" for end in ENDPOINTS}:
        return 401, {"error": {"message": "no such token"}}
    return claude({"type": "text", "text": "yes"}) if seen.host == ANTHROPIC.host else chat("yes")


@pytest.fixture
def cloud(gate, monkeypatch, tmp_path):
    with fake.job(monkeypatch, tmp_path, world(*ENDPOINTS, answer=says)) as clouds:
        yield clouds


def config(target, cases=1, **more):
    tests = [{"vars": {"x": str(number)}, "assert": PASSES} for number in range(cases)]
    return {"prompts": ["say {{x}}"], "providers": [target], "tests": tests, **more}


def setenv(monkeypatch, **names):
    for name, value in names.items():
        monkeypatch.setenv(name, value)


def shown(ran) -> str:
    files = [path for path in ran.folder.iterdir() if path.is_file() and path.suffix not in (".yaml", ".pem")]
    return "\n".join([ran.out, ran.err, *(path.read_text(errors="replace") for path in files)])


REPORTS = ("-o", "r.xml", "-o", "r.md", "-o", "r.html")


@pytest.mark.parametrize("vendor", TARGETS)
def test_githubs_identity_stands_for_a_key(gate, cloud, monkeypatch, vendor):
    target, host, endpoint = TARGETS[vendor]
    setenv(monkeypatch, **IDS[vendor])
    ran = gate(config(target, cases=5), *REPORTS)
    assert ran.code == 0, ran.err
    identity = cloud.to("pipelines.actions.example.com")
    assert [(seen.query["audience"], seen.query["api-version"]) for seen in identity] == [(endpoint.audience, "2.0")]
    assert len([seen for seen in cloud.to(endpoint.host) if seen.path == endpoint.path]) == 1
    calls = [seen for seen in cloud.to(host) if seen.path != endpoint.path]
    assert len(calls) == 5
    assert {seen.headers["authorization"] for seen in calls} == {f"Bearer {endpoint.token}"}
    assert not {"x-api-key", "api-key"} & {name for seen in calls for name in seen.headers}
    assert not [canary for canary in CANARIES if canary in shown(ran)]
    assert {key["host"] for key in ran.results["keys"]} == {host}
    assert {key["name"] for key in ran.results["keys"]} <= set(IDS[vendor])


KINDS = table(__file__, "KINDS")


@pytest.mark.parametrize("target", KINDS)
def test_it_signs_in_for_every_kind_of_model(gate, cloud, monkeypatch, target):
    vendor, kind, path = KINDS[target]

    def answer(seen):
        assert seen.headers["authorization"].startswith("Bearer ")
        if kind == "similar":
            return embeddings(*([1.0, 0.0] for _ in seen.body["input"]))
        if kind == "moderation":
            return {"results": [{"flagged": False, "categories": {"hate": False}}]}
        return responses(make_message(output_text("yes")))

    cloud.reply = world(*ENDPOINTS, answer=answer)
    setenv(monkeypatch, **IDS[vendor])
    checks = {"type": kind, "provider": target, **({"value": "yes"} if kind == "similar" else {})}
    asked = config("echo") if kind != "text" else config(target)
    if kind != "text":
        asked["tests"] = [{"vars": {"x": "yes"}, "assert": [checks]}]
    ran = gate(asked)
    assert ran.code == 0, ran.err + ran.out
    assert cloud.seen[-1].path.partition("?")[0] == path
    assert len(cloud.to("pipelines.actions.example.com")) == 1


def test_the_betas_of_anthropic_are_named_beside_ones_own(gate, cloud, monkeypatch):
    setenv(monkeypatch, **IDS["anthropic"])
    assert gate(config({"id": "anthropic:claude-x", "config": {"beta": ["mine-1"]}})).code == 0
    assert cloud.seen[-1].headers["anthropic-beta"] == "mine-1,oauth-2025-04-20"


@pytest.mark.parametrize("vendor", TARGETS)
def test_a_static_key_wins(gate, cloud, monkeypatch, vendor):
    target, host, _ = TARGETS[vendor]
    setenv(monkeypatch, **IDS[vendor])
    ran = gate(config({"id": target, "config": {"apiKey": "own-key-of-the-config"}}))
    assert (ran.code, set(cloud.hosts)) == (2, {host})  # where the key of the test is refused


def test_an_empty_key_is_none(gate, cloud, monkeypatch):
    setenv(monkeypatch, OPENAI_API_KEY="", **IDS["openai"])
    assert gate(config("openai:chat:m")).code == 0


@pytest.mark.parametrize("vendor", TARGETS)
@pytest.mark.parametrize("base", table(__file__, "no_token_goes_to_a_foreign_address"))
def test_no_token_goes_to_a_foreign_address(gate, cloud, monkeypatch, vendor, base):
    target, host, _ = TARGETS[vendor]
    setenv(monkeypatch, **IDS[vendor])
    for allowed in ((), ("--allowed-hosts", "evil.example.com")):
        ran = gate(config({"id": target, "config": {"apiBaseUrl": base.format(host=host)}}), *allowed)
        assert ran.code != 0
        assert not cloud.seen or vendor == "openai"  # which may be served without a key
        assert not [seen for seen in cloud.seen if "authorization" in seen.headers]
        if base.endswith(("?", "#")) or "\\" in base:
            assert "is not an address for" in ran.err
        elif vendor != "openai" and "xn--" not in base:
            assert "no key for" in ran.err
            assert "its own API alone" in ran.err


@pytest.mark.parametrize("vendor", TARGETS)
def test_no_token_goes_to_a_host_that_a_header_names(gate, cloud, monkeypatch, vendor):
    target, host, _ = TARGETS[vendor]
    setenv(monkeypatch, **IDS[vendor])
    named = config({"id": target, "config": {"headers": {"Host": "evil.example.com"}}})
    ran = gate(named)
    assert (ran.code, cloud.seen) == (2, [])
    assert "to evil.example.com, which is not a host of that key" in ran.err
    ran = gate(named, "--allowed-hosts", "evil.example.com")
    assert (ran.code, cloud.seen) == (2, [])
    assert "the header Host names another host, and tokens never go there" in ran.out
    assert gate(config({"id": target, "config": {"headers": {"Host": host}}})).code == 0


def test_the_environment_names_the_resource_at_azure(gate, cloud, monkeypatch):
    setenv(monkeypatch, **IDS["azure"])
    ran = gate(config({"id": "azure:chat:d", "config": {"apiHost": "other.openai.azure.com"}}))
    assert (ran.code, cloud.seen) == (2, [])
    assert "--allowed-hosts other.openai.azure.com" in ran.err


def test_a_config_names_no_account(gate, cloud, monkeypatch):
    env = {**IDS["openai"], **RUNNER, "OPENAI_IDENTITY_AUDIENCE": "https://evil.example.com"}
    ran = gate(config("openai:chat:m", env=env))
    assert (ran.code, cloud.seen) == (2, [])
    assert "or have GitHub's identity sign in: OPENAI_IDENTITY_PROVIDER_ID and OPENAI_SERVICE_ACCOUNT_ID" in ran.err
    setenv(monkeypatch, **IDS["openai"])
    other = {"OPENAI_SERVICE_ACCOUNT_ID": "sa_evil", "ACTIONS_ID_TOKEN_REQUEST_URL": "https://evil.example.com/?x=1"}
    ran = gate(config({"id": "openai:chat:m", "env": other}, env={**other, **env}))
    assert (ran.code, "evil.example.com" in cloud.hosts) == (0, False)


@pytest.mark.parametrize(("env", "words"), table(__file__, "what_is_not_set_up_is_a_mistake_before_any_call"))
def test_what_is_not_set_up_is_a_mistake_before_any_call(gate, cloud, monkeypatch, env, words):
    setenv(monkeypatch, **{**IDS["openai"], **env})
    ran = gate(config("openai:chat:m"))
    assert (ran.code, cloud.seen) == (2, [])
    assert "no key for `openai:chat:m`" in ran.err
    assert words in ran.err


@pytest.mark.parametrize("vendor", TARGETS)
def test_a_wrong_audience_is_told_with_what_to_set(gate, cloud, monkeypatch, vendor):
    target, host, endpoint = TARGETS[vendor]
    cloud.reply = world(replace(endpoint, audience="another"), answer=says)
    setenv(monkeypatch, **IDS[vendor])
    ran = gate(config(target, cases=3), *REPORTS)
    assert ran.code == 2
    error = ran.cases[0]["error"]
    assert f"{endpoint.host} answered 401: invalid_grant: audience {endpoint.audience} of ***" in error
    for name in IDS[vendor]:
        assert name in error or name == "AZURE_OPENAI_API_HOST"
    assert f"GitHub's token says `sub` {fake.SUB}, `aud` {endpoint.audience}" in error
    assert not [seen for seen in cloud.to(host) if seen.path != endpoint.path]
    assert not [canary for canary in CANARIES if canary in shown(ran)]
    assert len(cloud.to("pipelines.actions.example.com")) == 1  # a refusal is not asked for again by every case


def test_the_workflow_says_another_audience(gate, cloud, monkeypatch):
    cloud.reply = world(replace(OPENAI, audience="https://audience.example.com/a b"), answer=says)
    setenv(monkeypatch, OPENAI_IDENTITY_AUDIENCE="https://audience.example.com/a b", **IDS["openai"])
    assert gate(config("openai:chat:m")).code == 0


BAD = {
    "redirect": ((307, {}, {"Location": "https://evil.example.com/token"}), "it redirects, which is not followed", 2),
    "huge": (b"[" + b"1," * 40_000 + b"1]", "80,003 bytes, which is not a token", 3),
    "no json": (b"<html>hello</html>", "something that is not JSON", 3),
    "no object": (["x"], "no JSON object", 3),
    "no token": ({"token_type": "Bearer", "expires_in": 60}, "without a bearer token", 3),
    "another kind": ({"access_token": "a" * 20, "token_type": "mac", "expires_in": 60}, "without a bearer token", 3),
    "a header": ({"access_token": "a" * 20 + "\r\nX: y", "expires_in": 60}, "without a bearer token", 3),
    "no life": ({"access_token": "a" * 20, "token_type": "Bearer"}, "does not say how long its token is valid", 3),
    "endless": ({"access_token": "a" * 20, "expires_in": float("inf")}, "does not say how long its token is valid", 3),
    "expired": ({"access_token": "a" * 20, "expires_in": 0}, "does not say how long its token is valid", 3),
    "busy": ((503, {"error": "temporarily_unavailable"}), "answered 503: temporarily_unavailable", 3),
}


@pytest.mark.parametrize("way", BAD)
@pytest.mark.parametrize("whose", ["vendor", "github"])
def test_an_endpoint_that_errs_is_an_error_of_the_calls(gate, cloud, monkeypatch, way, whose):
    answer, words, code = BAD[way]
    host = OPENAI.host if whose == "vendor" else "pipelines.actions.example.com"
    usual = cloud.reply
    cloud.reply = lambda seen: answer if seen.host == host else usual(seen)
    setenv(monkeypatch, **IDS["openai"])
    ran = gate(config("openai:chat:m"))
    assert (ran.code, ran.cases[0]["outcome"]) == (code, "error")
    said = words if whose == "vendor" or "answered" in words or way in ("redirect", "huge", "no json", "no object") else "without one"
    assert said in ran.cases[0]["error"]
    assert not {"evil.example.com", "api.openai.com"} & set(cloud.hosts)


def test_a_token_that_ended_in_the_middle_of_a_run_is_replaced_once(gate, cloud, monkeypatch):
    tokens = iter(["first-token-canary-1", "second-token-canary-2", "third-token-canary-3"])
    good = ["first-token-canary-1"]
    calls = []

    def answer(seen):
        calls.append(seen.headers["authorization"])
        if len(calls) == 3:
            good[:] = ["second-token-canary-2"]
        return chat("yes") if calls[-1] == f"Bearer {good[0]}" else (401, {"error": {"message": "expired"}})

    usual = world(OPENAI, answer=answer)
    cloud.reply = lambda seen: {"access_token": next(tokens), "expires_in": 3600} if seen.host == OPENAI.host else usual(seen)
    setenv(monkeypatch, **IDS["openai"])
    ran = gate(config("openai:chat:m", cases=6), "-j", "1")
    assert ran.code == 0, ran.cases
    assert len(cloud.to(OPENAI.host)) == 2
    assert len(calls) == 7


def test_a_token_that_is_refused_from_the_start_is_not_minted_again(gate, cloud, monkeypatch):
    cloud.reply = world(*ENDPOINTS, answer=lambda seen: (401, {"error": {"message": "no access"}}))
    setenv(monkeypatch, **IDS["openai"])
    ran = gate(config("openai:chat:m", cases=4))
    assert (ran.code, len(cloud.to(OPENAI.host))) == (2, 1)
    assert "the key was refused" in ran.cases[0]["error"]


def test_a_token_is_no_call_of_the_budget(gate, cloud, monkeypatch):
    setenv(monkeypatch, **IDS["openai"])
    ran = gate(config("openai:chat:m", cases=2), "--budget", "2 calls")
    assert ran.code == 0, ran.err
    assert ran.results["budget"]["calls"] == 2


def test_replies_of_the_cache_need_no_token(gate, cloud, monkeypatch, tmp_path):
    setenv(monkeypatch, **IDS["openai"])
    monkeypatch.delenv("GITHUB_ACTIONS")
    cached = ("--cache", str(tmp_path / "cache"))
    assert gate(config("openai:chat:m", cases=3), *cached).code == 0
    before = len(cloud.seen)
    assert gate(config("openai:chat:m", cases=3), *cached).code == 0
    assert len(cloud.seen) == before


@pytest.mark.parametrize(("status", "code"), [(200, 0), (400, 3), (401, 2), (500, 3)])
def test_an_echo_of_a_token_is_hidden(gate, cloud, monkeypatch, status, code):
    """A server that says what it was sent: token, GitHub's token and the runner's own."""

    def answer(seen):
        ours = next(request.body["subject_token"] for request in cloud.seen if request.host == OPENAI.host)
        text = f"yes {json.dumps(seen.headers)} {ours} {REQUEST_TOKEN}"
        return chat(text) if status == 200 else (status, {"error": {"message": text}})

    cloud.reply = world(*ENDPOINTS, answer=answer)
    setenv(monkeypatch, **IDS["openai"])
    ran = gate(config("openai:chat:m"), *REPORTS)
    assert ran.code == code, ran.err
    assert not [canary for canary in CANARIES if canary in shown(ran)]


def test_fifty_calls_at_once_share_one_exchange(gate, cloud, monkeypatch):
    setenv(monkeypatch, **IDS["openai"])
    ran = gate(config("openai:chat:m", cases=50), "-j", "50")
    assert ran.code == 0, ran.err
    assert len(cloud.to(OPENAI.host)) == len(cloud.to("pipelines.actions.example.com")) == 1
    assert len(cloud.to("api.openai.com")) == 50


def test_a_run_that_is_stopped_waits_for_no_token(cloud):
    begun, go = threading.Event(), threading.Event()

    def never(seen):
        begun.set()
        assert go.wait(60)
        return {"value": "x"}

    cloud.reply = never
    client, env = Client(environ=dict(os.environ)), Environment(dict(os.environ))
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(identity_token, client, env, "a")
        assert begun.wait(60)
        client.stop()
        with pytest.raises(ProviderError, match="the run was stopped"):
            asked.result(60)
        go.set()
    with pytest.raises(ProviderError, match="the run was stopped"):
        client.sign_in("GET", fake.IDENTITY, headers={})


@pytest.mark.parametrize("token", ["a.b.c", "a.!!.c", "a..c", "a.e30.c", "a.W10.c", "a.InMi.c"])
def test_claims_that_cannot_be_read_are_left_out(token):
    assert describe_claims(token) == ""


# --- beside the vendors' own packages -----------------------------------------------------------------------------


def exchanged(cloud, endpoint) -> list[tuple]:
    return [
        (seen.method, seen.path, {name: text for name, text in seen.headers.items() if name == "anthropic-beta"}, seen.body)
        for seen in cloud.to(endpoint.host)
        if seen.path == endpoint.path
    ]


def openais() -> str:
    from openai.auth._workload import WorkloadIdentityAuth

    provider = {"token_type": "jwt", "get_token": lambda: fake.jwt(OPENAI.audience)}
    ids = {"identity_provider_id": "idp_1", "service_account_id": "sa_1"}
    return WorkloadIdentityAuth(workload_identity={**ids, "provider": provider}).get_token()


def anthropics() -> str:
    from anthropic.lib.credentials import WorkloadIdentityCredentials

    names = ("federation_rule_id", "organization_id", "service_account_id", "workspace_id")
    ids = dict(zip(names, IDS["anthropic"].values(), strict=True))
    with WorkloadIdentityCredentials(identity_token_provider=lambda: fake.jwt(ANTHROPIC.audience), **ids) as made:
        return made().token


@pytest.mark.slow
@pytest.mark.parametrize(("vendor", "theirs"), [("openai", openais), ("anthropic", anthropics)])
def test_the_vendors_package_exchanges_in_the_same_way(gate, cloud, monkeypatch, vendor, theirs):
    target, _, endpoint = TARGETS[vendor]
    setenv(monkeypatch, **IDS[vendor])
    assert gate(config(target)).code == 0
    ours = exchanged(cloud, endpoint)
    cloud.seen.clear()
    monkeypatch.setenv("SSL_CERT_FILE", os.environ["REQUESTS_CA_BUNDLE"])
    assert theirs() == endpoint.token
    assert exchanged(cloud, endpoint) == ours


@pytest.mark.slow
def test_the_beta_of_tokens_is_that_of_the_package():
    from anthropic.lib.credentials import _constants as theirs

    from gradegate.providers import anthropic as ours

    assert (ours.TOKENS, ours.EXCHANGES) == (theirs.OAUTH_API_BETA_HEADER, theirs.FEDERATION_BETA_HEADER)
