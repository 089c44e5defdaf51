import re
import tomllib
from importlib import resources
from pathlib import Path

import price_table
import pytest
import yaml

from gradegate.providers.api import json_http as wire
from gradegate.providers.api import prices
from support.each import table

CONTENT = resources.files("gradegate").joinpath("providers", "api", "prices.yaml").read_text()
TABLE = yaml.safe_load(CONTENT)
ROOT = Path(__file__).resolve().parents[3]


def test_the_table_names_its_source_and_is_plausible():
    source = re.match(r"# genai-prices (\S+), \d{4}-\d\d-\d\d\. ", CONTENT)
    development = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["dev"]
    assert f"genai-prices=={source[1]}" in development
    for model, rates in TABLE.items():
        read, wrote = map(float, rates.split())
        assert 0 < read <= 200, model
        assert 0 <= wrote <= 10 * read, model


def test_the_table_keeps_its_day_until_the_package_changes(tmp_path):
    old = tmp_path / "prices.yaml"
    old.write_text(re.sub(r"\d{4}-\d\d-\d\d", "2026-08-01", CONTENT, count=1))
    assert price_table.text(old).startswith(old.read_text().partition("2026-08-01")[0] + "2026-08-01")
    old.write_text("# genai-prices 0.0.1, 2026-08-01. ")
    assert "2026-08-01" not in price_table.text(old)


def test_prices_are_those_of_the_day(tmp_path):
    """OpenAI cut the price of o3 on 10 June 2025."""
    old = tmp_path / "prices.yaml"
    for day, rates in (("2025-06-09", "10 40"), ("2025-06-10", "2 8")):
        old.write_text(re.sub(r"\d{4}-\d\d-\d\d", day, CONTENT, count=1))
        assert yaml.safe_load(price_table.text(old))["o3"] == rates


@pytest.mark.parametrize(("model", "dollars_per_million"), table(__file__, "models_and_their_snapshots"))
def test_models_and_their_snapshots(model, dollars_per_million):
    assert prices.table_price(model) == pytest.approx(tuple(part / 1e6 for part in dollars_per_million))


@pytest.mark.parametrize("model", ["", "gpt-4o-audio-preview", "gpt-4o-mini-tuned", "claude", "GPT-4o", "my-gpt-4o"])
def test_what_is_not_in_the_table_has_no_price(model: str):
    assert prices.table_price(model) is None


@pytest.mark.parametrize(("config", "model", "tokens", "cost"), table(__file__, "what_a_call_costs"))
def test_what_a_call_costs(config, model, tokens, cost):
    usage = wire.token_usage(config, model, *tokens, 0.5)
    assert usage.known_cost == (None if cost is None else pytest.approx(cost))
    assert (usage.calls, usage.seconds) == (1, 0.5)
