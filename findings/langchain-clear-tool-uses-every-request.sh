#!/usr/bin/env bash
# LangChain (PyPI langchain 1.5.2): ContextEditingMiddleware with ClearToolUsesEdit breaks
# the prompt cache at every request once its trigger is passed.
#
# The edit works on a copy of the raw history, made anew for each request, and never gets
# into the agent's state. It compares the raw history's count with the trigger, so once
# passed the trigger stays passed, and each round pushes one more result out of the newest
# three: every request clears one result more than the request before, and departs from
# that request there. A user of Anthropic's server-side edit of the same name would expect
# clear_at_least to make batches; here it counts from the first result each time, clears
# the same results again, and the context grows without bound.
#
# Needs Python 3.10 or later and PyPI. Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/env"
"$dir/env/bin/pip" install -q --disable-pip-version-check langchain==1.5.2
"$dir/env/bin/python" - <<'PY'
import sys, warnings
warnings.filterwarnings("ignore")
from importlib.metadata import version
from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

ROUNDS = 40
requests = []


class Model(BaseChatModel):
    @property
    def _llm_type(self): return "scripted"
    def bind_tools(self, tools, **_): return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        requests.append([str(m.content) for m in messages])
        n = len(requests)
        calls = [{"name": "read", "args": {"n": n}, "id": f"call-{n}"}] if n < ROUNDS else []
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=f"step {n}", tool_calls=calls))])


@tool
def read(n: int) -> str:
    "read"
    return f"{n}: " + "word " * 800  # about 1,000 tokens at four characters each


def run(edit):
    requests.clear()
    agent = create_agent(Model(), [read], middleware=[ContextEditingMiddleware(edits=[edit])])
    agent.invoke({"messages": [("user", "Read everything.")]}, {"recursion_limit": 500})
    edited = [i for i in range(1, len(requests)) if requests[i][:len(requests[i - 1])] != requests[i - 1]]
    return edited, [sum(t == "[cleared]" for t in r) for r in requests]


print(f"langchain {version('langchain')}: trigger 20,000 tokens, keep 3, {ROUNDS} requests with a result of 1,000 tokens each")
edited, cleared = run(ClearToolUsesEdit(trigger=20_000, keep=3))
print(f"requests that depart from the request before: {len(edited)} of {ROUNDS}, from request {edited[0] + 1} on; results cleared in the last: {cleared[-1]}")
batched, least = run(ClearToolUsesEdit(trigger=20_000, keep=3, clear_at_least=5_000))
print(f"with clear_at_least=5,000: {len(batched)} request departs; results cleared in the last request: {least[-1]} of {ROUNDS - 1}")
sys.exit(0 if len(edited) >= 15 and len(batched) <= 2 and max(least) < 10 else 1)
PY
