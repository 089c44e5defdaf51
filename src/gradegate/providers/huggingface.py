"""huggingface: classification, embeddings, similarity and text of Hugging Face inference, or of an endpoint of one's own.

API: https://huggingface.co/docs/inference-providers/tasks/text-classification, .../token-classification and
.../feature-extraction, as in the client of the ``huggingface_hub`` package 2.4: ``{"inputs": ...}`` to ``/hf-inference/models/MODEL``
of router.huggingface.co, for vectors and similarity with ``/pipeline/TASK`` behind it. Requests for tokens, similarity and text are
promptfoo's (https://www.promptfoo.dev/docs/providers/huggingface/).
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from gradegate.core.conversation import Reply, Request
from gradegate.core.usage import Usage
from gradegate.errors import ProviderError, Trouble
from gradegate.providers.api.chat_api import as_object, pick_options
from gradegate.providers.api.json_http import (
    HttpModel,
    base_url,
    expect_rows,
    need_model,
    need_text,
    parse_labels,
    parse_vector,
    read_key,
    request_text,
)
from gradegate.providers.api.provider import PROVIDERS, LabelScores, ProviderSetup, Vectors
from gradegate.security.vendors import Vendor
from gradegate.structs import JsonObject

ROUTER = "https://router.huggingface.co/hf-inference/models"
_KEYS = ("HF_TOKEN", "HF_API_TOKEN")
_VENDOR = Vendor(
    _KEYS,
    ("router.huggingface.co",),
    requests=tuple(
        f"POST /hf-inference/models/{model}{task}"
        for model in ("{model}", "{owner}/{model}")
        for task in ("", "/pipeline/feature-extraction", "/pipeline/sentence-similarity")
    ),
)
ACCESS = ("model", "apiKey", "apiKeyEnvar", "apiEndpoint", "headers", "passthrough")
_TEXT = tuple(
    "top_k top_p temperature repetition_penalty max_new_tokens max_time return_full_text num_return_sequences do_sample".split()
)


class _TaskModel(HttpModel):
    """A model for one ``task``, at the router or at an endpoint of one's own."""

    vendor = _VENDOR
    rates = None  # it answers no tokens
    task: ClassVar[str]
    below: ClassVar[str] = ""  # of the router: what follows the model

    def __init__(self, setup: ProviderSetup) -> None:
        model = need_model(setup, f"huggingface:{self.task}:MODEL")
        endpoint = setup.config.get("apiEndpoint")
        # An endpoint of one's own may do without
        key = read_key(setup, *_KEYS, needed=not endpoint)
        url = base_url(setup, endpoint or f"{ROUTER}/{model}{self.below}")
        super().__init__(setup, url, key, model)

    def _post_task(self, body: JsonObject) -> tuple[Any, Usage]:
        """The answer, and its usage: the answer names no tokens and no price."""
        answer, seconds = self._post_any({**body, **self._passthrough})
        return answer, Usage(1, unpriced=1, seconds=seconds)


@PROVIDERS.register("huggingface:text-classification", "hf:text-classification")
class HuggingFaceClassification(_TaskModel):
    """A text classification model: labels with scores."""

    kinds = ("classification",)
    options = (*ACCESS, "function_to_apply", "top_k")
    task = "text-classification"

    def classify(self, text: str) -> tuple[LabelScores, Usage]:
        """Raises ProviderError."""
        body: dict[str, Any] = {"inputs": text}
        parameters = pick_options(self._config, ("function_to_apply", "top_k"))
        if parameters:
            body["parameters"] = parameters
        answer, usage = self._post_task(body)
        # A list of labels with scores, or a list of such lists with one for each text
        rows = answer if isinstance(answer, list) else None
        if rows and isinstance(rows[0], list):
            rows = rows[0]
        return parse_labels(rows, self.host), usage


