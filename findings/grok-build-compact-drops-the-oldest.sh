#!/usr/bin/env bash
# Grok Build (npm @xai-official/grok-linux-x64 1.0.41): `/compact` sends its model what fits the context window less 32,000 tokens, and
# drops the oldest messages without a word. The summary takes the place of all messages, so that nobody has read what was dropped.
#
# With a window of 64,000 tokens, as of a local model, and a conversation of about 45,000, the first prompts and what the first tools
# said are in no request any more: neither the summary's call, nor any call behind it.
#
# Needs Linux with unshare (as root or with user namespaces), Python 3, npm, node.
# Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "${GROK:-}" ]; then
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir/npm" @xai-official/grok-linux-x64@1.0.41 >/dev/null 2>&1
  GROK=$dir/grok
  node -e 'const fs=require("fs");fs.writeFileSync(process.argv[2],require("zlib").brotliDecompressSync(fs.readFileSync(process.argv[1])),{mode:0o755})' \
    "$dir/npm/node_modules/@xai-official/grok-linux-x64/bin/grok.br" "$GROK"
fi
export GROK DIR=$dir
cat >"$dir/try.py" <<'PY'
import json, os, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER, ROUNDS, WINDOW = os.environ["DIR"], 5, 64000
HOME, PROJECT = os.path.join(FOLDER, "home"), os.path.join(FOLDER, "project")
os.makedirs(os.path.join(HOME, ".grok"))
os.makedirs(PROJECT)
seen = []  # of each request: what it is for, its tokens, and what it says


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_): pass

    def do_GET(self):
        self.send_error(404)

    def do_POST(self):
        text = self.rfile.read(int(self.headers["content-length"])).decode()
        body = json.loads(text)
        kind = "summary" if "summary of the conversation so far" in json.dumps(body["messages"][-1]) else "conversation"
        size = len(text) // 4
        seen.append((kind, size, text))
        calls = sum(1 for k, *_ in seen if k == kind)
        tool = kind == "conversation" and calls % (ROUNDS + 1) != 0 and len(body["messages"]) > 1
        block = {"type": "tool_use", "id": f"toolu_{len(seen)}", "name": "run_terminal_command", "input": {}} if tool else {"type": "text", "text": ""}
        said = {"command": f"seq {calls * 1000} {calls * 1000 + 1700}", "description": "Count"}
        words = " ".join(f"word{n * 7919 % 997}" for n in range(400))
        delta = ({"type": "input_json_delta", "partial_json": json.dumps(said)} if tool else
                 {"type": "text_delta", "text": f"<summary>{words}</summary>" if kind == "summary" else f"Done with {calls}."})
        usage = {"input_tokens": size, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

        def send(event):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        send({"type": "message_start", "message": {"id": f"msg_{len(seen)}", "type": "message", "role": "assistant", "content": [],
              "model": body["model"], "stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}})
        send({"type": "content_block_start", "index": 0, "content_block": block})
        send({"type": "content_block_delta", "index": 0, "delta": delta})
        send({"type": "content_block_stop", "index": 0})
        send({"type": "message_delta", "delta": {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}, "usage": {**usage, "output_tokens": 500}})
        send({"type": "message_stop"})
        self.close_connection = True


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(os.path.join(HOME, ".grok", "config.toml"), "w") as f:
    f.write(f'[model.bench]\nmodel = "claude-sonnet-4-6"\nbase_url = "http://127.0.0.1:{server.server_port}/v1"\napi_key = "none"\n'
            f'api_backend = "messages"\ncontext_window = {WINDOW}\n[telemetry]\nenabled = false\n')
env = {"PATH": os.environ["PATH"], "HOME": HOME, "TERM": "dumb", "LANG": "C.UTF-8", "GROK_DISABLE_AUTOUPDATER": "1",
       "GROK_TURN_SUMMARY": "0", "GROK_TITLE_REFRESH": "0"}  # calls beside the conversation
asks = ("Remember: never touch the file secrets.txt.", "Count on.", "/compact", "Go on.")
for i, prompt in enumerate(asks):
    ran = subprocess.run([os.environ["GROK"], "-m", "bench", "--always-approve", *(["-c"] if i else []), "-p", prompt], cwd=PROJECT, env=env,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180)
    if ran.returncode:
        print(ran.stdout[-800:], ran.stderr[-800:])
        sys.exit(1)
seen = [c for c in seen if c[1] > 3000]  # the first title has the first prompt alone
print(f"Grok Build 1.0.41 with a window of {WINDOW:,} tokens; tokens are bytes / 4:")
print("request        tokens  has the rule of the first prompt")
for kind, size, text in seen:
    print(f"{kind:12}  {size:7,}  {'yes' if 'secrets.txt' in text else 'NO'}")
at = next((i for i, c in enumerate(seen) if c[0] == "summary"), 0)
print("said by /compact:", "nothing of dropped messages")
sys.exit(0 if at and "secrets.txt" in seen[at - 1][2] and not any("secrets.txt" in t for _, _, t in seen[at:]) else 1)
PY
unshare -rn sh -c 'ip link set lo up && exec python3 "$DIR/try.py"'
