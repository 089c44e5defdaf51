"""Spans as exporters write them; the types of OpenTelemetry say that they are some."""

import json


def any_value(value):
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    kinds = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}
    return {kinds[type(value)]: str(value) if type(value) is int else value}


def span(number, attributes, parent=0, trace=1, status=None, start=1000):
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

    ends = {"startTimeUnixNano": str(start * 10**9 + number), "endTimeUnixNano": str((start + 2) * 10**9)}
    ids = {"traceId": f"{trace:032x}", "spanId": f"{number:016x}", **({"parentSpanId": f"{parent:016x}"} if parent else {})}
    listed = [{"key": key, "value": any_value(value)} for key, value in attributes.items()]
    made = {**ids, "name": "s", **ends, "attributes": listed, **({"status": status} if status else {})}
    ParseDict({key: value for key, value in made.items() if not key.endswith("Id")}, Span())  # ids are hex here, and not base64
    return made


def make_trace(*spans):
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def genai(asked, answered, **more):
    """Attributes of a chat span by the GenAI conventions."""
    heard = [{"role": "user", "parts": [{"type": "text", "content": asked}]}]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": answered}], "finish_reason": "stop"}]
    messages = {"gen_ai.input.messages": json.dumps(heard), "gen_ai.output.messages": json.dumps(said)}
    tokens = {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 3, "gen_ai.response.finish_reasons": ["stop"]}
    return {"gen_ai.operation.name": "chat", **messages, **tokens, **more}
