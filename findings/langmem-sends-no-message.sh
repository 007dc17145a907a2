#!/usr/bin/env bash
# LangMem (PyPI langmem 0.0.30) ahead of LangGraph's agent: when the node summarises, it
# summarises what just came too. Inside a loop of tools the model is then sent system
# messages alone; of two results that came together, the second is sent without its call.
#
# SummarizationNode adds up messages behind the last summary, and summarises all up to the
# message with which the sum reaches max_tokens. That is nearly always the newest, which
# made the sum large: the result the model is to look at, or the question it is to answer.
# Where the first of two results reaches the limit, the response that called both goes,
# and the second result stays.
#
# Needs Python 3.10 or later and PyPI. Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/env"
"$dir/env/bin/pip" install -q --disable-pip-version-check langmem==0.0.30 langchain==1.5.2 langchain-core==1.8.3 langgraph==1.2.24
"$dir/env/bin/python" - <<'PY'
import sys, warnings
warnings.filterwarnings("ignore")
from importlib.metadata import version
from typing import Any
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState
from langmem.short_term import SummarizationNode

ROUNDS = 20
sent, summaries = [], []


class Model(BaseChatModel):
    side: bool = False
    calls: int = 1
    @property
    def _llm_type(self): return "scripted"
    def bind_tools(self, tools, **_): return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        if self.side:
            summaries.append(len(messages))
            return ChatResult(generations=[ChatGeneration(message=AIMessage(content="what happened so far"))])
        sent.append([m.type for m in messages])
        n = len(sent)
        calls = [{"name": "read", "args": {"n": n}, "id": f"call-{n}-{i}"} for i in range(self.calls)] if n < ROUNDS else []
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content="", tool_calls=calls))])


@tool
def read(n: int) -> str:
    "read"
    return f"{n}: " + "word " * 800


class State(AgentState):
    context: dict[str, Any]


def run(calls):
    sent.clear(); summaries.clear()
    node = SummarizationNode(model=Model(side=True), max_tokens=8_500, output_messages_key="llm_input_messages")
    agent = create_react_agent(Model(calls=calls), [read], prompt="You are an agent.", pre_model_hook=node, state_schema=State)
    agent.invoke({"messages": [("user", "Read everything.")]}, {"recursion_limit": 500})
    bare = sum(set(kinds) == {"system"} for kinds in sent)
    orphans = sum(next((k for k in kinds if k != "system"), "") == "tool" for kinds in sent)
    return len(summaries), bare, orphans


one, two = run(1), run(2)
print(f"langmem {version('langmem')}: max_tokens 8,500, results of 1,000 tokens, {ROUNDS} requests")
print(f"one call a round:  {one[0]} summaries; {one[1]} requests with system messages alone, {one[2]} that begin with a result")
print(f"two calls a round: {two[0]} summaries; {two[1]} requests with system messages alone, {two[2]} that begin with a result whose call is gone")
sys.exit(0 if one[0] == one[1] >= 1 and two[2] >= 1 else 1)
PY
