"""A target that gives no answer is an ERROR for its row, whatever is asserted of the answer."""

import gzip
import zlib

import pytest

PACKED = {
    "gzip": gzip.compress(b"the answer " * 99),
    "deflate": zlib.compress(b"the answer " * 99),
    "raw deflate": zlib.compress(b"the answer " * 99)[2:-4],
}


@pytest.mark.parametrize("encoding", PACKED)
def test_a_packed_answer_is_whole_or_none(gate, llm, encoding):
    provider = {"id": "http", "config": {"url": llm.base, "method": "POST", "body": {"q": "{{prompt}}"}, "transformResponse": "text"}}
    config = {"prompts": ["hi"], "providers": [provider], "tests": [{"assert": [{"type": "not-contains", "value": "secret"}]}]}
    body = PACKED[encoding]
    for end, code in ((None, 0), (len(body) // 2, 3), (len(body) - 1, 3)):
        head = f"Content-Encoding: {encoding.removeprefix('raw ')}\r\nContent-Length: {len(body[:end])}\r\nConnection: close"
        llm.reply = lambda path, content, head=head, end=end: f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + body[:end]
        ran = gate(config)
        assert (ran.code, "cannot be unpacked: it ends too early" in ran.grades[0]["reason"]) == (code, code == 3)
