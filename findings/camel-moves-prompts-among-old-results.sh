#!/usr/bin/env bash
# CAMEL (PyPI camel-ai 0.2.90): what a person asks next is sent among the results of
# the earlier tool loop, and not behind them, and from there on every prompt and every
# answer moves the request's prefix.
#
# Before a request goes out, BaseModelBackend.preprocess_messages puts calls and results
# into buffers, and writes one response with its results for each message that is
# neither. Of a loop of several rounds all but the first are still in the buffers when
# the answer and the next prompt come: these are written ahead of them. The last
# message of the request with the second prompt is a result of the first one's loop.
#
# Needs Python 3.10 to 3.13 and PyPI. Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/env"
"$dir/env/bin/pip" install -q --disable-pip-version-check camel-ai==0.2.90 mcp==1.30.0
cd "$dir"
"$dir/env/bin/python" - <<'PY'
import logging, sys, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from importlib.metadata import version
from camel.agents import ChatAgent
from camel.models import BaseModelBackend
from camel.toolkits import FunctionTool
from camel.types import ChatCompletion, ModelType
from camel.utils import BaseTokenCounter

ROUNDS = 5
sent = []


class Counter(BaseTokenCounter):
    def count_tokens_from_messages(self, messages): return 100
    def encode(self, text): return [0] * (len(text) // 4)
    def decode(self, token_ids): return ""


class Model(BaseModelBackend):
    token_counter = Counter()
    token_limit = 200_000

    def _run(self, messages, response_format=None, tools=None):
        sent.append([m["content"] for m in messages if m["role"] != "system"])
        n = len(sent)
        message = {"role": "assistant", "content": f"step {n}"}
        if n <= ROUNDS:
            message["tool_calls"] = [{"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": '{"n": %d}' % n}}]
        else:
            message["content"] = f"answer {n - ROUNDS}"
        return ChatCompletion(id=f"r{n}", model="scripted", object="chat.completion", created=0,
                              choices=[{"index": 0, "finish_reason": "tool_calls" if n <= ROUNDS else "stop", "message": message}],
                              usage={"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105})

    async def _arun(self, messages, response_format=None, tools=None):
        return self._run(messages, response_format, tools)


def read(n: int) -> str:
    """read

    Args:
        n (int): which
    """
    return f"result {n}"


agent = ChatAgent(system_message="You are an agent.", model=Model(ModelType.STUB), tools=[FunctionTool(read)])
agent.step("prompt 1: read all five")
agent.step("prompt 2: what was in the third?")
memory = [m["content"] for m in agent.memory.get_context()[0] if m["role"] != "system"]
before, after = sent[-2], sent[-1]
same = next((i for i, (a, b) in enumerate(zip(before, after)) if a != b), len(before))
print(f"camel-ai {version('camel-ai')}: a loop of {ROUNDS} rounds, then a second prompt")
print("in memory:", " | ".join(memory[-5:-1]))
print("sent:     ", " | ".join(after))
print(f"of the {len(before)} messages of the request before, the first {same} begin the request with the second prompt")
moved = after.index("prompt 2: what was in the third?") < len(after) - 1 and after[-1] == f"result {ROUNDS}"
sys.exit(0 if moved and same < len(before) and memory[-2].startswith("prompt 2") else 1)
PY
