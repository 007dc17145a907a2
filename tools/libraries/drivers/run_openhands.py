import json, os, tempfile, uuid
os.environ.update(OPENHANDS_SUPPRESS_BANNER="1", LOG_LEVEL="ERROR", LITELLM_LOCAL_MODEL_COST_MAP="True")
from openhands.sdk import Action, Agent, LocalConversation, Observation, TextContent, Tool, ToolDefinition, register_tool
from openhands.sdk.context.condenser import LLMSummarizingCondenser
from openhands.sdk.context.condenser.llm_summarizing_condenser import default_condenser
from openhands.sdk.llm import LLMResponse, Message, MessageToolCall
from openhands.sdk.llm.exceptions import LLMContextWindowExceedError
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool import ToolExecutor
import bench

bench.TOO_LONG = LLMContextWindowExceedError


def plain(messages):
    out, system = [], ""
    for m in messages:
        text = "".join(c.text for c in m.content if isinstance(c, TextContent))
        if m.role == "system":
            system += text
        elif m.role == "tool":
            out.append({"role": "tool", "text": text, "for": m.tool_call_id})
        else:
            for c in m.content[:-1] if m.role == "user" else []:  # messages of a user that follow each other are one of several blocks
                out.append({"role": m.role, "text": c.text})
                text = m.content[-1].text
            out.append({"role": m.role, "text": text, "calls": [[c.id, c.name, c.arguments] for c in m.tool_calls or []]})
    return out, system


class Scripted(TestLLM):
    def completion(self, messages, tools=None, *a, **kw):
        list_, system = plain(messages)
        s = bench.main(list_, system) if self.usage_id == "agent" else {"say": bench.side(list_, system), "calls": []}
        m = Message(role="assistant", content=[TextContent(text=s["say"])])
        m.tool_calls = [MessageToolCall(id=c["id"], name=c["name"], arguments=json.dumps(c["args"]), origin="completion") for c in s["calls"]] or None
        raw = self._create_model_response(m)
        raw.id = f"r{bench.step}"  # events of one response belong together
        return LLMResponse(message=m, metrics=self._zero_metrics(), raw_response=raw)

    generate = completion

    def get_token_count(self, messages, tools=None, **kw):
        return bench.tokens(*plain(messages))


class Path(Action):
    path: str


class Content(Observation):
    pass


class Looking(ToolExecutor):
    def __call__(self, action, conversation=None):
        return Content(content=[TextContent(text=bench.look(action.path))])


class LookTool(ToolDefinition):
    name = "look"

    @classmethod
    def create(cls, *a, **kw):
        return [cls(description="look", action_type=Path, observation_type=Content, executor=Looking())]


register_tool("LookTool", LookTool)
side = Scripted(usage_id="condenser", model="scripted")
condenser = {
    "openhands": lambda: default_condenser(side),
    "openhands/planning": lambda: LLMSummarizingCondenser(llm=side, max_size=100, keep_first=6),  # get_planning_condenser of openhands-tools
    "openhands/class": lambda: LLMSummarizingCondenser(llm=side),
}[bench.PRESET]
main = Scripted(usage_id="agent", model="scripted", max_input_tokens=bench.WINDOW)  # as it finds it for a model that it knows
agent = Agent(llm=main, tools=[Tool(name="LookTool")], condenser=condenser(), include_default_tools=[])
with tempfile.TemporaryDirectory() as folder:
    kept = {"persistence_dir": folder + "/kept", "conversation_id": uuid.UUID(int=1)} if bench.RESUMES else {}
    make = lambda: LocalConversation(agent=agent, workspace=folder, visualizer=None, max_iteration_per_run=1000, stuck_detection=False, **kept)
    conversation = make()
    for p in bench.PROMPTS:
        conversation = make() if bench.RESUMES else conversation
        conversation.send_message(p)
        conversation.run()
