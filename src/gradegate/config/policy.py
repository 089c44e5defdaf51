"""What a config makes of grades: the ``gate`` block, and ``derivedMetrics``, which are worked out of others at the end."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradegate.config import code as scripts
from gradegate.config.keys import (
    DerivedKeys,
    GateKeys,
    LabelsKeys,
    ReaskKeys,
    RuleKeys,
    SelectKeys,
)
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
from gradegate.files.limits import MAX_DERIVED, MAX_RULES
from gradegate.structs import replace
from gradegate.templating.script import COUNT


def read_policy(gate: GateKeys | None, reader: ConfigReader) -> Policy:
    """The rules; without any, every case must pass."""
    limits = _limits(gate) if gate else {}
    if limits and gate and gate.rules:
        key = limit_key(next(iter(limits)))
        what = f"`{key}` stands in the gate beside `rules`"
        reader.say(what, reader.origin_at("gate", key), "write it into a rule")
    rules: tuple[Rule, ...] = (Rule("every case passes", every_case=True, suite=reader.file),)
    if gate and gate.rules:
        if len(gate.rules) > MAX_RULES:
            reader.say(
                f"the gate has more than {MAX_RULES} rules",
                reader.origin_at("gate", "rules"),
                "join some",
            )
        rules = tuple(
            _rule(keys, ("gate", "rules", number), reader)
            for number, keys in enumerate(gate.rules[:MAX_RULES])
        )
    elif limits:
        rules = (_rule(RuleKeys.model_construct(name="gate", **limits), ("gate",), reader),)
    if gate is None:
        return Policy(rules)
    reask = gate.reask if isinstance(gate.reask, ReaskKeys) else ReaskKeys(ask=gate.reask)
    budget = Limits(**gate.budget.model_dump()) if gate.budget else Limits()
    written = Policy(
        rules,
        weakening=gate.weakening,
        reask=reask.ask,
        noise=reask.noise,
        runs=parse_runs(gate.runs, reader.origin_at("gate", "runs")),
        budget=budget,
        labels=_labels(gate.labels, reader) if gate.labels is not None else None,
    )
    if isinstance(gate.errors, str):
        return replace(written, errors=gate.errors)
    return replace(written, errors="ignore", errors_up_to=gate.errors.ignore_up_to)


def _labels(written: str | LabelsKeys, reader: ConfigReader) -> LabelsFile | None:
    keys = LabelsKeys(file=written) if isinstance(written, str) else written
    origin = reader.origin_at("gate", "labels")
    with gather_mistakes(reader.mistakes):
        content = reader.source.read(keys.file, origin)
        return LabelsFile(keys.file, content, keys.agreement, origin)
    return None


def _limits(gate: GateKeys) -> dict[str, Any]:
    """The limits that stand in the gate itself, by their fields."""
    written = {name: getattr(gate, name) for name in LIMITS}
    return {name: value for name, value in written.items() if value is not None}


def _select(keys: SelectKeys) -> Select:
    patterns = keys.model_dump(exclude={"metadata"})
    return Select(**patterns, metadata=tuple(sorted(keys.metadata.items())))


def _rule(keys: RuleKeys, path: tuple[str | int, ...], reader: ConfigReader) -> Rule:
    origin = reader.origin_at(*path)
    deciding = [name for name, limit in LIMITS.items() if limit.decides]
    if all(getattr(keys, name) is None for name in deciding):
        cure = f"give one of {', '.join(f'`{limit_key(name)}`' for name in deciding)}"
        reader.say(f"the rule `{keys.name}` has no threshold", origin, cure)
    for name in deciding:
        value = getattr(keys, name)
        if LIMITS[name].is_minimum and value is not None and value <= 0:
            key = limit_key(name)
            what = f"the rule `{keys.name}` can never fail: {key} is {value:g}"
            reader.notes.append(Note(what, reader.origin_at(*path, key)))
    return Rule(
        keys.name,
        _select(keys.select),
        suite=reader.file,
        origin=origin,
        runs=parse_runs(keys.runs, reader.origin_at(*path, "runs")),
        **keys.model_dump(exclude={"name", "select", "runs"}),
    )


def read_derived_metrics(written: Sequence[Any], reader: ConfigReader) -> Iterator[DerivedSpec]:
    """Those without a mistake; mistakes are said at the reader."""
    names = []
    if len(written) > MAX_DERIVED:
        what = f"there are more than {MAX_DERIVED} derived metrics"
        reader.say(what, reader.origin_at("derivedMetrics"), "leave some out")
    for number, item in enumerate(written[:MAX_DERIVED]):
        origin = reader.origin_at("derivedMetrics", number)
        if not isinstance(item, Mapping):
            reader.say("a derived metric is a mapping", origin, "write `- {name: ..., value: ...}`")
        elif keys := reader.check_keys(DerivedKeys, item, item, reader.file):
            misnamed = f"two derived metrics are called `{keys.name}`" if keys.name in names else ""
            if keys.name == COUNT:
                misnamed = f"a derived metric is called `{COUNT}`, which is reserved for the number of answers"
            if misnamed := misnamed if keys.name.strip() else "a derived metric has no name":
                reader.say(misnamed, origin, "give it another name")
            with gather_mistakes(reader.mistakes):
                if keys.value.startswith("file://") and not scripts.is_script(keys.value):
                    what = f"`{keys.value}` is not a JavaScript file"
                    raise ConfigError.at(what, origin, "name a .js, .cjs or .mjs file")
                code = scripts.read_code(keys.value, reader.source, origin, engine=True)
                yield DerivedSpec(keys.name, code, origin)
            names.append(keys.name)
