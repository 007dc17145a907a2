import json, os, time
os.environ.update(LOG_LEVEL="CRITICAL", LITELLM_LOCAL_MODEL_COST_MAP="True", OPENHANDS_SUPPRESS_BANNER="1")
import openhands.agenthub  # noqa: F401 (it registers the agent)
from litellm import ModelResponse
from litellm.exceptions import ContextWindowExceededError
from openhands.controller.agent import Agent
from openhands.controller.agent_controller import AgentController
from openhands.core.config import LLMConfig, OpenHandsConfig
from openhands.core.config.condenser_config import (
    AmortizedForgettingCondenserConfig, ConversationWindowCondenserConfig, ObservationMaskingCondenserConfig, RecentEventsCondenserConfig)
from openhands.core.schema import AgentState
from openhands.events import EventSource, EventStream, EventStreamSubscriber
from openhands.events.action import CmdRunAction, MessageAction
from openhands.events.observation import CmdOutputObservation
from openhands.llm.llm_registry import LLMRegistry
from openhands.memory.memory import Memory
from openhands.server.services.conversation_stats import ConversationStats
from openhands.storage.memory import InMemoryFileStore
import bench

CONDENSERS = {
    "openhands/0-amortised": AmortizedForgettingCondenserConfig,
    "openhands/0-masking": ObservationMaskingCondenserConfig,
    "openhands/0-recent": RecentEventsCondenserConfig,
    "openhands/0-window": ConversationWindowCondenserConfig,
}


def text(content):
    return content if isinstance(content, str) else "".join(c.get("text", "") for c in content or [])


def plain(messages):
    """messages, without what the library writes around a command and its result"""
    out, system = [], ""
    for m in messages:
        if m["role"] == "system":
            system += text(m["content"])
        elif m["role"] == "tool":
            out.append({"role": "tool", "text": text(m["content"]).removesuffix("\n[Command finished with exit code 0]"), "for": m["tool_call_id"]})
        else:
            out.append({"role": m["role"], "text": text(m["content"]), "calls": [[c["id"], "look", json.dumps({"path": json.loads(c["function"]["arguments"])["command"]})] for c in m.get("tool_calls") or []]})
    return out, system


def complete(messages, **kw):
    list_, system = plain(llm.format_messages_for_llm(messages))
    try:
        s = bench.main(list_, system)
    except bench.TooLong as e:
        raise ContextWindowExceededError(str(e), "scripted", "scripted")
    message = {"role": "assistant", "content": s["say"]}
    if s["calls"]:
        arguments = [json.dumps({"command": c["args"]["path"], "security_risk": "LOW"}) for c in s["calls"]]
        message["tool_calls"] = [{"id": c["id"], "type": "function", "function": {"name": "execute_bash", "arguments": a}} for c, a in zip(s["calls"], arguments)]
    return ModelResponse(choices=[{"index": 0, "message": message, "finish_reason": "stop"}])


def act(event):
    """the runtime: a command prints a file"""
    if isinstance(event, CmdRunAction):
        o = CmdOutputObservation(content=bench.look(event.command), command=event.command, exit_code=0)
        o._cause, o.tool_call_metadata = event.id, event.tool_call_metadata
        stream.add_event(o, EventSource.ENVIRONMENT)


config = OpenHandsConfig()
config.set_llm_config(LLMConfig(model="claude-sonnet-4-5", api_key="none", native_tool_calling=True))
agent_config = config.get_agent_config("CodeActAgent")
agent_config.condenser = CONDENSERS[bench.PRESET]()
registry, store = LLMRegistry(config), InMemoryFileStore()
agent = Agent.get_cls("CodeActAgent")(agent_config, registry)
llm = agent.llm
llm._completion = complete
stream = EventStream("s", store)
stream.subscribe(EventStreamSubscriber.RUNTIME, act, "s")
Memory(stream, "s")
controller = AgentController(agent, stream, ConversationStats(None, "s", None), iteration_delta=10_000, sid="s")
for p in bench.PROMPTS:
    stream.add_event(MessageAction(p), EventSource.USER)
    time.sleep(1)
    while controller.get_agent_state() in (AgentState.LOADING, AgentState.RUNNING):
        time.sleep(0.1)
    if controller.get_agent_state() == AgentState.ERROR:
        print(controller.state.last_error)
        break
os._exit(0)
