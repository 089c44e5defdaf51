"""Makes ``providers/api/prices.yaml`` from the data of the ``genai-prices`` package."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path

from genai_prices.data import providers
from genai_prices.types import ModelInfo, ModelPrice, Provider, TieredPrices

Rates = tuple[Decimal, Decimal]  # US dollars per million tokens: input, output

PACKAGE = "genai-prices"
# Those that gradegate has providers for. Where two sell a model under one name, the first here sets its price.
VENDORS = (
    "openai",
    "anthropic",
    "google",
    "mistral",
    "x-ai",
    "deepseek",
    "azure",
    "groq",
    "together",
    "aws",
)
# What counts in units other than tokens of text: no pair of rates says what a call costs.
OTHER_UNITS = (
    "output_audio_mtok",
    "output_image_mtok",
    "output_video_mtok",
    "audio_hours",
    "input_audio_hours",
)
# Names of nothing that gradegate asks for text: tuned models have names of their own, the weights that OpenAI publishes
# are sold by others, and a search or an image costs more than its tokens.
SKIPPED = re.compile(
    r"^ft:|:|[^A-Za-z0-9]$|^gpt-oss|audio|image|search|tts|realtime|transcribe|computer-use|ocr"
)
# The end of an id at Bedrock, which ``gradegate.providers.bedrock`` leaves out as well.
VERSION = re.compile(r"(-v\d+)?(:\d+)?$")

HEAD = """\
# {package} {version}, {day}. Made from that package by `make generated`: do not edit.
#
# US dollars per million tokens: input, then output. List prices on the day above, without discounts for caching, batches
# or priority; where long prompts cost more, the price of short ones; where the hour matters, that of the dearest hour.
# A model that is not here costs "unknown", never 0; `cost`, or `inputCost` and `outputCost` (US dollars per token), in
# the provider's config set or override a price. A dated snapshot (NAME-20...) has the price of its model unless it is
# here itself.
"""


def text(path: Path) -> str:
    """The file as it should be. A file made from the installed version keeps its day, so that it is not stale tomorrow."""
    day = _day(path.read_text() if path.exists() else "")
    lines = [HEAD.format(package=PACKAGE, version=version(PACKAGE), day=day)]
    written: dict[str, Rates] = {}
    for vendor in VENDORS:
        provider = next(provider for provider in providers if provider.id == vendor)
        fresh = {
            name: rates for name, rates in sorted(_rates(provider, day)) if name not in written
        }
        kept = {
            name: rates
            for name, rates in fresh.items()
            if not _is_snapshot(name, rates, written | fresh)
        }
        written |= fresh
        lines += [f"# {(provider.pricing_urls or [provider.name])[0]}"] if kept else []
        lines += [
            f"{name}: {_plain(sent)} {_plain(received)}" for name, (sent, received) in kept.items()
        ]
    return "\n".join(lines) + "\n"


def _day(content: str) -> date:
    head = re.match(rf"# {PACKAGE} (\S+), (\S+)\. ", content)
    return (
        date.fromisoformat(head[2])
        if head and head[1] == version(PACKAGE)
        else datetime.now(UTC).date()
    )


def _rates(provider: Provider, day: date) -> Iterator[tuple[str, Rates]]:
    """Every name of every model that costs by the token, with its price."""
    for model in provider.models:
        price = _price(model, day)
        sent, received = (
            _base(getattr(price, "input_mtok", None)),
            _base(getattr(price, "output_mtok", None)),
        )
        if "embed" in model.id:
            received = Decimal(0)
        if (
            sent is None
            or received is None
            or any(getattr(price, unit, None) is not None for unit in OTHER_UNITS)
        ):
            continue
        if provider.id == "google" and model.id.startswith(
            "claude"
        ):  # at Google's cloud, which is not AI Studio
            continue
        if (
            provider.id == "aws"
        ):  # whose names, and where what they cost depends on it their regions, are in its ids
            yield VERSION.sub("", model.id), (sent, received)
            continue
        for name in _names(model.match) | {model.id}:
            if not SKIPPED.search(name) and provider.find_model(name) is model:
                yield name, (sent, received)


def _price(model: ModelInfo, day: date) -> ModelPrice:
    """The price on that day, at its dearest hour."""
    prices = [model.get_prices(datetime.combine(day, time(hour), UTC)) for hour in range(24)]
    return max(prices, key=lambda price: _base(price.input_mtok) or 0)


def _base(price: Decimal | TieredPrices | None) -> Decimal | None:
    return price.base if isinstance(price, TieredPrices) else price


def _names(clause: object) -> set[str]:
    """The names that a model's matching rule spells out."""
    spelled = {
        str(getattr(clause, kind)) for kind in ("equals", "starts_with") if hasattr(clause, kind)
    }
    return spelled.union(*(_names(part) for part in getattr(clause, "or_", ())))


def _is_snapshot(name: str, rates: Rates, known: dict[str, Rates]) -> bool:
    """Whether ``gradegate.providers.api.prices.price`` gives the name this price without a line of its own."""
    models = [other for other in known if name.startswith(f"{other}-20")]
    return bool(models) and known[max(models, key=len)] == rates


def _plain(dollars: Decimal) -> str:
    return f"{dollars.normalize():f}"
