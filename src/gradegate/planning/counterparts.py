"""Pairs answers of a run with answers of the base, by case, target and prompt, even if these have new names."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import product
from typing import Generic, NamedTuple, TypeVar

from gradegate.core.policy import Note
from gradegate.core.provider_spec import UNREAD, PromptSpec
from gradegate.errors import Origin
from gradegate.planning.identity import digest
from gradegate.planning.plan import Job
from gradegate.providers.api.options import model_parameters
from gradegate.providers.api.provider import Provider
from gradegate.results.rows import AnswerId, Row
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct

T = TypeVar("T")
_COUNT_AS_NEW = "so each of their failures counts as new"
# Gives the new names of renamed files, by their name in the base.
FindRenames = Callable[[], Mapping[str, str]]
# Equal results mean that two things correspond; keys are listed from the strictest to the loosest.
Key = Callable[[T], Hashable]
Keys = Sequence[Key[T]]


def match_by_keys(
    old: Sequence[T], new: Sequence[T], keys: Keys[T], *, unique: bool = False
) -> dict[int, int]:
    """Match things of the base with things of the head: for each key in turn, in order, what is not matched yet.

    Gives the number in ``new`` by the number in ``old``. With ``unique``, a key matches only if one thing on each side has
    it; things that are equal by the first key match if both sides have the same number of them.
    """
    match: dict[int, int] = {}
    for key in keys:
        if len(match) == min(len(old), len(new)):
            break
        free = _group_by_key(new, key, match.values())
        for value, numbers in _group_by_key(old, key, match).items():
            counterparts = free.get(value, [])
            if unique and len(numbers) != len(counterparts):
                continue
            if unique and len(numbers) > 1 and key is not keys[0]:
                continue
            match.update(zip(numbers, counterparts, strict=False))
    return match


def _group_by_key(
    things: Iterable[T], key: Key[T], matched: Iterable[int]
) -> dict[Hashable, list[int]]:
    """The numbers of the things that are not matched yet, by their key."""
    groups = defaultdict(list)
    excluded = set(matched)
    for number, thing in enumerate(things):
        if number not in excluded:
            groups[key(thing)].append(number)
    return groups


class Party(NamedTuple):
    """A target or a prompt."""

    label: str
    file: str = ""  # empty if the config itself contains it
    content: str = ""  # a digest of its text and settings


@lru_cache(maxsize=1000)
def parties_of(suite: str, target: Provider, prompt: PromptSpec) -> tuple[Party, Party]:
    """The target and the prompt of a job. Options may be secrets, so only values of model parameters are compared."""
    spec = target.spec or UNREAD
    config = spec.written or spec.config
    settings = digest([spec.id, sorted(config), model_parameters(config)])
    text = digest([prompt.text, prompt.config])
    return (
        Party(target.name, _other_file(spec.origin, suite), settings.hex()),
        Party(prompt.label, _other_file(prompt.origin, suite), text.hex()),
    )


def _other_file(origin: Origin, suite: str) -> str:
    """The file of a target or prompt; empty if it is the config itself."""
    return "" if origin.file == suite else origin.file


class Entry(NamedTuple):
    """Identifies an answer within its run: the first four fields name the case and the repetition, the others who answered."""

    suite: str
    description: str
    definition: bytes
    repeat: int
    target: Party
    prompt: Party

    @property
    def case(self) -> tuple[object, ...]:
        """Names the case and the repetition."""
        return self[:4]


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
    """The answers of the base for the answers of a run."""

    answers: Mapping[AnswerId, T | None]  # None for an answer that the base does not have
    left: Sequence[T]  # answers of the base without a counterpart
    notes: Sequence[Note]


def pair_with_base(
    jobs: Sequence[Job],
    base: Sequence[T],
    entry_of: Callable[[T], Entry],
    find_renames: FindRenames,
) -> BasePairs[T]:
    """Pair each repetition of each job with its answer of the base.

    Answers to equal cases pair by target and prompt, from the most to the least similar; at last, if only one is left.
    """
    new_entries = {}
    for index, job in enumerate(jobs):
        for repeat in range(1 if job.needs else job.repeats):
            new_entries[AnswerId(index, repeat)] = entry_of_job(job, repeat)

    # Entries of the base, with the names that their configs have now
    suites = {job.suite for job in jobs}
    renames = cache(find_renames)

    def current_name(file: str) -> str:
        return file if file in suites else renames().get(file, file)

    old_entries = []
    for answer in base:
        entry = entry_of(answer)
        old_entries.append(entry._replace(suite=current_name(entry.suite)))

    keys = _entry_keys(current_name)
    match = match_by_keys(list(new_entries.values()), old_entries, keys, unique=True)
    left = sorted(set(range(len(base))).difference(match.values()))

    # The pairs, with notes on what a reader may not expect
    base_suites = {entry.suite for entry in old_entries}
    left_cases = {old_entries[number].case for number in left}
    answers: dict[AnswerId, T | None] = {}
    notes: list[str] = []
    for number, (answer_id, entry) in enumerate(new_entries.items()):
        old_number = match.get(number)
        if old_number is not None:
            answers[answer_id] = base[old_number]
            notes += _renamed_parties(entry, old_entries[old_number])
            continue
        answers[answer_id] = None
        reason = _why_unpaired(entry, base_suites, left_cases)
        if reason is not None:
            notes.append(reason)
    return BasePairs(
        answers=answers,
        left=[base[number] for number in left],
        notes=[Note(text) for text in dict.fromkeys(notes)],
    )


def _entry_keys(current_name: Callable[[str], str]) -> list[Key[Entry]]:
    """The keys by which entries of one case correspond, from the strictest to the loosest.

    ``current_name`` gives the new name of a file of the base. It is called only if all stricter keys match nothing.
    """
    party_keys: tuple[Key[Party], ...] = (
        # the same label, file and content
        lambda party: party,
        # the same content: a label that moves to another text must not get the failures of the old text
        lambda party: party.content or party,
        lambda party: party.label or party,
        # the same file, perhaps renamed
        lambda party: current_name(party.file) if party.file else party,
        # any
        lambda _: None,
    )

    def entry_key(target_key: Key[Party], prompt_key: Key[Party], entry: Entry) -> Hashable:
        return entry.case, target_key(entry.target), prompt_key(entry.prompt)

    # For each way in which targets correspond, all ways in which prompts do
    keys: list[Key[Entry]] = []
    for target_key, prompt_key in product(party_keys, party_keys):
        keys.append(partial(entry_key, target_key, prompt_key))
    return keys


def _renamed_parties(entry: Entry, old: Entry) -> Iterator[str]:
    """Which names differ between an answer and its counterpart."""
    if entry.target.label != old.target.label:
        yield f"the target {_quote(entry.target)} is compared with {_quote(old.target)} of the base"
    # A new text in the config is no surprise: pull requests are about that.
    if entry.prompt.file and entry.prompt.label != old.prompt.label:
        yield f"the prompt {_quote(entry.prompt)} is compared with {_quote(old.prompt)} of the base"


def _why_unpaired(
    entry: Entry, base_suites: Collection[str], left_cases: Collection[object]
) -> str | None:
    """Why an answer has no counterpart; None if its case is plainly new."""
    if entry.suite not in base_suites:
        return f"the base has no answers of the config `{entry.suite}`, {_COUNT_AS_NEW}. If it was renamed, give <--base-checkout>"
    if entry.case in left_cases:
        answer = f"{_quote(entry.target)} with {_quote(entry.prompt)}"
        return f"it is not clear which answers of the base {answer} is compared with, {_COUNT_AS_NEW}. Give targets and prompts a `label` that stays"
    if left_cases:
        return f"some cases are not on the base as they are here, {_COUNT_AS_NEW}. If they are not new, their description, variables, turns, options or threshold changed, there or in `defaultTest`"
    return None


def _quote(party: Party) -> str:
    return f"`{excerpt(party.label, 60)}`"
