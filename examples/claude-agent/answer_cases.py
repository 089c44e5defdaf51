"""Has the agent answer every line of cases.jsonl, and writes answers.jsonl: what it said, which tools it called, what it cost."""

import asyncio
import json
import sys
from pathlib import Path

from agent import OPTIONS
from claude_agent_sdk import (
    AssistantMessage,
    ResultMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    query,
)


def part(block: object) -> dict | None:
    """A block as Anthropic's API writes it. Thinking is no part of an answer."""
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, ToolUseBlock):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    if isinstance(block, ToolResultBlock):
        return {
            "type": "tool_result",
            "tool_use_id": block.tool_use_id,
            "content": block.content or "",
        }
    return None


async def answered(case: dict) -> dict:
    """One line of answers.jsonl. What goes wrong is an error of its case, and not of the others."""
    messages, line = [{"role": "user", "content": case["prompt"]}], {"id": case["id"]}
    try:
        async for message in query(prompt=case["prompt"], options=OPTIONS):
            if isinstance(message, AssistantMessage | UserMessage) and not isinstance(
                message.content, str
            ):
                parts = [found for block in message.content if (found := part(block))]
                role = "assistant" if isinstance(message, AssistantMessage) else "user"
                messages += [{"role": role, "content": parts}] if parts else []
            elif isinstance(message, ResultMessage):
                if message.is_error or message.result is None:
                    return {**line, "error": f"{message.subtype}: {message.result}"}
                line |= {"output": message.result, "latency_ms": message.duration_ms}
                line |= {} if message.total_cost_usd is None else {"cost": message.total_cost_usd}
    except Exception as e:
        return {**line, "error": f"{type(e).__name__}: {e}"}
    return (
        {**line, "messages": messages}
        if "output" in line
        else {**line, "error": "the agent came to no end"}
    )


def main(cases: str, answers: str) -> None:
    """Answer the cases of one file into another, one after another."""
    lines = Path(cases).read_text(encoding="utf-8").splitlines()
    with Path(answers).open("w", encoding="utf-8") as file:
        file.writelines(
            json.dumps(asyncio.run(answered(json.loads(line)))) + "\n" for line in lines
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
