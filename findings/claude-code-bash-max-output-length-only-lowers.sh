#!/usr/bin/env bash
# Claude Code (npm @anthropic-ai/claude-code 2.1.332): BASH_MAX_OUTPUT_LENGTH only lowers what
# reaches the model. A larger value, which 2.0.76 heeded, changes nothing.
#
# The client puts a long output into a file and sends the first 2,000 characters of it,
# above 30,000 characters or the variable's value, whichever is smaller. So an output of
# 49,500 characters is a preview under a value of 100,000, too; what lifts the limit is
# bashOutputMaxChars in settings.json.
#
# Needs Linux with unshare (as root or with user namespaces), Python 3, npm.
# Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for v in 2.0.76 2.1.332; do
  npm install --silent --no-audit --no-fund --prefix "$dir/$v" "@anthropic-ai/claude-code@$v" >/dev/null
done
cat >"$dir/try.py" <<'PY'
import json, os, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER = os.environ["DIR"]


def events(block, stop):
    usage = {"input_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 20}
    yield {"type": "message_start", "message": {"id": f"msg_{os.urandom(6).hex()}", "type": "message", "role": "assistant", "content": [],
           "model": "claude-sonnet-4-6", "stop_reason": None, "stop_sequence": None, "usage": usage}}
    if block["type"] == "text":
        start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        start, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def run(version, variable=None, setting=None):
    """Returns how many characters of a command's output of 49,500 the client sends."""
    home = os.path.join(FOLDER, f"{version}-{variable}-{setting}")
    project = os.path.join(home, "project")
    os.makedirs(project)
    os.makedirs(os.path.join(home, ".claude"))
    if setting:
        with open(os.path.join(home, ".claude", "settings.json"), "w") as f:
            json.dump({"bashOutputMaxChars": setting}, f)
    sent = []

    class Server(BaseHTTPRequestHandler):
        def log_message(self, *_): pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            results = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"] if b["type"] == "tool_result"]
            for b in results:
                sent.append(json.dumps(b["content"]).count("z"))
            if body.get("tools") and not results:
                call = {"type": "tool_use", "id": "toolu_01", "name": "Bash",
                        "input": {"command": "for i in $(seq 500); do printf 'z%.0s' $(seq 99); echo; done", "description": "Print"}}
                answer = events(call, "tool_use")
            else:
                answer = events({"type": "text", "text": "Done."}, "end_turn")
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for e in answer:
                self.wfile.write(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {"PATH": os.environ["PATH"], "HOME": home, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}", "ANTHROPIC_API_KEY": "none",
           "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1"}
    if variable:
        env["BASH_MAX_OUTPUT_LENGTH"] = str(variable)
    done = subprocess.run([f"{FOLDER}/{version}/node_modules/.bin/claude", "-p", "Print it.", "--model", "claude-sonnet-4-6",
                           "--dangerously-skip-permissions"], cwd=project, env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    server.shutdown()
    if not sent:
        sys.exit(f"no result of the command was sent: {done.stdout[-300:]} {done.stderr[-300:]}")
    return sent[0]


old, new, low = run("2.0.76", variable=100000), run("2.1.332", variable=100000), run("2.1.332")
lifted = run("2.1.332", setting=100000)
print(f"of 49,500 characters of output Claude Code 2.0.76 sends {old:,} with BASH_MAX_OUTPUT_LENGTH=100000; 2.1.332 sends {new:,}, "
      f"as without it ({low:,}), and {lifted:,} with bashOutputMaxChars 100000")
sys.exit(0 if old == lifted == 49500 and new < 2100 and low < 2100 else 1)
PY
export DIR=$dir
unshare -rn bash -c 'ip link set lo up && exec python3 "$DIR/try.py"'
