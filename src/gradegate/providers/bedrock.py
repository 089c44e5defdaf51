"""bedrock: models of all vendors at Amazon Bedrock, through its Converse API.

API: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html; keys as bearer tokens:
https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.md. Ids, options and their order are those of promptfoo
(https://www.promptfoo.dev/docs/providers/aws-bedrock/), which asks ``bedrock:MODEL`` in each vendor's own form and
``bedrock:converse:MODEL`` in this one.
"""

import re
from typing import Any
from urllib.parse import quote

from gradegate.core.conversation import Reply, Request
from gradegate.core.usage import Usage
from gradegate.http.credentials import NO_FIELDS, Credential, FixedKey
from gradegate.http.tokens import Token
from gradegate.providers.api.aws_signing import (
    SECONDS,
    AwsCredentials,
    RequestSigner,
    make_bearer_key,
)
from gradegate.providers.api.bedrock_converse import OPTIONS, Converse
from gradegate.providers.api.chat_api import as_object
from gradegate.providers.api.chat_model import CHAT, REGION, ChatModel
from gradegate.providers.api.federation import wrong_host_mistake
from gradegate.providers.api.json_http import (
    HttpModel,
    base_url,
    check_part,
    need_model,
    need_text,
    request_text,
)
from gradegate.providers.api.prices import table_price
from gradegate.providers.api.provider import PROVIDERS, ProviderSetup, find_key
from gradegate.security.vendors import Vendor
from gradegate.structs import JsonObject, NamedTexts

_KEY = "AWS_BEARER_TOKEN_BEDROCK"
_ACCESS = "AWS_ACCESS_KEY_ID"
_SECRET = "AWS_SECRET_ACCESS_KEY"
_SESSION = "AWS_SESSION_TOKEN"
_REGIONS = ("AWS_BEDROCK_REGION", "AWS_REGION", "AWS_DEFAULT_REGION")
_ADDRESSES = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",)
VENDOR = Vendor(
    (_KEY, _ACCESS, _SECRET, _SESSION),
    addresses=_ADDRESSES,
    signing=((_ACCESS, "accessKeyId"), (_SECRET, "secretAccessKey"), (_SESSION, "sessionToken")),
    forms=(rf"bedrock-(?:agent-)?runtime(?:-fips)?\.{REGION}\.amazonaws\.com",),
    requests=(
        "POST /model/{model}/converse",
        "POST /retrieveAndGenerate",
        "POST /openai/v1/chat/completions",
    ),
)
# Models that an API in OpenAI's form serves at another host, and Converse does not
_ELSEWHERE = re.compile(r"(?:[a-z]+\.)?(?:openai\.(?!gpt-oss)|xai\.grok-)")
# Of inference profiles, before the model
_PLACES = "us us-gov eu apac au jp ca in sa global".split()
_VERSION = re.compile(r"(-v\d+)?(:\d+)?$")
_SIGN_IN = "let aws-actions/configure-aws-credentials sign the job in (docs/keys.md)"


@PROVIDERS.register("bedrock", "bedrock:converse", "bedrock:completion")
class Bedrock(ChatModel):
    """A model at ``https://bedrock-runtime.{region}.amazonaws.com/model/{model}/converse``."""

    options = (
        *OPTIONS, *CHAT, "model", "region", "endpoint", "apiKey", "apiKeyEnvar",
        "accessKeyId", "secretAccessKey", "sessionToken", "headers",
    )  # fmt: skip
    values = {"temperature": "number 0 1"}
    unsupported = {
        "profile": f"leave it out: there are no profiles on GitHub; {_SIGN_IN}",
        "apiBaseUrl": "write `endpoint`, as promptfoo does",
        "apiHost": "write `endpoint`, as promptfoo does",
    }
    vendor = VENDOR
    fields = ("apiKey", "accessKeyId", "secretAccessKey", "sessionToken")

    def __init__(self, setup: ProviderSetup) -> None:
        config = setup.config
        model = need_model(setup, "bedrock:MODEL")
        if _ELSEWHERE.match(model):
            raise setup.mistake(
                f"Converse does not serve `{model}`",
                "name another model, or openai:chat:MODEL with `apiBaseUrl` of that API",
            )
        region = _region(setup)
        endpoint = config.get("endpoint") or setup.env.read_first(*_ADDRESSES)
        base = base_url(setup, endpoint or f"https://bedrock-runtime.{region}.amazonaws.com")
        url = f"{base}/model/{quote(model, safe='')}/converse"
        credential = _credential(setup, url, region)
        super().__init__(setup, Converse(model, config), url, credential, model)

    def _priced_as(self, response: JsonObject) -> str:
        """The name in the table of prices, with ``global.`` or ``regional.`` before it if that makes a difference."""
        name = _VERSION.sub("", self._model.rpartition("/")[2])
        place, _, model = name.partition(".")
        scope = "global" if place == "global" else "regional"
        if place not in _PLACES:
            model = name
        for table_name in (f"{scope}.{model}", model):
            if table_price(table_name):
                return table_name
        return name


