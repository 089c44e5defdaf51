"""Tokens of a run: minted once for all threads, anew before they end, and not again and again in vain."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gradegate.errors import ProviderError, Trouble
from gradegate.http.credentials import bearer_header
from gradegate.http.tokens import MintedToken, Token, Tokens, parse_lifetime
from gradegate.security.redaction import minted_token_traces, redactor
from gradegate.security.secret_traces import SearchableText

LONG, OVER = 3600.0, 1e-9  # seconds: one that is not renewed in a test, one that has ended at once


class Mint:
    """Gives token after token; an exception in the list is raised. Waits for ``go`` where that is not set."""

    def __init__(self, *made):
        self.made, self.calls = list(made), 0
        self.go = threading.Event()
        self.go.set()
        self.begun = threading.Event()

    def __call__(self) -> Token:
        self.calls += 1
        self.begun.set()
        assert self.go.wait(60)
        made = self.made.pop(0)
        if isinstance(made, Exception):
            raise made
        return made


def refusal_error():
    return ProviderError("no rule matches", Trouble.SETUP)


def test_fifty_threads_share_one():
    mint = Mint(Token("token-of-all-threads", LONG))
    mint.go.clear()
    token, barrier = MintedToken(mint), threading.Barrier(51)

    def take():
        barrier.wait(60)
        return token.take_token()

    with ThreadPoolExecutor(50) as pool:
        taken = [pool.submit(take) for _ in range(50)]
        barrier.wait(60)
        assert mint.begun.wait(60)
        mint.go.set()
        assert {future.result(60) for future in taken} == {"token-of-all-threads"}
    assert mint.calls == 1


def test_fifty_threads_share_a_refusal():
    mint = Mint(refusal_error())
    token = MintedToken(mint)

    def take():
        with pytest.raises(ProviderError, match="no rule matches") as caught:
            token.take_token()
        return caught.value

    with ThreadPoolExecutor(50) as pool:
        errors = [future.result(60) for future in [pool.submit(take) for _ in range(50)]]
    assert mint.calls == 1
    assert {error.trouble for error in errors} == {Trouble.SETUP}
    assert len(set(map(id, errors))) == 50  # each thread raises its own


def test_one_that_has_ended_is_replaced():
    mint = Mint(Token("first-token", OVER), Token("second-token", LONG))
    token = MintedToken(mint)
    assert [token.take_token() for _ in range(3)] == ["first-token", "second-token", "second-token"]


def test_one_that_is_due_serves_until_another_is_there(monkeypatch):
    monkeypatch.setattr("gradegate.http.tokens.RENEWAL_SHARE", 0.0)  # each is due at once
    mint = Mint(Token("first-token", LONG), refusal_error(), Token("third-token", LONG))
    token = MintedToken(mint)
    assert [token.take_token(), token.take_token(), token.take_token()] == ["first-token"] * 3
    assert mint.calls == 2  # a refusal is not asked for again by every call


def test_what_may_pass_is_tried_again_and_not_for_ever():
    down = [ProviderError("cannot be reached", Trouble.UNREACHABLE) for _ in range(5)]
    token = MintedToken(Mint(down[0], down[1], Token("third-token", LONG)))
    for _ in range(2):
        with pytest.raises(ProviderError, match="cannot be reached"):
            token.take_token()
    assert token.take_token() == "third-token"
    mint = Mint(*down)
    token = MintedToken(mint)
    for _ in range(10):
        with pytest.raises(ProviderError, match="cannot be reached") as caught:
            token.take_token()
        assert caught.value.trouble is Trouble.UNREACHABLE
    assert mint.calls == 3


def test_while_one_thread_renews_the_others_take_the_one_before(monkeypatch):
    monkeypatch.setattr("gradegate.http.tokens.RENEWAL_SHARE", 0.0)
    mint = Mint(Token("first-token", LONG), Token("second-token", LONG))
    token = MintedToken(mint)
    assert token.take_token() == "first-token"
    mint.go.clear()
    mint.begun.clear()
    with ThreadPoolExecutor(1) as pool:
        renewing = pool.submit(token.take_token)
        assert mint.begun.wait(60)
        assert token.take_token() == "first-token"
        mint.go.set()
        assert renewing.result(60) == "second-token"


def test_one_that_was_accepted_may_be_replaced_and_another_not():
    token = MintedToken(Mint(Token("first-token", LONG), Token("second-token", LONG)))
    assert token.take_token() == "first-token"
    first, second = bearer_header("first-token"), bearer_header("second-token")
    assert not token.discard_refused(first)
    token.record_success(first)
    assert token.discard_refused(first)
    assert token.take_token() == "second-token"
    assert token.discard_refused(first)  # of another thread: the next one is there already
    assert not token.discard_refused(second)


def test_an_account_has_one_token_whoever_asks():
    tokens = Tokens()
    first = tokens.for_account(("a", "1"), Mint(Token("token-of-a", LONG)))
    assert tokens.for_account(("a", "1"), Mint()) is first
    assert tokens.for_account(("a", "2"), Mint()) is not first


@pytest.mark.parametrize("value", [None, True, 0, -1, "", "x", "-5", "1e9", "9" * 30, float("nan"), float("inf"), [], {}, "٣"])
def test_what_is_no_life_is_none(value):
    with pytest.raises(ProviderError, match="does not say how long"):
        parse_lifetime(value)


@pytest.mark.parametrize(("value", "seconds"), [(3600, 3600.0), (0.5, 0.5), ("3599", 3599.0)])
def test_a_life_is_a_number_of_seconds(value, seconds):
    assert parse_lifetime(value) == seconds


def test_a_token_is_hidden_from_when_it_is_minted():
    hide = redactor(["another-secret-value"])
    text = "it said late-minted-token-001 and bGF0ZS1taW50ZWQtdG9rZW4tMDAx"
    assert hide(text) == text
    MintedToken(Mint(Token("late-minted-token-001", LONG))).take_token()
    assert hide(text) == "it said *** and ***"
    assert minted_token_traces().are_in(SearchableText.from_text("late-minted-token-001"))
    assert "late-minted-token-001" not in repr(Token("late-minted-token-001", LONG))
