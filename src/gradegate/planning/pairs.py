"""Chooses which targets answer a test, and with which prompts, by the names in tests, targets and prompts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Self

from gradegate.core.numbers import list_some
from gradegate.core.provider_spec import PromptSpec, ProviderSpec
from gradegate.core.suite import Case, Suite
from gradegate.errors import Complaints, ConfigError, Mistake
from gradegate.planning.binding.providers import ProviderBinder
from gradegate.providers.api.options import model_parameters
from gradegate.providers.api.provider import Provider, RecordedTarget
from gradegate.structs import FrozenStruct, Struct

MOST_SHOWN = 12  # names that a message lists
_RECORDED = RecordedTarget()


class TargetPrompts(FrozenStruct):
    """A target with the prompts that it gets."""

    spec: ProviderSpec
    provider: Provider
    prompts: list[PromptSpec]


class CasePairs(FrozenStruct):
    """Who answers a case: each target with each of its prompts."""

    pairs: Sequence[tuple[Provider, PromptSpec]] = ()
    prompts: Mapping[PromptSpec, None] = {}  # those that are filled in
    targets: Mapping[Provider, None] = {}

    @classmethod
    def from_pairs(cls, pairs: Sequence[tuple[Provider, PromptSpec]]) -> Self:
        """List the prompts and targets of the pairs, each once."""
        prompts: dict[PromptSpec, None] = {}
        for target, prompt in pairs:
            # A request that is a template of the config may do without a prompt if the config names none.
            if target.names_model or prompt.origin.line:
                prompts[prompt] = None
        return cls(pairs, prompts, dict.fromkeys(target for target, _ in pairs))


class PairChooser(Struct, Complaints):
    """Chooses the targets and prompts of the cases of one suite; mistakes are added to ``mistakes``."""

    suite: Suite
    providers: ProviderBinder
    answers_given: bool  # the cases bring their answers
    mistakes: list[Mistake]
    default_pairs: CasePairs | None = None  # shared by all cases that name nobody

    def targets(self) -> Iterator[TargetPrompts]:
        """Every target that can be asked, with its prompts."""
        labels = [prompt.label for prompt in self.suite.prompts]
        cure = _choices("prompt", labels)
        has_prompts = any(prompt.text or prompt.maker for prompt in self.suite.prompts)
        for spec in self.suite.targets:
            try:
                provider = self.providers.bind_target(spec)
                if "text" not in provider.kinds:
                    raise ConfigError.at(
                        f"`{spec.id}` answers no prompts", spec.origin, "name a chat model"
                    )
            except ConfigError as e:
                self.mistakes.extend(e.mistakes)
                continue

            label_filter = _LabelFilter(spec.prompts)
            prompts = [prompt for prompt in self.suite.prompts if label_filter.allows(prompt.label)]
            if prompts:
                for name in _unknown_patterns(spec.prompts, labels):
                    what = f"`{spec.name}` names a prompt `{name}` that the config does not have"
                    self.say(what, spec.origin, cure)
            elif has_prompts:  # if they could not be read, that is a mistake already
                self.say(f"`prompts` of `{spec.name}` matches no prompt", spec.origin, cure)
            yield TargetPrompts(spec, provider, prompts)

    def choose(self, case: Case, targets: Sequence[TargetPrompts]) -> CasePairs:
        """The targets of a case with the prompts that each gets. Raises ConfigError.

        A recorded conversation is graded once.
        """
        if case.is_recorded and case.turns:
            return CasePairs.from_pairs([(_RECORDED, PromptSpec(""))])
        is_default = not (
            case.is_recorded
            or case.prompts
            or case.providers
            or case.target
            or case.options.settings
        )
        if is_default and self.default_pairs is not None:
            return self.default_pairs

        if case.is_recorded and (self.answers_given or not self.suite.targets):
            label_filter = _LabelFilter(case.prompts)
            prompts = [prompt for prompt in self.suite.prompts if label_filter.allows(prompt.label)]
            prompt = prompts[0] if prompts else PromptSpec("")
            return CasePairs.from_pairs([(_RECORDED, prompt)])

        if case.target is not None:
            provider = self.providers.bind_target(case.target)
            targets = [TargetPrompts(case.target, provider, list(self.suite.prompts))]
        elif case.providers:
            name_filter = _LabelFilter(case.providers)
            targets = [target for target in targets if name_filter.allows_any(target.spec.names)]

        chosen = CasePairs.from_pairs(list(self._pairs(case, targets)))
        if is_default:
            self.default_pairs = chosen
        return chosen

    def _pairs(
        self, case: Case, targets: Iterable[TargetPrompts]
    ) -> Iterator[tuple[Provider, PromptSpec]]:
        """Each target with each prompt that the case takes. Options of the case win over those of the prompt."""
        label_filter = _LabelFilter(case.prompts)
        case_options = model_parameters(case.options.settings)
        for target in targets:
            for prompt in target.prompts:
                if not label_filter.allows(prompt.label):
                    continue
                origin = case.origin if case_options else prompt.origin
                config = {**prompt.config, **case_options}
                yield self.providers.with_options(target.provider, config, origin), prompt

    # --- checks -----------------------------------------------------------------------------------------------

    def check_unanswered(
        self, case: Case, chosen: CasePairs, targets: Sequence[TargetPrompts]
    ) -> None:
        """Note a mistake if nobody answers the case."""
        if chosen.pairs:
            return
        # It may be for targets of the config that the command line replaces.
        name_filter = _LabelFilter(case.providers)
        for spec in self.suite.unused_targets:
            if case.providers and name_filter.allows_any(spec.names):
                return
        # Otherwise the targets or prompts that are missing are a mistake already.
        has_all_targets = self.suite.targets and len(targets) == len(self.suite.targets)
        if has_all_targets and all(target.prompts for target in targets):
            what = "no provider and prompt is left to answer this test, so nothing would be checked"
            cure = "correct `providers` and `prompts` of the test, or of the providers"
            self.say(what, case.origin, cure)

    def check_names(self, case: Case) -> None:
        """Note a mistake for each provider or prompt that the case names and the config does not have."""
        if not (case.providers or case.prompts):
            return
        targets: list[str] = []
        for spec in self.suite.all_targets:
            targets += spec.names
        prompts = [prompt.label for prompt in self.suite.prompts]
        for patterns, labels, kind in (
            (case.providers, targets, "provider"),
            (case.prompts, prompts, "prompt"),
        ):
            for name in _unknown_patterns(patterns, labels):
                what = f"the test names a {kind} `{name}` that the config does not have"
                self.say(what, case.origin, _choices(kind, labels))


def _choices(kind: str, labels: Sequence[str]) -> str:
    """A cure that lists the labels."""
    names = [f"`{label}`" for label in dict.fromkeys(labels) if label]
    if not names:
        return f"remove it: no {kind} has a name"
    return f"the {kind}s are {list_some(names[:MOST_SHOWN], len(names))}"


class _LabelFilter:
    """promptfoo's filter of labels: exact, ``pre*``, or a ``group`` with labels that begin with ``group:``."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = frozenset(patterns)
        self._prefixes = tuple(pattern[:-1] for pattern in self._patterns if pattern.endswith("*"))
        self._groups = {
            pattern.rstrip(":") for pattern in self._patterns if not pattern.endswith("*")
        }

    def allows(self, label: str) -> bool:
        """Whether a pattern fits the label; without patterns, every label is allowed."""
        if not self._patterns or label in self._patterns:
            return True
        if not label:
            return False
        # A label is in as many groups as it has colons.
        groups = [label[:index] for index, letter in enumerate(label) if letter == ":"]
        return label.startswith(self._prefixes) or not self._groups.isdisjoint(groups)

    def allows_any(self, labels: Iterable[str]) -> bool:
        """Whether any of these labels is allowed."""
        return any(self.allows(label) for label in labels)


def _unknown_patterns(patterns: Iterable[str], labels: Sequence[str]) -> list[str]:
    """The patterns that fit no label."""
    return [pattern for pattern in patterns if not _LabelFilter([pattern]).allows_any(labels)]
