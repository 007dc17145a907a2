#!/usr/bin/env bash
# OpenHands V0 (PyPI openhands-ai 0.62.0): under the condenser "recent" (keep_first 1, max_events
# 100, its defaults) the agent sends its system prompt and the person's prompt twice in every
# request, until the history has more than 100 events. Then the second copies go, so that nothing
# behind the system prompt is read from the cache.
#
# The condenser returns the first event and the newest 99. While there are fewer the first is
# among these, and the agent, which finds no prompt behind the first system prompt, puts one there.
#
# Needs Python 3.12 and PyPI, and 2 GB of disk. Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3.12 -m venv "$dir/env"
"$dir/env/bin/pip" install -q --disable-pip-version-check uv # pip takes an hour to choose among so many packages
"$dir/env/bin/uv" pip install -q --no-cache --prerelease allow --python "$dir/env/bin/python" openhands-ai==0.62.0
HOME="$dir" LOG_LEVEL=CRITICAL LITELLM_LOCAL_MODEL_COST_MAP=True "$dir/env/bin/python" - <<'PY'
import sys
from importlib.metadata import version
import openhands.agenthub  # registers the agent
from litellm import ModelResponse
from openhands.controller.agent import Agent
from openhands.controller.state.state import State
from openhands.core.config import LLMConfig, OpenHandsConfig
from openhands.core.config.condenser_config import RecentEventsCondenserConfig
from openhands.events.action import CmdRunAction, MessageAction
from openhands.events.observation import CmdOutputObservation
from openhands.llm.llm_registry import LLMRegistry

config = OpenHandsConfig()
config.set_llm_config(LLMConfig(model="claude-sonnet-4-5", api_key="none"))
settings = config.get_agent_config("CodeActAgent")
settings.condenser = RecentEventsCondenserConfig()
agent = Agent.get_cls("CodeActAgent")(settings, LLMRegistry(config))
sent = []


def complete(messages, **kw):
    sent.append(messages)
    call = {"id": f"c{len(sent)}", "type": "function", "function": {"name": "execute_bash", "arguments": '{"command": "ls", "security_risk": "LOW"}'}}
    return ModelResponse(choices=[{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": "I look.", "tool_calls": [call]}}])


agent.llm._completion = complete
state = State(session_id="s")


def add(event, source):
    event._id, event._source = len(state.history), source
    state.history.append(event)
    return event


add(agent.get_system_message(), "agent")
add(MessageAction("List the files."), "user")
for _ in range(55):
    action = add(agent.step(state), "agent")
    assert isinstance(action, CmdRunAction)
    o = CmdOutputObservation(content="a.txt", command="ls", exit_code=0)
    o.tool_call_metadata, o._cause = action.tool_call_metadata, action.id
    add(o, "environment")

twice = [i + 1 for i, m in enumerate(sent) if sum(x.role == "system" for x in m) == 2 and sum(x.role == "user" for x in m) == 2]
size = sum(len(c.text) for c in sent[0][0].content)
print(f"openhands-ai {version('openhands-ai')}, {len(sent)} requests of one tool loop, a system prompt of {size} characters")
print(f"requests with two system prompts and two prompts: {len(twice)} (from {twice[0]} to {twice[-1]})" if twice else "no request has two system prompts")
sys.exit(0 if twice and twice[0] == 1 and len(twice) == twice[-1] and 40 < len(twice) < len(sent) else 1)
PY
