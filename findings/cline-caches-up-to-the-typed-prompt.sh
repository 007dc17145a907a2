#!/usr/bin/env bash
# Cline CLI (npm cline 3.0.65) with Anthropic's interface: a loop of tools is never cached beyond what the person typed.
#
# Each request carries one cache marker, on the text of the person's newest prompt. Calls of tools and their results stand behind it,
# so every request of a loop pays all of them at the full price of input, however long the loop: the cost of one prompt grows
# with the square of its rounds. Tools and system prompt, which stand ahead of the marker, are read.
#
# Needs Linux with unshare (as root or with user namespaces), Python 3, npm.
# Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "${CLINE:-}" ]; then
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir/npm" cline@3.0.65 >/dev/null 2>&1
  CLINE=$dir/npm/node_modules/@cline/cli-linux-x64/bin/cline
fi
export CLINE DIR=$dir
cat >"$dir/try.py" <<'PY'
import json, os, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER, ROUNDS = os.environ["DIR"], 8
HOME, PROJECT = os.path.join(FOLDER, "home"), os.path.join(FOLDER, "project")
SETTINGS = os.path.join(HOME, ".cline", "data", "settings")
os.makedirs(SETTINGS)
os.makedirs(PROJECT)
seen = []  # of each request: the kinds of the marked parts of its messages, and how many bytes of messages stand behind the last one


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
        block = {"type": "text", "text": ""} if done else {"type": "tool_use", "id": f"toolu_{len(seen)}", "name": "run_commands", "input": {}}
        delta = {"type": "text_delta", "text": "Done."} if done else {"type": "input_json_delta", "partial_json": json.dumps({"commands": [f"seq {1000 * len(seen)} {1000 * len(seen) + 400}"]})}
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
json.dump({"version": 1, "lastUsedProvider": "anthropic", "modes": {}, "providers": {"anthropic": {
    "settings": {"provider": "anthropic", "apiKey": "none", "model": "claude-sonnet-4-6", "baseUrl": f"http://127.0.0.1:{server.server_port}"},
    "updatedAt": "2026-11-29T00:00:00.000Z", "tokenSource": "manual"}}}, open(os.path.join(SETTINGS, "providers.json"), "w"))
env = {"PATH": os.environ["PATH"], "HOME": HOME, "TERM": "dumb", "NO_COLOR": "1", "LANG": "C.UTF-8", "DO_NOT_TRACK": "1"}
done = subprocess.run([os.environ["CLINE"], "-P", "anthropic", "-m", "claude-sonnet-4-6", "--json", "Count a few times."], cwd=PROJECT, env=env,
                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
if len(seen) < ROUNDS + 1:
    print(len(seen), "requests:", done.stdout[-1500:], done.stderr[-1500:])
    sys.exit(1)
print("Cline 3.0.65, one prompt, nine requests of Anthropic's interface:")
print("request  parts of messages  marked  bytes of messages behind the last marker")
for n, (marked, behind, parts) in enumerate(seen):
    print(f"{n + 1:7}  {parts:17}  {', '.join(marked) or 'none':6}  {behind:,}")
sys.exit(0 if all(m == ["text 0"] for m, _, _ in seen) and seen[-1][1] > 8 * 1000 else 1)
PY
unshare -rn sh -c 'ip link set lo up && exec python3 "$DIR/try.py"'
