#!/usr/bin/env bash
# Qwen Code (npm @qwen-code/qwen-code 0.24.4): "qwen -c" writes the whole conversation to the cache anew.
#
# With the first prompt of a process the client sends the date, in a block ahead of the prompt. The
# session's log does not have it, and a process that goes on with the session ("-c") makes the history
# of the log: the first prompt lacks the date now, so the second request has nothing behind tools,
# system prompt and three reminders in common with the first one, though nothing was edited, a
# second has passed, and the day is the same.
#
# Needs Linux with unshare (as root or with user namespaces), Python 3, Node 20, npm.
# Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "${QWEN:-}" ]; then
  npm install --silent --no-audit --no-fund --prefix "$dir/npm" @qwen-code/qwen-code@0.24.4 >/dev/null 2>&1
  QWEN=$dir/npm/node_modules/@qwen-code/qwen-code/cli.js
fi
export QWEN DIR=$dir
cat >"$dir/try.py" <<'PY'
import json, os, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER = os.environ["DIR"]
HOME, PROJECT = os.path.join(FOLDER, "home"), os.path.join(FOLDER, "project")
os.makedirs(os.path.join(HOME, ".qwen"))
os.makedirs(PROJECT)
json.dump({"security": {"auth": {"selectedType": "anthropic"}}, "model": {"name": "claude-sonnet-4-6"},
           "telemetry": {"enabled": False}, "privacy": {"usageStatisticsEnabled": False},
           "general": {"enableAutoUpdate": False}}, open(os.path.join(HOME, ".qwen", "settings.json"), "w"))
requests = []  # of each: its blocks in the order in which a cache compares them, without markers


def blocks(body):
    yield from (("tool", t["name"], t.get("description", "")) for t in body.get("tools") or [])
    system = body.get("system") or []
    yield from (("system", "", s["text"]) for s in ([{"text": system}] if isinstance(system, str) else system))
    for m in body["messages"]:
        content = [{"type": "text", "text": m["content"]}] if isinstance(m["content"], str) else m["content"]
        yield from ((m["role"], c["type"], c.get("text", "")) for c in content)


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_): pass

    def do_POST(self):
        requests.append(list(blocks(json.loads(self.rfile.read(int(self.headers["content-length"]))))))
        usage = {"input_tokens": 30_000, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 20}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

        def send(event):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        send({"type": "message_start", "message": {"id": f"msg_{len(requests)}", "type": "message", "role": "assistant", "content": [],
              "model": "claude-sonnet-4-6", "stop_reason": None, "stop_sequence": None, "usage": usage}})
        send({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        send({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done."}})
        send({"type": "content_block_stop", "index": 0})
        send({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage})
        send({"type": "message_stop"})
        self.close_connection = True


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
env = {"PATH": os.environ["PATH"], "HOME": HOME, "TERM": "dumb", "NO_COLOR": "1", "ANTHROPIC_API_KEY": "none",
       "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}", "ANTHROPIC_MODEL": "claude-sonnet-4-6"}
first_of = []  # the first request of each process; a side call may follow
for more in (["-p", "First prompt."], ["-c", "-p", "Second prompt."]):
    first_of.append(len(requests))
    done = subprocess.run(["node", os.environ["QWEN"], "-y", "--auth-type", "anthropic", *more], cwd=PROJECT, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
if len(requests) <= first_of[1]:
    print(len(requests), "requests:", done.stderr[-2000:])
    sys.exit(1)
first, second = (requests[i] for i in first_of)
same = 0
while same < min(len(first), len(second)) and first[same] == second[same]:
    same += 1
print(f"Qwen Code 0.24.4: of {len(first)} blocks of the first request the second one begins with {same}")
if same == len(first):
    print("the second request goes on from the first")
    sys.exit(1)
print("the first request has there:", first[same][2][:70].replace("\n", " "))
print("the second one:             ", second[same][2][:70].replace("\n", " "))
sys.exit(0 if "current date" in first[same][2] and "First prompt" in second[same][2] else 1)
PY
unshare -rn sh -c 'ip link set lo up && exec python3 "$DIR/try.py"'
