#!/usr/bin/env bash
# Microsoft Agent Framework (Python, PyPI agent-framework-core 1.23.0): an agent with
# SummarizationStrategy as its compaction_strategy pays a summary call before every
# request of a tool loop, and its context grows all the same.
#
# The strategy is applied to a copy of the history for each request and its result is not
# kept. The next request begins again with the whole history, which is over the limit
# still, asks for another summary of the oldest messages, and gets another first message:
# nothing of the cached prefix can be read. "target_count" bounds nothing: only the oldest
# messages, up to 8,000 tokens, are replaced.
#
# Needs Python 3.10 or later and PyPI. Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/env"
"$dir/env/bin/pip" install -q --disable-pip-version-check agent-framework-core==1.23.0
"$dir/env/bin/python" - <<'PY'
import asyncio, json, logging, sys, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from importlib.metadata import version
from agent_framework import (Agent, BaseChatClient, ChatMiddlewareLayer, ChatResponse, Content, FunctionInvocationLayer,
                             InMemoryHistoryProvider, Message, tool)
from agent_framework._compaction import SummarizationStrategy

ROUNDS = 30
sent, asked = [], []


class Plain(BaseChatClient):
    OTEL_PROVIDER_NAME = "scripted"
    side = False

    def _inner_get_response(self, *, messages, stream, options, **_):
        async def answer():
            texts = ["".join(str(getattr(c, "text", None) or getattr(c, "result", None) or getattr(c, "arguments", "")) for c in m.contents)
                     for m in messages]
            if self.side:
                asked.append(texts)
                return ChatResponse(messages=[Message(role="assistant", contents=[f"summary {len(asked)}"])], response_id="s")
            sent.append(texts)
            n = len(sent)
            contents = [Content.from_text(f"step {n}")]
            if n < ROUNDS:
                contents.append(Content.from_function_call(call_id=f"call-{n}", name="read", arguments=json.dumps({"n": n})))
            return ChatResponse(messages=[Message(role="assistant", contents=contents)], response_id=f"r{n}")
        return answer()


class Client(FunctionInvocationLayer, ChatMiddlewareLayer, Plain):
    pass


@tool(approval_mode="never_require")
def read(n: int) -> str:
    "read"
    return f"{n}: " + "word " * 800  # about 1,000 tokens at four characters each


async def main():
    client, side = Client(), Client()
    client.function_invocation_configuration["max_iterations"] = 2 * ROUNDS
    side.side = True
    agent = Agent(client, "You are an agent.", tools=[read], compaction_strategy=SummarizationStrategy(client=side),
                  context_providers=[InMemoryHistoryProvider()])
    await agent.run("Read everything.", session=agent.create_session())
    size = [sum(map(len, r)) // 4 for r in sent]
    moved = sum(sent[i][:len(sent[i - 1])] != sent[i - 1] for i in range(1, len(sent)))
    print(f"agent-framework-core {version('agent-framework-core')}: SummarizationStrategy with its defaults, {len(sent)} requests of a tool loop")
    print(f"summary calls: {len(asked)}; requests that depart from the request before: {moved}; tokens of the last request: about {size[-1]:,}")
    return 0 if len(sent) == ROUNDS and len(asked) >= ROUNDS - 6 and moved >= ROUNDS - 6 and size[-1] > 15_000 else 1


sys.exit(asyncio.run(main()))
PY
