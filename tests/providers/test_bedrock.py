"""Amazon Bedrock through Converse: what is sent, what comes back, and who is signed in."""

import base64
import json
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.parsers import create_parser
from botocore.serialize import create_serializer

from gradegate.errors import ConfigError, ProviderError
from gradegate.values.conversation import Message
from support import clouds as fake
from support.clouds import Seen, world
from support.each import table
from support.fake_llm import FakeLlm
from support.vendors import PIXEL, SCHEMA, ask, build, converse, headers, made, path, refusing

HAIKU = "anthropic.claude-3-haiku-20240307-v1:0"
YES = converse({"text": "yes"})
AWS = {"AWS_ACCESS_KEY_ID": "AKIA-1", "AWS_SECRET_ACCESS_KEY": "secret-canary-0123456789", "AWS_SESSION_TOKEN": "session-canary-012345"}  # fmt: skip
PASSES = [{"type": "contains", "value": "yes"}]


def bedrock(llm: FakeLlm, model: str = HAIKU, answer: Any = YES, **config):
    llm.reply = lambda path, body: answer
    return build(f"bedrock:{model}", {"endpoint": llm.base.removesuffix("/v1"), "apiKey": "k", **config})


@cache
def model():
    return ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2")).operation_model("Converse")


def checked(llm: FakeLlm) -> dict:
    """The last body, after the vendor's own serializer has made the same request of it."""
    body = llm.bodies[-1]
    given = json.loads(json.dumps(body))
    for message in given["messages"]:
        for block in message["content"]:
            if "image" in block:
                block["image"]["source"]["bytes"] = base64.b64decode(block["image"]["source"]["bytes"])
    asked = unquote(path(llm).split("/")[2])
    request = create_serializer("rest-json").serialize_to_request({"modelId": asked, **given}, model())
    assert request["url_path"] == path(llm)
    assert json.loads(request["body"]) == body
    return body


def parsed(answer: dict) -> dict:
    raw = {"status_code": 200, "headers": {}, "body": json.dumps(answer).encode()}
    return create_parser("rest-json").parse(raw, model().output_shape)


# --- what is sent ---------------------------------------------------------------------------------------------


