"""Reads the ``gate`` block into a policy, and ``derivedMetrics``."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradegate.config.code import is_script, read_code
from gradegate.config.keys import DerivedKeys, GateKeys, LabelsKeys, ReaskKeys, RuleKeys
from gradegate.config.reader import ConfigReader
from gradegate.core.policy import (
    LIMITS,
    LabelsFile,
    Limits,
    Note,
    Policy,
    Rule,
    Select,
    limit_key,
    parse_runs,
)
from gradegate.core.suite import DerivedSpec
from gradegate.errors import ConfigError, gather_mistakes
from gradegate.files.limits import MAX_DERIVED_METRICS, MAX_RULES
from gradegate.structs import replace
from gradegate.templating.script import COUNT

_DECIDING = [name for name, limit in LIMITS.items() if limit.decides]


def read_policy(gate: GateKeys | None, reader: ConfigReader) -> Policy:
    """Read the gate. Without rules, every case must pass."""
    if gate is None:
        return Policy((_every_case_passes(reader),))
    reask = gate.reask if isinstance(gate.reask, ReaskKeys) else ReaskKeys(ask=gate.reask)
    policy = Policy(
        _read_rules(gate, reader),
        weakening=gate.weakening,
        reask=reask.ask,
        noise=reask.noise,
        runs=parse_runs(gate.runs, reader.origin_at("gate", "runs")),
        budget=Limits(**gate.budget.model_dump()) if gate.budget else Limits(),
        labels=_read_labels(gate.labels, reader),
    )
    if isinstance(gate.errors, str):
        return replace(policy, errors=gate.errors)
    return replace(policy, errors="ignore", errors_up_to=gate.errors.ignore_up_to)


def _every_case_passes(reader: ConfigReader) -> Rule:
    return Rule("every case passes", every_case=True, suite=reader.file)


def _read_rules(gate: GateKeys, reader: ConfigReader) -> tuple[Rule, ...]:
    # A gate of one rule may have the limits of this rule itself.
    own_limits = {}
    for name in LIMITS:
        value = getattr(gate, name)
        if value is not None:
            own_limits[name] = value

    if not gate.rules:
        if not own_limits:
            return (_every_case_passes(reader),)
        keys = RuleKeys.model_construct(name="gate", **own_limits)
        return (_read_rule(keys, ("gate",), reader),)

    if own_limits:
        key = limit_key(next(iter(own_limits)))
        what = f"`{key}` stands in the gate beside `rules`"
        reader.say(what, reader.origin_at("gate", key), "write it into a rule")
    if len(gate.rules) > MAX_RULES:
        what = f"the gate has more than {MAX_RULES} rules"
        reader.say(what, reader.origin_at("gate", "rules"), "join some")
    return tuple(
        _read_rule(keys, ("gate", "rules", number), reader)
        for number, keys in enumerate(gate.rules[:MAX_RULES])
    )


def _read_rule(keys: RuleKeys, path: tuple[str | int, ...], reader: ConfigReader) -> Rule:
    origin = reader.origin_at(*path)
    if all(getattr(keys, name) is None for name in _DECIDING):
        cure = f"give one of {', '.join(f'`{limit_key(name)}`' for name in _DECIDING)}"
        reader.say(f"the rule `{keys.name}` has no threshold", origin, cure)

    for name in _DECIDING:
        value = getattr(keys, name)
        if LIMITS[name].is_minimum and value is not None and value <= 0:
            key = limit_key(name)
            what = f"the rule `{keys.name}` can never fail: {key} is {value:g}"
            reader.notes.append(Note(what, reader.origin_at(*path, key)))

    patterns = keys.select.model_dump(exclude={"metadata"})
    return Rule(
        keys.name,
        Select(**patterns, metadata=tuple(sorted(keys.select.metadata.items()))),
        suite=reader.file,
        origin=origin,
        runs=parse_runs(keys.runs, reader.origin_at(*path, "runs")),
        **keys.model_dump(exclude={"name", "select", "runs"}),
    )


def _read_labels(written: str | LabelsKeys | None, reader: ConfigReader) -> LabelsFile | None:
    if written is None:
        return None
    keys = LabelsKeys(file=written) if isinstance(written, str) else written
    origin = reader.origin_at("gate", "labels")
    with gather_mistakes(reader.mistakes):
        content = reader.source.read(keys.file, origin)
        return LabelsFile(keys.file, content, keys.agreement, origin)
    return None


def read_derived_metrics(written: Sequence[Any], reader: ConfigReader) -> Iterator[DerivedSpec]:
    """Read the derived metrics, and note every mistake.

    A metric that cannot be read is left out. One with a wrong name is not, so that its formula is checked, too.
    """
    if len(written) > MAX_DERIVED_METRICS:
        what = f"there are more than {MAX_DERIVED_METRICS} derived metrics"
        reader.say(what, reader.origin_at("derivedMetrics"), "leave some out")

    names = set[str]()
    for number, item in enumerate(written[:MAX_DERIVED_METRICS]):
        origin = reader.origin_at("derivedMetrics", number)
        if not isinstance(item, Mapping):
            reader.say("a derived metric is a mapping", origin, "write `- {name: ..., value: ...}`")
            continue
        keys = reader.check_keys(DerivedKeys, item, item, reader.file)
        if keys is None:
            continue

        name = keys.name
        if not name.strip():
            reader.say("a derived metric has no name", origin, "give it another name")
        elif name == COUNT:
            what = (
                f"a derived metric is called `{COUNT}`, which is reserved for the number of answers"
            )
            reader.say(what, origin, "give it another name")
        elif name in names:
            reader.say(f"two derived metrics are called `{name}`", origin, "give it another name")
        names.add(name)

        with gather_mistakes(reader.mistakes):
            if keys.value.startswith("file://") and not is_script(keys.value):
                what = f"`{keys.value}` is not a JavaScript file"
                raise ConfigError.at(what, origin, "name a .js, .cjs or .mjs file")
            code = read_code(keys.value, reader.source, origin, only_engine=True)
            yield DerivedSpec(name, code, origin)
