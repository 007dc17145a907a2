"""The scripted model and tool for LangChain and what is built on it."""
import json
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import ToolException, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
import bench

added = 0  # tokens of the library's own tools
bench.TOO_LONG = ContextOverflowError


def plain(m):
    text = m.content if isinstance(m.content, str) else "".join(b.get("text", "") for b in m.content)
    if isinstance(m, ToolMessage):
        return {"role": "tool", "text": text, "for": m.tool_call_id}
    if isinstance(m, AIMessage):
        return {"role": "assistant", "text": text, "calls": [[c["id"], c["name"], json.dumps(c["args"])] for c in m.tool_calls]}
    return {"role": "system" if isinstance(m, SystemMessage) else "user", "text": text}


class Model(BaseChatModel):
    max_tokens: int = 64_000  # as langchain-anthropic gives the model that the bench simulates

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kw):
        global added
        added = sum(len(json.dumps(convert_to_openai_tool(t))) for t in tools if t is not look) // 4
        return self

    def _get_ls_params(self, stop=None, **kw):
        return {"ls_provider": "scripted", "ls_model_name": "scripted"}

    def _generate(self, messages, stop=None, run_manager=None, **kw):
        list_ = [plain(m) for m in messages]
        system = "".join(m["text"] for m in list_ if m["role"] == "system")
        rest = [m for m in list_ if m["role"] != "system"]
        if not system:  # the middleware's own call
            return ChatResult(generations=[ChatGeneration(message=AIMessage(content=bench.side(rest, system)))])
        n = bench.tokens(rest, system, bench.TOOLS + added)
        s = bench.main(rest, system, bench.TOOLS + added)
        usage = {"input_tokens": n, "output_tokens": 40, "total_tokens": n + 40}
        calls = [{k: c[k] for k in ("name", "args", "id")} for c in s["calls"]]
        answer = AIMessage(content=s["say"], tool_calls=calls, usage_metadata=usage, response_metadata={"model_provider": "scripted"})
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def look(path: str) -> str:
    "look"
    try:
        return bench.look(path)
    except bench.Fault as e:
        raise ToolException(str(e))


look.handle_tool_error = True  # else the library ends the run


def talk(make):
    agent = make()
    for p in bench.PROMPTS:
        agent = make() if bench.RESUMES else agent
        agent.invoke({"messages": [{"role": "user", "content": p}]}, {"configurable": {"thread_id": "1"}, "recursion_limit": 2000})
