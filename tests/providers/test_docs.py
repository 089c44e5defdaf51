"""The pages on providers against the registry and the code."""

import re
from pathlib import Path

from gradegate.providers.api.provider import PROVIDERS

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("providers.md", "provider-options.md", "http.md", "graders.md")
PAGE = (ROOT / "docs" / "providers.md").read_text()
QUOTED = set(re.findall(r"`([^`\n]+)`", "".join((ROOT / "docs" / name).read_text() for name in PAGES)))
SOURCES = [*(ROOT / "src/gradegate/providers").glob("*.py")]


def test_every_id_is_documented_and_no_other():
    rows = "".join(re.findall(r"^\| id \|.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)).splitlines()
    ids = {quoted for row in rows for quoted in re.findall(r"`([^`]+)`", row.split(" | ")[0])}
    stems = {re.sub(r"(:[A-Z][\w.]*|://\.\.\.|:)$", "", quoted) for quoted in ids}
    ours = {name for name, build in PROVIDERS if build.__module__.startswith("gradegate.")}  # tests bring others
    assert stems == ours


def test_every_option_is_documented():
    options = {
        option for _, build in PROVIDERS if build.__module__.startswith("gradegate.") for option in getattr(build, "options", None) or ()
    }
    assert len(options) > 100
    assert options - QUOTED == set()


def test_every_variable_is_documented():
    read = {
        name
        for path in (*SOURCES, ROOT / "src/gradegate/providers/compatible.yaml")
        for name in re.findall(r"[\"']([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[\"']", path.read_text())
        if name.endswith(("_KEY", "_TOKEN", "_HOST", "_URL", "_VERSION", "_ORGANIZATION"))
    }
    assert read
    assert read - QUOTED == set()


def test_every_provider_says_where_its_api_is_described():
    for path in SOURCES:
        text = path.read_text()
        if path.stem not in ("__init__", "echo", "scripted"):
            assert "https://" in text.split('"""')[1], path.name
