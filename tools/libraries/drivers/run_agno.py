import json, os, tempfile
os.environ["AGNO_TELEMETRY"] = "false"
from dataclasses import dataclass
from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.metrics import MessageMetrics
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.run.base import RunStatus
import bench


def plain(messages, compressed):
    out, system = [], ""
    for m in messages:
        text = m.get_content(use_compressed_content=compressed)
        text = text if isinstance(text, str) else json.dumps(text) if text is not None else ""
        if m.role in ("system", "developer"):
            system += text
        elif m.role == "tool":
            out.append({"role": "tool", "text": text, "for": m.tool_call_id})
        else:
            out.append({"role": m.role, "text": text, "calls": [[c["id"], c["function"]["name"], c["function"]["arguments"]] for c in m.tool_calls or []]})
    return out, system


@dataclass
class Scripted(Model):
    id: str = "scripted"
    name: str = "scripted"
    provider: str = "scripted"

    def invoke(self, messages, assistant_message, tools=None, compress_tool_results=False, **kw):
        list_, system = plain(messages, compress_tool_results)
        r, n = ModelResponse(role="assistant"), bench.tokens(list_, system)
        if not tools:  # a digest has a fifth of its result
            r.content = bench.side(list_, system, bench.tokens(list_) // 5)
            return r
        s = bench.main(list_, system)
        r.content, r.response_usage = s["say"], MessageMetrics(input_tokens=n, output_tokens=40, total_tokens=n + 40)
        r.tool_calls = [{"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["args"])}} for c in s["calls"]]
        return r

    async def ainvoke(self, *a, **kw):
        return self.invoke(*a, **kw)

    def unused(self, *a, **kw):
        raise NotImplementedError

    invoke_stream = ainvoke_stream = _parse_provider_response_delta = unused

    def _parse_provider_response(self, response, **kw):
        return response


def look(path: str) -> str:
    "look"
    return bench.look(path)


settings = {  # as it comes, its agent has no history
    "agno": {"add_history_to_context": True, "num_history_runs": 1000, "compress_tool_results": True},
    "agno/default": {},
}[bench.PRESET]
with tempfile.TemporaryDirectory() as folder:
    make = lambda: Agent(model=Scripted(), tools=[look], instructions=bench.SYSTEM, db=SqliteDb(db_file=folder + "/agno.db"), session_id="s", telemetry=False, **settings)
    agent = make()
    for p in bench.PROMPTS:
        agent = make() if bench.RESUMES else agent
        if agent.run(p, session_id="s").status == RunStatus.error:
            break  # the model refused; the next prompt would begin with what is left of this one
