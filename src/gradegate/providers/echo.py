"""echo: answers with the prompt itself, for tests of a config without a model."""

from gradegate.core.conversation import Reply, Request
from gradegate.core.usage import Usage
from gradegate.providers.api.provider import PROVIDERS, Provider, ProviderSetup


@PROVIDERS.register("echo")
class Echo(Provider):
    """The answer is the prompt."""

    names_model = False
    replies_from = "prompt"
    options = ()

    def __init__(self, setup: ProviderSetup) -> None:
        self.name = setup.spec.name

    def complete(self, request: Request) -> Reply:
        """Never fails."""
        return Reply(request.prompt or request.messages[-1].content, Usage(calls=1))
