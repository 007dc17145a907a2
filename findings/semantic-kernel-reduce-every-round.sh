#!/usr/bin/env bash
# Semantic Kernel (Python, PyPI semantic-kernel 1.45.0): a history reducer never
# shortens a running tool loop, and pays a summary call at every reduce() in one.
#
# No agent or thread of the library calls reduce() by itself; auto_reduce=True does so in
# add_message_async alone. A program calls it: here before every request.
#
# ChatHistorySummarizationReducer(target_count=10, threshold_count=5) promises a history
# of about 10 messages. The cut moves back so that it separates no call from its result,
# and over all calls and results in a row, that is to the last prompt. Behind one prompt
# with 30 tool rounds the history therefore grows to more than 60 messages, stays above
# its threshold, and every reduce() asks the model for another summary of the two or
# three messages at the head and replaces them: the cached prefix is lost each time.
#
# Needs Python 3.10 to 3.13 and PyPI. Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/env"
"$dir/env/bin/pip" install -q --disable-pip-version-check semantic-kernel==1.45.0
"$dir/env/bin/python" - <<'PY'
import asyncio, logging, sys, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from importlib.metadata import version
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.connectors.ai.prompt_execution_settings import PromptExecutionSettings
from semantic_kernel.contents import (ChatHistorySummarizationReducer, ChatMessageContent, FunctionCallContent,
                                      FunctionResultContent)
from semantic_kernel.contents.utils.author_role import AuthorRole as Role

asked = []  # the number of messages that each summary call reads


class Model(ChatCompletionClientBase):
    async def get_chat_message_content(self, chat_history, settings, **_):
        asked.append(len(chat_history.messages))
        return ChatMessageContent(role=Role.ASSISTANT, content=f"summary {len(asked)}")

    async def get_chat_message_contents(self, chat_history, settings, **_):
        return [await self.get_chat_message_content(chat_history, settings)]

    def get_prompt_execution_settings_class(self):
        return PromptExecutionSettings


async def main():
    history = ChatHistorySummarizationReducer(service=Model(ai_model_id="m"), target_count=10, threshold_count=5)
    history.add_system_message("You are an agent.")
    for i in range(8):  # small talk, so that there is something to summarise
        history.add_user_message(f"question {i}")
        history.add_assistant_message(f"answer {i}")
    history.add_user_message("Now do the work.")
    rounds, lengths = 30, []
    for i in range(rounds):
        await history.reduce()
        lengths.append(len(history.messages))
        history.add_message(ChatMessageContent(role=Role.ASSISTANT, items=[FunctionCallContent(id=f"c{i}", name="read", arguments="{}")]))
        history.add_message(ChatMessageContent(role=Role.TOOL, items=[FunctionResultContent(id=f"c{i}", name="read", result="text")]))
    print(f"semantic-kernel {version('semantic-kernel')}: target 10, threshold 5")
    print(f"{rounds} requests behind one prompt: {len(asked)} summary calls, messages at the last request: {lengths[-1]}; messages that the last calls read: {asked[-3:]}")
    return 0 if len(asked) >= 20 and lengths[-1] > 50 else 1


sys.exit(asyncio.run(main()))
PY
