import asyncio, json
import anthropic, httpx2
from pydantic_ai import Agent, UsageLimits
from pydantic_ai.models.anthropic import AnthropicCompaction, AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider
import bench


def text(content):
    return content if isinstance(content, str) else "".join(b.get("text") or "" for b in content)


def plain(body):
    """messages as the model has them: from the last compaction block on"""
    out, system = [], text(body.get("system") or "")
    for m in body["messages"]:
        blocks = [{"type": "text", "text": m["content"]}] if isinstance(m["content"], str) else m["content"]
        said = {"role": m["role"], "text": "", "calls": []}
        for b in blocks:
            if b["type"] == "compaction":
                out = [{"role": "user", "text": b["content"]}]
            elif b["type"] == "tool_result":
                out.append({"role": "tool", "text": text(b["content"]), "for": b["tool_use_id"]})
            elif b["type"] == "tool_use":
                said["calls"].append([b["id"], b["name"], json.dumps(b["input"])])
            else:
                said["text"] += b["text"]
        if said["text"] or said["calls"]:
            out.append(said)
    return out, system


def serve(request):
    """the provider, as it documents compact_20260112: a request above the trigger is summarised, and answered behind the summary"""
    body = json.loads(request.content)
    messages, system = plain(body)
    content = []
    edits = [e for e in (body.get("context_management") or {}).get("edits", []) if e["type"].startswith("compact")]
    if edits and bench.tokens(messages, system) > edits[0]["trigger"]["value"]:
        bench.write("side", messages, system, bench.TOOLS, bench.talk["summary"])  # it reads what the conversation has cached
        summary = bench.fill(bench.talk["summary"], f"summary {bench.step}")
        content.append(({"type": "compaction", "content": None}, {"type": "compaction_delta", "content": summary}))
        messages = [{"role": "user", "text": summary}]
    try:
        s = bench.main(messages, system)
    except bench.TooLong as e:
        return httpx2.Response(400, json={"type": "error", "error": {"type": "invalid_request_error", "message": str(e)}})
    content.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": s["say"]}))
    content += [({"type": "tool_use", "id": c["id"], "name": c["name"], "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(c["args"])}) for c in s["calls"]]
    usage = {"input_tokens": bench.tokens(messages, system), "output_tokens": 40}
    events = [{"type": "message_start", "message": {"id": "msg", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [],
                                                    "stop_reason": None, "stop_sequence": None, "usage": usage}}]
    for i, (begun, delta) in enumerate(content):
        events += [{"type": "content_block_start", "index": i, "content_block": begun}, {"type": "content_block_delta", "index": i, "delta": delta},
                   {"type": "content_block_stop", "index": i}]
    events += [{"type": "message_delta", "delta": {"stop_reason": "tool_use" if s["calls"] else "end_turn", "stop_sequence": None}, "usage": usage}, {"type": "message_stop"}]
    stream = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=stream)


def look(path: str) -> str:
    "look"
    return bench.look(path)


async def run():
    client = anthropic.AsyncAnthropic(api_key="none", max_retries=0, http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(serve)))
    model = AnthropicModel("claude-sonnet-4-5", provider=AnthropicProvider(anthropic_client=client))
    agent = Agent(model, instructions=bench.SYSTEM, tools=[look], capabilities=[AnthropicCompaction()])
    history = []
    for p in bench.PROMPTS:
        history = (await agent.run(p, message_history=history, usage_limits=UsageLimits(request_limit=None))).all_messages()


asyncio.run(run())
