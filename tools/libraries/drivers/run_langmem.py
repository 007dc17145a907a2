from typing import Any
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState
from langmem.short_term import SummarizationNode
import bench
from langchain_model import Model, look, talk


class State(AgentState):
    context: dict[str, Any]


model = Model()
node = SummarizationNode(model=model, max_tokens=100_000, output_messages_key="llm_input_messages")
talk(create_react_agent(model, [look], prompt=bench.SYSTEM, pre_model_hook=node, state_schema=State, checkpointer=InMemorySaver()))
