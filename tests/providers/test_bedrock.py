"""Amazon Bedrock through Converse: what is sent, what comes back, and who is signed in."""

import base64
import json
from functools import cache
from urllib.parse import parse_qsl, unquote

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.parsers import create_parser
from botocore.serialize import create_serializer

from support import clouds as fake
from support.clouds import Seen, world
from support.each import table
from support.exchanges import exchanges
from support.vendors import build_body, converse

YES = converse({"text": "yes"})
AWS = {"AWS_ACCESS_KEY_ID": "AKIA-1", "AWS_SECRET_ACCESS_KEY": "secret-canary-0123456789", "AWS_SESSION_TOKEN": "session-canary-012345"}  # fmt: skip
PASSES = [{"type": "contains", "value": "yes"}]


@cache
def model():
    return ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2")).operation_model("Converse")


def serialized(path: str, body: dict) -> None:
    """The vendor's own serializer makes the same request of it."""
    given = json.loads(json.dumps(body))
    for block in (block for message in given["messages"] for block in message["content"] if "image" in block):
        block["image"]["source"]["bytes"] = base64.b64decode(block["image"]["source"]["bytes"])
    request = create_serializer("rest-json").serialize_to_request({"modelId": unquote(path.split("/")[2]), **given}, model())
    assert (request["url_path"], json.loads(request["body"])) == (path, body)


test_an_exchange = exchanges(__file__, held=serialized)


def test_the_answers_are_those_of_the_vendors_parser():
    for answer, *_ in table(__file__, "exchanges")["an answer is read"]["rows"]:
        body = build_body(answer)
        raw = {"status_code": 200, "headers": {}, "body": json.dumps(body).encode()}
        parsed = create_parser("rest-json").parse(raw, model().output_shape)
        assert {name: parsed[name] for name in ("output", "stopReason", "usage", "metrics")} == body


# --- who is signed in -----------------------------------------------------------------------------------------


def says(seen: Seen):
    return YES if seen.headers.get("authorization") else (403, {"message": "Missing token"})


@pytest.fixture
def cloud(gate, monkeypatch, tmp_path):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_BEDROCK_REGION", "AWS_BEARER_TOKEN_BEDROCK", *AWS):
        monkeypatch.delenv(name, raising=False)
    with fake.job(monkeypatch, tmp_path, world(answer=says)) as clouds:
        yield clouds


def config(cases=1, written="bedrock:amazon.nova-lite-v1:0", **options):
    tests = [{"vars": {"x": str(number)}, "assert": PASSES} for number in range(cases)]
    return {"prompts": ["say {{x}}"], "providers": [{"id": written, "config": options}], "tests": tests}


def setenv(monkeypatch, **names):
    for name, value in names.items():
        monkeypatch.setenv(name, value)


def bearer(seen: Seen) -> dict[str, str]:
    key = seen.headers["authorization"].removeprefix("Bearer bedrock-api-key-")
    return dict(parse_qsl(base64.b64decode(key).decode().partition("?")[2]))


def test_the_credentials_of_the_job_sign_one_key_for_all_calls(gate, cloud, monkeypatch):
    setenv(monkeypatch, AWS_REGION="eu-central-1", **AWS)
    ran = gate(config(4), "-o", "r.html", "-o", "r.md")
    assert ran.code == 0, ran.err
    assert set(cloud.hosts) == {"bedrock-runtime.eu-central-1.amazonaws.com"}
    assert len({seen.headers["authorization"] for seen in cloud.seen}) == 1
    told = bearer(cloud.seen[0])
    assert told["X-Amz-Credential"].startswith("AKIA-1/")
    assert told["X-Amz-Credential"].endswith("/eu-central-1/bedrock/aws4_request")
    assert told["X-Amz-Security-Token"] == AWS["AWS_SESSION_TOKEN"]
    assert [key["name"] for key in ran.results["keys"]] == sorted(AWS)
    everything = ran.out + ran.err + "".join((ran.folder / name).read_text() for name in ("r.html", "r.md", "results.json"))
    assert "canary" not in everything
    assert cloud.seen[0].headers["authorization"][30:90] not in everything


@pytest.mark.parametrize("env", [{"AWS_BEDROCK_REGION": "eu-west-3", "AWS_REGION": "us-west-2"}, {"AWS_DEFAULT_REGION": "eu-west-3"}])
def test_the_region_is_of_the_environment(gate, cloud, monkeypatch, env):
    setenv(monkeypatch, **AWS, **env)
    assert gate(config()).code == 0
    assert cloud.hosts == ["bedrock-runtime.eu-west-3.amazonaws.com"]
    assert gate(config(region="ap-southeast-2")).code == 0
    assert cloud.hosts[-1] == "bedrock-runtime.ap-southeast-2.amazonaws.com"


def test_a_bearer_token_wins_over_credentials(gate, cloud, monkeypatch):
    setenv(monkeypatch, AWS_BEARER_TOKEN_BEDROCK="long-term-key-0123456789", **AWS)
    ran = gate(config())
    assert (ran.code, cloud.seen[0].headers["authorization"]) == (0, "Bearer long-term-key-0123456789")
    setenv(monkeypatch, AWS_BEARER_TOKEN_BEDROCK="")
    assert gate(config()).code == 0
    assert "bedrock-api-key-" in cloud.seen[-1].headers["authorization"]


