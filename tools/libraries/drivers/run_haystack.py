import json
from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.hooks.compaction import CompactionHook, SlidingWindowCompactor, SummarizationCompactor, ToolResultPruningCompactor
from haystack.tools import Tool
import bench


def plain(messages):
    out, system = [], ""
    for m in messages:
        if m.role.value == "system":
            system += m.text
        elif m.tool_call_results:
            out += [{"role": "tool", "text": r.result, "for": r.origin.id} for r in m.tool_call_results]
        else:
            calls = [[c.id, c.tool_name, json.dumps(c.arguments)] for c in m.tool_calls]
            out.append({"role": m.role.value, "text": m.text or "", "calls": calls})
    return out, system


@component
class Model:
    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: list[Tool] | None = None):
        list_, system = plain(messages)
        if not tools:
            return {"replies": [ChatMessage.from_assistant(bench.side(list_, system))]}
        s = bench.main(list_, system)
        usage = {"prompt_tokens": bench.tokens(list_, system), "completion_tokens": bench.size({"text": s["say"], "calls": [["", "", json.dumps(c["args"])] for c in s["calls"]]})}
        calls = [ToolCall(tool_name=c["name"], arguments=c["args"], id=c["id"]) for c in s["calls"]]
        return {"replies": [ChatMessage.from_assistant(s["say"], tool_calls=calls, meta={"usage": usage, "finish_reason": "tool_calls" if calls else "stop"})]}


look = Tool(name="look", description="look", function=bench.look,
            parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
compactor = {
    "haystack/prune": ToolResultPruningCompactor,
    "haystack/window": SlidingWindowCompactor,
    "haystack/summary": lambda: SummarizationCompactor(chat_generator=Model()),
}[bench.PRESET]()
hook = CompactionHook(compactor=compactor, context_window=bench.WINDOW)
agent = Agent(chat_generator=Model(), tools=[look], system_prompt=bench.SYSTEM, hooks={"before_llm": [hook]}, max_agent_steps=500)
history = []
for p in bench.PROMPTS:
    done = agent.run(messages=history + [ChatMessage.from_user(p)])["messages"]
    history = [m for m in done if m.role.value != "system"]  # the agent puts its system prompt ahead of them again
