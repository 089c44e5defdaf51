"""flashcards: questions, each with a text that the answer must hold."""

from typing import Any

from gradegate.config.dialect import DIALECTS, Dialect, Source
from gradegate.config.reader import ConfigReader
from gradegate.core.assertion import Assertion
from gradegate.core.policy import Policy, Rule
from gradegate.core.provider_spec import PromptSpec, ProviderSpec, Verbatim
from gradegate.core.suite import Case, Suite


def recognises(content: Any) -> bool:
    """A mapping with ``flashcards`` and ``ask`` alone."""
    return isinstance(content, dict) and set(content) == {"flashcards", "ask"}


def read(source: Source) -> Suite:
    """One case for each card; a card that cannot be read is a mistake at its line."""
    reader, cards, cases = ConfigReader(source), source.content["flashcards"], []
    for question, wanted in cards.items() if isinstance(cards, dict) else ():
        origin = reader.origin_at("flashcards", question)
        if isinstance(wanted, str):
            contains = Assertion("contains", wanted, origin=origin)
            cases.append(
                Case(question, {"question": Verbatim(question)}, (contains,), origin=origin)
            )
        else:
            reader.say(
                f"the card `{question}` has no text to look for",
                origin,
                "write the text after the colon",
            )
    return Suite(
        file=source.file,
        prompts=(PromptSpec("{{question}}"),),
        targets=(ProviderSpec(str(source.content["ask"]), origin=reader.origin_at("ask")),),
        cases=tuple(cases),
        policy=Policy((Rule("every case passes", every_case=True, suite=source.file),)),
        env=source.env,
        mistakes=tuple(reader.mistakes),
    )


DIALECTS.register("flashcards")(
    Dialect("flashcards", "questions with a text that each answer must hold", recognises, read)
)
