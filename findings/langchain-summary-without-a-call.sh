#!/usr/bin/env bash
# LangChain (PyPI langchain 1.5.2): SummarizationMiddleware, with its default limits,
# throws a tool loop away without summarising it. No model is called.
#
# What is to be summarised is first cut to its newest 4,000 tokens, beginning at a human
# message. A tool loop has none there, so nothing is left, and a fixed sentence that the
# conversation was too long replaces all the rounds. With trim_tokens_to_summarize=None
# the same conversation is summarised by the model.
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
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

ROUNDS = 40
main, summaries = [], []


class Model(BaseChatModel):
    side: bool = False
    @property
    def _llm_type(self): return "scripted"
    def bind_tools(self, tools, **_): return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        calls = []
        if self.side:
            summaries.append(messages)
        else:
            main.append([str(m.content) for m in messages])
            if len(main) < ROUNDS:
                calls = [{"name": "read", "args": {"n": len(main)}, "id": f"call-{len(main)}"}]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content="done", tool_calls=calls))])


@tool
def read(n: int) -> str:
    "read"
    return f"{n}: " + "word " * 800


def run(**more):
    main.clear(); summaries.clear()
    layer = SummarizationMiddleware(model=Model(side=True), trigger=("tokens", 25_000), keep=("messages", 6), **more)
    create_agent(Model(), [read], middleware=[layer]).invoke({"messages": [("user", "Read everything.")]}, {"recursion_limit": 500})
    shrunk = [i for i in range(1, len(main)) if len(main[i]) < len(main[i - 1])]
    return len(shrunk), len(summaries), main[shrunk[0]][0] if shrunk else ""


print(f"langchain {version('langchain')}: trigger 25,000 tokens, keep 6 messages, {ROUNDS} requests")
lost, calls, text = run()
print(f"defaults: history replaced {lost} times, model asked for a summary {calls} times; in its place stands {len(text)} characters: {text[-80:]!r}")
lost2, calls2, _ = run(trim_tokens_to_summarize=None)
print(f"trim_tokens_to_summarize=None: history replaced {lost2} times, model asked {calls2} times")
sys.exit(0 if lost >= 1 and calls == 0 and calls2 == lost2 >= 1 else 1)
PY
