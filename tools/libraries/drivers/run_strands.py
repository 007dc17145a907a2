import json, tempfile
from strands import Agent, tool
from strands.agent.conversation_manager import SummarizingConversationManager
from strands.models.model import Model
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import ContextWindowOverflowException
import bench


def plain(messages):
    out = []
    for m in messages:
        text, calls, results = "", [], []
        for c in m["content"]:
            text += c.get("text", "")
            if "toolUse" in c:
                calls.append([c["toolUse"]["toolUseId"], c["toolUse"]["name"], json.dumps(c["toolUse"]["input"])])
            if "toolResult" in c:
                results.append((c["toolResult"]["toolUseId"], "".join(x.get("text", "") for x in c["toolResult"]["content"])))
        out += [{"role": "tool", "text": t, "for": i} for i, t in results]
        if text or calls or not results:
            out.append({"role": m["role"], "text": text, "calls": calls})
    return out


class Scripted(Model):
    context_window_limit = bench.WINDOW

    def update_config(self, **kw):
        pass

    def get_config(self):
        return {"model_id": "scripted", "context_window_limit": bench.WINDOW}

    def structured_output(self, *a, **kw):
        raise NotImplementedError

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kw):
        n = bench.tokens(plain(messages), str(system_prompt))
        s = bench.main(plain(messages), str(system_prompt)) if tool_specs else {"say": bench.side(plain(messages), str(system_prompt)), "calls": []}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": s["say"]}}}
        yield {"contentBlockStop": {}}
        for c in s["calls"]:
            yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": c["id"], "name": c["name"]}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(c["args"])}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if s["calls"] else "end_turn"}}
        yield {"metadata": {"usage": {"inputTokens": n, "outputTokens": 40, "totalTokens": n + 40}, "metrics": {"latencyMs": 1}}}


bench.TOO_LONG = ContextWindowOverflowException


@tool
def look(path: str) -> str:
    """look"""
    return bench.look(path)


managers = {
    "strands/window": lambda: None,  # the default
    "strands/summary": lambda: SummarizingConversationManager(proactive_compression=True),
}
with tempfile.TemporaryDirectory() as folder:
    def make():
        kept = {"session_manager": FileSessionManager("s", storage_dir=folder), "agent_id": "a"} if bench.RESUMES else {}
        return Agent(model=Scripted(), tools=[look], system_prompt=bench.SYSTEM, callback_handler=None, conversation_manager=managers[bench.PRESET](), **kept)

    agent = make()
    for p in bench.PROMPTS:
        agent = make() if bench.RESUMES else agent
        agent(p)
