import asyncio, json
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.connectors.ai.prompt_execution_settings import PromptExecutionSettings
from semantic_kernel.contents import ChatHistorySummarizationReducer, ChatMessageContent, FunctionCallContent, FunctionResultContent, TextContent
from semantic_kernel.contents.utils.author_role import AuthorRole
import bench


def plain(history):
    out, system = [], ""
    for m in history:
        results = [i for i in m.items if isinstance(i, FunctionResultContent)]
        if m.role == AuthorRole.SYSTEM:
            system += m.content
        elif results:
            out += [{"role": "tool", "text": str(i.result), "for": i.id} for i in results]
        else:
            calls = [[i.id, i.function_name, i.arguments] for i in m.items if isinstance(i, FunctionCallContent)]
            out.append({"role": m.role.value, "text": "".join(i.text for i in m.items if isinstance(i, TextContent)), "calls": calls})
    return out, system


class Summariser(ChatCompletionClientBase):
    async def get_chat_message_contents(self, chat_history, settings, **kw):
        return [ChatMessageContent(role=AuthorRole.ASSISTANT, content=bench.side(*plain(chat_history.messages)))]

    async def get_chat_message_content(self, chat_history, settings, **kw):
        return (await self.get_chat_message_contents(chat_history, settings))[0]

    def get_prompt_execution_settings_class(self):
        return PromptExecutionSettings


async def run():
    """The library reduces nothing by itself: the program does, before every request, or at each prompt alone."""
    every = {"semantic-kernel": True, "semantic-kernel/per-prompt": False}[bench.PRESET]
    h = ChatHistorySummarizationReducer(service=Summariser(ai_model_id="scripted"), target_count=10, threshold_count=5)
    h.add_system_message(bench.SYSTEM)
    for p in bench.PROMPTS:
        h.add_user_message(p)
        if not every:
            await h.reduce()
        while True:
            if every:
                await h.reduce()
            s = bench.main(*plain(h.messages))
            if not s["calls"]:
                h.add_assistant_message(s["say"])
                break
            calls = [FunctionCallContent(id=c["id"], name=c["name"], arguments=json.dumps(c["args"])) for c in s["calls"]]
            h.add_message(ChatMessageContent(role=AuthorRole.ASSISTANT, items=[TextContent(text=s["say"]), *calls]))
            for c in s["calls"]:  # each is a message of its own
                result = FunctionResultContent(id=c["id"], name=c["name"], result=bench.look(c["args"]["path"]))
                h.add_message(ChatMessageContent(role=AuthorRole.TOOL, items=[result]))


asyncio.run(run())
