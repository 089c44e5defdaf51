"""The page for a browser holds everything, and nothing in it runs but one script of ours, or is fetched."""

import base64
import hashlib
import re

from gradegate.reports.delivery.report import Links
from gradegate.results.run_result import Decision
from gradegate.structs import replace
from support import samples, screens, showcase
from support.each import each
from support.pages import Page


def render(decision: Decision, links: Links = samples.LINKS) -> str:
    return samples.render_report("html", decision, links)


def read(decision: Decision, links: Links = samples.LINKS) -> tuple[str, Page]:
    text = render(decision, links)
    return text, Page(text)


def cases(page: Page) -> list[dict[str, str | None]]:
    """The attributes of the cases, in order."""
    found = [attributes for tag, attributes in page.elements if tag == "details"]
    return [attributes for attributes in found if (attributes.get("class") or "").startswith("case ")]


@each("make", [samples.odd, samples.blocked_decision, showcase.showcase])
def test_nothing_runs_but_our_script_and_nothing_is_fetched(make) -> None:  # type: ignore[no-untyped-def]
    text, page = read(make())
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in ("style", "src", "srcset", "action", "srcdoc")}
    addresses = [address for address in page.addresses if not address.startswith("https://github.com/octo/shop/")]
    assert addresses == []
    blocks = {name: re.findall(rf"<{name}>(.*?)</{name}>", text, re.DOTALL) for name in ("style", "script")}
    digests = {}
    for name, (block,) in blocks.items():
        digests[name] = base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{digests['style']}'",
        f"script-src 'sha256-{digests['script']}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_a_bar_of_passes_stands_beside_rates_alone() -> None:
    rules = re.findall(r"<tr class=.*?</tr>", render(showcase.showcase()), re.DOTALL)
    assert {("mean score" in rule, "<svg" in rule) for rule in rules if "pass</td>" in rule or "mean score" in rule} == {
        (True, False),
        (False, True),
    }


def test_a_case_names_by_numbers_what_it_can_be_chosen_by() -> None:
    text, page = read(showcase.showcase(), screens.LINKS)
    first, grounded = cases(page)[:2]
    assert (first["data-rule"], first["data-metric"], first["data-provider"]) == ("0 1 4", "0 1", "0")
    assert (grounded["data-rule"], grounded["data-metric"]) == ("1 2", "2")
    assert [it["data-beside"] for it in cases(page)[:7]] == ["new", "new", "new", "", "known", "", "fixed"]
    assert [it["data-outcome"] for it in cases(page)[:7]] == "fail fail fail error known advisory pass".split()
    for title in ("Search", "Outcome", "Rule", "Metric", "Provider", "Compared with the base"):
        assert f"<label>{title} <" in text
    assert "<label>Prompt" not in text  # there is one, and nothing to choose


def test_the_first_failure_is_unfolded_and_no_case_of_a_run_that_passes() -> None:
    _, page = read(samples.blocked_decision())
    assert [it["class"] for it in cases(page)] == [f"case {kind}" for kind in "fail error error error advisory pass".split()]
    assert ["open" in it for it in cases(page)] == [True, False, False, False, False, False]
    assert [it["id"] for it in cases(page)] == [f"case-{number}" for number in (2, 3, 4, 5, 6, 1)]
    assert ["open" in it for it in cases(read(samples.passed_decision())[1])] == [False, False]


def test_asks_of_one_kind_are_counted() -> None:
    decision = showcase.showcase()
    row = decision.run.rows[0]
    votes = (*row.grades[0].votes, *[row.grades[0].votes[0]] * 4)
    page = render(samples.decision(decision.outcome, "", replace(row, grades=(replace(row.grades[0], votes=votes),))))
    told = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "Asked 7 times 5 times: failed score 0 (D) 60 days is not 30 days. passed score 1" in told


def test_a_rule_that_waits_for_a_baseline_is_marked_like_an_error() -> None:
    decision = showcase.showcase()
    waiting = replace(decision.rules[0], outcome=None)
    text = render(replace(decision, rules=(waiting, *decision.rules[1:])))
    assert '<tr class="error">' in text
