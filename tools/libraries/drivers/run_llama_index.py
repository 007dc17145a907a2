import asyncio, json
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.memory import Memory
from llama_index.core.tools import FunctionTool
import bench


def plain(messages):
    out, system = [], ""
    for m in messages:
        role, text = m.role.value, m.content or ""
        if role == "system":
            system += text
        elif role == "tool":
            out.append({"role": "tool", "text": text, "for": m.additional_kwargs.get("tool_call_id")})
        else:
            out.append({"role": role, "text": text, "calls": [[c["id"], c["name"], json.dumps(c["args"])] for c in m.additional_kwargs.get("tool_calls", [])]})
    return out, system


class Model(FunctionCallingLLM):
    @property
    def metadata(self):
        return LLMMetadata(context_window=bench.WINDOW, is_function_calling_model=True, is_chat_model=True, model_name="scripted")

    def _prepare_chat_with_tools(self, tools, user_msg=None, chat_history=None, **kw):
        return {"messages": chat_history or []}

    def get_tool_calls_from_response(self, response, error_on_no_tool_call=False, **kw):
        return [ToolSelection(tool_id=c["id"], tool_name=c["name"], tool_kwargs=c["args"]) for c in response.message.additional_kwargs.get("tool_calls", [])]

    async def achat(self, messages, **kw):
        s = bench.main(*plain(messages))
        answer = ChatMessage(role="assistant", content=s["say"])
        if s["calls"]:
            answer.additional_kwargs["tool_calls"] = [{k: c[k] for k in ("id", "name", "args")} for c in s["calls"]]
        return ChatResponse(message=answer)

    def unused(self, *a, **kw):
        raise NotImplementedError

    chat = stream_chat = complete = stream_complete = acomplete = astream_complete = astream_chat = unused


def look(path: str) -> str:
    "look"
    return bench.look(path)


async def run():
    memory = Memory.from_defaults(session_id="s", tokenizer_fn=lambda text: [None] * (len(text) // 4))
    agent = FunctionAgent(llm=Model(), tools=[FunctionTool.from_defaults(look)], system_prompt=bench.SYSTEM, streaming=False)
    for p in bench.PROMPTS:
        if bench.RESUMES:
            history, memory = await memory.aget_all(), Memory.from_defaults(session_id="s", tokenizer_fn=memory.tokenizer_fn)
            await memory.aset(history)
        await agent.run(user_msg=p, memory=memory, max_iterations=500)


asyncio.run(run())
