"""Texts as an attacker would have a model, a config or a branch say them, and decisions that are full of them."""

import random
from collections.abc import Iterator

from gradegate.core.conversation import Turn
from gradegate.core.policy import Note, Rule
from gradegate.core.usage import Usage
from gradegate.errors import Origin
from gradegate.results.accounts import AskedModel, DerivedMetric
from gradegate.results.grades import Grade, GradedAssertion, Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, GateOutcome, RuleResult
from support.each import table
from support.samples import decision

FRAGMENTS = tuple(table(__file__, name) for name in ("TO_THE_RUNNER", "TO_MARKDOWN", "TO_XML_AND_HTML", "HIDDEN", "PLAIN"))
JOINTS = ("", "", " ", "\n", "\r\n", "\t", "a", "\n\n")


class Hostile:
    """An endless source of hostile texts, always the same for one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._made = 0

    def text(self) -> str:
        """Some fragments in a row; now and then random signs, or a text that is very long."""
        draw = self._random
        if draw.random() < 0.01:
            return draw.choice(draw.choice(FRAGMENTS)) * draw.randint(500, 3000)
        if draw.random() < 0.03:
            return "".join(chr(draw.randrange(0x110000)) for _ in range(draw.randint(1, 40)))
        parts = (draw.choice(draw.choice(FRAGMENTS)) + draw.choice(JOINTS) for _ in range(draw.randint(1, 5)))
        return "".join(parts)

    def texts(self, count: int) -> list[str]:
        return [self.text() for _ in range(count)]

    def outcome(self) -> Outcome:
        return self._random.choice(list(Outcome))

    def decision(self, rows: int) -> Decision:
        """A decision in which every text is hostile: those of the model, of the grader, of the config and of its place."""
        listed = [self._row(number) for number in range(rows)]
        rules = tuple(self._rule() for _ in range(2))
        notes = tuple(Note(self.text(), Origin(self.text(), 3)) for _ in range(2))
        models = tuple(AskedModel(self.text(), self.text()) for _ in range(2))
        result = self._random.choice(list(GateOutcome))
        more = {"interrupted": self._random.choice(["", self.text()]), "notes": notes, "models": models}
        more["derived"] = tuple(self._derived(row) for row in listed[:2])
        return decision(result, self.text(), *listed, rules=rules, **more)

    def _derived(self, row: Row) -> DerivedMetric:
        value = self._random.choice([None, 0.25])
        return DerivedMetric(self.text(), row.suite, row.provider, row.prompt_label, value, "" if value else self.text(), 3, 1)

    def _rule(self) -> RuleResult:
        least = self._random.choice([None, 0.5])
        return RuleResult(Rule(self.text(), min_score=least, suite=self.text()), self.outcome(), self.text(), score=0.25)

    def _row(self, number: int) -> Row:
        outcome, answered = self.outcome(), self._random.random() < 0.85
        value = {self.text(): [self.text(), {self.text(): self.text()}]}
        return Row(
            suite=self.text(),
            description=self._random.choice(["", self.text()]),
            provider=self.text(),
            prompt_label=self.text(),
            prompt=self.text(),
            vars=value,
            outcome=outcome,
            output=self.text() if answered else None,
            error="" if answered else self.text() or "down",
            grades=tuple(self._grades()),
            usage=Usage(calls=1, seconds=0.5),
            turns=(Turn("user", self.text()), Turn("assistant", self.text()), Turn("user", self.text())),
            case=number,
            origin=Origin(self._random.choice(["evals/a.yaml", self.text()]), 7),
        )

    def _grades(self) -> Iterator[Grade]:
        for _ in range(self._random.randint(0, 2)):
            asserted = GradedAssertion(self.text(), self.text(), metric=self.text(), origin=Origin(self.text(), 2))
            evidence = {self.text(): self.text(), "steps": [self.text()]}
            yield Grade(asserted, self.outcome(), 0.25, 0.5, self.text(), evidence)