def test_a_conversation_with_an_image_and_a_shape(llm: FakeLlm):
    talk = (("system", "Be brief."), Message("user", "what?", (PIXEL,)), ("assistant", "a dot"), ("user", "sure?"))
    reply = ask(bedrock(llm, max_tokens=5, stop=["x"], topP=0.5), *talk, schema=SCHEMA)
    body = checked(llm)
    assert (reply.text, reply.finish_reason, reply.usage.tokens) == ("yes", "stop", 60)
    assert headers(llm)["authorization"] == "Bearer k"
    assert path(llm) == "/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse"
    assert body["system"] == [{"text": "Be brief."}]
    assert body["inferenceConfig"] == {"maxTokens": 5, "temperature": 0, "topP": 0.5, "stopSequences": ["x"]}
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][0]["content"][0]["image"] == {"format": "png", "source": {"bytes": PIXEL.partition("base64,")[2]}}
    assert json.loads(body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"]) == SCHEMA


@pytest.mark.parametrize(
    ("written", "config"),
    table(__file__, "the_options_of_every_vendors_models_are_those_of_converse"),
)  # fmt: skip
def test_the_options_of_every_vendors_models_are_those_of_converse(llm: FakeLlm, written, config):
    """What has Converse's own name wins over another."""
    ask(bedrock(llm, written.removeprefix("bedrock:"), **config))
    expected = {"maxTokens": 7, "temperature": 0.5, "topP": 0.9, "stopSequences": ["x"]}
    assert checked(llm)["inferenceConfig"] == expected


def test_an_arn_is_a_model(llm: FakeLlm):
    arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc"
    ask(bedrock(llm, arn))
    checked(llm)
    assert path(llm).count("/") == 3


TOOLS = table(__file__, "TOOLS")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(("choice", "sent"), table(__file__, "tools_may_be_written_as_any_vendor_does"))
def test_tools_may_be_written_as_any_vendor_does(llm: FakeLlm, tool, choice, sent):
    provider = bedrock(llm, tools=[tool], **({"toolChoice": choice} if choice else {}))
    ask(provider)
    expected = {"tools": [TOOLS[0]], **({"toolChoice": sent} if sent else {})}
    assert checked(llm)["toolConfig"] == expected


@pytest.mark.parametrize("choice", ["none", {"type": "none"}, {"mode": "none"}])
def test_tools_that_nobody_may_call_are_left_out(llm: FakeLlm, choice):
    ask(bedrock(llm, tools=TOOLS[:1], toolChoice=choice))
    assert "toolConfig" not in checked(llm)


def test_what_single_models_take_goes_beside(llm: FakeLlm):
    thinking = {"type": "enabled", "budget_tokens": 1024}
    ask(bedrock(llm, thinking=thinking, temperature=1, top_k=5, guardrailIdentifier="g", trace="enabled",
                performanceConfig={"latency": "optimized"}, serviceTier={"type": "flex"},
                additionalModelRequestFields={"x": 1}))  # fmt: skip
    body = checked(llm)
    assert body["additionalModelRequestFields"] == {"thinking": thinking, "top_k": 5, "x": 1}
    assert body["inferenceConfig"] == {"temperature": 1}
    assert body["guardrailConfig"] == {"guardrailIdentifier": "g", "guardrailVersion": "DRAFT", "trace": "enabled"}
    assert (body["performanceConfig"], body["serviceTier"]) == ({"latency": "optimized"}, {"type": "flex"})


def test_nova_that_reasons_takes_no_temperature(llm: FakeLlm):
    config = {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}, "max_tokens": 9}
    ask(bedrock(llm, "amazon.nova-2-lite-v1:0", temperature=0.5, top_p=0.5, top_k=3, **config))
    body = checked(llm)
    assert "inferenceConfig" not in body
    fields = {"reasoningConfig": config["reasoningConfig"], "inferenceConfig": {"topK": 3}}
    assert body["additionalModelRequestFields"] == fields


def test_a_shape_that_is_refused_is_asked_for_by_a_tool_and_then_not_at_all(llm: FakeLlm):
    use = {"toolUse": {"toolUseId": "t", "name": "give_verdict", "input": {"reason": "r", "pass": True}}}
    provider = bedrock(llm)
    llm.reply = refusing("outputConfig", answer=converse(use, stop="tool_use"))
    reply = ask(provider, schema=SCHEMA)
    checked(llm)
    assert (json.loads(reply.text), reply.finish_reason) == ({"reason": "r", "pass": True}, "stop")
    llm.reply = refusing("toolConfig", answer=YES)
    assert ask(provider, schema=SCHEMA).text == "yes"
    assert not {"toolConfig", "outputConfig"} & checked(llm).keys()


def test_a_temperature_that_is_refused_is_left_out(llm: FakeLlm):
    provider = bedrock(llm)
    llm.reply = refusing("temperature", answer=YES)
    assert ask(provider).text == "yes"
    assert "inferenceConfig" not in checked(llm)


def test_an_image_at_an_address_is_an_error(llm: FakeLlm):
    with pytest.raises(ProviderError, match="as data or from s3"):
        ask(bedrock(llm), Message("user", "what?", ("https://example.com/cat.jpg",)))


