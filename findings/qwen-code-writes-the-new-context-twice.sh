#!/usr/bin/env bash
# Qwen Code (npm @qwen-code/qwen-code 0.24.4): behind an automatic compaction the new context is
# written to the cache twice.
#
# Ahead of the first prompt the client sends reminders: skills, surroundings, tools that can be
# searched. The first request behind an automatic compaction lacks them and begins with the
# summary. The next one has them again, ahead of the summary, so nothing behind the system prompt
# is read: the summary, the files that came back and the newest round are paid as new once more.
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
           "context": {"autoCompactThreshold": 0.5}, "telemetry": {"enabled": False}, "privacy": {"usageStatisticsEnabled": False},
           "general": {"enableAutoUpdate": False}}, open(os.path.join(HOME, ".qwen", "settings.json"), "w"))
kinds = []  # of the requests: what the first message begins with, "compact" for the summary call
main = 0


def first(message):
    content = message["content"]
    return content if isinstance(content, str) else content[0].get("text", "")


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_): pass

    def do_POST(self):
        global main
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        last = json.dumps(body["messages"][-1])
        tokens = 30_000
        if "state_snapshot" in last:
            kinds.append("compact")
            blocks = [{"type": "text", "text": "<analysis>none</analysis><state_snapshot>One command was run.</state_snapshot>"}]
        else:
            main += 1
            head = first(body["messages"][0])
            kinds.append("reminders" if head.startswith("<system-reminder>") else "summary" if "<state_snapshot>" in head else "other")
            blocks = [{"type": "text", "text": f"Step {main}."}]
            if main <= 4:
                blocks.append({"type": "tool_use", "id": f"toolu_{main}", "name": "run_shell_command",
                               "input": {"command": f"echo {main}", "is_background": False, "description": "Print a number"}})
            if main == 2:
                tokens = 150_000  # of a window of 200,000: more than half
        usage = {"input_tokens": tokens, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 20}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

        def send(event):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        send({"type": "message_start", "message": {"id": f"msg_{len(kinds)}", "type": "message", "role": "assistant", "content": [],
              "model": "claude-sonnet-4-6", "stop_reason": None, "stop_sequence": None, "usage": usage}})
        for i, b in enumerate(blocks):
            if b["type"] == "text":
                start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": b["text"]}
            else:
                start, delta = {**b, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(b["input"])}
            send({"type": "content_block_start", "index": i, "content_block": start})
            send({"type": "content_block_delta", "index": i, "delta": delta})
            send({"type": "content_block_stop", "index": i})
        stop = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
        send({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage})
        send({"type": "message_stop"})
        self.close_connection = True


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
env = {"PATH": os.environ["PATH"], "HOME": HOME, "TERM": "dumb", "NO_COLOR": "1", "ANTHROPIC_API_KEY": "none",
       "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}", "ANTHROPIC_MODEL": "claude-sonnet-4-6"}
done = subprocess.run(["node", os.environ["QWEN"], "-y", "--auth-type", "anthropic", "-p", "Count."], cwd=PROJECT, env=env,
                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
print("Qwen Code 0.24.4, the first message of each request begins with:", ", ".join(kinds))
if kinds[:6] == ["reminders", "reminders", "compact", "summary", "reminders", "reminders"]:
    print("behind the compaction the reminders are missing in one request and stand ahead of the summary in the next")
    sys.exit(0)
print(done.stderr[-2000:])
sys.exit(1)
PY
unshare -rn sh -c 'ip link set lo up && exec python3 "$DIR/try.py"'
