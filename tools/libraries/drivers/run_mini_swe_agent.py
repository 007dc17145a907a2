import json, pathlib
import minisweagent, yaml
from minisweagent.agents.default import DefaultAgent
from minisweagent.exceptions import Submitted
from minisweagent.models.test_models import DeterministicToolcallModel, make_toolcall_output
import bench

config = yaml.safe_load((pathlib.Path(minisweagent.__file__).parent / "config" / "mini.yaml").read_text())


def plain(messages):
    """messages, without what the library writes around a result"""
    out, system = [], ""
    for m in messages:
        text = m["content"] or ""
        if m["role"] == "system":
            system += text
        elif m["role"] == "tool":
            r = json.loads(text)
            out.append({"role": "tool", "text": r.get("output") or r.get("output_head", "") + r.get("output_tail", ""), "for": m["tool_call_id"]})
        else:
            out.append({"role": m["role"], "text": text, "calls": [[c["id"], c["function"]["name"], c["function"]["arguments"]] for c in m.get("tool_calls") or []]})
    return out, system


class Scripted(DeterministicToolcallModel):
    def query(self, messages, **kw):
        s = bench.main(*plain(messages))
        if not s["calls"]:
            raise Submitted({"role": "exit", "content": s["say"], "extra": {}})
        calls = [{"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["args"])}} for c in s["calls"]]
        return make_toolcall_output(s["say"], calls, [{"command": c["args"]["path"], "tool_call_id": c["id"]} for c in s["calls"]])


class Files:
    def execute(self, action, **kw):
        return {"output": bench.look(action["command"]), "returncode": 0, "exception_info": ""}

    def get_template_vars(self, **kw):
        return {}

    def serialize(self):
        return {}


model = Scripted(outputs=[], observation_template=config["model"]["observation_template"])
DefaultAgent(model, Files(), system_template=bench.SYSTEM, instance_template=bench.PROMPTS[0], cost_limit=0).run("")
