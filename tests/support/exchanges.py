"""Exchanges with the API of a vendor in the YAML beside a test module: a provider, what it is asked, and what must come of that.

An exchange is laid over `usual` (or what `like` names), with `rows`, `columns` and `ways` as in `support.scenes`. Its keys: `provider`
(an id), its `config`, `env` (the whole environment), what the `llm` says, as in a scene, and the parameters that it `refuses`. It is asked
`messages` (a role with its text, and `images`), with `options`, `vars` and a `schema` if that is true; or to `embed` texts, to `classify`
or to `moderate` one; `times` over, 0 where it is only built. `<base>` is the address of the server (`<root>` without `/v1`, `<port>`),
`<pixel>` an image as data (`<data>`: its base64), `<url>` one by its address, `<schema>` the schema.

In `expect`, a `mistake` has these words and sends nothing. There are `text`, `finish_reason`, `refused`, `metadata` and `constrained` of
the reply, or what was `given` (vectors, labels, flags); `texts` of all times, `error`, `trouble` and `status`; `tokens` read and written,
`calls`, and `cost` and `rates` in millionths of a dollar; `body`, `path` and `headers` of the last request, `bodies` and `paths` of all,
how many were `requested`; and `host`, `url`, `kinds` and `structured` of the provider. `support.cells` has the words for values.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gradegate.core.conversation import Message, Reply
from gradegate.errors import ConfigError, ProviderError
from gradegate.sandbox.evaluate import reset_accounts
from support.cells import differences
from support.each import tables
from support.fake_llm import FakeLlm
from support.scenes import fill_in_values, laid, script, variants
from support.vendors import PIXEL, SCHEMA, URL, ask, build

KEYS = {*"provider config env llm refuses messages schema options vars embed classify moderate times expect".split()}
QUESTION = [{"user": "is it so?"}]


def exchanges(file: str, held: Callable[[str, dict], None] = lambda path, body: None) -> Callable[..., None]:
    """The test that plays every exchange of the YAML beside a test module; of a `test_exchanges.py`, those of its folder that are
    beside no module. Each request is `held` to a rule, which raises AssertionError.
    """
    path = Path(file)
    paths = sorted(path.parent.glob("[!t]*.yaml")) if path.stem == "test_exchanges" else [path.with_suffix(".yaml")]
    whole = {it.stem: tables(it) for it in paths}

    @pytest.mark.parametrize(("stem", "name"), [(stem, name) for stem, written in whole.items() for name in written.get("exchanges", ())])
    def plays(stem: str, name: str, llm: FakeLlm, tmp_path: Path) -> None:
        written, failed = whole[stem], []
        exchange = written["exchanges"][name]
        for label, (step,) in variants(laid(written[exchange.get("like", "usual")], exchange)):
            reset_accounts()
            places = {"base": llm.base, "root": llm.base.removesuffix("/v1"), "port": llm.port}
            asked = fill_in_values(step, {**places, "pixel": PIXEL, "data": PIXEL.partition("base64,")[2], "url": URL, "schema": SCHEMA})
            left = play(asked, llm)
            expect = {**({} if asked["expect"].get("mistake") else {"err": ""}), "error": "", **asked["expect"]}
            failed += [f"{label}: {it}" for it in differences(expect, left, tmp_path)]
            for body, place in zip(left["bodies"], left["paths"], strict=True):
                held(place, body)
        if failed:
            pytest.fail("\n".join([name, *failed]), pytrace=False)

    return plays


def play(step: Mapping[str, Any], llm: FakeLlm) -> dict[str, Any]:
    """What is left once it has been asked."""
    assert step.keys() <= KEYS, step.keys() - KEYS
    llm.requests.clear()
    refused = [{"when": f"'{name}'", "status": 400, "sent": {"error": f"Unknown parameter: '{name}'."}} for name in step.get("refuses", ())]
    llm.reply = script([*refused, *step.get("llm", ["yes"])])
    left: dict[str, Any] = {"error": "", "err": "", "texts": []}
    try:
        provider = build(step["provider"], step.get("config"), **step.get("env", {}))
        rates = provider.rates and [round(rate * 1e6, 9) for rate in provider.rates]
        left |= {"host": provider.host, "url": provider.url, "kinds": [*provider.kinds], "structured": provider.structured, "rates": rates}
        for _ in range(step.get("times", 1)):
            try:
                left |= answer_step(step, provider, left)
            except ProviderError as e:
                left |= {"error": str(e), "trouble": e.trouble.name, "status": e.status, "texts": [*left["texts"], str(e)]}
    except ConfigError as e:
        left["err"] = str(e)
    sent = [{"path": path, "body": body, "headers": {name.lower(): it for name, it in own.items()}} for path, body, own in llm.requests]
    left |= {"requested": len(sent), "bodies": llm.bodies, "paths": [it["path"] for it in sent]}
    return {**left, **(sent[-1] if sent else {})}


def answer_step(step: Mapping[str, Any], provider: Any, left: Mapping[str, Any]) -> dict[str, Any]:
    """What one question leaves. Raises ProviderError."""
    call = next((name for name in ("embed", "classify", "moderate") if name in step), "")
    if call:
        given, usage = getattr(provider, call)(step[call], *(["a prompt"] if call == "moderate" else []))
        own = {"given": given}
    else:
        said = [Message(next(iter(it)), next(iter(it.values())), tuple(it.get("images", ()))) for it in step.get("messages", QUESTION)]
        reply: Reply = ask(
            provider, *said, schema=SCHEMA if step.get("schema") else None, options=step.get("options"), **step.get("vars", {})
        )
        own = {name: getattr(reply, name) for name in ("text", "finish_reason", "refused", "metadata", "constrained")}
        own["texts"], usage = [*left["texts"], reply.text], reply.usage
    cost = None if usage.known_cost is None else usage.known_cost * 1e6
    return {**own, "tokens": [usage.prompt_tokens, usage.completion_tokens], "calls": usage.calls, "cost": cost}