def test_credentials_of_the_config_win_over_all(gate, cloud, monkeypatch):
    setenv(monkeypatch, AWS_BEARER_TOKEN_BEDROCK="long-term-key-0123456789", OTHER_ID="AKIA-2", OTHER_KEY="other-canary-0123456789")
    own = {"accessKeyId": "{{env.OTHER_ID}}", "secretAccessKey": "{{env.OTHER_KEY}}"}
    ran = gate(config(**own))
    assert ran.code == 2
    assert "would send OTHER_" in ran.err  # whose they are is not known: the workflow says where they may go
    assert gate(config(**own), "--allowed-hosts", "bedrock-runtime.us-east-1.amazonaws.com").code == 0
    assert bearer(cloud.seen[-1])["X-Amz-Credential"].startswith("AKIA-2/")


FOREIGN = table(__file__, "FOREIGN")


@pytest.mark.parametrize("options", FOREIGN)
@pytest.mark.parametrize("env", [AWS, {"AWS_BEARER_TOKEN_BEDROCK": "long-term-key-0123456789"}])
def test_no_key_goes_to_a_foreign_host(gate, cloud, monkeypatch, options, env):
    setenv(monkeypatch, **env)
    ran = gate(config(**options))
    assert (ran.code, cloud.tunnels) == (2, [])
    if env is AWS:
        assert gate(config(**options), "--allowed-hosts", "evil.example.com").code == 2
        assert cloud.tunnels == []


def test_a_signed_key_asks_no_other_path_than_it_seems(gate, cloud, monkeypatch):
    setenv(monkeypatch, **AWS)
    ran = gate(config(endpoint="https://bedrock-runtime.us-east-1.amazonaws.com/model/x?"))
    assert (ran.code, cloud.tunnels) == (2, [])
    assert "is not an address for" in ran.err


@pytest.mark.parametrize(("env", "options", "words"), table(__file__, "what_is_not_set_up_is_a_mistake_before_any_call"))
def test_what_is_not_set_up_is_a_mistake_before_any_call(gate, cloud, monkeypatch, env, options, words):
    setenv(monkeypatch, **env)
    ran = gate(config(**options))
    assert (ran.code, cloud.seen) == (2, [])
    assert words in ran.err


# --- knowledge bases ------------------------------------------------------------------------------------------


@pytest.fixture
def base(gate, monkeypatch, tmp_path):
    """The service, which answers what ``base.said`` is, to who has signed."""
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)

    def reply(seen: Seen):
        own = {name: seen.headers[name.lower()] for name in ("Host", "X-Amz-Date", "X-Amz-Security-Token")}
        signed = AWSRequest("POST", f"https://{seen.host}{seen.path}", own, json.dumps(seen.body))
        signed.context["timestamp"] = own["X-Amz-Date"]
        signer = SigV4Auth(BotoCredentials(*AWS.values()), "bedrock", "eu-central-1")
        theirs = signer.signature(signer.string_to_sign(signed, signer.canonical_request(signed)), signed)
        return clouds.said if seen.headers["authorization"].endswith(f"Signature={theirs}") else (403, {"message": "signature"})

    with fake.job(monkeypatch, tmp_path, reply) as clouds:
        setenv(monkeypatch, AWS_REGION="eu-central-1", **AWS)
        yield clouds


def knowing(**options):
    return config(1, "bedrock:kb:amazon.nova-lite-v1:0", knowledgeBaseId="KB1", **options)


def test_a_knowledge_base_is_asked_with_a_request_that_is_signed(gate, base):
    base.said = {"sessionId": "s", "output": {"text": "yes"}, "citations": [{"retrievedReferences": []}]}
    ran = gate(knowing(numberOfResults=3, max_tokens=9, top_k=5))
    assert ran.code == 0, ran.err + ran.out
    (seen,) = base.seen
    assert (seen.host, seen.path) == ("bedrock-agent-runtime.eu-central-1.amazonaws.com", "/retrieveAndGenerate")
    operation = ServiceModel(Loader().load_service_model("bedrock-agent-runtime", "service-2")).operation_model("RetrieveAndGenerate")
    assert json.loads(create_serializer("rest-json").serialize_to_request(seen.body, operation)["body"]) == seen.body
    assert seen.body["retrieveAndGenerateConfiguration"]["knowledgeBaseConfiguration"] == {
        "knowledgeBaseId": "KB1",
        "modelArn": "arn:aws:bedrock:eu-central-1::foundation-model/amazon.nova-lite-v1:0",
        "generationConfiguration": {
            "inferenceConfig": {"textInferenceConfig": {"maxTokens": 9}},
            "additionalModelRequestFields": {"inferenceConfig": {"topK": 5}},
        },
        "retrievalConfiguration": {"vectorSearchConfiguration": {"numberOfResults": 3}},
    }
    assert ran.results["cases"][0]["metadata"]["citations"] == [{"retrievedReferences": []}]
    assert "canary" not in ran.out + ran.err


@pytest.mark.parametrize(
    "said", [{}, {"output": {}}, {"output": {"text": ""}}, {"output": {"text": "yes"}, "guardrailAction": "INTERVENED"}]
)
def test_a_knowledge_base_without_an_answer_is_an_error(gate, base, said):
    base.said = said
    assert gate(knowing()).code == 3


def test_what_a_knowledge_base_lacks_is_a_mistake(gate, base, monkeypatch):
    for written, words in (
        (config(1, "bedrock:kb:m"), "does not say which `knowledgeBaseId` to ask"),
        (config(1, "bedrock:kb", knowledgeBaseId="KB1"), "names no model"),
        (knowing(apiKey="k"), "takes no key of Bedrock"),
        (knowing(region="evil.example.com/"), "is no region"),
    ):
        assert words in gate(written).err
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    setenv(monkeypatch, AWS_BEARER_TOKEN_BEDROCK="long-term-key-0123456789")
    assert "AWS_SECRET_ACCESS_KEY is not set" in gate(knowing()).err
    assert base.tunnels == []
