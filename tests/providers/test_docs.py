"""The pages on providers against the registry and the code."""

import csv
import re
from pathlib import Path

from gradegate.providers.api.provider import PROVIDERS

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("providers.md", "provider-options.md", "local-models.md")
PAGE = (ROOT / "docs" / "providers.md").read_text()
TABLE = list(csv.DictReader((ROOT / "docs" / "providers.csv").read_text().splitlines()))
QUOTED = set(re.findall(r"`([^`\n]+)`", "".join((ROOT / "docs" / name).read_text() for name in PAGES)))
SOURCES = [*(ROOT / "src/gradegate/providers").glob("*.py")]


def test_every_id_is_on_the_page_and_in_the_table_and_no_other():
    ours = {name for name, build in PROVIDERS if build.__module__.startswith("gradegate.")}  # tests bring others
    assert {row["id"] for row in TABLE} == ours
    prefixes = set(re.findall(r"[\w-]+(?::[a-z-]+)?", " ".join(re.findall(r"`([^`\n]+)`", PAGE))))
    kinds = ("chat", "text-generation", "text-classification", "token-classification", "feature-extraction", "sentence-similarity")
    prefixes |= {f"{name}:{kind}" for name in ("huggingface", "hf") for kind in kinds if f"`{kind}`" in PAGE}
    prefixes |= {name.replace("azure:", "azureopenai:") for name in prefixes}
    assert ours - prefixes == set()


def test_every_option_of_a_provider_is_in_the_table():
    for name, build in PROVIDERS:
        if build.__module__.startswith("gradegate."):
            (row,) = [row for row in TABLE if row["id"] == name]
            assert set(getattr(build, "options", None) or ()) == set(row["options"].split()), name


def test_every_variable_is_documented():
    read = {
        name
        for path in (*SOURCES, ROOT / "src/gradegate/providers/compatible.yaml")
        for name in re.findall(r"[\"']([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[\"']", path.read_text())
        if name.endswith(("_KEY", "_TOKEN", "_HOST", "_URL", "_VERSION", "_ORGANIZATION"))
    }
    assert read
    tabled = {name for row in TABLE for name in (row["keys"] + " " + row["addresses"]).split()}
    assert read - QUOTED - tabled == set()


def test_every_provider_says_where_its_api_is_described():
    for path in SOURCES:
        text = path.read_text()
        if path.stem not in ("__init__", "echo", "scripted"):
            assert "https://" in text.split('"""')[1], path.name