@PROVIDERS.register("huggingface:feature-extraction", "hf:feature-extraction")
class HuggingFaceEmbeddings(_TaskModel):
    """A feature extraction model; one request for all texts."""

    kinds = ("embedding",)
    options = (*ACCESS, "normalize", "prompt_name", "truncate", "truncation_direction")
    task = "feature-extraction"
    below = "/pipeline/feature-extraction"

    def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """One vector for each text, in order. Raises ProviderError."""
        options = pick_options(
            self._config, ("normalize", "prompt_name", "truncate", "truncation_direction")
        )
        answer, usage = self._post_task({"inputs": list(texts), **options})
        vectors = []
        for row in expect_rows(answer, self.host, len(texts)):
            # A vector, or a list of vectors with one for each token
            nested = isinstance(row, list) and row and isinstance(row[0], list)
            if nested and len(row) > 1:  # which of them to take is the user's choice
                raise ProviderError(
                    f"{self.host} gave a vector for each token; use a model for sentence embeddings",
                    Trouble.SETUP,
                )
            vectors.append(parse_vector(row[0] if nested else row, self.host))
        return vectors, usage


@PROVIDERS.register("huggingface:token-classification", "hf:token-classification")
class HuggingFaceTokens(_TaskModel):
    """A token classification model: of each kind of entity the highest score."""

    kinds = ("classification",)
    options = (*ACCESS, "aggregation_strategy")
    task = "token-classification"

    def classify(self, text: str) -> tuple[LabelScores, Usage]:
        """Raises ProviderError."""
        strategy = self._config.get("aggregation_strategy") or "simple"
        answer, usage = self._post_task(
            {"inputs": text, "parameters": {"aggregation_strategy": strategy}}
        )
        scores: dict[str, float] = {}
        for row in map(as_object, answer if isinstance(answer, list) else [None]):
            kind = row.get("entity_group", row.get("entity"))
            entity = parse_labels([{"label": kind, "score": row.get("score")}], self.host)
            for label, score in entity.items():
                scores[label] = max(score, scores.get(label, score))
        return scores, usage


@PROVIDERS.register("huggingface:sentence-similarity", "hf:sentence-similarity")
class HuggingFaceSimilarity(_TaskModel):
    """A sentence similarity model, which compares the answer with a text and gives no vectors."""

    kinds = ("embedding",)
    options = ACCESS
    vectors = False
    task = "sentence-similarity"
    below = "/pipeline/sentence-similarity"

    def compare(self, expected: str, text: str) -> tuple[float, Usage]:
        """Raises ProviderError."""
        answer, usage = self._post_task(
            {"inputs": {"source_sentence": expected, "sentences": [text]}}
        )
        (similarity,) = parse_vector(expect_rows(answer, self.host, 1), self.host)
        if abs(similarity) > 1 + 1e-5:
            raise ProviderError(
                f"{self.host} gave a similarity of {similarity:.3g}, which is not a cosine"
            )
        return similarity, usage


@PROVIDERS.register("huggingface:text-generation", "hf:text-generation")
class HuggingFaceText(_TaskModel):
    """A text generation model, which takes no messages; with ``chatCompletion`` it is a chat model."""

    options = (*ACCESS, *_TEXT, "chatCompletion")
    task = "text-generation"

    def __new__(cls, setup: ProviderSetup) -> Any:
        """Build the chat model instead if the config says so."""
        chats = setup.config.get("chatCompletion")
        if chats is None:
            chats = "/v1/chat" in str(setup.config.get("apiEndpoint") or "")
        chat = PROVIDERS.find("huggingface:chat") if chats else None
        return chat(setup) if chat else super().__new__(cls)

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        parameters = {
            "return_full_text": False,
            **pick_options({**self._config, **request.options}, _TEXT),
        }
        answer, usage = self._post_task({"inputs": request_text(request), "parameters": parameters})
        first = as_object(answer[0] if isinstance(answer, list) and answer else answer)
        return Reply(need_text(first.get("generated_text"), self.host), usage)
