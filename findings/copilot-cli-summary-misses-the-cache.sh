#!/usr/bin/env bash
# GitHub Copilot CLI (npm @github/copilot 1.0.102) with Anthropic's interface: the call that writes a compaction's summary cannot read
# the conversation from the cache.
#
# The call has the same tools, system prompt and messages as the conversation, to whose end it adds one message that asks for the
# summary: all of it is cached. But it also sets tool_choice to none, which the conversation's requests leave out, and by the
# provider's documentation ("What invalidates the cache") another tool_choice invalidates the cached messages. So the largest
# request of a session pays its messages as new, and since it carries a marker it writes them, for nobody to read.
# The text asks for no tools as well, so the setting adds little.
#
# Needs Linux with unshare (as root or with user namespaces), Python 3, npm.
# Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "${COPILOT:-}" ]; then
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir/npm" @github/copilot@1.0.102 >/dev/null 2>&1
  COPILOT=$dir/npm/node_modules/@github/copilot-linux-x64/copilot
fi
export COPILOT DIR=$dir
cat >"$dir/try.py" <<'PY'
import json, os, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER = os.environ["DIR"]
HOME, PROJECT = os.path.join(FOLDER, "home"), os.path.join(FOLDER, "project")
os.makedirs(HOME)
os.makedirs(PROJECT)
requests = []  # bodies; a summary's is marked
lock = threading.Lock()


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_): pass

    def do_GET(self):
        self.send_error(404)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with lock:
            requests.append(body)
            n = len(requests)
            body["summary"] = "create a detailed summary" in json.dumps(body["messages"][-1])
            done = body["summary"] or any(r["summary"] for r in requests) or n > 30
        block = {"type": "text", "text": ""} if done else {"type": "tool_use", "id": f"toolu_{n}", "name": "bash", "input": {}}
        delta = {"type": "text_delta", "text": "Done."} if done else {"type": "input_json_delta", "partial_json": json.dumps({"command": f"seq {1000 * n} {1000 * n + 999}", "description": "Count"})}
        usage = {"input_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 9000, "output_tokens": 20}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

        def send(event):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        send({"type": "message_start", "message": {"id": f"msg_{n}", "type": "message", "role": "assistant", "content": [],
              "model": "claude-sonnet-4-6", "stop_reason": None, "stop_sequence": None, "usage": usage}})
        send({"type": "content_block_start", "index": 0, "content_block": block})
        send({"type": "content_block_delta", "index": 0, "delta": delta})
        send({"type": "content_block_stop", "index": 0})
        send({"type": "message_delta", "delta": {"stop_reason": "end_turn" if done else "tool_use", "stop_sequence": None}, "usage": usage})
        send({"type": "message_stop"})
        self.close_connection = True


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
env = {"PATH": os.environ["PATH"], "HOME": HOME, "TERM": "dumb", "NO_COLOR": "1", "LANG": "C.UTF-8", "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false",
       "COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{server.server_port}", "COPILOT_PROVIDER_TYPE": "anthropic", "COPILOT_PROVIDER_API_KEY": "none",
       "COPILOT_MODEL": "claude-sonnet-4-6", "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "24000"}


def say(prompt):
    done = subprocess.run([os.environ["COPILOT"], "-p", prompt, "--allow-all-tools", "--session-id", "0f8fad5b-d9cb-469f-a165-70867728950e"], cwd=PROJECT, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
    return done.stdout[-1500:] + done.stderr[-1500:]


def plain(v):
    """A value without its cache markers."""
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items() if k != "cache_control"}
    return [plain(x) for x in v] if isinstance(v, list) else v


said = say("Count a few times.")
at = next((i for i, r in enumerate(requests) if r["summary"]), None)
if not at:
    print(len(requests), "requests and no summary:", said)
    sys.exit(1)
main, summary = requests[at - 1], requests[at]
common = 0
while common < len(main["messages"]) and plain(main["messages"][common]) == plain(summary["messages"][common]):
    common += 1
differ = sorted(k for k in set(main) | set(summary) if k not in ("messages", "summary") and plain(main.get(k)) != plain(summary.get(k)))
marked = any("cache_control" in json.dumps(m) for m in summary["messages"])
print(f"Copilot CLI 1.0.102: the summary call is request {at + 1}; its first {common} messages are the {len(main['messages'])} of the request before it")
print("tools the same:", plain(main["tools"]) == plain(summary["tools"]), "- system prompt the same:", plain(main["system"]) == plain(summary["system"]), "- marker on its messages:", marked)
for k in differ:
    print(f"{k}: {json.dumps(main.get(k))} in the conversation, {json.dumps(summary.get(k))} in the summary call")
sys.exit(0 if common == len(main["messages"]) and differ == ["tool_choice"] and summary["tool_choice"] == {"type": "none"} and marked else 1)
PY
unshare -rn sh -c 'ip link set lo up && exec python3 "$DIR/try.py"'
