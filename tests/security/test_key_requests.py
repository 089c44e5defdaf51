"""A key goes only into the requests that providers make: kind, host, method and path."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradegate.config.context import known_vendors
from gradegate.core.provider_spec import ProviderSpec
from gradegate.errors import ConfigError, Origin, ProviderError
from gradegate.http.client import Client
from gradegate.http.credentials import FixedKey
from gradegate.http.guard import Guard
from gradegate.http.tokens import MintedToken, Token
from gradegate.providers.api.provider import PROVIDERS, ProviderSetup
from gradegate.security.egress import EgressPolicy
from gradegate.security.environment import Environment
from gradegate.security.vendors import Vendor
from support.each import each

ON_GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request"}
KEYS = {
    "OPENAI_API_KEY": "canary-openai-0123456789abcdef",
    "GOOGLE_API_KEY": "canary-google-0123456789abcdef",
    "GROQ_API_KEY": "canary-groq-0123456789abcdefgh",
    "OPENROUTER_API_KEY": "canary-router-0123456789abcdef",
    "DATABRICKS_TOKEN": "canary-bricks-0123456789abcdef",
    "DEEPSEEK_API_KEY": "canary-deepseek-0123456789abcd",
    "HF_TOKEN": "canary-hf-0123456789abcdefghij",
    "AZURE_API_KEY": "canary-azure-0123456789abcdefg",
    "CLOUDFLARE_API_KEY": "canary-flare-0123456789abcdefg",
    "GATEWAY_KEY": "canary-gateway-0123456789abcde",
}


def target(provider, **config):
    tests = [{"vars": {"q": "x"}, "assert": [{"type": "contains", "value": "x"}]}]
    return {"prompts": ["{{q}}"], "providers": [{"id": provider, "config": config}], "tests": tests}


@pytest.fixture
def keys(monkeypatch):
    for name, value in {**KEYS, **ON_GITHUB, "DATABRICKS_WORKSPACE_URL": "https://own.cloud.databricks.com"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@each(
    ("provider", "config", "said"),
    [
        ("google:m", {"apiVersion": "v1beta/files/abc?x="}, "`v1beta/files/abc?x=` is no version"),
        ("google:m", {"apiBaseUrl": "https://generativelanguage.googleapis.com/v1beta/files/abc"}, "GOOGLE_API_KEY does not go into `POST"),
        ("google:m", {"headers": {"X-HTTP-Method-Override": "DELETE"}}, "the header `X-HTTP-Method-Override`"),
        ("openai:chat:m", {"headers": {"x-http-method": "GET"}}, "the header `x-http-method`"),
        ("openai:chat:m", {"headers": {"X-Method-Override": "GET"}}, "the header `X-Method-Override`"),
        ("openai:chat:m", {"headers": {"X_HTTP_METHOD_OVERRIDE": "DELETE"}}, "the header `X_HTTP_METHOD_OVERRIDE`"),
        ("openai:chat:m", {"headers": {"X-Original-URL": "/v1/files"}}, "the header `X-Original-URL`"),
        ("openai:chat:m", {"headers": {"X-Forwarded-Host": "a.example"}}, "the header `X-Forwarded-Host`"),
        ("openai:chat:m", {"headers": {"Helicone-Target-URL": "https://a.example"}}, "the header `Helicone-Target-URL`"),
        (
            "openai:chat:m",
            {"headers": {"X-Team": "a\r\nX-Other: b"}},
            "the header `X-Team` of `openai:chat:m` has a character that does not print",
        ),
        ("azure:chat:m/../x", {"apiHost": "own.openai.azure.com"}, "`m/../x` is no deployment"),
        ("azure:chat:m", {"apiHost": "own.openai.azure.com", "apiVersion": "v1//x"}, "`v1//x` is no version"),
        ("cloudflare-ai:chat:m", {"accountId": "a/b"}, "`a/b` is no accountId"),
        ("openai:chat:m", {"headers": {"X-Tunneled-Method": "DELETE"}}, "the header `X-Tunneled-Method`"),
        ("openai:chat:m", {"headers": {"_method": "DELETE"}}, "the header `_method`"),
        (
            "huggingface:text-classification:m",
            {"apiEndpoint": "https://api.openai.com/v1/realtime/client_secrets", "apiKeyEnvar": "OPENAI_API_KEY"},
            "would send OPENAI_API_KEY, which is another vendor's key",
        ),
        (
            "huggingface:text-generation:m",
            {"apiEndpoint": "https://openrouter.ai/api/v1/auth/keys/code", "apiKeyEnvar": "OPENROUTER_API_KEY"},
            "which is another vendor's key",
        ),
        (
            "huggingface:text-generation:m",
            {"apiEndpoint": "https://router.huggingface.co/api/repos/create"},
            "HF_TOKEN does not go into `POST",
        ),
        (
            "huggingface:feature-extraction:m",
            {"apiEndpoint": "https://own.cloud.databricks.com/api/2.0/token/create", "apiKeyEnvar": "DATABRICKS_TOKEN"},
            "which is another vendor's key",
        ),
        ("databricks:m", {"apiBaseUrl": "https://own.cloud.databricks.com/api/2.0/token"}, "DATABRICKS_TOKEN does not go into `POST"),
        (
            "openai:chat:m",
            {"apiBaseUrl": "https://api.openai.com/v1/files"},
            "OPENAI_API_KEY does not go into `POST /v1/files/chat/completions`",
        ),
        ("mistral:m", {"apiBaseUrl": "https://api.groq.com/openai/v1", "apiKeyEnvar": "GROQ_API_KEY"}, "which is another vendor's key"),
    ],
)
def test_a_key_in_another_request_is_a_mistake(gate, keys, provider, config, said):
    ran = gate(target(provider, **config), command="validate", reask="")
    assert (ran.code, said in ran.err) == (2, True), (provider, config, ran.err)
    assert "canary" not in ran.err + ran.out


@each(
    ("provider", "config", "shown"),
    [
        ("openai:chat:m", {}, "OPENAI_API_KEY -> openai:chat, api.openai.com/v1/chat/completions"),
        ("openai:embedding:m", {}, "OPENAI_API_KEY -> openai:embedding, api.openai.com/v1/embeddings"),
        ("google:m", {"apiVersion": "v1"}, "GOOGLE_API_KEY -> google, generativelanguage.googleapis.com/v1/models/m:generateContent"),
        (
            "openai:chat:m",
            {"apiBaseUrl": "https://api.groq.com/openai/v1", "apiKeyEnvar": "GROQ_API_KEY"},
            "GROQ_API_KEY -> openai:chat, api.groq.com/openai/v1/chat/completions",
        ),
        (
            "openai:chat:m",
            {"apiBaseUrl": "https://generativelanguage.googleapis.com/v1beta/openai", "apiKeyEnvar": "GOOGLE_API_KEY"},
            "GOOGLE_API_KEY -> openai:chat, generativelanguage.googleapis.com/v1beta/openai/chat/completions",
        ),
        (
            "openai:chat:m",
            {"apiBaseUrl": "https://api.deepseek.com", "apiKeyEnvar": "DEEPSEEK_API_KEY"},
            "DEEPSEEK_API_KEY -> openai:chat, api.deepseek.com",
        ),
        ("databricks:m", {}, "DATABRICKS_TOKEN -> databricks, own.cloud.databricks.com/serving-endpoints/chat/completions"),
        (
            "huggingface:text-classification:o/m",
            {},
            "HF_TOKEN -> huggingface:text-classification, router.huggingface.co/hf-inference/models/o/m",
        ),
    ],
)
def test_validate_prints_where_each_key_goes(gate, keys, provider, config, shown):
    assertion = {"type": "contains", "value": "x"}
    written = target(provider, **config)
    if "embedding" in provider or "classification" in provider:
        kind = "similar" if "embedding" in provider else "classifier"
        assertion = {"type": kind, "value": "x", "provider": {"id": provider, "config": config}}
        written["providers"] = ["echo"]
    written["tests"][0]["assert"] = [assertion]
    ran = gate(written, command="validate", reask="")
    assert (ran.code, f"  {shown}" in ran.out) == (0, True), (provider, config, ran.err, ran.out)


def test_below_the_address_of_the_environment_a_key_goes_into_the_requests_of_the_vendor(gate, keys, monkeypatch, llm):
    host = f"127.0.0.1:{llm.port}"
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://{host}/gateway")
    for path, code in (("/gateway", 0), ("/gateway/v1", 0), ("/other", 2), ("", 2), ("/gateway/files/x", 2)):
        ran = gate(target("openai:chat:m", apiBaseUrl=f"http://{host}{path}"), command="validate", reask="")
        assert ran.code == code, (path, ran.err)
    listed = gate(target("openai:chat:m", apiBaseUrl=f"http://{host}/other"), "--allowed-hosts", host, command="validate", reask="")
    assert listed.code == 0  # the workflow names the host


def test_the_last_check_looks_at_method_and_path():
    client = Client(guard=Guard(EgressPolicy(KEYS, vendors=known_vendors)))
    bearer = FixedKey(KEYS["OPENAI_API_KEY"])
    for method, path in (
        ("GET", "/v1/chat/completions"),
        ("POST", "/v1/files"),
        ("DELETE", "/v1/models/m"),
        ("POST", "/v1/chat/completions?x=1"),
    ):
        with pytest.raises(ProviderError, match=f"OPENAI_API_KEY does not go into `{method} "):
            client.send(method, f"https://api.openai.com{path}", headers={}, body=None, credential=bearer)


def test_a_signed_request_is_one_that_providers_make():
    client = Client(guard=Guard(EgressPolicy({}, vendors=known_vendors)))
    with pytest.raises(ProviderError, match="a token does not go into `POST /v1/organization/admin_api_keys`"):
        client.send(
            "POST", "https://api.openai.com/v1/organization/admin_api_keys", headers={}, credential=MintedToken(lambda: Token("t", 3600))
        )


def test_every_vendor_with_a_key_declares_its_requests():
    for vendor in known_vendors():
        assert vendor.requests or not (vendor.keys or vendor.hosts or vendor.forms or vendor.addresses), vendor
        for request in vendor.requests:
            assert request.split(" ")[0] in ("GET", "POST")


def test_below_an_address_a_request_begins_with_a_declared_word():
    vendor = Vendor(("K",), addresses=("BASE",), requests=("POST /models/{model}/run/{id}",))
    base = {"BASE": "https://gateway.example.com/v1"}
    for path, is_made in (("models/m/run/1", True), ("run/1", True), ("anything/run/1", False), ("1", False)):
        assert vendor.makes_request("POST", f"https://gateway.example.com/v1/{path}", base) is is_made, path


# --- no option of any kind changes the path outside the place of the model --------------------------------------

PIECES = [
    "v1",
    "v1beta",
    "/",
    "..",
    "files",
    "?x=",
    "#",
    "%2e%2e",
    "\\",
    ":",
    "@",
    "a b",
    "models",
    "https://api.openai.com",
    "{",
    "}",
    "é",
    "admin",
]
VALUES = st.one_of(st.text(max_size=12), st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join))
PLACES = (
    "apiVersion", "apiHost", "region", "projectId", "publisher", "deployment_id", "accountId", "workspaceUrl", "gatewayUrl", "domain", "organization",
)  # fmt: skip
IN_ENVIRONMENT = {
    "AWS_REGION": "us-east-1",
    "AZURE_OPENAI_API_HOST": "own.openai.azure.com",
    "GOOGLE_CLOUD_PROJECT": "p",
    "CLOUDFLARE_ACCOUNT_ID": "acct",
    "DATABRICKS_WORKSPACE_URL": "https://own.cloud.databricks.com",
    "CDP_DOMAIN": "own.cloudera.site",
    "MLFLOW_GATEWAY_URL": "https://mlflow.example.com",
    "ENVOY_API_BASE_URL": "https://envoy.example.com",
}
OF_VENDORS = [(prefix, build) for prefix, build in PROVIDERS if getattr(build, "vendor", None) and build.vendor.keys]


@settings(deadline=None, max_examples=400)
@given(st.sampled_from(OF_VENDORS), st.dictionaries(st.sampled_from(PLACES), VALUES, max_size=3), VALUES)
def test_no_option_changes_the_path_outside_the_place_of_the_model(kind, config, model):
    prefix, build = kind
    config = {**config, "apiKey": "k", "accessKeyId": "a", "secretAccessKey": "s", "knowledgeBaseId": "kb"}
    spec = ProviderSpec(f"{prefix}:{model}", config=config, origin=Origin("c.yaml"))
    setting = ProviderSetup(spec, model, Client(), Environment(IN_ENVIRONMENT), lambda *_: b"", folder=Path())
    try:
        provider = build(setting)
    except (ConfigError, ProviderError):
        return
    egress = EgressPolicy(IN_ENVIRONMENT, bound=True, vendors=known_vendors)
    own = [name for name in provider.vendor.keys if egress.reaches_host(name, provider.url)]
    if own and egress.fits_request(own[0], provider.method, provider.url):
        path = urlsplit(provider.url).path
        assert not {"..", "\\", "//"} & set(path.split("/")), provider.url
        assert any(_skeleton(path).endswith(_skeleton(request.split(" ")[1])) for request in provider.vendor.requests), provider.url


def _skeleton(path: str) -> str:
    """The last literal part of a path, which says what is asked."""
    last = path.partition("?")[0].rpartition("/")[2]
    return last.rpartition(":")[2] if ":" in last else "" if "{" in last else last
