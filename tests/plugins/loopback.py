"""Embeddings, classification and moderation of a model on loopback, in the plainest form that HTTP has."""

from gradegate.core.usage import Usage
from gradegate.providers.api.json_http import post_json
from gradegate.providers.api.provider import PROVIDERS, Provider


class Loopback(Provider):
    kinds = ("embedding", "classification", "moderation")
    known = ("url",)

    def __init__(self, setting):
        self.kinds = (setting.model.partition(":")[0],)
        self.name = setting.spec.name
        self._client = setting.client
        self._url = setting.spec.config["url"]

    def _post(self, what, body):
        found, _ = post_json(self._client, f"{self._url}/{what}", body)
        return found["result"], Usage(calls=1)

    def embed(self, texts):
        return self._post("embed", {"input": list(texts)})

    def classify(self, text):
        return self._post("classify", {"input": text})

    def moderate(self, text, prompt):
        return self._post("moderate", {"input": text})


PROVIDERS.register("loopback")(Loopback)
