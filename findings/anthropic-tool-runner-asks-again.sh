#!/usr/bin/env bash
# Anthropic's SDK (PyPI anthropic 0.125.0, the last version 0): the tool runner with
# compaction_control throws away the response that reaches the threshold. Its calls do
# not run. If it was the final answer, the model is asked once more.
#
# The runner looks at the usage of each response before it runs the response's tools. At
# the threshold it asks for a summary of what precedes the response, puts the summary in
# the place of all messages, and goes on with the loop. The response is in neither.
# Version 1.0.0 has no compaction_control any more.
#
# Needs Python 3.10 or later and PyPI. Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/env"
"$dir/env/bin/pip" install -q --disable-pip-version-check anthropic==0.125.0
"$dir/env/bin/python" - <<'PY'
import json, sys, warnings
warnings.filterwarnings("ignore")
import httpx
from importlib.metadata import version
from anthropic import Anthropic, beta_tool

ran, requests, asked = [], [], []


def server(script):
    """answers with each entry of the script in turn: a call or a final answer, and the usage"""
    def answer(request):
        body = json.loads(request.content)
        if not body.get("tools"):
            asked.append(json.dumps(body["messages"]))
            content, used, stop = [{"type": "text", "text": "summary"}], 100, "end_turn"
        else:
            requests.append(len(body["messages"]))
            text, n, used = script[len(requests) - 1]
            content, stop = [{"type": "text", "text": text}], "end_turn"
            if n:
                content, stop = content + [{"type": "tool_use", "id": f"c{n}", "name": "deploy", "input": {"n": n}}], "tool_use"
        return httpx.Response(200, json={"id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": content,
                                         "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": used, "output_tokens": 10}})
    return httpx.Client(transport=httpx.MockTransport(answer))


@beta_tool
def deploy(n: int) -> str:
    "deploy"
    ran.append(n)
    return f"deployed {n}"


def run(script):
    for was in (ran, requests, asked):
        was.clear()
    client = Anthropic(api_key="none", http_client=server(script))
    runner = client.beta.messages.tool_runner(model="claude-sonnet-4-5", max_tokens=1000, tools=[deploy], compaction_control={"enabled": True},
                                              messages=[{"role": "user", "content": "Deploy one, two and three."}])
    return runner.until_done().content[0].text


print(f"anthropic {version('anthropic')}: threshold 100,000 tokens")
run([("step A", 1, 50_000), ("step B", 2, 100_000), ("step C", 3, 1_000), ("done", 0, 2_000)])
print(f"the second of three responses with a call reaches it: calls {ran} ran, and the summary was made of a conversation {'with' if 'step B' in asked[0] else 'without'} that response")
first = ran == [1, 3] and len(asked) == 1 and "step A" in asked[0] and "step B" not in asked[0]
last = run([("step A", 1, 50_000), ("the answer", 0, 100_000), ("nothing left to do", 0, 1_000)])
print(f"the final answer reaches it: {len(requests)} requests for 2, and what the runner returns is {last!r}")
sys.exit(0 if first and len(requests) == 3 and last == "nothing left to do" else 1)
PY
