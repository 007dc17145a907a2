from deepagents import create_deep_agent
from langgraph.checkpoint.memory import InMemorySaver
import bench
from langchain_model import Model, look, talk

profile = {"deepagents": {"max_input_tokens": bench.WINDOW}, "deepagents/no-profile": None}[bench.PRESET]
saver = InMemorySaver()
talk(lambda: create_deep_agent(model=Model(profile=profile), tools=[look], system_prompt=bench.SYSTEM, checkpointer=saver))
