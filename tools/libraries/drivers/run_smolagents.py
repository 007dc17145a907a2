from smolagents import ChatMessage, CodeAgent, MessageRole, Model, tool
import json, re
import bench

CODE = re.compile(r"\n<code>\n(.*)\n</code>", re.DOTALL)
PATH = re.compile(r"path=('.*?')\)")


def text(content):
    """what a message says, without what the library writes around a result, and arguments in the place of the code around them"""
    t = content if isinstance(content, str) else "".join(x.get("text", "") for x in content or [])
    t = CODE.sub(lambda m: "".join(json.dumps({"path": eval(p)}) for p in PATH.findall(m[1])) or m[0], t)
    return t.removeprefix("New task:\n").removeprefix("Observation:\nExecution logs:\n").removesuffix("Last output from code snippet:\nNone")


class Scripted(Model):
    def generate(self, messages, **kw):
        list_, system = [], ""
        for m in messages:
            m = m if isinstance(m, dict) else m.dict()
            if m["role"] in (MessageRole.SYSTEM, "system"):
                system += text(m["content"])
            else:
                role = str(getattr(m["role"], "value", m["role"]))
                list_.append({"role": role, "text": text(m["content"])})  # tool-call says the code once more, and is no output of the model
        s = bench.main(list_, system)
        code = "\n".join(f"print(look(path={c['args']['path']!r}))" for c in s["calls"]) or f"final_answer({s['say']!r})"
        return ChatMessage(role="assistant", content=f"{s['say'] if s['calls'] else ''}\n<code>\n{code}\n</code>")


@tool
def look(path: str) -> str:
    """look
    Args:
        path: path
    """
    return bench.look(path)


agent = CodeAgent(tools=[look], model=Scripted(), max_steps=500, verbosity_level=0)
for p in bench.PROMPTS:
    agent.run(p, reset=False)
