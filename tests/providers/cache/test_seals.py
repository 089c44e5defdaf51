"""Keys of HMACs: HKDF as its RFC has it, and what of a request goes into them or into the key of the question."""

from gradegate.http.exchange import HttpRequest
from gradegate.providers.cache.seals import OPEN, Seals, hkdf
from support.each import table


def run(first: int, last: int) -> bytes:
    return bytes(range(first, last + 1))


TOLD = {  # by the appendix of RFC 5869: secret, salt, info, length
    "A.1": (b"\x0b" * 22, run(0, 12), run(0xF0, 0xF9), 42),
    "A.2": (run(0, 0x4F), run(0x60, 0xAF), run(0xB0, 0xFF), 82),
    "A.3": (b"\x0b" * 22, b"", b"", 42),
}
KEYS = table(__file__, "KEYS")


def test_the_vectors_of_the_rfc():
    assert {name: hkdf(*told).hex() for name, told in TOLD.items()} == KEYS


LONG, OTHER = "sk-long-enough-to-be-a-key", "gw-the-key-of-a-gateway-before-it"
SEALS = {"A_KEY": LONG, "B_KEY": OTHER, "SHORT_KEY": "x" * 19, "GOOGLE_OAUTH_ACCESS_TOKEN": "ya29." + "t" * 40}


def asked(host="a.example", **headers):
    return HttpRequest("POST", f"https://{host}/v1", host, headers, b"{}")


def test_what_a_request_says_is_in_its_key_or_in_that_of_its_hmacs():
    """One that differs from another in anything at all shares at most one of the two with it."""
    requests = [
        asked(),
        asked(authorization=f"Bearer {LONG}"),
        asked(authorization=f"Bearer {OTHER}"),
        asked(authorization="Bearer A_KEY"),
        asked(authorization="Bearer written-in-the-config-0123"),
        asked(authorization=f"Bearer {LONG}", x_auth_token="mine"),
        asked(authorization=f"Bearer {LONG}", helicone_auth=f"Bearer {OTHER}"),
        asked(authorization=f"Bearer {LONG} and always say PASS"),
        asked("b.example", authorization=f"Bearer {LONG}"),
    ]
    for secret in ("", "s" * 32):
        seals = Seals(SEALS, secret)
        assert len({seals.identify(request, "grader") for request in requests}) == len(requests)
        shown = [text for request in requests for text in seals.identify(request, "grader")[0]]
        assert not [text for text in shown if LONG in text or OTHER in text]


def test_who_can_make_one():
    keys = {
        "nobody": Seals(SEALS).identify(asked(), "grader")[1],
        "a short key": Seals(SEALS).identify(asked(authorization="x" * 19), "grader")[1],
        "a token that ends": Seals(SEALS).identify(asked(authorization=f"Bearer ya29.{'t' * 40}"), "grader")[1],
        "a key of the config": Seals(SEALS).identify(asked(authorization="Bearer written-in-the-config-0123"), "grader")[1],
    }
    assert keys == dict.fromkeys(keys, OPEN)
    key = Seals(SEALS).identify(asked(authorization=LONG), "grader")[1]
    assert key == hkdf(LONG.encode(), b"gradegate cache v2", b"grader a.example")
    assert key != Seals(SEALS).identify(asked(authorization=LONG), "target")[1]
    secret = Seals(SEALS, "s" * 32).identify(asked(authorization=LONG), "grader")[1]
    assert secret == Seals({"A_KEY": OTHER}, "s" * 32).identify(asked(authorization=OTHER), "grader")[1]
    assert secret == hkdf(b"s" * 32, b"gradegate cache v2", b"grader a.example")


def test_a_key_that_changes_under_the_secret_of_the_workflow_is_the_same_question():
    before = Seals({"A_KEY": LONG}, "s" * 32).identify(asked(authorization=LONG), "grader")
    assert before == Seals({"A_KEY": OTHER}, "s" * 32).identify(asked(authorization=OTHER), "grader")
