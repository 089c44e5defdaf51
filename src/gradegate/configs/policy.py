"""The ``gate`` block: rules, and what errors and changes do."""

from __future__ import annotations

from gradegate.bounded.bounds import MAX_RULES
from gradegate.configs.desk import Desk
from gradegate.configs.keys import GateKeys, RuleKeys
from gradegate.suite import Note, Policy, Rule, Select


def policy(gate: GateKeys | None, desk: Desk) -> Policy:
    """The rules; without any, every case must pass."""
    if gate is None or not gate.rules:
        rules: tuple[Rule, ...] = (Rule("every case passes", every_case=True, suite=desk.file),)
    else:
        if len(gate.rules) > MAX_RULES:
            desk.say(f"the gate has more than {MAX_RULES} rules", desk.line("gate", "rules"), "join some")
        rules = tuple(_rule(keys, number, desk) for number, keys in enumerate(gate.rules[:MAX_RULES]))
    if gate is None:
        return Policy(rules)
    if isinstance(gate.errors, str):
        return Policy(rules, gate.errors, changes=gate.changes, compare=gate.compare or "")
    return Policy(rules, "ignore", gate.errors.ignore_up_to, gate.changes, gate.compare or "")


def _rule(keys: RuleKeys, number: int, desk: Desk) -> Rule:
    origin = desk.line("gate", "rules", number)
    limits = (keys.min_pass_rate, keys.min_score, keys.max_new_failures, keys.max_drop)
    if all(limit is None for limit in limits):
        cure = "give `min-pass-rate`, `min-score`, `max-new-failures` or `max-drop`"
        desk.say(f"the rule `{keys.name}` has no threshold", origin, cure)
    for name, limit in (("min-pass-rate", keys.min_pass_rate), ("min-score", keys.min_score)):
        if limit is not None and limit <= 0:
            where = desk.line("gate", "rules", number, name)
            desk.notes.append(Note(f"the rule `{keys.name}` can never fail: {name} is {limit:g}", where))
    select = Select(**keys.select.model_dump())
    return Rule(
        keys.name,
        select,
        keys.min_pass_rate,
        keys.min_score,
        keys.blocking,
        suite=desk.file,
        origin=origin,
        max_new_failures=keys.max_new_failures,
        max_drop=keys.max_drop,
    )
