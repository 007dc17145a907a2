#!/usr/bin/env bash
# Letta (PyPI letta 0.16.8): with Gemini the agent's own text beside tool calls is not in
# the next request; with Anthropic it is.
#
# A response that says "I will read a.txt first." and calls a tool is stored for the next
# request. Letta's Google client reads the parts of the response in order and, at each
# function call, sets the message's content to the text of that part, which has none: the
# text before it is gone. So the model no longer sees what it said it would do, and no
# summary of the conversation can have it. Seen of responses that are not streamed, with the
# library's own clients and messages, without a server; the response has the form that
# Google's API documents.
#
# Needs Python 3.11 to 3.13 and PyPI. Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/env"
"$dir/env/bin/python" -m pip install -q --disable-pip-version-check pip==25.2 # older ones stop at lxml[html-clean]
"$dir/env/bin/python" -m pip install -q --disable-pip-version-check letta==0.16.8 asyncpg==0.32.0 psycopg2-binary==2.9.13 pgvector==0.5.1
HOME="$dir" "$dir/env/bin/python" - <<'PY'
import asyncio, json, logging, sys, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from importlib.metadata import version
from google.genai.types import GenerateContentResponse
from letta.adapters.simple_llm_request_adapter import SimpleLLMRequestAdapter
from letta.llm_api.anthropic_client import AnthropicClient
from letta.llm_api.google_vertex_client import GoogleVertexClient
from letta.schemas.agent import AgentType
from letta.schemas.enums import LLMCallType, MessageRole
from letta.schemas.letta_message_content import TextContent
from letta.schemas.llm_config import LLMConfig
from letta.schemas.message import Message
from letta.schemas.tool_execution_result import ToolExecutionResult
from letta.server.rest_api.utils import create_parallel_tool_messages_from_llm_response

SAID = "I will read a.txt first."
AGENT = "agent-00000000-0000-4000-8000-000000000000"
LOOK = {"name": "look", "description": "look", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}
GOOGLE = GenerateContentResponse.model_validate({
    "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [
        {"text": SAID}, {"functionCall": {"name": "look", "args": {"path": "a.txt"}}}]}}],
    "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}, "modelVersion": "gemini-2.5-pro"}).model_dump()
ANTHROPIC = {"id": "msg", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "tool_use",
             "content": [{"type": "text", "text": SAID}, {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"path": "a.txt"}}],
             "usage": {"input_tokens": 100, "output_tokens": 20}}


async def answer(client, response, config):
    """Return the next request's messages behind a response: it is read, stored and sent as the agent's loop does."""
    async def request(data, config):
        return response
    client.request_async_with_telemetry = request
    first = [Message(role=MessageRole.system, content=[TextContent(text="You are an agent.")], agent_id=AGENT),
             Message(role=MessageRole.user, content=[TextContent(text="What is in a.txt?")], agent_id=AGENT)]
    build = lambda messages: client.build_request_data(AgentType.letta_v1_agent, messages, config, [LOOK])
    adapter = SimpleLLMRequestAdapter(llm_client=client, llm_config=config, call_type=LLMCallType.agent_step)
    async for _ in adapter.invoke_llm(build(first), first, [LOOK], True):
        pass
    call = adapter.tool_calls[0]
    made = create_parallel_tool_messages_from_llm_response(
        agent_id=AGENT, model=config.model, timezone="UTC", function_responses=["text"], reasoning_content=adapter.content,
        tool_call_specs=[{"name": call.function.name, "arguments": json.loads(call.function.arguments), "id": call.id}],
        tool_execution_results=[ToolExecutionResult(status="success", func_return="text")])
    data = build(first + made)
    return json.dumps(data.get("messages") or data.get("contents"), default=str)


async def main():
    seen = {}
    for client, response, model, kind in ((AnthropicClient(), ANTHROPIC, "claude-sonnet-4-5", "anthropic"), (GoogleVertexClient(), GOOGLE, "gemini-2.5-pro", "google_ai")):
        config = LLMConfig(model=model, model_endpoint_type=kind, context_window=200_000, parallel_tool_calls=True, enable_reasoner=True, max_reasoning_tokens=1024)
        sent = await answer(client, response, config)
        assert "a.txt" in sent and "look" in sent, sent
        seen[kind] = SAID in sent
        print(f"letta {version('letta')}, {model}: the next request {'has' if seen[kind] else 'lacks'} the text beside the call: {sent[:420]}")
    return 0 if seen == {"anthropic": True, "google_ai": False} else 1


sys.exit(asyncio.run(main()))
PY
