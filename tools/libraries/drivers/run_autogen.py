import asyncio, json
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.model_context import BufferedChatCompletionContext, TokenLimitedChatCompletionContext
from autogen_core.models import AssistantMessage, ChatCompletionClient, CreateResult, ModelInfo, RequestUsage, SystemMessage, UserMessage
import bench


def plain(messages):
    out, system = [], ""
    for m in messages:
        if isinstance(m, SystemMessage):
            system += m.content
        elif isinstance(m, UserMessage):
            out.append({"role": "user", "text": m.content})
        elif not isinstance(m, AssistantMessage):
            out += [{"role": "tool", "text": r.content, "for": r.call_id} for r in m.content]
        elif isinstance(m.content, str):
            out.append({"role": "assistant", "text": m.content})
        else:
            out.append({"role": "assistant", "text": m.thought or "", "calls": [[c.id, c.name, c.arguments] for c in m.content]})
    return out, system


class Model(ChatCompletionClient):
    component_type = "model"

    async def create(self, messages, **kw):
        s, usage = bench.main(*plain(messages)), RequestUsage(prompt_tokens=0, completion_tokens=40)
        if not s["calls"]:
            return CreateResult(finish_reason="stop", content=s["say"], usage=usage, cached=False)
        calls = [FunctionCall(id=c["id"], name=c["name"], arguments=json.dumps(c["args"])) for c in s["calls"]]
        return CreateResult(finish_reason="function_calls", content=calls, usage=usage, cached=False, thought=s["say"])

    def create_stream(self, *a, **kw):
        raise NotImplementedError

    async def close(self):
        pass

    def actual_usage(self):
        return RequestUsage(0, 0)

    total_usage = actual_usage

    def count_tokens(self, messages, **kw):
        return bench.tokens(plain(messages)[0])

    def remaining_tokens(self, messages, **kw):
        return bench.WINDOW - self.count_tokens(messages)

    @property
    def model_info(self):
        return ModelInfo(vision=False, function_calling=True, json_output=True, family="unknown", structured_output=True)

    capabilities = model_info


async def look(path: str) -> str:
    "look"
    return bench.look(path)


async def run():
    model = Model()
    contexts = {
        "autogen/buffered": lambda: BufferedChatCompletionContext(40),
        "autogen/token-limit": lambda: TokenLimitedChatCompletionContext(model, token_limit=int(0.9 * bench.WINDOW)),
    }[bench.PRESET]
    make = lambda: AssistantAgent("x", model, tools=[look], system_message=bench.SYSTEM, model_context=contexts(), max_tool_iterations=500)
    agent = make()
    for p in bench.PROMPTS:
        if bench.RESUMES:
            state, agent = json.dumps(await agent.save_state()), make()
            await agent.load_state(json.loads(state))
        await agent.run(task=p)


asyncio.run(run())
