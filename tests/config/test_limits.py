"""Thresholds where no tool reads any: a mistake with the very lines of the gate that they are meant for."""

import yaml

from gradegate.config.keys import GateKeys
from support.each import each, table
from support.scenes import scenes

test_a_scene = scenes(__file__)

MANY = ({"threshold": "9" * 6000}, "gate: {min-pass-rate: 0.9}")


@each(("keys", "cure"), [*table(__file__, "cures"), MANY])
def test_a_threshold_that_decides_nothing_is_a_mistake_with_its_rule(gate, keys, cure):
    said = gate({**table(__file__, "base")["config"], **keys}).mistakes
    assert f"decides nothing there -> write `{cure}`" in said
    assert "1 mistake; nothing was asked" in said
    rules = yaml.safe_load("{" + cure + "}")
    GateKeys.model_validate(rules.get("gate", rules))
