import asyncio, json
from agent_framework import Agent, AgentSession, BaseChatClient, ChatMiddlewareLayer, ChatResponse, Content, FunctionInvocationLayer, InMemoryHistoryProvider, Message, create_harness_agent, tool
from agent_framework._compaction import SummarizationStrategy
import bench


def plain(messages):
    out = []
    for m in messages:
        text, calls, results = "", [], []
        for c in m.contents:
            if c.type == "text":
                text += c.text
            elif c.type == "function_call":
                calls.append([c.call_id, c.name, c.arguments if isinstance(c.arguments, str) else json.dumps(c.arguments)])
            elif c.type == "function_result":
                r = c.result
                results.append((c.call_id, r if isinstance(r, str) else "".join(getattr(x, "text", "") or "" for x in r)))
        if results:
            out += [{"role": "tool", "text": t, "for": i} for i, t in results]
        else:
            out.append({"role": str(m.role), "text": text, "calls": calls})
    return out


class Raw(BaseChatClient):
    OTEL_PROVIDER_NAME = "scripted"
    summarises = False

    def _inner_get_response(self, *, messages, stream, options, **kw):
        async def go():
            list_ = plain(messages)
            system = "".join(m["text"] for m in list_ if m["role"] == "system") + str(options.get("instructions") or "")
            rest = [m for m in list_ if m["role"] != "system"]
            if self.summarises:
                return ChatResponse(messages=[Message(role="assistant", contents=[bench.side(rest, system)])], response_id="r")
            s = bench.main(rest, system)
            contents = [Content.from_text(s["say"])]
            contents += [Content.from_function_call(call_id=c["id"], name=c["name"], arguments=json.dumps(c["args"])) for c in s["calls"]]
            return ChatResponse(messages=[Message(role="assistant", contents=contents)], response_id="r%d" % bench.step)
        return go()


class Client(FunctionInvocationLayer, ChatMiddlewareLayer, Raw):
    pass


@tool(approval_mode="never_require")
def look(path: str) -> str:
    "look"
    return bench.look(path)


async def run():
    client, summariser = Client(), Client()
    client.function_invocation_configuration["max_iterations"] = 500
    client.function_invocation_configuration["include_detailed_errors"] = True
    summariser.summarises = True
    if bench.PRESET == "microsoft/summarization":
        agent = Agent(client, bench.SYSTEM, tools=[look], compaction_strategy=SummarizationStrategy(client=summariser), context_providers=[InMemoryHistoryProvider()])
    else:
        agent = create_harness_agent(client, agent_instructions=bench.SYSTEM, tools=[look], max_context_window_tokens=bench.WINDOW, max_output_tokens=32000,
                                     disable_todo=True, disable_mode=True, disable_file_memory=True)
    session = agent.create_session()
    for p in bench.PROMPTS:
        if bench.RESUMES:
            session = AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))
        await agent.run(p, session=session)


asyncio.run(run())
