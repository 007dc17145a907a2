import json, os
os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", OTEL_SDK_DISABLED="true", OPENAI_API_KEY="none")
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool
from crewai.utilities.exceptions.context_window_exceeding_exception import LLMContextLengthExceededError
import bench

bench.TOO_LONG = LLMContextLengthExceededError


def plain(messages):
    out, system = [], ""
    for m in [{"role": "user", "content": messages}] if isinstance(messages, str) else messages:
        text = m.get("content") or ""
        if m["role"] == "system":
            system += text
        elif m["role"] == "tool":
            out.append({"role": "tool", "text": text, "for": m.get("tool_call_id")})
        else:
            calls = [[c["id"], c["function"]["name"], c["function"]["arguments"]] for c in m.get("tool_calls") or []]
            out.append({"role": m["role"], "text": text, "calls": calls})
    return out, system


class Scripted(BaseLLM):
    def supports_function_calling(self):
        return True

    def supports_stop_words(self):
        return False

    def get_context_window_size(self):
        return int(0.85 * bench.WINDOW)  # as its own classes return it

    def get_input_tokens_count(self, messages, tools=None, response_model=None):
        list_, system = plain(messages)
        return bench.tokens(list_, system, bench.TOOLS if tools else 0)  # calls and tools too, as its own classes count them

    def call(self, messages, tools=None, **kw):
        list_, system = plain(messages)
        if not tools:
            return "<summary>" + bench.side(list_, system) + "</summary>"
        s = bench.main(list_, system)
        calls = [{"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["args"])}} for c in s["calls"]]
        return calls or s["say"]

    async def acall(self, *a, **kw):
        return self.call(*a, **kw)


@tool("look")
def look(path: str) -> str:
    """look"""
    return bench.look(path)


agent = Agent(role="coder", goal="g", backstory=bench.SYSTEM, llm=Scripted(model="scripted"), tools=[look], max_iter=500, verbose=False, cache=False)
task = Task(description=bench.PROMPTS[0], expected_output="text", agent=agent)
Crew(agents=[agent], tasks=[task], verbose=False, share_crew=False).kickoff()
