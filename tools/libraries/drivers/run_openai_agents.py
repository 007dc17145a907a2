import asyncio, json, os, types
os.environ.update(OPENAI_API_KEY="none", OPENAI_AGENTS_DISABLE_TRACING="1")
from agents import Agent, ModelResponse, RunConfig, Runner, SQLiteSession, Usage, function_tool
from agents.extensions import ToolOutputTrimmer
from agents.memory import OpenAIResponsesCompactionSession
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
import bench


def plain(items):
    out = []
    for i in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        kind, text = i.get("type"), i.get("content")
        if kind == "function_call":
            out.append({"role": "assistant", "text": "", "calls": [[i["call_id"], i["name"], i["arguments"]]]})
        elif kind == "function_call_output":
            out.append({"role": "tool", "text": i["output"] if isinstance(i["output"], str) else json.dumps(i["output"]), "for": i["call_id"]})
        elif kind == "compaction":
            out.append({"role": "assistant", "text": i["encrypted_content"]})
        else:
            out.append({"role": i["role"], "text": text if isinstance(text, str) else "".join(x.get("text", "") for x in text)})
    return out


class Scripted(Model):
    async def get_response(self, system_instructions, input, *a, **kw):
        s, n = bench.main(plain(input), system_instructions), bench.tokens(plain(input), system_instructions)
        text = ResponseOutputText(type="output_text", text=s["say"], annotations=[])
        out = [ResponseOutputMessage(id=f"m{bench.step}", type="message", role="assistant", status="completed", content=[text])]
        for c in s["calls"]:
            out.append(ResponseFunctionToolCall(id="f" + c["id"], type="function_call", call_id=c["id"], name=c["name"], arguments=json.dumps(c["args"]), status="completed"))
        return ModelResponse(output=out, usage=Usage(requests=1, input_tokens=n, output_tokens=40, total_tokens=n + 40), response_id=f"r{bench.step}")

    def stream_response(self, *a, **kw):
        raise NotImplementedError


class Provider:
    """responses.compact keeps what the person said and returns the rest as one opaque item"""
    async def compact(self, input=(), **kw):
        list_ = plain(input)
        kept = [{"type": "message", "role": "user", "content": m["text"]} for m in list_ if m["role"] == "user"]
        return types.SimpleNamespace(output=kept + [{"type": "compaction", "id": f"c{bench.step}", "encrypted_content": bench.side(list_, "")}], usage=None)


@function_tool(failure_error_function=lambda context, error: str(error))  # its own text leaves out what the tool said
def look(path: str) -> str:
    "look"
    return bench.look(path)


async def run():
    store, config = SQLiteSession("s"), RunConfig(tracing_disabled=True)
    if bench.PRESET == "openai-agents/session":  # in this mode it sends what it holds, and not the id of a response
        make = lambda: OpenAIResponsesCompactionSession("s", store, client=types.SimpleNamespace(responses=Provider()), compaction_mode="input")
    else:
        make = lambda: store
        config.call_model_input_filter = ToolOutputTrimmer()
    agent, session = Agent(name="x", instructions=bench.SYSTEM, tools=[look], model=Scripted()), make()
    for p in bench.PROMPTS:
        session = make() if bench.RESUMES else session
        await Runner.run(agent, p, session=session, max_turns=500, run_config=config)


asyncio.run(run())
