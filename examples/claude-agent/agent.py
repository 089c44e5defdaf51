"""An agent of a shop, made with the Claude Agent SDK: it has a tool of our own, and no other; yours may have any."""

from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool

ORDERS = {"17": "in Lyon", "18": "on its way to you"}


@tool("find_order", "Says where an order is.", {"number": str})
async def find_order(arguments: dict) -> dict:
    """Look an order up."""
    place = ORDERS.get(arguments["number"], "not known")
    return {"content": [{"type": "text", "text": f"The order is {place}."}]}


OPTIONS = ClaudeAgentOptions(
    system_prompt="You answer customers of a shop in one sentence. Look orders up, and never guess.",
    mcp_servers={"shop": create_sdk_mcp_server("shop", tools=[find_order])},
    tools=[],  # none of Claude Code's own
    allowed_tools=["mcp__shop__find_order"],
    setting_sources=[],  # nothing that lies in the repository steers it
    max_turns=8,
)
