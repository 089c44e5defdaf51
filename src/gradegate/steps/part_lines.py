"""The lines of a part, and of a file that names open failures: what shards and the merge tell one another."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gradegate.options import MOST_SHARDS
from gradegate.results.rows import CaseLine, GradeLine, Spent, TurnLine, Version
from gradegate.values.account import AskedModel, CacheReport, KeyUse

FORMAT = 1  # grows when a line changes its meaning
PART, OPEN = "part", "open"
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Index = Annotated[int, Field(ge=0)]


class _Line(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", allow_inf_nan=False)


class Header(_Line):
    """The first line: what the file is a part of. ``basis`` is a digest of the parts of the rounds before."""

    gradegate: Literal["part", "open"]
    format: Version
    version: str
    plan: Digest
    commit: str
    run: str  # the id of the workflow run, so that no other run, such as a stranger's, has a part in it; empty elsewhere
    shard: Index  # 0 in a file that names open failures
    of: Annotated[int, Field(ge=1, le=MOST_SHARDS)]
    round: Annotated[int, Field(ge=1, le=99)]
    attempt: Annotated[int, Field(ge=1)]
    basis: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    calls: Index = 0  # that all shards took so far of the budget
    usd: float = 0.0
    unasked: str = ""  # why the shard asked nothing at all; such a part has no further lines


class SaidLine(_Line):
    """What the graders of an answer saw beside its line. ``conversation`` is what was said before it, by its prompt."""

    prompt: str
    turns: list[TurnLine]
    metadata: dict[str, Any]
    before: Any = None
    conversation: list[Any] | None = None


class AnswerRecord(_Line):
    """An answer with its first grades. ``said`` is there where one of them failed; ``known`` are stored answers that it used.

    ``hidden``: a secret is hidden in what was graded, so that nobody else can grade it again.
    """

    place: Index
    repeat: Index
    answer: CaseLine
    said: SaidLine | None = None
    known: dict[str, str] | None = None
    hidden: bool = False


class AsksRecord(_Line):
    """What was asked again of one answer: by the position of each grade its asks after the first.

    ``kind`` "base": of the base's answer, with pass and fail turned round. ``answers`` are new ones, with what they took.
    """

    place: Index
    repeat: Index
    kind: Literal["again", "base"]
    asks: dict[int, list[GradeLine]]
    answers: list[str] = []
    usages: list[Spent] = []
    lost: Spent
    lost_answers: Spent


class AccountRecord(_Line):
    """The line before the last: how a shard's run went, and what it took beside its answers."""

    started: str
    seconds: float
    stopped: str
    lost_target: Spent
    lost_graders: Spent
    calls: int
    usd: float
    used_up: str
    cache: CacheReport | None
    problems: list[str]
    models: list[AskedModel]
    keys: list[KeyUse]
    hidden: list[str]


class OpenRecord(_Line):
    """An answer with the positions of grades that are asked again; ``other`` is that of the base, asked in the same run."""

    positions: list[Index]
    answer: AnswerRecord
    other: CaseLine | None = None
