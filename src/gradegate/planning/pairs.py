"""Which targets answer a test, and with which prompts: by the names that test, target and prompt have for one another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradegate.asking.options import parameters
from gradegate.asking.provider import Provider, Recorded
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.planning.bind import Binder
from gradegate.suite import Case, PromptSpec, ProviderSpec, Suite

_RECORDED = Recorded()
Target = tuple[ProviderSpec, Provider, list[PromptSpec]]  # with the prompts that it gets


@dataclass(frozen=True)
class Pairs:
    """The targets of a suite, and who answers a case. ``recorded``: cases bring their answers; mistakes are added to ``mistakes``."""

    suite: Suite
    binder: Binder
    recorded: bool
    mistakes: list[Mistake]

    def targets(self) -> Iterator[Target]:
        """Every target that can be asked, with its prompts."""
        for spec in self.suite.targets:
            try:
                provider = self.binder.target(spec)
                if "text" not in provider.kinds:
                    raise ConfigError.at(f"`{spec.id}` answers no prompts", spec.origin, "name a chat model")
            except ConfigError as e:
                self.mistakes.extend(e.mistakes)
                continue
            prompts = [prompt for prompt in self.suite.prompts if _allows(spec.prompts, prompt.label)]
            if not prompts:
                labels = ", ".join(f"`{prompt.label}`" for prompt in self.suite.prompts)
                what = f"`prompts` of `{spec.name}` matches no prompt"
                self._say(what, spec.origin, f"the prompts are {labels}")
            strange = [
                name for name in spec.prompts if not any(_allows((name,), it.label) for it in self.suite.prompts)
            ]
            for name in strange if prompts else ():
                self._say(f"`{spec.name}` names a prompt `{name}` that the config does not have", spec.origin, "")
            yield spec, provider, prompts

    def asked(self, case: Case, targets: Sequence[Target]) -> list[tuple[Provider, PromptSpec]]:
        """The targets of a case with the prompts that each gets; a recorded conversation is graded once. Raises ConfigError."""
        if case.recorded and case.turns:
            return [(_RECORDED, PromptSpec(""))]
        if case.recorded and (self.recorded or not self.suite.targets):
            prompts = (prompt for prompt in self.suite.prompts if _allows(case.prompts, prompt.label))
            return [(_RECORDED, next(prompts, PromptSpec("")))]
        if case.target is not None:
            targets = [(case.target, self.binder.target(case.target), list(self.suite.prompts))]
        elif case.providers:
            names = case.providers
            targets = [target for target in targets if _allows(names, target[0].id) or _allows(names, target[0].label)]
        own = parameters(case.options.settings)
        return [
            (self.binder.over(provider, {**prompt.config, **own}), prompt)
            for _, provider, prompts in targets
            for prompt in prompts
            if _allows(case.prompts, prompt.label)
        ]

    # --- checks -----------------------------------------------------------------------------------------------

    def check_left(self, case: Case, asked: Sequence[object], targets: Sequence[Target]) -> None:
        """Whether anybody answers a case."""
        known = self.suite.targets and len(targets) == len(self.suite.targets)  # else it was said what is wrong
        if not asked and known and not self._left_out(case) and all(prompts for _, _, prompts in targets):
            cure = "correct `providers` and `prompts` of the test, or of the providers"
            self._say(
                "no provider and prompt is left to answer this test, so nothing would be checked", case.origin, cure
            )

    def _left_out(self, case: Case) -> bool:
        """Whether it is for targets of the config in whose place others are asked."""
        names = [name for spec in self.suite.others for name in (spec.id, spec.label)]
        return any(_allows(case.providers, name) for name in names) if case.providers else False

    def check_names(self, case: Case) -> None:
        """Whether the config has what a case names."""
        known = (*self.suite.targets, *self.suite.others)
        targets = [name for spec in known for name in (spec.id, spec.label)]
        prompts = [prompt.label for prompt in self.suite.prompts]
        for patterns, labels, kind in ((case.providers, targets, "provider"), (case.prompts, prompts, "prompt")):
            for name in patterns:
                if not any(_allows((name,), label) for label in labels):
                    self._say(f"the test names a {kind} `{name}` that the config does not have", case.origin, "")

    def _say(self, what: str, origin: Origin | None, cure: str) -> None:
        self.mistakes.append(Mistake(what, origin, cure))


def _allows(patterns: tuple[str, ...], name: str) -> bool:
    """The filter of labels as promptfoo has it: exact, ``group:*``, or a ``group`` that the label starts with."""
    return not patterns or any(
        name == pattern or (name and name.startswith(pattern.removesuffix("*").rstrip(":") + ":"))
        for pattern in patterns
    )
