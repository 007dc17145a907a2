from langchain.agents import create_agent
from langchain.agents.middleware import ContextEditingMiddleware, SummarizationMiddleware
from langgraph.checkpoint.memory import InMemorySaver
import bench
from langchain_model import Model, look, talk

model = Model(profile={"max_input_tokens": bench.WINDOW})
saver, middleware = InMemorySaver(), {
    "langchain/summarization": lambda: SummarizationMiddleware(model, trigger=("fraction", 0.8)),
    "langchain/clear-tools": lambda: ContextEditingMiddleware(),
}[bench.PRESET]
talk(lambda: create_agent(model, [look], system_prompt=bench.SYSTEM, middleware=[middleware()], checkpointer=saver))
