"""The page for a browser holds everything, and nothing in it runs but one script of ours, or is fetched."""

import base64
import hashlib
import re
from dataclasses import replace

from gradegate.reporting.report import REPORTS, Links
from gradegate.values.result import Decision, Outcome
from support import samples, screens, showcase
from support.each import each
from support.pages import Page


def render(decision: Decision, links: Links = samples.LINKS) -> str:
    report = REPORTS.find("html")
    assert report is not None
    return report.render(decision, links).text


def read(decision: Decision, links: Links = samples.LINKS) -> tuple[str, Page]:
    text = render(decision, links)
    return text, Page(text)


def cases(page: Page) -> list[dict[str, str | None]]:
    """The attributes of the cases, in order."""
    found = [attributes for tag, attributes in page.elements if tag == "details"]
    return [attributes for attributes in found if (attributes.get("class") or "").startswith("case ")]


def case(text: str, number: int) -> str:
    """The HTML of one case."""
    start = text.index(f'id="case-{number}"')
    end = text.find('<details class="case', start)
    return text[start : end if end > 0 else text.index("</main>")]


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_every_case_can_be_unfolded_and_the_first_failure_is() -> None:
    text, page = read(samples.blocked())
    assert [it["class"] for it in cases(page)] == [f"case {kind}" for kind in "fail error error error advisory pass".split()]
    assert ["open" in it for it in cases(page)] == [True, False, False, False, False, False]
    assert [it["id"] for it in cases(page)] == [f"case-{number}" for number in (2, 3, 4, 5, 6, 1)]
    for said in ("Blocked", "New York", samples.failing().grades[0].reason, "error", "cost unknown"):
        assert said in words(text)
    assert f'href="https://github.com/octo/shop/blob/0123abc/{samples.CONFIG}#L21"' in text


def test_of_a_run_that_passes_no_case_is_open() -> None:
    _, page = read(samples.passed())
    assert ["open" in it for it in cases(page)] == [False, False]


@each("make", [samples.odd, samples.blocked, showcase.showcase])
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


def test_outside_of_github_there_are_no_links() -> None:
    _, page = read(samples.blocked(), Links())
    assert "a" not in {tag for tag, _ in page.elements}


def test_a_page_that_no_browser_bears_is_cut_with_a_count() -> None:
    text, page = read(samples.decision(samples.passed().outcome, "", *[samples.passing()] * 2500))
    assert len(cases(page)) == 2000
    assert "500 more cases; results.json has all of them." in text


def test_words_that_differ_are_marked() -> None:
    told = case(render(showcase.showcase()), 1)
    assert "Returns are taken for <ins>30</ins> days after delivery, <ins>in</ins> the" in told
    assert "Returns are taken for <del>60</del> days after delivery, <del>also without</del> the" in told


def test_a_bar_of_passes_stands_beside_rates_alone() -> None:
    rules = re.findall(r"<tr class=.*?</tr>", render(showcase.showcase()), re.DOTALL)
    assert {("mean score" in rule, "<svg" in rule) for rule in rules if "pass</td>" in rule or "mean score" in rule} == {
        (True, False),
        (False, True),
    }


def test_every_ask_is_there() -> None:
    told = words(case(render(showcase.showcase()), 1))
    assert "factuality failed, 2 of 3 asks (new)" in told
    assert "passed score 1 openai:chat:gpt-5-mini (E) The difference does not matter." in told
    decision = showcase.showcase()
    row = decision.run.rows[0]
    votes = (*row.grades[0].votes, *[row.grades[0].votes[0]] * 4)
    told = words(render(samples.decision(decision.outcome, "", replace(row, grades=(replace(row.grades[0], votes=votes),)))))
    assert "Asked 7 times 5 times: failed score 0 openai:chat:gpt-5-mini (D) 60 days is not 30 days. passed score 1" in told


def test_a_claim_stands_beside_the_sentence_that_it_is_held_against() -> None:
    told = words(case(render(showcase.showcase()), 2))
    assert (
        "contradicted The shop pays for sending the machine in. The documents say that the buyer pays for sending it in. "
        "nearest in the sources: The buyer pays for sending a machine in; the shop pays for sending it back."
    ) in told


def test_a_conversation_is_one_and_the_turn_that_fails_is_marked() -> None:
    told = case(render(showcase.showcase()), 3)
    turns = re.findall(r'<li class="(user|answer)( guilty)?">\s*<p class="soft">(\d) ', told)
    assert turns == [
        ("user", "", "1"),
        ("answer", "", "2"),
        ("user", "", "3"),
        ("answer", " guilty", "4"),
        ("user", "", "5"),
        ("answer", "", "6"),
    ]
    assert '4 &middot; assistant &middot; <span class="word">fails knowledge-retention</span>' in told
    assert "1 document Parcels go to the address of the order." in words(told)


def test_a_case_says_what_target_and_grader_took() -> None:
    told = words(case(render(showcase.showcase()), 1))
    assert "target: 1 call, 352 tokens, 0.0007 USD, 1.24 s &middot; grader: 3 calls, 1,370 tokens, 0.0031 USD, 2.61 s" in told


def test_long_texts_are_folded_with_their_beginning_in_sight() -> None:
    told = case(render(showcase.showcase()), 6)
    assert '<details class="long"><summary><span class="start">The machine has to be filled' in told
    assert "all 4,740 characters" in words(told)


def test_scores_stand_beside_their_threshold() -> None:
    text = render(showcase.showcase())
    assert 'aria-label="22 scores: 2 from 0 to 0.1, 20 from 0.9 to 1; threshold 0.5"' in text
    assert '<line x1="100.0" x2="100.0"' in text
    assert 'aria-label="23 assertions: 20 passed, 2 failed, 1 error"' in text


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


def test_only_what_blocks_is_under_blocks() -> None:
    made = screens.decided([screens.failing(0), screens.failing(1, "pre-existing"), screens.passing(2)])
    text = words(render(replace(made, blocking=frozenset({0}))))
    assert "Blocks 1 case" in text
    assert "Known, does not block 1 case" in text


def test_a_run_without_cases_has_nothing_to_choose_and_no_script() -> None:
    _, page = read(screens.not_run())
    assert not {"form", "script"} & {tag for tag, _ in page.elements}


def test_a_case_without_an_answer_says_why() -> None:
    told = words(case(render(samples.blocked()), 4))
    assert "No answer api.openai.com answered 503 after 4 attempts: The server is overloaded" in told


def test_a_kind_without_a_score_says_so() -> None:
    row = samples.row("x", Outcome.ERROR, samples.grade(Outcome.ERROR, reason="no verdict"))
    assert "no score" in render(samples.decision(samples.inconclusive().outcome, "", row))


def test_who_answered_is_in_sight_where_there_are_several() -> None:
    one, several = render(screens.weakened()), render(showcase.showcase())
    summaries = [words(part.partition("</summary>")[0]) for part in (case(one, 1), case(several, 1))]
    assert "openai:chat:gpt-5" not in summaries[0]
    assert "openai:chat:gpt-5" in summaries[1]
    assert "openai:chat:gpt-5 &middot; Answer as the support desk &middot; target" in words(case(one, 1))
