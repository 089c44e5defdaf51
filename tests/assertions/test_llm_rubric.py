import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.assertions.judge import form as scalars
from gradegate.assertions.judge.form import Form
from gradegate.assertions.llm_rubric import SCHEMA, LlmRubric
from gradegate.errors import Unreadable
from support.readers import read

OBJECTS = st.dictionaries(
    st.sampled_from(["pass", "score", "reason", "result", "passed", "confidence"]),
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | st.sampled_from(["true", "no", "PASS", "maybe"]),
)
BEFORE = {"": True, "It is fine, not great.\n\n": True, "<think>{'pass': false}</think>": True, "My verdict: ": False, "```json\n": False}


@given(st.sampled_from(sorted(BEFORE)), OBJECTS, st.sampled_from([None, 0.5, 2]), st.booleans())
def test_there_is_a_verdict_exactly_where_the_rules_say(before, verdict, threshold, is_our_prompt):
    reply = before + json.dumps(verdict)
    says = scalars.parse_truth(verdict.get("pass"))
    score = scalars.parse_number(verdict.get("score"))
    unread = score is None and "score" in verdict
    decided = says is not None or ("pass" not in verdict and score is not None and threshold is not None)
    readable = BEFORE[before] and decided and not (unread and threshold is not None)
    readable &= not verdict.keys() & {"result", "passed"}
    if threshold == 0.5 and score is not None:
        readable &= 0 <= score <= 1
    if is_our_prompt and score is not None:
        readable &= not (says is True and score <= 0)
        readable &= not (says is False and score == 1 and threshold == 0.5)
    form = Form(SCHEMA, partial(LlmRubric(value="v", threshold=threshold).read, is_our_prompt=is_our_prompt))
    if readable:
        assert read(form, reply).passed is says
    else:
        with pytest.raises(Unreadable):
            read(form, reply)
