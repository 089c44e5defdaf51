"""Which answer of the base stands for which answer of a run: by its case, its target and its prompt, whatever these are called by now."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import product
from typing import Generic, NamedTuple, TypeVar

from gradegate.core.policy import Note
from gradegate.core.provider_spec import UNREAD, PromptSpec
from gradegate.planning.identity import digest
from gradegate.planning.plan import Job
from gradegate.providers.api.options import parameters
from gradegate.providers.api.provider import Provider
from gradegate.results.rows import AnswerId, Row
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct

T = TypeVar("T")
_NEW = "so each of their failures counts as new"
# Gives the new names of files that were renamed, by the name in the base.
FindRenames = Callable[[], Mapping[str, str]]
# What makes two things the same one, from the most to the least alike.
Key = Callable[[T], Hashable]
Keys = Sequence[Key[T]]


def match_by_keys(
    old: Sequence[T], new: Sequence[T], keys: Keys[T], *, unique: bool = False
) -> dict[int, int]:
    """Which of the head stands for which of the base, by number: for each key in turn, in order, among those that are left.

    ``unique``: only if one thing on each side has the key, or as many for the first key, by which things are equal.
    """
    match: dict[int, int] = {}
    for key in keys:
        if len(match) == min(len(old), len(new)):
            break
        free = _group(new, key, match.values())
        for mark, numbers in _group(old, key, match).items():
            same = free.get(mark, [])
            most = len(same) if key is keys[0] else 1
            if not unique or len(numbers) == len(same) <= most:
                match.update(zip(numbers, same, strict=False))
    return match


def _group(things: Iterable[T], key: Key[T], taken: Iterable[int]) -> dict[Hashable, list[int]]:
    """The numbers of the things that are left, by what makes them the same."""
    groups = defaultdict(list)
    closed = {*taken}
    for number, thing in enumerate(things):
        if number not in closed:
            groups[key(thing)].append(number)
    return groups


class Party(NamedTuple):
    """A target or a prompt. ``file`` is empty where the config itself contains it, ``content`` is a digest of text and settings."""

    label: str
    file: str = ""
    content: str = ""


@lru_cache(maxsize=1000)
def parties_of(suite: str, target: Provider, prompt: PromptSpec) -> tuple[Party, Party]:
    """The target and the prompt of a job. Options may be secrets, so only the values of model parameters tell two targets apart."""
    spec = target.spec or UNREAD
    config = spec.written or spec.config
    settings = [spec.id, sorted(config), parameters(config)]
    files = ["" if it.file == suite else it.file for it in (spec.origin, prompt.origin)]
    return (
        Party(target.name, files[0], digest(settings).hex()),
        Party(prompt.label, files[1], digest([prompt.text, prompt.config]).hex()),
    )


class Entry(NamedTuple):
    """What tells an answer from the other ones of its run: its case, and who gave it."""

    suite: str
    description: str
    definition: bytes
    repeat: int
    target: Party
    prompt: Party


def entry_of_job(job: Job, repeat: int = 0) -> Entry:
    """The entry of a planned answer."""
    parties = parties_of(job.suite, job.target, job.prompt)
    return Entry(job.suite, job.case.description, job.definition, repeat, *parties)


def entry_of_row(row: Row) -> Entry:
    """The entry of a recorded answer. Earlier versions recorded only the labels."""
    target, prompt = row.parties or ([row.provider], [row.prompt_label])
    case = row.suite, row.description, row.definition, row.repeat
    return Entry(*case, Party(*target), Party(*prompt))


class BasePairs(FrozenStruct, Generic[T]):
    """The answer of the base for each answer of a run, None where it has none; those of the base that are left; what a reader should know."""

    answers: Mapping[AnswerId, T | None]
    left: Sequence[T]
    notes: Sequence[Note]


def pair_with_base(
    jobs: Sequence[Job],
    base: Sequence[T],
    entry_of: Callable[[T], Entry],
    find_renames: FindRenames,
) -> BasePairs[T]:
    """Pair each repetition of each job with its answer of the base.

    Answers to equal cases pair by target and prompt, from the most to the least alike; at last, if only one is left.
    """
    head = {
        AnswerId(index, repeat): entry_of_job(job, repeat)
        for index, job in enumerate(jobs)
        for repeat in range(1 if job.needs else job.repeats)
    }
    suites, renames = {job.suite for job in jobs}, cache(find_renames)

    def now(file: str) -> str:
        return file if file in suites else renames().get(file, file)

    same_party = (
        lambda party: party,
        # Before the label: else a label that moves to another text would give it the failures of the old one.
        lambda party: party.content or party,
        lambda party: party.label or party,
        lambda party: now(party.file) if party.file else party,
        lambda _: None,
    )

    def alike(target: Key[Party], prompt: Key[Party], entry: Entry) -> Hashable:
        return entry[:4], target(entry.target), prompt(entry.prompt)

    same_entry = [partial(alike, *both) for both in product(same_party, same_party)]
    there = [entry._replace(suite=now(entry.suite)) for entry in map(entry_of, base)]
    match = match_by_keys([*head.values()], there, same_entry, unique=True)
    left = {*range(len(base))}.difference(match.values())
    suites = {entry.suite for entry in there}
    left_cases = {there[number][:4] for number in left}
    answers: dict[AnswerId, T | None] = {}
    remarks: dict[str, None] = {}
    for number, (place, entry) in enumerate(head.items()):
        answers[place] = None
        if number in match:
            answers[place] = base[match[number]]
            remarks |= dict.fromkeys(_name_changes(entry, there[match[number]]))
        elif remark := _why_new(entry, suites, left_cases):
            remarks[remark] = None
    return BasePairs(answers, [base[number] for number in sorted(left)], [*map(Note, remarks)])


def _name_changes(entry: Entry, old: Entry) -> Iterator[str]:
    """Which names differ between an answer and its counterpart."""
    if entry.target.label != old.target.label:
        yield f"the target {_name(entry.target)} is compared with {_name(old.target)} of the base"
    # Another text in the config is what pull requests are about.
    if entry.prompt.file and entry.prompt.label != old.prompt.label:
        yield f"the prompt {_name(entry.prompt)} is compared with {_name(old.prompt)} of the base"


def _why_new(entry: Entry, suites: Collection[str], left: Collection[object]) -> str:
    """Why an answer has no counterpart; ``suites`` and cases that are ``left`` are those of the base."""
    if entry.suite not in suites:
        return f"the base has no answers of the config `{entry.suite}`, {_NEW}. If it was renamed, give <--base-checkout>"
    if entry[:4] in left:
        return f"it is not clear which answers of the base {_name(entry.target)} with {_name(entry.prompt)} is compared with, {_NEW}. Give targets and prompts a `label` that stays"
    if left:
        return f"some cases are not on the base as they are here, {_NEW}. If they are not new, their description, variables, turns, options or threshold changed, there or in `defaultTest`"
    return ""


def _name(party: Party) -> str:
    return f"`{excerpt(party.label, 60)}`"
