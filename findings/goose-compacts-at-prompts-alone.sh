#!/usr/bin/env bash
# Goose (npm @aaif/goose-binary-linux-x64 1.52.0): automatic compaction looks at the size when a prompt comes, and never within
# the loop of tools that a prompt starts.
#
# GOOSE_AUTO_COMPACT_THRESHOLD is 0.8 of the context limit. With a limit of 60,000 tokens one prompt's loop goes on far above 48,000,
# and above the limit itself, without a compaction; the next prompt compacts at once. `goose run -t`, which has one prompt,
# therefore never compacts ahead of a refusal of the provider, however low the threshold is set.
#
# Needs Linux with unshare (as root or with user namespaces), Python 3, npm.
# Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "${GOOSE:-}" ]; then
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir/npm" @aaif/goose-binary-linux-x64@1.52.0 >/dev/null 2>&1
  GOOSE=$dir/npm/node_modules/@aaif/goose-binary-linux-x64/bin/goose
fi
export GOOSE DIR=$dir
cat >"$dir/try.py" <<'PY'
import json, os, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER, ROUNDS, LIMIT, STEP = os.environ["DIR"], 10, 60000, 9000
HOME, PROJECT = os.path.join(FOLDER, "home"), os.path.join(FOLDER, "project")
os.makedirs(HOME)
os.makedirs(PROJECT)
seen = []  # of each request: what it is, and the tokens of input that it was billed
size = 0   # tokens of the conversation


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_): pass

    def do_GET(self):
        self.send_error(404)

    def do_POST(self):
        global size
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        summary = not body.get("tools")
        calls = sum(1 for kind, _ in seen if kind == "loop")
        done = summary or calls >= ROUNDS
        if not summary:  # nine thousand tokens more at each request; a compaction leaves three messages
            size = size + STEP if len(body["messages"]) > 3 else STEP
        seen.append(("summary" if summary else "loop", size))
        block = {"type": "text", "text": ""} if done else {"type": "tool_use", "id": f"toolu_{len(seen)}", "name": "shell", "input": {}}
        delta = ({"type": "text_delta", "text": '{"user_intent": ["count"]}' if summary else "Done."} if done else
                 {"type": "input_json_delta", "partial_json": json.dumps({"command": f"echo {len(seen)}"})})
        usage = {"input_tokens": size, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 20}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

        def send(event):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        send({"type": "message_start", "message": {"id": f"msg_{len(seen)}", "type": "message", "role": "assistant", "content": [],
              "model": body["model"], "stop_reason": None, "stop_sequence": None, "usage": usage}})
        send({"type": "content_block_start", "index": 0, "content_block": block})
        send({"type": "content_block_delta", "index": 0, "delta": delta})
        send({"type": "content_block_stop", "index": 0})
        send({"type": "message_delta", "delta": {"stop_reason": "end_turn" if done else "tool_use", "stop_sequence": None}, "usage": usage})
        send({"type": "message_stop"})
        self.close_connection = True


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
env = {"PATH": os.environ["PATH"], "HOME": HOME, "TERM": "dumb", "LANG": "C.UTF-8", "GOOSE_PROVIDER": "anthropic", "GOOSE_MODEL": "claude-sonnet-4-6",
       "ANTHROPIC_HOST": f"http://127.0.0.1:{server.server_port}", "ANTHROPIC_API_KEY": "none", "GOOSE_DISABLE_KEYRING": "1",
       "GOOSE_TELEMETRY_ENABLED": "false", "GOOSE_MODE": "auto", "GOOSE_CONTEXT_LIMIT": str(LIMIT), "GOOSE_AUTO_COMPACT_THRESHOLD": "0.8"}
for more in (["-n", "s", "-t", "Count a few times."], ["-r", "-n", "s", "-t", "Thank you."]):
    ran = subprocess.run([os.environ["GOOSE"], "run", *more], cwd=PROJECT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
    seen.append(("prompt ends", 0))
if len(seen) < ROUNDS + 3:
    print(len(seen), "events:", ran.stdout[-1500:], ran.stderr[-1500:])
    sys.exit(1)
print(f"Goose 1.52.0 with a context limit of {LIMIT:,} and the threshold at 0.8, {LIMIT * 8 // 10:,} tokens:")
print("request      input tokens")
for kind, tokens in seen:
    print(f"{kind:11}  {tokens:12,}" if tokens else kind)
end = seen.index(("prompt ends", 0))
first, second = seen[:end], seen[end + 1:]
above = [t for k, t in first if k == "loop" and t > LIMIT * 0.8]
print(f"{len(above)} requests above the threshold within the first prompt, the largest of {max(t for _, t in first):,} tokens; first of the second prompt: {second[0][0]}")
sys.exit(0 if len(above) > 3 and all(k == "loop" for k, _ in first) and second[0][0] == "summary" else 1)
PY
unshare -rn sh -c 'ip link set lo up && exec python3 "$DIR/try.py"'
