#!/usr/bin/env bash
# AutoGen (PyPI autogen-core 0.7.5): TokenLimitedChatCompletionContext takes single
# messages out of the middle, so that a request can hold a tool result whose call is gone,
# or a call whose result is gone. Providers refuse such a request.
#
# The context removes one message after another at the middle of the list until the count
# fits, on a copy that it makes anew for each request: the place of the hole moves, so the
# cached prefix ends there each time.
#
# Needs Python 3.10 or later and PyPI. Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/env"
"$dir/env/bin/pip" install -q --disable-pip-version-check autogen-core==0.7.5
"$dir/env/bin/python" - <<'PY'
import asyncio, sys
from importlib.metadata import version
from autogen_core import FunctionCall
from autogen_core.model_context import TokenLimitedChatCompletionContext
from autogen_core.models import (AssistantMessage, ChatCompletionClient, FunctionExecutionResult,
                                 FunctionExecutionResultMessage, ModelInfo, UserMessage)


def text(m):
    return m.content if isinstance(m.content, str) else "".join(getattr(x, "content", getattr(x, "arguments", "")) for x in m.content)


class Model(ChatCompletionClient):  # counts a token for each character
    async def create(self, *a, **k): raise NotImplementedError
    def create_stream(self, *a, **k): raise NotImplementedError
    async def close(self): pass
    def actual_usage(self): raise NotImplementedError
    def total_usage(self): raise NotImplementedError
    def count_tokens(self, messages, *, tools=()): return sum(len(text(m)) for m in messages)
    def remaining_tokens(self, messages, *, tools=()): return 10_000 - self.count_tokens(messages)
    @property
    def capabilities(self): return self.model_info
    @property
    def model_info(self):
        return ModelInfo(vision=False, function_calling=True, json_output=True, family="unknown", structured_output=True)


async def main():
    context = TokenLimitedChatCompletionContext(Model(), token_limit=2_000)
    await context.add_message(UserMessage(content="Read the files.", source="user"))
    broken, before, moved = [], [], 0
    for i in range(30):
        sent = await context.get_messages()
        calls = {c.id for m in sent if isinstance(m, AssistantMessage) and not isinstance(m.content, str) for c in m.content}
        results = {r.call_id for m in sent if isinstance(m, FunctionExecutionResultMessage) for r in m.content}
        if calls != results:
            broken.append(i + 1)
        if before and sent[:len(before)] != before:
            moved += 1
        before = sent
        await context.add_message(AssistantMessage(content=[FunctionCall(id=f"c{i}", name="read", arguments="{}")], source="agent"))
        await context.add_message(FunctionExecutionResultMessage(content=[FunctionExecutionResult(call_id=f"c{i}", name="read", content="x" * (100 + 40 * (i % 3)), is_error=False)]))
    print(f"autogen-core {version('autogen-core')}: token_limit=2000, 30 requests of a tool loop")
    print(f"requests with a call without its result or a result without its call: {len(broken)} (first: {broken[:3]})")
    print(f"requests that do not begin with the request before: {moved}")
    return 0 if len(broken) >= 5 and moved >= 10 else 1


sys.exit(asyncio.run(main()))
PY
