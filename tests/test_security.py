"""The security documents: every defence that they name is tested, and what they list is what is there."""

import re
from importlib.metadata import distribution, metadata
from pathlib import Path

import yaml

from support.each import each

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "security.md").read_text()
TESTS: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
NAMED = [tuple(test.split("::")) for tests in TESTS.values() for test in tests]
ROWS = re.findall(r"^\| (S\d+) \|(.*)\|$", PAGE, re.MULTILINE)
# Where a package states its licence by a classifier alone, or in other words than SPDX.
SPDX = {"BSD License": "BSD-3-Clause", "MIT License": "MIT", "The MIT License (MIT)": "MIT"}


@each(("path", "name"), NAMED)
def test_a_test_of_a_defence_exists(path: str, name: str) -> None:
    assert re.search(rf"^ *def {name}\(", (ROOT / path).read_text(), re.MULTILINE), f"{path}::{name}"


def test_every_threat_has_a_row_with_a_defence_and_its_tests() -> None:
    assert [number for number, _ in ROWS] == [f"S{i}" for i in range(1, 20)]
    for number, row in ROWS:
        _, defence, _ = (cell.strip() for cell in row.split("|"))
        assert len(defence) > 20, number
        assert TESTS[number], number


def test_the_permissions_are_those_of_the_example() -> None:
    table = PAGE.partition("## Permissions")[2].partition("\n## ")[0]
    example = (ROOT / "examples" / "workflow.yml").read_text()
    listed = set(re.findall(r"^\| `([a-z-]+: [a-z]+)` \|", table, re.MULTILINE))
    assert listed == set(re.findall(r"^ {6}([a-z-]+: (?:read|write))\b", example, re.MULTILINE))


def stated(package: str) -> str:
    """The licence of an installed package in its own words."""
    about = metadata(package)
    classifiers = [line for line in about.get_all("Classifier") or [] if line.startswith("License :: OSI Approved :: ")]
    words = about["License-Expression"] or about["License"] or "".join(classifiers[:1]).rpartition(" :: ")[2]
    words = words or (distribution(package).read_text("licenses/LICENSE") or "").partition("\n")[0]
    return SPDX.get(words, words)


def test_the_licences_are_those_that_the_packages_state() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", PAGE.partition("## Licences")[2], re.MULTILINE)
    listed = {package: licence for licence, names in rows if licence != "licence" for package in names.split(", ")}
    locked = re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert listed == {package: stated(package) for package in locked}
