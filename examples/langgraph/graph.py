"""An application made with LangGraph: a model and its tool in a loop; yours may have any nodes."""

import os
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

PRICES = {"lamp": 40, "desk": 210}


@tool
def price_of(item: str) -> str:
    """Say what an item of the shop costs, in euros."""
    return str(PRICES.get(item, "not sold here"))


def build() -> Any:
    """The compiled graph. The model is named by the environment: MODEL=openai:NAME."""
    model = init_chat_model(os.environ["MODEL"]).bind_tools([price_of])

    def respond(state: MessagesState) -> dict:
        return {"messages": [model.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("respond", respond)
    graph.add_node("tools", ToolNode([price_of]))
    graph.add_edge(START, "respond")
    graph.add_conditional_edges("respond", tools_condition)
    graph.add_edge("tools", "respond")
    return graph.compile()
