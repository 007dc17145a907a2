import asyncio, json
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
import bench


def plain(contents):
    out = []
    for c in contents:
        text, calls, results = "", [], []
        for p in c.parts or []:
            text += p.text or ""
            if p.function_call:
                calls.append([p.function_call.id or "", p.function_call.name, json.dumps(p.function_call.args)])
            if p.function_response:
                results.append((p.function_response.id or "", str(p.function_response.response.get("result") or p.function_response.response.get("error"))))
        if results:
            out += [{"role": "tool", "text": t, "for": i} for i, t in results]
        else:
            out.append({"role": "user" if c.role == "user" else "assistant", "text": text, "calls": calls})
    return out


class Scripted(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        list_, system = plain(llm_request.contents), str(llm_request.config.system_instruction or "")
        n = bench.tokens(list_, system)
        s = bench.main(list_, system) if llm_request.config.tools else {"say": bench.side(list_, system), "calls": []}
        parts = [types.Part(text=s["say"])]
        parts += [types.Part(function_call=types.FunctionCall(id=c["id"], name=c["name"], args=c["args"])) for c in s["calls"]]
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=n, candidates_token_count=40, total_token_count=n + 40)
        yield LlmResponse(content=types.Content(role="model", parts=parts), usage_metadata=usage)


def look(path: str):
    "look"
    try:
        return bench.look(path)
    except bench.Fault as e:
        return {"error": str(e)}


async def run():
    agent = LlmAgent(name="x", model=Scripted(model="scripted"), instruction=bench.SYSTEM, tools=[look])
    app = App(name="bench", root_agent=agent, events_compaction_config=EventsCompactionConfig(compaction_interval=5, overlap_size=1))
    sessions = InMemorySessionService()
    runner = Runner(app=app, session_service=sessions)
    session = await sessions.create_session(app_name="bench", user_id="u")
    for p in bench.PROMPTS:
        if bench.RESUMES:
            runner = Runner(app=app.model_copy(), session_service=sessions)
        message = types.Content(role="user", parts=[types.Part(text=p)])
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message, run_config=RunConfig(max_llm_calls=1000)):
            pass
        await asyncio.sleep(0.05)  # it compacts behind the run


asyncio.run(run())
