"""The account of a run: how it was made, which models were called, and figures for budget, cache, re-asks and base. Frozen values."""

import hashlib
from typing import Annotated

from msgspec import Meta
from msgspec.structs import force_setattr

from gradegate.core.policy import NOISE
from gradegate.core.usage import Increase
from gradegate.structs import FrozenStruct, NamedTexts


class Made(FrozenStruct):
    """How results came about."""

    tool: Annotated[str, Meta(description="The version of gradegate.")] = ""
    commit: Annotated[
        str, Meta(description="What was checked out; empty where that is not known.")
    ] = ""
    started: Annotated[str, Meta(description="UTC, ISO 8601.", pattern="^[0-9T:.+-]*$")] = ""
    configs: Annotated[NamedTexts, Meta(description="SHA-256 of each config, by its file.")] = {}
    answers: Annotated[
        NamedTexts,
        Meta(
            description="SHA-256 of each file with recorded answers, by its name; empty where targets were asked."
        ),
    ] = {}
    titles: Annotated[
        NamedTexts, Meta(description="The description of each config that has one, by its file.")
    ] = {}
    options: Annotated[
        tuple[str, ...],
        Meta(description="With a config, arguments of `gradegate run` that ask the same."),
    ] = ()
    folder: Annotated[
        str, Meta(description="Where to run it, relative to the root of the repository.")
    ] = ""
    only: Annotated[
        str,
        Meta(
            description="Which part of the gate was run, such as the failures of an earlier run; empty for all of it."
        ),
    ] = ""

    # For one config its SHA-256, for several what ``sha256sum FILES | cut -c1-64 | sort | sha256sum`` prints.
    # Empty without a config.
    digest: Annotated[str, Meta(description="Of the configs together, whatever is said of it.")] = (
        ""
    )

    def __post_init__(self) -> None:
        config_digests = sorted(self.configs.values())
        if not config_digests:
            joint_digest = ""
        elif len(config_digests) == 1:
            joint_digest = config_digests[0]
        else:
            lines = "".join(f"{digest}\n" for digest in config_digests)
            joint_digest = hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()
        force_setattr(self, "digest", joint_digest)


class AskedModel(FrozenStruct):
    """A target or grader of a run; ``replies_from`` is "model", "program" (code of the repository), "file" or "prompt"."""

    name: str
    host: str = ""  # empty when nothing left the machine
    replies_from: str = "model"
    chosen: str = ""  # what it is for, where no model of its kind is named
    grades: Annotated[bool, Meta(description="Whether it grades.")] = False

    def __str__(self) -> str:
        return f"{self.name} at {self.host}" if self.host else self.name


class KeyUse(FrozenStruct):
    """A variable of the environment whose value goes to a host, which kind of provider sends it, and the path that is asked."""

    name: str
    host: str
    kind: str = ""
    path: str = ""

    def __str__(self) -> str:
        kind = f"{self.kind}, " if self.kind else ""
        return f"{self.name} -> {kind}{self.host}{self.path}"


class ReaskReport(FrozenStruct):
    """What asking again came to. ``grades`` may be asked again; ``asks`` are all of theirs, the first included.

    ``lead``: by so many votes failures had to lead. Of the ``asked_again``, ``overturned`` pass, ``confirmed`` fail and the
    ``undecided`` are errors; ``not_asked_again`` failed, and no rule needed to know more: of these, ``pre_existing`` fail on
    the base, too, and only rules that look at the base take them.
    """

    mode: str = "off"
    noise: float = NOISE
    lead: int = 0
    grades: int = 0
    asked_again: int = 0
    overturned: int = 0
    confirmed: int = 0
    undecided: int = 0
    not_asked_again: int = 0
    asks: int = 0
    pre_existing: int = 0


class BaselineReport(FrozenStruct):
    """The run beside its base, in cases. ``removed`` names those of the base that the run does not have.

    ``commit`` is empty and ``age_days`` None where that is not known; ``fresh``: the base was asked in the same run.
    """

    commit: str = ""
    age_days: int | None = None
    compared: int = 0
    new_failures: int = 0
    pre_existing: int = 0
    fixed: int = 0
    unsteady: int = 0
    undecided: int = 0
    new: int = 0
    removed: tuple[str, ...] = ()
    fresh: bool = False
    cost: Increase | None = None
    latency: Increase | None = None


class LabelAsk(FrozenStruct):
    """What a grader said of a labelled output; ``passed`` is None where it gave no verdict, ``label`` what a person says."""

    model: str  # as the reply names it
    label: bool
    passed: bool | None
    undone: bool = False  # a budget or a signal ended the run before all of them were graded


class GraderCheck(FrozenStruct):
    """One grader beside the labels."""

    model: Annotated[str, Meta(description="As its replies name it.")]
    verdicts: int
    agree: int
    p: Annotated[
        float | None,
        Meta(description="The chance of so few, had it not moved; null below 5 verdicts."),
    ] = None
    moved: bool = False
    lenient: Annotated[int, Meta(description="Outputs labelled `fail` that it passed.")] = 0


class LabelsReport(FrozenStruct):
    """What graders say of labelled outputs, which show whether a grader has moved."""

    verdicts: int = 0
    agree: int = 0
    agreement: Annotated[
        float, Meta(description="How often graders agreed with labels when that was measured.")
    ] = 0.0
    p: Annotated[
        float | None,
        Meta(
            description="Of the grader that is least likely not to have moved; null below 5 verdicts."
        ),
    ] = None
    moved: Annotated[bool, Meta(description="At p of at most 0.01.")] = False
    graders: tuple[GraderCheck, ...] = ()
    undone: Annotated[
        bool,
        Meta(
            description="The run ended before all of them were graded: none counts, and no rule is missed by these graders."
        ),
    ] = False


class DerivedMetric(FrozenStruct):
    """A metric worked out of others, over ``answers`` with known grades, ``left_out`` without; ``error`` where no ``value``."""

    name: str
    suite: str
    provider: str
    prompt_label: str
    value: float | None = None
    error: str = ""
    answers: int = 0
    left_out: int = 0
