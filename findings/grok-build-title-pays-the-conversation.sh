#!/usr/bin/env bash
# Grok Build (npm @xai-official/grok 1.0.41): titles and a line about each turn are made by calls that send the whole conversation,
# also in `grok -p`, where nobody sees them. The title's call leaves out the tools, so that with Anthropic's interface it pays all
# messages as new; no count that the client prints or keeps has either call.
#
# Three prompts, each of a few rounds of tools, run headless. Behind every prompt comes a call that asks for "an ultra-short dashboard
# line", on the conversation's own prefix; behind some comes one that asks for a session title, with the same messages and no tools.
# The sum in usage.json is the sum of the conversation's own calls alone. GROK_TURN_SUMMARY=0 and GROK_TITLE_REFRESH=0 switch both off.
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
import glob, json, os, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER, ROUNDS = os.environ["DIR"], 3
HOME, PROJECT = os.path.join(FOLDER, "home"), os.path.join(FOLDER, "project")
os.makedirs(os.path.join(HOME, ".grok"))
os.makedirs(PROJECT)
seen, cached, lock = [], set(), threading.Lock()


def bill(body):  # Anthropic's cache: what precedes a marker is kept and read, one token for four characters
    parts = [(tool, False) for tool in body.get("tools", [])] + [(s["text"], "cache_control" in s) for s in body["system"]]
    for m in body["messages"]:
        content = [{"type": "text", "text": m["content"]}] if isinstance(m["content"], str) else m["content"]
        parts += [([m["role"], {k: v for k, v in b.items() if k != "cache_control"}], "cache_control" in b) for b in content]
    key, size, read, last = "", 0, 0, 0
    for part, marked in parts:
        text = json.dumps(part, sort_keys=True)
        key, size = str(hash(key + text)), size + len(text) // 4
        if key in cached:
            read = size
        if marked:
            last = size
            cached.add(key)
    return {"input_tokens": size - max(last, read), "cache_read_input_tokens": read, "cache_creation_input_tokens": max(0, last - read)}


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_): pass

    def do_GET(self):
        self.send_error(404)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        ask = json.dumps(body["messages"][-1])
        kind = ("line about the turn" if "dashboard line" in ask else "title" if "session title" in ask else
                "first title" if len(body.get("tools", [])) == 1 else "conversation")
        with lock:
            usage = bill(body)
            seen.append((kind, usage))
            calls = sum(1 for k, _ in seen if k == kind)
        tool = kind == "conversation" and calls % (ROUNDS + 1) != 0
        block = ({"type": "tool_use", "id": f"toolu_{len(seen)}", "name": "run_terminal_command", "input": {}} if tool else {"type": "text", "text": ""})
        said = {"command": f"seq {calls * 1000} {calls * 1000 + 1500}", "description": "Count"}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(said)} if tool else {"type": "text_delta", "text": f"Part {calls} is done."}
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
        send({"type": "message_delta", "delta": {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}, "usage": {**usage, "output_tokens": 20}})
        send({"type": "message_stop"})
        self.close_connection = True


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(os.path.join(HOME, ".grok", "config.toml"), "w") as f:
    f.write(f'[model.bench]\nmodel = "claude-sonnet-4-6"\nbase_url = "http://127.0.0.1:{server.server_port}/v1"\napi_key = "none"\n'
            'api_backend = "messages"\ncontext_window = 200000\n[telemetry]\nenabled = false\n')
env = {"PATH": os.environ["PATH"], "HOME": HOME, "TERM": "dumb", "LANG": "C.UTF-8", "GROK_DISABLE_AUTOUPDATER": "1"}
for i, more in enumerate(([], ["-c"], ["-c"])):
    ran = subprocess.run([os.environ["GROK"], "-m", "bench", "--always-approve", *more, "-p", f"Count, part {i + 1}"], cwd=PROJECT, env=env,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180)
    if ran.returncode:
        print(ran.stdout[-800:], ran.stderr[-800:])
        sys.exit(1)
print("Grok Build 1.0.41, three prompts of `grok -p`:")
print(f"{'call':20}  {'read':>8}  {'written':>8}")
for kind, u in seen:
    print(f"{kind:20}  {u['cache_read_input_tokens']:8,}  {u['cache_creation_input_tokens']:8,}")
total = lambda u: u["cache_read_input_tokens"] + u["cache_creation_input_tokens"] + u["input_tokens"]
kept = json.load(open(glob.glob(os.path.join(HOME, ".grok/sessions/*/*/usage.json"))[0]))["session"]["inputTokens"]
own = sum(total(u) for k, u in seen if k == "conversation")
lines = [total(u) for k, u in seen if k == "line about the turn"]
titles = [u for k, u in seen if k == "title"]
print(f"input of the conversation {own:,}, kept in usage.json {kept:,}; of {len(lines)} lines about turns {sum(lines):,}, of {len(titles)} titles "
      f"{sum(map(total, titles)):,}, of which read {sum(u['cache_read_input_tokens'] for u in titles):,}")
sys.exit(0 if kept == own and len(lines) == 3 and titles and titles[0]["cache_read_input_tokens"] == 0 and total(titles[0]) > 10000 else 1)
PY
unshare -rn sh -c 'ip link set lo up && exec python3 "$DIR/try.py"'
