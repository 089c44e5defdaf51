"""What the accounts of a run say of it."""

import hashlib

from gradegate.results.accounts import AskedModel, KeyUse, Made
from gradegate.results.gate_changes import ChangeKind, GateChange, GateChanges, describe_changes, guard_reason
from gradegate.results.history import PastVotes
from support.each import each


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


@each(
    ("configs", "expected"),
    [({}, ""), ({"a": "1"}, "1"), ({"b": "2", "a": "1"}, sha("1\n2\n")), ({"a": "2", "b": "1", "c": "3"}, sha("1\n2\n3\n"))],
)
def test_the_digest_of_one_config_is_its_own(configs, expected):
    assert Made(configs=configs).digest == expected


def test_models_and_keys_are_said_with_their_host():
    assert [str(it) for it in (AskedModel("m", "h"), AskedModel("m"), KeyUse("K", "h"))] == ["m at h", "m", "K -> h"]


def test_a_history_is_said_where_it_decides():
    assert (PastVotes(14, 46, bayes_factor=0.0).earlier_votes, PastVotes(14, 46).earlier_votes) == ("14 of 60 before", "")


REMOVED, WEAKER, CHANGED = (GateChange(kind, kind.value) for kind in ChangeKind)


@each(
    ("found", "weakened", "said"),
    [
        ((CHANGED,), False, "this pull request changes its own gate in 1 place: changed"),
        ((CHANGED, CHANGED), False, "this pull request changes its own gate in 2 places: changed"),
        ((WEAKER, CHANGED), True, "this pull request weakens its own gate in 1 place: weaker"),
        ((REMOVED, WEAKER, CHANGED), True, "this pull request weakens its own gate in 2 places: removed"),
    ],
)
def test_only_what_makes_a_gate_easier_weakens_it(found, weakened, said):
    changes = GateChanges(found)
    assert (changes.has_weakening, guard_reason(changes), describe_changes(changes)) == (weakened, said, said.split(":")[0])
    worse, others = changes.parts
    assert (len(worse.found), len(others.found)) == (sum(it is not CHANGED for it in found), found.count(CHANGED))


def test_a_gate_that_is_not_changed_has_nothing_to_guard():
    assert guard_reason(GateChanges()) == ""
