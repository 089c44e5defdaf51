"""A results.json that anybody may have written: it is refused with its place, or pages and stories come of it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import ConfigError
from gradegate.reporting.report import Links
from gradegate.reporting.story import story, summary
from gradegate.results.file import reread
from gradegate.values.result import Decision
from support import samples, screens, showcase


def written(decision: Any) -> dict[str, Any]:
    return json.loads(samples.rendered("json", decision, Links()))


def leaves(value: Any, path: tuple = ()) -> list[tuple]:
    """The paths of everything in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path] if path else []
    for key, item in items:
        found += leaves(item, (*path, key))
    return found


WHOLE = [written(make()) for make in (showcase.showcase, samples.blocked, screens.mixed)]
PATHS = [leaves(document) for document in WHOLE]
ODD = st.one_of(
    st.sampled_from([None, True, -1, 0, 10**9, 10**400, 1e308, -1e308, 1e-308, "", "x", "\u202e::error::x", [], {}]),
    st.sampled_from([[None], [{}], [[]], {"claim": "x"}, [{"claim": "x", "verdict": "no"}], "pass", "<b>", "a" * 30_000]),
    st.text(max_size=5),
    st.floats(allow_nan=False, allow_infinity=False),
)


def told(content: bytes) -> None:
    try:
        decision, _ = reread(content, "results.json")
    except ConfigError as e:
        said = str(e)
    else:
        shown(decision)
        return
    assert said.startswith("results.json: not a results.json of this version: ")


def shown(decision: Decision) -> None:
    for name in ("html", "junit", "summary"):
        assert samples.rendered(name, decision, Links()).encode()
    for at in range(len(decision.run.rows)):
        assert story(decision, at)
        assert summary(decision, at)


@given(st.data())
def test_any_value_anywhere_is_refused_or_shown(data: st.DataObject) -> None:
    which = data.draw(st.integers(0, len(WHOLE) - 1))
    document = json.loads(json.dumps(WHOLE[which]))
    for path in data.draw(st.lists(st.sampled_from(PATHS[which]), min_size=1, max_size=3)):
        place: Any = document
        try:
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = data.draw(ODD)
        except (TypeError, KeyError, IndexError):  # an earlier change took it away
            continue
    told(json.dumps(document).encode())


@given(st.binary(max_size=60))
def test_no_bytes_make_a_traceback(content: bytes) -> None:
    told(content)


def test_a_pattern_that_this_version_does_not_know_is_left_out() -> None:
    document = json.loads(json.dumps(WHOLE[0]))
    document["rules"][0]["select"]["language"] = "en"
    told(json.dumps(document).encode())


def test_counts_below_nothing_are_refused() -> None:
    document = json.loads(json.dumps(WHOLE[0]))
    document["rules"][1]["passed"] = -1
    with pytest.raises(ConfigError, match=r"rules\.1\.passed must be at least 0, not -1"):
        reread(json.dumps(document).encode(), "results.json")
