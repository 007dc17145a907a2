#!/usr/bin/env bash
# OpenAI Agents SDK (PyPI openai-agents 0.24.0): OpenAIResponsesCompactionSession has its
# history compacted by gpt-4.1, whatever model the agent runs on.
#
# The session sends responses.compact with a model of its own, gpt-4.1 unless its
# constructor is given another. The agent's model, gpt-5.5 here, has the conversation in
# its prompt cache; gpt-4.1 has not, so that the compaction reads everything at the full
# price of another model.
#
# Needs Python 3.10 or later and PyPI. Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/env"
"$dir/env/bin/pip" install -q --disable-pip-version-check openai-agents==0.24.0
OPENAI_AGENTS_DISABLE_TRACING=1 "$dir/env/bin/python" - <<'PY'
import asyncio, json, sys, threading, warnings
warnings.filterwarnings("ignore")
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from agents import Agent, OpenAIResponsesModel, Runner, SQLiteSession
from agents.memory import OpenAIResponsesCompactionSession
from openai import AsyncOpenAI

seen = []  # path and model of each request


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_): pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        seen.append((self.path, body["model"]))
        usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}, "output_tokens": 2,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 12}
        message = {"id": f"m{len(seen)}", "type": "message", "role": "assistant", "status": "completed",
                   "content": [{"type": "output_text", "text": "yes", "annotations": []}]}
        answer = {"id": f"r{len(seen)}", "object": "response", "created_at": 1, "model": body["model"], "status": "completed",
                  "output": [message], "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()


async def main():
    client = AsyncOpenAI(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}/v1", max_retries=0)
    session = OpenAIResponsesCompactionSession("s", SQLiteSession("s"), client=client)
    agent = Agent(name="a", model=OpenAIResponsesModel("gpt-5.5", client))
    for i in range(12):
        await Runner.run(agent, f"question {i}", session=session)
    compact = {m for p, m in seen if p.endswith("/compact")}
    asked = {m for p, m in seen if not p.endswith("/compact")}
    print(f"openai-agents {version('openai-agents')}: the agent asks {sorted(asked)}, its session compacts with {sorted(compact)}")
    return 0 if asked == {"gpt-5.5"} and compact == {"gpt-4.1"} else 1


sys.exit(asyncio.run(main()))
PY
