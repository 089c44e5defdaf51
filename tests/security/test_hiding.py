import base64
import hashlib
import html
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.security.redaction import redactor
from support.signs import bold, entities, tag_letters

KEY = "sk-canary-4f9A+/z0"
hide = redactor([KEY])


def test_plain_text_is_left_as_it_is():
    text = "A reply, with 5 % & more\n\tand `code`; sk-other… \\n &amp; %20\u200b"
    assert hide(text) == text
    assert redactor([])(text) == text


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        quote(KEY, safe=""),
        quote(KEY, safe="").replace("%2B", "%2b"),
        quote(quote(KEY, safe=""), safe=""),
        "".join(f"%{byte:02x}" for byte in KEY.encode()),
        html.escape(KEY),
        "".join(f"&#{ord(c)};" for c in KEY),
        "".join(f"&#x{ord(c):x};" for c in KEY),
        json.dumps(KEY)[1:-1],
        "".join(f"\\u{ord(c):04x}" for c in KEY),
        "".join(f"\\x{ord(c):02x}" for c in KEY),
        KEY.replace("-", "\\-"),
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
        "\u200b".join(KEY),
        KEY[:5] + "\u00ad" + KEY[5:9] + "\ufeff" + KEY[9:],
        KEY[:7] + "\n" + KEY[7:],
        KEY[:7] + "\r\n    " + KEY[7:],
        KEY[:7] + "\\\n" + KEY[7:],
        KEY[:7] + "\\n" + KEY[7:],
        KEY[:7] + "\u2028" + KEY[7:],
        KEY[:3] + "\x1b[31m" + KEY[3:],
        KEY[:7] + "&#8203;" + KEY[7:],
        KEY[:7] + "&shy;" + KEY[7:],
        "".join(f"&#{ord(c)}" for c in KEY),
        "\\".join(KEY),
        ":".join(f"{byte:02x}" for byte in KEY.encode()),
        " ".join(f"{byte:02X}" for byte in KEY.encode()),
        KEY[:7] + "=\n" + KEY[7:],
        *(KEY[:7] + sign + KEY[7:] for sign in "\0\a\b\f\x7f\x85\u3164\u2800\U000e0041_*~`"),
        KEY[:7] + "<br>" + KEY[7:],
        KEY[:7] + "<!-- x -->" + KEY[7:],
        f"**{KEY[:7]}**{KEY[7:]}"[2:],
        " ".join(KEY),
        KEY.upper(),
        "".join(chr(ord(c) + 0xFEE0) if c.isalnum() else c for c in KEY),
        KEY.replace("-", "&hyphen;"),
        *(mark.join(KEY) for mark in "\u0301\u0323\u20e3"),
        "\\u0301".join(KEY),
        tag_letters(KEY),
        KEY[:7] + tag_letters(KEY[7:]),
        KEY[:7] + tag_letters("xY") + KEY[7:],
        json.dumps(tag_letters(KEY))[1:-1],
        json.dumps(KEY[:7] + tag_letters("xY") + KEY[7:])[1:-1],
        bold(KEY),
        json.dumps(bold(KEY))[1:-1],
        json.dumps(bold(KEY))[1:-1].upper().replace("\\U", "\\u"),
        html.escape(entities(KEY)),
        quote(html.escape(entities(KEY)), safe=""),
        quote(quote(entities(KEY), safe=""), safe=""),
        json.dumps(json.dumps(json.dumps("\n".join(KEY))))[7:-7],
        KEY[1:],
        KEY[:-1],
    ],
)
def test_every_form_is_hidden(form):
    assert hide(f"<{form}>") == "<***>"


@pytest.mark.parametrize("short_key", ["s3cr3t-Key", "sesame-open"])
def test_a_sign_that_nobody_sees_hides_no_key_of_few_letters(short_key):
    broken = short_key[:4] + tag_letters("n") + short_key[4:]
    for text in (broken, json.dumps(broken)[1:-1], tag_letters(short_key)):
        assert redactor([short_key])(f"<{text}>") == "<***>", text


