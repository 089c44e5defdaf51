"""Services with OpenAI's API: all of them are in the YAML beside this module, and those that embed do so in one way."""

import pytest

from gradegate.providers.api.chat_model import CompatibleService
from gradegate.providers.api.provider import PROVIDERS
from support.each import table
from support.exchanges import exchanges
from support.fake_llm import FakeLlm
from support.vendors import build, embeddings, headers, path

EMBEDDING = [name for name, build in PROVIDERS if isinstance(build, CompatibleService) and build.embeds]
OTHERS = {"databricks", "cloudflare-ai", "mlflow-gateway", "envoy", "voyage", "cloudera", "helicone"}  # with an address for each user

test_an_exchange = exchanges(__file__)


def test_every_service_is_among_these():
    rows = [
        row for exchange in table(__file__, "exchanges").values() if "service" in exchange.get("columns", "") for row in exchange["rows"]
    ]
    assert {name for name, build in PROVIDERS if isinstance(build, CompatibleService)} == {name for name, *_ in rows} | OTHERS


@pytest.mark.parametrize("service", EMBEDDING)
@pytest.mark.parametrize("kind", ["embedding", "embeddings"])
def test_embeddings_of_a_service_have_its_host_and_its_key(llm: FakeLlm, service, kind):
    llm.reply = lambda path, body: embeddings([1.0, 0.0])
    model = build(f"{service}:{kind}:org/m:1", {"apiBaseUrl": llm.base, "apiKey": "k-9", "accountId": "a", "dimensions": 2})
    assert model.kinds == ("embedding",)
    assert model.embed(["a"])[0] == [[1.0, 0.0]]
    assert (path(llm), headers(llm)["authorization"]) == ("/v1/embeddings", "Bearer k-9")
    assert llm.bodies == [{"model": "org/m:1", "input": ["a"], "dimensions": 2}]
