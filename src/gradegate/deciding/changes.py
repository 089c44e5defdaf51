"""What a pull request does to its own gate: rules loosened, cases dropped, keys sent elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from gradegate.errors import ConfigError, Origin
from gradegate.files.document import to_json
from gradegate.grading.grader import GRADERS
from gradegate.planning.load import Located, read
from gradegate.settings import Settings
from gradegate.suite import Assertion, Case, Note, Policy, ProviderSpec, Rule, Suite

_STRICTNESS = {"block": 2.0, "inconclusive": 1.0}
_ADDRESSES = ("apiBaseUrl", "apiHost", "url", "apiEndpoint")


def with_changes(head: Located, settings: Settings) -> Located:
    """The suite with the ways in which it checks less than the base does, where there is a base. Raises ConfigError."""
    if not settings.base:
        return head
    root = settings.cwd / settings.base
    if not root.is_dir():
        raise ConfigError.at(f"the base `{settings.base}` is not a directory", None, "check the base commit out there")
    suite, file = head.suite, head.suite.file
    try:
        base = read(root / file, replace(settings, environ={**settings.environ, "GITHUB_WORKSPACE": str(root)})).suite
    except ConfigError as e:
        why = f"not compared with the base, where it cannot be read: {e.mistakes[0].what}"
        return replace(head, suite=replace(suite, notes=(*suite.notes, Note(why, Origin(file)))))
    weakened = compare(base, suite)
    notes = tuple(Note(f"this pull request checks less: {note.text}", note.origin) for note in weakened)
    changes = "block" if "block" in (base.policy.changes, suite.policy.changes) else "report"
    policy = replace(suite.policy, weakened=weakened, changes=changes)
    return replace(head, suite=replace(suite, policy=policy, notes=(*suite.notes, *notes)))


def compare(base: Suite, head: Suite) -> tuple[Note, ...]:
    """Every way in which ``head`` checks less than ``base``, at its line in ``head`` where it has one."""
    return (*_rules(base, head), *_errors(base, head), *_cases(base, head), *_models(base, head))


def _rules(base: Suite, head: Suite) -> Iterator[Note]:
    kept = {rule.name: rule for rule in head.policy.rules}
    for old in base.policy.rules:
        new = kept.get(old.name)
        if new is None:
            yield Note(f"the rule `{old.name}` is gone", Origin(head.file))
            continue
        yield from (Note(f"the rule `{old.name}` {what}", new.origin) for what in _loosened(old, new))


def _loosened(old: Rule, new: Rule) -> Iterator[str]:
    for name, before, now in (
        ("min-pass-rate", old.min_pass_rate, new.min_pass_rate),
        ("min-score", old.min_score, new.min_score),
    ):
        if before is not None and (now is None or now < before):
            yield f"asks for less: {name} {before:g} became {'nothing' if now is None else f'{now:g}'}"
    if old.blocking and not new.blocking:
        yield "no longer blocks"
    if old.select != new.select:
        yield "looks at other grades"


def _errors(base: Suite, head: Suite) -> Iterator[Note]:
    if _strictness(head.policy) < _strictness(base.policy):
        yield Note("errors weigh less than before (`gate.errors`)", Origin(head.file))


def _strictness(policy: Policy) -> float:
    return _STRICTNESS.get(policy.errors, -policy.errors_up_to)


def _cases(base: Suite, head: Suite) -> Iterator[Note]:
    kept = {_key(case): case for case in head.cases}
    gone = [case for case in base.cases if _key(case) not in kept]
    if gone:
        names = ", ".join(f"`{case.description or to_json(case.vars)[:60]}`" for case in gone[:5])
        more = f" and {len(gone) - 5} more" if len(gone) > 5 else ""
        yield Note(f"{len(gone)} of {len(base.cases)} cases are gone or changed: {names}{more}", Origin(head.file))
    for old in base.cases:
        new = kept.get(_key(old))
        if new is not None:
            yield from _case(old, new)


def _key(case: Case) -> str:
    return case.description or to_json(case.vars)


def _case(old: Case, new: Case) -> Iterator[Note]:
    if old.threshold is not None and (new.threshold or 0) < old.threshold:
        yield Note(f"the threshold of `{_key(old)[:60]}` became lower", new.origin)
    left = list(new.assertions)
    for before in old.assertions:
        now = next((after for after in left if (after.type, after.value) == (before.type, before.value)), None)
        if now is None:
            yield Note(f"`{before.type}` of `{_key(old)[:60]}` is gone or changed", new.origin)
            continue
        left.remove(now)
        yield from (Note(f"`{before.type}` {what}", now.origin) for what in _weakened(before, now))


def _weakened(old: Assertion, new: Assertion) -> Iterator[str]:
    if old.threshold is not None and new.threshold != old.threshold:
        looser = new.threshold is None or (new.threshold < old.threshold) != _less_is_stricter(old.type)
        if looser:
            now = "nothing" if new.threshold is None else f"{new.threshold:g}"
            yield f"asks for less: threshold {old.threshold:g} became {now}"
    if old.blocking and not new.blocking:
        yield "no longer blocks"
    if old.weight > 0 and new.weight == 0:
        yield "no longer counts: its weight became 0"


def _less_is_stricter(kind: str) -> bool:
    """Whether a lower threshold lets less pass: where it is a limit from above, and where ``not-`` turns it round."""
    grader = GRADERS.find(kind.removeprefix("not-"))
    return (grader is not None and grader.scoring.most) != kind.startswith("not-")


def _models(base: Suite, head: Suite) -> Iterator[Note]:
    addresses = Counter(_address(spec) for spec in base.specs())
    seen: set[str] = set()
    for spec in head.specs():
        address = _address(spec)
        if address not in addresses and address not in seen:
            seen.add(address)
            yield Note(f"a model is asked that was not asked before: {address}", spec.origin)


def _address(spec: ProviderSpec) -> str:
    where = [str(spec.config[name]) for name in _ADDRESSES if spec.config.get(name)]
    return " at ".join([spec.id, *where])
