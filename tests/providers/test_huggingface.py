import pytest

from gradegate.errors import ProviderError
from support.fake_llm import FakeLlm
from support.vendors import build, headers

LABELS = [{"label": "POSITIVE", "score": 0.9}, {"label": "NEGATIVE", "score": 0.1}]


def classifier(llm: FakeLlm, **config):
    return build("huggingface:text-classification:org/model", {"apiEndpoint": llm.base, "apiKey": "hf_1", **config})


def extractor(llm: FakeLlm, **config):
    return build("huggingface:feature-extraction:org/model", {"apiEndpoint": llm.base, **config})


@pytest.mark.parametrize("answer", [LABELS, [LABELS]])  # one text, or a batch of one
def test_labels_with_scores(llm: FakeLlm, answer):
    llm.reply = lambda path, body: (200, answer)
    labels, usage = classifier(llm, top_k=5).classify("fine")
    assert labels == {"POSITIVE": 0.9, "NEGATIVE": 0.1}
    assert headers(llm)["authorization"] == "Bearer hf_1"
    assert llm.bodies == [{"inputs": "fine", "parameters": {"top_k": 5}}]
    assert usage.known_cost is None


def test_a_model_that_is_loading_says_so(llm: FakeLlm):
    llm.reply = lambda path, body: (503, {"error": "Model org/model is currently loading", "estimated_time": 20.0})
    with pytest.raises(ProviderError, match="is currently loading"):
        classifier(llm).classify("fine")


@pytest.mark.parametrize("answer", [[[1, 2], [3, 4]], [[[1, 2]], [[3, 4]]]])
def test_one_request_for_all_texts(llm: FakeLlm, answer):
    llm.reply = lambda path, body: (200, answer)
    assert extractor(llm, normalize=True).embed(["a", "b"])[0] == [[1.0, 2.0], [3.0, 4.0]]
    assert llm.bodies == [{"inputs": ["a", "b"], "normalize": True}]
    assert "authorization" not in headers(llm)  # an endpoint of one's own may do without


def test_a_vector_for_each_token_is_not_taken_for_one(llm: FakeLlm):
    llm.reply = lambda path, body: (200, [[[1, 2], [3, 4]]])
    with pytest.raises(ProviderError, match="a vector for each token"):
        extractor(llm).embed(["a"])


@pytest.mark.parametrize(
    ("task", "end"), [("text-classification", "models/org/m"), ("feature-extraction", "models/org/m/pipeline/feature-extraction")]
)
def test_where_the_router_is_asked(task: str, end: str):
    model = build(f"huggingface:{task}:org/m", HF_TOKEN="hf_1")
    assert model.host == "router.huggingface.co"
    assert model.url == f"https://router.huggingface.co/hf-inference/{end}"