@PROVIDERS.register("bedrock:kb")
class KnowledgeBase(HttpModel):
    """A knowledge base that retrieves and has a model answer, at ``https://bedrock-agent-runtime.{region}.amazonaws.com``.

    API: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_agent-runtime_RetrieveAndGenerate.html. It takes no key of Bedrock,
    so each request is signed: https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-reference.html
    """

    options = (
        "knowledgeBaseId", "modelArn", "numberOfResults", "temperature", "max_tokens", "top_p", "top_k", "region", "accessKeyId",
        "secretAccessKey", "sessionToken",
    )  # fmt: skip
    unsupported = {
        **Bedrock.unsupported,
        "apiKey": f"a knowledge base takes no key of Bedrock: {_SIGN_IN}",
    }
    vendor = VENDOR
    fields = Bedrock.fields
    rates = None

    def __init__(self, setup: ProviderSetup) -> None:
        config = setup.config
        region = _region(setup)
        if not config.get("knowledgeBaseId"):
            raise setup.mistake(
                f"`{setup.spec.id}` does not say which `knowledgeBaseId` to ask",
                "write it into its `config`",
            )
        model = str(config.get("modelArn") or setup.model)
        if model in ("", "default"):
            raise setup.mistake(
                f"`{setup.spec.id}` names no model",
                "write bedrock:kb:MODEL, or `modelArn` in its config",
            )
        self._arn = model
        if not model.startswith("arn:") and model.partition(".")[0] not in _PLACES:
            self._arn = f"arn:aws:bedrock:{region}::foundation-model/{model}"
        url = f"https://bedrock-agent-runtime.{region}.amazonaws.com/retrieveAndGenerate"
        credentials = _config_credentials(setup) or _environment_credentials(setup)
        super().__init__(setup, url, RequestSigner(credentials, region), model)

    def _headers_for(self, body: JsonObject) -> NamedTexts:
        return NO_FIELDS  # a config sets none

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        config = {**self._config, **request.options}
        base: dict[str, Any] = {
            "knowledgeBaseId": str(config["knowledgeBaseId"]),
            "modelArn": self._arn,
        }
        generation = self._generation(config)
        if generation:
            base["generationConfiguration"] = generation
        if config.get("numberOfResults") is not None:
            search = {"numberOfResults": config["numberOfResults"]}
            base["retrievalConfiguration"] = {"vectorSearchConfiguration": search}
        body = {
            "input": {"text": request_text(request)},
            "retrieveAndGenerateConfiguration": {
                "type": "KNOWLEDGE_BASE",
                "knowledgeBaseConfiguration": base,
            },
        }

        response, seconds = self._post_object(body)
        text = need_text(as_object(response.get("output")).get("text"), self.host)
        usage = Usage(1, unpriced=1, seconds=seconds)
        refused = response.get("guardrailAction") == "INTERVENED"
        finish = "content_filter" if refused else "stop"
        return Reply(text, usage, finish, refused, {"citations": response.get("citations") or []})

    def _generation(self, config: JsonObject) -> JsonObject:
        """What the model is asked with, under the names of its API."""
        generation: dict[str, Any] = {}
        inference = {}
        names = {"temperature": "temperature", "max_tokens": "maxTokens", "top_p": "topP"}
        for name, api_name in names.items():
            if config.get(name) is not None:
                inference[api_name] = config[name]
        if inference:
            generation["inferenceConfig"] = {"textInferenceConfig": inference}

        top_k = config.get("top_k")
        if top_k is not None:
            fields: JsonObject = {"top_k": top_k}
            if re.search(r"(^|[/.])amazon\.nova-", self._arn):
                fields = {"inferenceConfig": {"topK": top_k}}
            elif re.search(r"(^|[/.])cohere\.command-r", self._arn):
                fields = {"k": top_k}
            generation["additionalModelRequestFields"] = fields
        return generation


def _region(setup: ProviderSetup) -> str:
    region = setup.config.get("region") or setup.env.read_first(*_REGIONS) or "us-east-1"
    region = str(region).strip()
    check_part("region", region, REGION, setup, "write a region of AWS, such as eu-central-1")
    return region


def _credential(setup: ProviderSetup, url: str, region: str) -> Credential:
    """What authenticates a request: AWS credentials in the config, else a bearer key, else AWS credentials of the environment.

    AWS credentials sign a bearer key of their own, which goes only to Amazon's hosts. Raises ConfigError for another host.
    """
    credentials = _config_credentials(setup)
    if credentials is None:
        key = find_key(setup, _KEY)
        if key:
            return FixedKey(key)
        credentials = _environment_credentials(setup, _KEY)
    if not VENDOR.may_get_token(url):
        raise wrong_host_mistake(
            setup,
            "one that AWS credentials sign goes",
            url,
            f"set {_KEY}, or `apiKey` in its config",
        )
    signer = credentials  # the lambda keeps its type
    return setup.client.tokens.for_account(
        (region, signer), lambda: Token(make_bearer_key(signer, region), SECONDS)
    )


def _config_credentials(setup: ProviderSetup) -> AwsCredentials | None:
    """The credentials of the config, which win over all else, as in promptfoo. Raises ConfigError."""
    names = ("accessKeyId", "secretAccessKey", "sessionToken")
    access_key, secret_key, session = (str(setup.config.get(name) or "") for name in names)
    if bool(access_key) != bool(secret_key):
        missing = "secretAccessKey" if access_key else "accessKeyId"
        raise setup.keyless(f"no `{missing}`", "write both, or neither")
    return AwsCredentials(access_key, secret_key, session) if access_key else None


def _environment_credentials(setup: ProviderSetup, key_variable: str = "") -> AwsCredentials:
    """The credentials of the environment. Raises ConfigError if there are none; ``key_variable`` would do, too."""
    names = (_ACCESS, _SECRET, _SESSION)
    access_key, secret_key, session = (setup.key(name).strip() for name in names)
    if not access_key and not secret_key:
        cure = f"{_SIGN_IN}, which sets {_ACCESS}, {_SECRET} and {_SESSION}"
        if key_variable:
            cure += f"; or set {key_variable}"
        raise setup.keyless("", cure, key_variable or _ACCESS)
    if not access_key or not secret_key:
        missing = _SECRET if access_key else _ACCESS
        raise setup.keyless(f"{missing} is not set", _SIGN_IN, missing)
    return AwsCredentials(access_key, secret_key, session)