def test_what_stands_beside_an_escaped_key_is_left():
    text = f"{bold('no key')} \\ud835 {json.dumps(bold(KEY))} \\ud83d\\ude00 {tag_letters('nothing')} e\u0301"
    assert hide(text) == text.replace(json.dumps(bold(KEY))[1:-1], "***")


@pytest.mark.parametrize("before", ["", "u", "us", "Bearer ", "user:", "someone:"])
@pytest.mark.parametrize("after", ["", "\n", "@host"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_is_hidden_wherever_the_key_stands_in_it(before, after, encode):
    text = encode(f"{before}{KEY}{after}".encode()).decode()
    for form in (text, text.rstrip("="), "\n".join(text[i : i + 9] for i in range(0, len(text), 9))):
        left = hide(f"<{form}>").replace("\n", "").replace("=", "")
        assert "***" in left
        # What is left is of what stands beside the key, and at most a character at each end that the two share.
        assert len(left.strip("<>").replace("***", "")) <= (len(before.encode()) + len(after.encode())) * 8 / 6 + 2


@pytest.mark.parametrize("cut", range(6, len(KEY)))
def test_a_key_that_is_cut_off_is_hidden(cut):
    assert hide(f"said {KEY[:cut]}…") == "said ***…"
    assert hide(f"said '{KEY[:cut]}…' or more") == "said '***…' or more"
    assert hide(f"…{KEY[-cut:]} was refused") == "…*** was refused"
    assert (hide(f"said {KEY[:cut]}") == "said ***") == (cut >= 8)  # where a model came to its end


def test_the_lines_of_a_long_key_are_hidden_each():
    pem = "-----BEGIN KEY-----\nMIIBCgKCAQEA1234567890\nqwertyuiopasdfgh\n-----END KEY-----\n"
    assert redactor([pem])("x MIIBCgKCAQEA1234567890 y") == "x *** y"
    assert redactor([pem])(json.dumps({"k": pem})) == '{"k": "***\\n"}'


def test_a_long_part_of_a_long_key_is_hidden_anywhere():
    long = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    part = redactor([long])
    assert part(f"it is {long[8:]}, so") == "it is ***, so"
    assert part(f"it is {long[:30]} and {long[-24:]}!") == "it is *** and ***!"
    assert part("the prefix sk-proj- and a1B2c3 are no secret") == "the prefix sk-proj- and a1B2c3 are no secret"


def test_a_long_part_of_a_token_is_hidden_wherever_it_begins():
    """Of two thousand letters and more: a token of a cloud. Not one letter of such a part is left."""
    token = "".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(38))
    hidden = redactor([token])
    for start in range(0, len(token) - 100, 7):
        assert hidden(f"it is {token[start : start + 100]}, so") == "it is ***, so"


@pytest.mark.parametrize("key", ["s3cr", "pw-42!", "hunter2"])
def test_a_short_key_is_hidden_as_a_word_and_in_documents_not_at_all(key):
    assert redactor([key])(f"the key {key}, refused; x{key}x") == f"the key ***, refused; x{key}x"
    assert redactor([key], short=False)(f"the key {key}") == f"the key {key}"
    assert base64.b64encode(key.encode()).decode()[:9] not in redactor([key])(base64.b64encode(f"u:{key}".encode()).decode())
    assert redactor([key])(key.encode().hex()) == "***"


@pytest.mark.parametrize("key", ["k", "x1", "test", "none", "EMPTY", "dummy", "8080"])
def test_a_placeholder_is_no_secret(key):
    assert redactor([key])(f"the {key} of it") == f"the {key} of it"


def test_two_keys_that_overlap_go_as_one():
    assert redactor(["abcdefgh", "efghijkl"])("x abcdefghijkl y") == "x *** y"


@given(st.text(), st.text())
def test_no_text_keeps_the_key(before, after):
    assert KEY not in hide(before + KEY + after)


@given(st.text(alphabet="sk-canary4f9A+/z0%&;#\\nu\n …=", max_size=60))
def test_whatever_is_left_is_what_was_there(text):
    parts = hide(text).split("***")
    position = 0
    for part in parts:
        position = text.index(part, position) + len(part)