def test_a_prompt_in_the_form_of_converse(llm: FakeLlm, gate):
    """As promptfoo takes it: parts without a type, an image in base64 or as a data URI, a document."""
    data = PIXEL.partition("base64,")[2]
    document = {"document": {"format": "txt", "name": "d", "source": {"text": "t"}}}
    image = {"image": {"format": "png", "source": {"bytes": data}}}
    other = {"image": {"format": "png", "source": {"bytes": PIXEL}}}
    prompt = [
        {"role": "system", "content": [{"text": "Be brief."}]},
        {"role": "user", "content": [image, other, {"text": "say {{x}}"}, document]},
    ]
    llm.reply = lambda path, body: YES
    target = {"id": "bedrock:amazon.nova-lite-v1:0", "config": {"endpoint": llm.base.removesuffix("/v1"), "apiKey": "k"}}
    tests = [{"vars": {"x": "it"}, "assert": PASSES}]
    ran = gate({"prompts": ["file://p.json"], "providers": [target], "tests": tests}, **{"p.json": json.dumps(prompt)})
    assert ran.code == 0, ran.err
    body = checked(llm)
    assert body["system"] == [{"text": "Be brief."}]
    assert body["messages"] == [{"role": "user", "content": [image, image, {"text": "say it"}, document]}]


# --- what comes back ------------------------------------------------------------------------------------------

CALL = {"toolUse": {"toolUseId": "tooluse_1", "name": "find", "input": {"q": "x"}}}


@pytest.mark.parametrize(("answer", "text", "finish", "refused"), table(__file__, "an_answer_is_read"))
def test_an_answer_is_read(llm: FakeLlm, answer, text, finish, refused):
    answer = made(answer)
    assert parsed(answer)["stopReason"] == answer["stopReason"]
    reply = ask(bedrock(llm, answer=answer))
    assert (reply.text, reply.finish_reason, reply.refused) == (text, finish, refused)


def test_tool_calls_have_the_one_form(llm: FakeLlm):
    answer = converse(CALL, stop="tool_use")
    assert parsed(answer)["output"]["message"]["content"][0]["toolUse"]["name"] == "find"
    reply = ask(bedrock(llm, answer=answer))
    assert reply.metadata["tool_calls"] == [
        {"id": "tooluse_1", "type": "function", "function": {"name": "find", "arguments": '{"q": "x"}'}}
    ]


def test_what_the_cache_read_and_wrote_counts(llm: FakeLlm):
    usage = {"inputTokens": 5, "outputTokens": 2, "totalTokens": 7, "cacheReadInputTokens": 10, "cacheWriteInputTokens": 3}
    assert parsed(converse({"text": "a"}, usage=usage))["usage"] == usage
    assert ask(bedrock(llm, answer=converse({"text": "a"}, usage=usage))).usage.tokens == 20


@pytest.mark.parametrize(
    "answer",
    [{}, {"output": {}}, converse(), converse({"image": {}}), {"output": {"message": {"content": "text"}}}, converse("x")],  # type: ignore[arg-type]
)
def test_an_answer_without_text_is_an_error(llm: FakeLlm, answer):
    with pytest.raises(ProviderError, match="without"):
        ask(bedrock(llm, answer=answer))


@pytest.mark.parametrize("status", [400, 403, 404, 424, 503])
def test_the_vendors_words_are_told(llm: FakeLlm, status):
    with pytest.raises(ProviderError, match=f"{status}.*You don't have access to the model"):
        ask(bedrock(llm, answer=(status, {"message": "You don't have access to the model"})))


@pytest.mark.parametrize(("name", "rates"), table(__file__, "a_model_costs_what_the_table_says_of_its_place"))
def test_a_model_costs_what_the_table_says_of_its_place(name, rates):
    found = build(f"bedrock:{name}", {"apiKey": "k"}).rates
    assert found == (None if rates is None else pytest.approx([rate / 1e6 for rate in rates]))


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


@pytest.mark.parametrize("name", ["openai.gpt-5.6", "xai.grok-4.6", "us.xai.grok-4.6"])
def test_models_that_converse_does_not_serve_are_a_mistake(name):
    with pytest.raises(ConfigError, match=f"Converse does not serve `{name}`"):
        build(f"bedrock:{name}", {"apiKey": "k"})


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
