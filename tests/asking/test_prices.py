from datetime import date
from importlib import resources

import pytest
import yaml

from gradegate.asking import prices, wire

TABLE = yaml.safe_load(resources.files("gradegate").joinpath("asking", "prices.yaml").read_text())


def test_the_table_is_dated_and_plausible():
    assert isinstance(TABLE["date"], date)
    for model, (given, wrote) in TABLE["models"].items():
        assert 0 < given <= 200, model
        assert wrote == 0 or given <= wrote <= 10 * given, model


@pytest.mark.parametrize(
    ("model", "dollars_per_million"),
    [
        ("gpt-4o-mini", (0.15, 0.60)),
        ("gpt-4o-mini-2024-07-18", (0.15, 0.60)),
        ("gpt-4o-2024-05-13", (5, 15)),  # dearer than its model is now
        ("gpt-4.1-mini-2025-04-14", (0.40, 1.60)),
        ("claude-sonnet-4-5-20250929", (3, 15)),
        ("claude-sonnet-4-20250514", (3, 15)),
        ("claude-3-5-haiku-20241022", (0.80, 4)),
        ("text-embedding-3-small", (0.02, 0)),
    ],
)
def test_models_and_their_snapshots(model, dollars_per_million):
    assert prices.price(model) == pytest.approx(tuple(part / 1e6 for part in dollars_per_million))


@pytest.mark.parametrize("model", ["", "gpt-4o-audio-preview", "gpt-4o-mini-tuned", "claude", "GPT-4o", "my-gpt-4o"])
def test_what_is_not_in_the_table_has_no_price(model: str):
    assert prices.price(model) is None


@pytest.mark.parametrize(
    ("config", "model", "tokens", "cost"),
    [
        ({}, "gpt-4o", (1000, 100), 0.0035),
        ({}, "nobody-knows", (1000, 100), None),
        ({}, "gpt-4o", (None, None), None),  # the answer does not say what it took
        ({"cost": 1e-6}, "nobody-knows", (1000, 100), 0.0011),
        ({"inputCost": 1e-6, "outputCost": 2e-6}, "gpt-4o", (1000, 100), 0.0012),
        ({"inputCost": 1e-6}, "nobody-knows", (1000, 100), None),  # half a price is none
        ({"inputCost": 1e-6, "cost": 3e-6}, "nobody-knows", (1000, 100), 0.0013),
        ({"cost": 0}, "gpt-4o", (1000, 100), 0.0),
    ],
)
def test_what_a_call_costs(config, model, tokens, cost):
    usage = wire.token_usage(config, model, *tokens, 0.5)
    assert usage.known_cost == (None if cost is None else pytest.approx(cost))
    assert (usage.calls, usage.seconds) == (1, 0.5)
