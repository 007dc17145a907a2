import asyncio, json, logging
from unittest.mock import AsyncMock, MagicMock
import letta.agents.letta_agent_v3 as v3
import letta.services.provider_manager as providers
import letta.services.summarizer.summarizer as summarizer
from letta.agents.letta_agent_v3 import LettaAgentV3
from letta.llm_api.anthropic_client import AnthropicClient
from letta.llm_api.llm_client import LLMClient
from letta.errors import ContextWindowExceededError
from letta.schemas.agent import AgentState, AgentType
from letta.schemas.enums import MessageRole
from letta.schemas.letta_message_content import TextContent
from letta.schemas.llm_config import LLMConfig
from letta.schemas.memory import Memory
from letta.schemas.message import Message, MessageCreate
from letta.schemas.tool import Tool
from letta.schemas.tool_execution_result import ToolExecutionResult
from letta.schemas.user import User
import bench

logging.disable(logging.CRITICAL)


def text(content):
    return content if isinstance(content, str) else "".join(b.get("text") or "" for b in content or [])


def plain(messages, system):
    """messages, without what the library writes around a result"""
    out = []
    for m in messages:
        blocks = [{"type": "text", "text": m["content"]}] if isinstance(m["content"], str) else m["content"]
        said = {"role": m["role"], "text": "", "calls": []}
        for b in blocks:
            if b["type"] == "tool_result":
                out.append({"role": "tool", "text": json.loads(text(b["content"]))["message"], "for": b["tool_use_id"]})
            elif b["type"] == "tool_use":
                said["calls"].append([b["id"], b["name"], json.dumps(b["input"])])
            else:
                said["text"] += b["text"]
        if said["text"] or said["calls"]:
            out.append(said)
    return out, text(system)


class Scripted(AnthropicClient):
    async def request_async(self, request_data, llm_config):
        messages, system = plain(request_data["messages"], request_data.get("system"))
        if llm_config.model != MODEL:
            content, n = [{"type": "text", "text": bench.side(messages, system)}], 0
        else:
            n = bench.tokens(messages, system)
            s = bench.main(messages, system)
            content = [{"type": "text", "text": s["say"]}]
            content += [{"type": "tool_use", "id": c["id"], "name": c["name"], "input": c["args"]} for c in s["calls"]]
        return {"id": "msg", "type": "message", "role": "assistant", "model": llm_config.model, "content": content,
                "stop_reason": "tool_use" if len(content) > 1 else "end_turn", "usage": {"input_tokens": n, "output_tokens": 40}}

    async def request_async_with_telemetry(self, request_data, llm_config):
        return await self.request_async(request_data, llm_config)

    async def count_tokens(self, messages=None, model=None, tools=None):
        return bench.tokens(*plain([m for m in messages or [] if m["role"] != "system"], text([{"text": text(m["content"])} for m in messages or [] if m["role"] == "system"])))

    def handle_llm_error(self, e, llm_config=None):
        return ContextWindowExceededError(message=str(e)) if isinstance(e, bench.TooLong) else super().handle_llm_error(e, llm_config=llm_config)


MODEL = "claude-sonnet-4-5"


def config(model):
    return LLMConfig(model=model, model_endpoint_type="anthropic", model_endpoint="http://localhost", context_window=bench.WINDOW,
                     handle="anthropic/" + model, provider_name="anthropic", max_reasoning_tokens=1024, parallel_tool_calls=True)


async def summarize(request_data, messages, llm_config, client):
    """a summary without the provider's stream"""
    return (await client.request_async(request_data, llm_config))["content"][0]["text"]


class Agent(LettaAgentV3):
    """the agent without its database: what it would store stays in memory"""

    def __init__(self, state, actor):
        super().__init__(state, actor)
        self.stored = {}
        for name in ("agent_manager", "archive_manager", "block_manager", "run_manager", "passage_manager", "step_manager", "telemetry_manager", "credit_verification_service"):
            setattr(self, name, AsyncMock())
        self.message_manager = MagicMock()
        self.message_manager.get_messages_by_ids_async = self.fetch

    async def fetch(self, message_ids, actor):
        return [self.stored[i] for i in message_ids]

    async def _checkpoint_messages(self, run_id, step_id, new_messages, in_context_messages):
        self.stored.update((m.id, m) for m in [*new_messages, *in_context_messages])
        self.agent_state.message_ids, self.in_context_messages = [m.id for m in in_context_messages], in_context_messages

    async def _rebuild_memory(self, in_context_messages, *a, **kw):
        return in_context_messages  # its memory does not change

    def _record_step_metrics(self, **kw):
        pass

    async def _execute_tool(self, target_tool, tool_args, **kw):
        return ToolExecutionResult(status="success", func_return=bench.look(tool_args["path"]))


async def run():
    LLMClient.create = staticmethod(lambda **kw: Scripted(put_inner_thoughts_first=True, actor=actor))
    summarizer._execute_summarizer_request = summarize
    providers.ProviderManager.get_llm_config_from_handle = AsyncMock(side_effect=lambda handle, actor: config(handle.split("/")[1]))
    v3.get_llm_routing_client = AsyncMock(return_value=MagicMock(get_fallback_handle=lambda handle: None))
    actor = User(name="u", organization_id="org-00000000-0000-4000-8000-000000000000")
    look = Tool(name="look", source_code="def look(path: str):\n    pass", json_schema={"name": "look", "description": "look", "parameters": {
        "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}})
    state = AgentState(id="agent-00000000-0000-4000-8000-000000000000", name="a", system=bench.SYSTEM, agent_type=AgentType.letta_v1_agent, llm_config=config(MODEL),
                       memory=Memory(blocks=[]), tools=[look], sources=[], tags=[], tool_rules=[], blocks=[], message_ids=[])
    agent = Agent(state, actor)
    system = Message(role=MessageRole.system, content=[TextContent(text=bench.SYSTEM)], agent_id=state.id)
    await agent._checkpoint_messages(None, None, [system], [system])
    for p in bench.PROMPTS:
        await agent.step([MessageCreate(role="user", content=p)], max_steps=1000, run_id="run-00000000-0000-4000-8000-000000000000")


asyncio.run(run())
