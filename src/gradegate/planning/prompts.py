"""Prompts filled in for a case: before anything is asked, and again with the conversation so far."""

from collections.abc import Mapping
from typing import Any

from gradegate.config import code as scripts
from gradegate.core.conversation import CONVERSATION
from gradegate.core.suite import Case, PromptSpec
from gradegate.errors import Mistake, Origin, ProviderError
from gradegate.planning.plan import Render
from gradegate.providers.api.provider import Provider
from gradegate.structs import Struct
from gradegate.templating import chat_prompt as chat
from gradegate.templating.template import TemplateError, asks_for, fill


class Prompts(Struct, frozen=True):
    """Fills in the prompts of one suite; ``env`` is what they may show of the environment, mistakes are added to ``mistakes``."""

    env: Mapping[str, Any]
    mistakes: list[Mistake]

    def render(self, case: Case, prompt: PromptSpec, values: Mapping[str, Any]) -> Render | None:
        """Fills a prompt in that tells the conversation so far; None for any other."""
        source = case.options.prefix + prompt.text + case.options.suffix
        off = (
            CONVERSATION not in source
            or case.turns
            or case.options.settings.get("disableConversationVar")
            or values.get(CONVERSATION)
        )
        if off or not asks_for(source, CONVERSATION):
            return None
        variables = {"env": self.env, **values}
        return lambda before: fill(source, {**variables, CONVERSATION: list(before)})

    def text(
        self, case: Case, prompt: PromptSpec, provider: Provider, values: Mapping[str, Any]
    ) -> str:
        """A prompt filled in; empty where it cannot be, which is among the mistakes."""
        try:
            written, label = prompt.text, provider.spec.label if provider.spec else ""
            if prompt.maker is not None:
                asked = {
                    "vars": values,
                    "provider": {"id": provider.id, "label": label},
                    "config": {},
                }
                written = scripts.text(prompt.maker(asked))
            source = case.options.prefix + written + case.options.suffix
            text = fill(source, {"env": self.env, **values})
        except TemplateError as e:
            self._say(f"the prompt cannot be filled in: {e}", prompt.origin, "correct the template")
            return ""
        except ValueError as e:
            self._say(
                f"the prompt `{prompt.label}` is not made: {getattr(e, 'line', e)}",
                prompt.origin,
                "correct it",
            )
            return ""
        wrong = chat.broken(text)
        if wrong:
            self._say(
                f"the prompt looks like chat messages and {wrong}", prompt.origin, "correct it"
            )
        messages = chat.parse(text) if not case.recorded else None
        try:
            if messages:
                provider.check(messages)
        except (ProviderError, ValueError) as e:
            cure = "write what it takes, or ask another provider"
            self._say(f"the prompt cannot be sent to `{provider.name}`: {e}", prompt.origin, cure)
        return text

    def _say(self, what: str, origin: Origin | None, cure: str) -> None:
        self.mistakes.append(Mistake(what, origin, cure))
