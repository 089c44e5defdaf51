"""Which targets answer a test, and with which prompts, by the names that tests, targets and prompts use."""

from collections.abc import Iterable, Iterator, Sequence

from gradegate.core.numbers import list_some
from gradegate.core.provider_spec import PromptSpec, ProviderSpec
from gradegate.core.suite import Case, Suite
from gradegate.errors import Complaints, ConfigError, Mistake
from gradegate.planning.binding.models import ModelBinder
from gradegate.providers.api.options import parameters
from gradegate.providers.api.provider import Provider, Recorded
from gradegate.structs import FrozenStruct

MOST = 12  # names that a message lists
_RECORDED = Recorded()
Target = tuple[ProviderSpec, Provider, list[PromptSpec]]  # with the prompts that it gets


class Pairs(FrozenStruct, Complaints):
    """The targets of a suite, and who answers a case. ``recorded``: cases bring their answers; mistakes are added to ``mistakes``."""

    suite: Suite
    binder: ModelBinder
    recorded: bool
    mistakes: list[Mistake]
    usual: list[tuple[Provider, PromptSpec]] = []  # who is asked by cases that do not say

    def targets(self) -> Iterator[Target]:
        """Every target that can be asked, with its prompts."""
        labels = [prompt.label for prompt in self.suite.prompts]
        there = _those("prompt", labels)
        read = any(prompt.text or prompt.maker for prompt in self.suite.prompts)
        for spec in self.suite.targets:
            try:
                provider = self.binder.target(spec)
                if "text" not in provider.kinds:
                    raise ConfigError.at(
                        f"`{spec.id}` answers no prompts", spec.origin, "name a chat model"
                    )
            except ConfigError as e:
                self.mistakes.extend(e.mistakes)
                continue
            wanted = _Labels(spec.prompts)
            prompts = [prompt for prompt in self.suite.prompts if wanted.allow(prompt.label)]
            if not prompts and read:  # else it was said what is wrong with them
                self.say(f"`prompts` of `{spec.name}` matches no prompt", spec.origin, there)
            for name in _unknown(spec.prompts, labels) if prompts else ():
                what = f"`{spec.name}` names a prompt `{name}` that the config does not have"
                self.say(what, spec.origin, there)
            yield spec, provider, prompts

    def asked(self, case: Case, targets: Sequence[Target]) -> list[tuple[Provider, PromptSpec]]:
        """The targets of a case with the prompts that each gets; a recorded conversation is graded once. Raises ConfigError."""
        if case.recorded and case.turns:
            return [(_RECORDED, PromptSpec(""))]
        is_usual = not (
            case.recorded or case.prompts or case.providers or case.target or case.options.settings
        )
        if is_usual and self.usual:
            return self.usual
        wanted = _Labels(case.prompts)
        if case.recorded and (self.recorded or not self.suite.targets):
            shown = (prompt for prompt in self.suite.prompts if wanted.allow(prompt.label))
            return [(_RECORDED, next(shown, PromptSpec("")))]
        if case.target is not None:
            targets = [(case.target, self.binder.target(case.target), list(self.suite.prompts))]
        elif case.providers:
            names = _Labels(case.providers)
            targets = [target for target in targets if any(map(names.allow, target[0].names))]
        own = parameters(case.options.settings)
        found = []
        for _, provider, prompts in targets:
            for prompt in prompts:
                if wanted.allow(prompt.label):
                    origin = case.origin if own else prompt.origin
                    config = {**prompt.config, **own}
                    found.append((self.binder.over(provider, config, origin), prompt))
        if is_usual:
            self.usual.extend(found)
        return found

    # --- checks -----------------------------------------------------------------------------------------------

    def check_left(self, case: Case, asked: Sequence[object], targets: Sequence[Target]) -> None:
        """Whether anybody answers a case."""
        if asked:
            return
        known = self.suite.targets and len(targets) == len(
            self.suite.targets
        )  # else it was said what is wrong
        # It may be for targets of the config in whose place others are asked.
        names = [name for spec in self.suite.others for name in spec.names]
        left_out = case.providers and any(map(_Labels(case.providers).allow, names))
        if known and not left_out and all(prompts for _, _, prompts in targets):
            what = "no provider and prompt is left to answer this test, so nothing would be checked"
            cure = "correct `providers` and `prompts` of the test, or of the providers"
            self.say(what, case.origin, cure)

    def check_names(self, case: Case) -> None:
        """Whether the config has what a case names."""
        if not (case.providers or case.prompts):
            return
        targets = [name for spec in self.suite.configured for name in spec.names]
        prompts = [prompt.label for prompt in self.suite.prompts]
        for patterns, labels, kind in (
            (case.providers, targets, "provider"),
            (case.prompts, prompts, "prompt"),
        ):
            for name in _unknown(patterns, labels):
                what = f"the test names a {kind} `{name}` that the config does not have"
                self.say(what, case.origin, _those(kind, labels))


def _those(kind: str, labels: Sequence[str]) -> str:
    """What there is to choose from."""
    names = [f"`{label}`" for label in dict.fromkeys(labels) if label]
    if not names:
        return f"remove it: no {kind} has a name"
    return f"the {kind}s are {list_some(names[:MOST], len(names))}"


class _Labels:
    """The filter of labels as promptfoo has it: exact, ``pre*``, or a ``group`` whose labels begin with ``group:``."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._all = frozenset(patterns)
        self._starts = tuple(pattern[:-1] for pattern in self._all if pattern.endswith("*"))
        self._groups = {pattern.rstrip(":") for pattern in self._all if not pattern.endswith("*")}

    def allow(self, label: str) -> bool:
        """Whether a label is one of them; without patterns, each is."""
        if not self._all or label in self._all:
            return True
        return bool(label) and (
            label.startswith(self._starts) or not self._groups.isdisjoint(_above(label))
        )


def _above(label: str) -> list[str]:
    """The groups that a label is in: what stands before each of its colons."""
    return [label[:place] for place, sign in enumerate(label) if sign == ":"]


def _unknown(patterns: Iterable[str], labels: Sequence[str]) -> list[str]:
    """The patterns that fit no label."""
    return [pattern for pattern in patterns if not any(map(_Labels([pattern]).allow, labels))]
