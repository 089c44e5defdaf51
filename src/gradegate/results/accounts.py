"""What is recorded of a run besides its answers: how it was made, which models it asked, and what re-asks, base and labels gave."""

import hashlib
from typing import Annotated

from msgspec import Meta
from msgspec.structs import force_setattr

from gradegate.core.policy import NOISE
from gradegate.core.usage import Increase
from gradegate.structs import FrozenStruct, NamedTexts


class Made(FrozenStruct):
    """How the results were made: the version, the commit, the configs and the options."""

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
    """A target or grader of a run."""

    name: str
    host: str = ""  # empty if nothing left the machine
    replies_from: str = "model"  # or "program" (code of the repository), "file" or "prompt"
    chosen: str = (
        ""  # what gradegate chose it for, because no model of its kind is named; else empty
    )
    grades: Annotated[bool, Meta(description="Whether it grades.")] = False

    def __str__(self) -> str:
        return f"{self.name} at {self.host}" if self.host else self.name


class KeyUse(FrozenStruct):
    """A variable of the environment whose value goes to a host."""

    name: str
    host: str
    kind: str = ""  # of the provider that sends it
    path: str = ""  # of the request

    def __str__(self) -> str:
        kind = f"{self.kind}, " if self.kind else ""
        return f"{self.name} -> {kind}{self.host}{self.path}"


class ReaskReport(FrozenStruct):
    """What the re-asks of failures gave, in numbers of grades."""

    mode: str = "off"
    noise: float = NOISE
    lead: int = 0  # by how many votes a failure had to lead to be confirmed
    grades: int = 0  # that may be re-asked
    asked_again: int = 0  # of these, the next three are the results
    overturned: int = 0  # pass in the end
    confirmed: int = 0  # fail in the end
    undecided: int = 0  # are errors in the end
    not_asked_again: int = 0  # failed, and no rule needed to know more
    asks: int = 0  # of all these grades, the first asks included
    # Of those that were not re-asked: fail on the base, too, and only rules that look at the base select them
    pre_existing: int = 0


class BaselineReport(FrozenStruct):
    """The run compared with its base, in numbers of cases."""

    commit: str = ""  # of the base; empty if it is not known
    age_days: int | None = None  # None: not known
    compared: int = 0
    new_failures: int = 0
    pre_existing: int = 0
    fixed: int = 0
    unsteady: int = 0
    undecided: int = 0
    new: int = 0  # that the base does not have
    removed: tuple[str, ...] = ()  # the names of those that only the base has
    fresh: bool = False  # the base was asked in the same run
    cost: Increase | None = None
    latency: Increase | None = None


class LabelAsk(FrozenStruct):
    """What a grader said of a labelled output."""

    model: str  # as the reply names it
    label: bool  # whether the output passes, as a person says
    passed: bool | None  # None: the grader gave no verdict
    undone: bool = False  # a budget or a signal ended the run before all of them were graded


class GraderCheck(FrozenStruct):
    """The verdicts of one grader compared with the labels."""

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
    """What graders say of labelled outputs. That shows whether a grader changed since its agreement was measured."""

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
    """A metric that is computed from other metrics, for one target and prompt."""

    name: str
    suite: str
    provider: str
    prompt_label: str
    value: float | None = None
    error: str = ""  # why there is no value
    answers: int = 0  # with known grades
    left_out: int = 0  # answers without
