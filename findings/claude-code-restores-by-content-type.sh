#!/usr/bin/env bash
# Claude Code (npm @anthropic-ai/claude-code 2.1.332): what comes back behind a compaction
# depends on the content type of another answer.
#
# Behind an automatic compaction the client sends the files that were worked on again,
# each whole up to 5,000 tokens, and names a larger one. How many tokens a file has it
# asks the server (/v1/messages/count_tokens). An answer with the count but without
# "content-type: application/json" is not read, and nothing says so: the client falls back
# to its own estimate, which is lower for code, and the file comes back whole. So a
# gateway that drops this header, or does not serve the path, changes sizes behind compactions.
#
# Needs Linux with unshare (as root or with user namespaces), Python 3, npm.
# Exit 0: seen again. Exit 1: it has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "${CLAUDE:-}" ]; then
  npm install --silent --no-audit --no-fund --prefix "$dir/npm" @anthropic-ai/claude-code@2.1.332 >/dev/null
  CLAUDE=$dir/npm/node_modules/.bin/claude
fi
export CLAUDE DIR=$dir
cat >"$dir/try.py" <<'PY'
import json, os, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER, LINE = os.environ["DIR"], "    if err := {}; err != nil {{ return }}\n"


def events(blocks, stop, read):
    usage = {"input_tokens": 10, "cache_read_input_tokens": read, "cache_creation_input_tokens": 0, "output_tokens": 20}
    yield {"type": "message_start", "message": {"id": f"msg_{os.urandom(6).hex()}", "type": "message", "role": "assistant", "content": [],
           "model": "claude-sonnet-4-6", "stop_reason": None, "stop_sequence": None, "usage": usage}}
    for i, b in enumerate(blocks):
        if b["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": b["text"]}
        else:
            start, delta = {**b, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(b["input"])}
        yield {"type": "content_block_start", "index": i, "content_block": start}
        yield {"type": "content_block_delta", "index": i, "delta": delta}
        yield {"type": "content_block_stop", "index": i}
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def run(typed):
    home = os.path.join(FOLDER, "typed" if typed else "untyped")
    project = os.path.join(home, "project")
    os.makedirs(project)
    path = os.path.join(project, "a.go")
    with open(path, "w") as f:
        f.writelines(LINE.format(f"a{i}()") for i in range(330))
    state = {"main": 0, "counted": 0, "after": ""}

    class Server(BaseHTTPRequestHandler):
        def log_message(self, *_): pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            text = json.dumps(body["messages"])
            if "count_tokens" in self.path:
                state["counted"] += 1
                data = json.dumps({"input_tokens": max(1, len(text) * 45 // 100)}).encode()  # 0.45 tokens a byte
                self.send_response(200)
                if typed:
                    self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                return
            tools = body.get("tools")
            if "Your task is to create a detailed summary" in text[-12000:]:
                answer = events([{"type": "text", "text": "<summary>The file a.go was read.</summary>"}], "end_turn", 150000)
            elif not tools:
                answer = events([{"type": "text", "text": "yes"}], "end_turn", 0)
            else:
                state["main"] += 1
                if state["main"] == 1:
                    call = {"type": "tool_use", "id": "toolu_01", "name": "Read", "input": {"file_path": path}}
                    answer = events([call], "tool_use", 20000)
                elif state["main"] <= 6 and not state["after"] and "continued from a previous conversation" not in text:
                    call = {"type": "tool_use", "id": f"toolu_0{state['main']}", "name": "Bash", "input": {"command": "true", "description": "Go on"}}
                    answer = events([call], "tool_use", 60000 if state["main"] < 4 else 190000)
                else:
                    if "continued from a previous conversation" in text:
                        state["after"] = text
                    answer = events([{"type": "text", "text": "Done."}], "end_turn", 30000)
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for e in answer:
                self.wfile.write(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {"PATH": os.environ["PATH"], "HOME": home, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}", "ANTHROPIC_API_KEY": "none",
           "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1"}
    done = subprocess.run([os.environ["CLAUDE"], "-p", "Look at a.go and go on.", "--model", "claude-sonnet-4-6", "--dangerously-skip-permissions"],
                          cwd=project, env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    server.shutdown()
    if not state["after"]:
        sys.exit(f"no request behind a compaction was seen: {done.stdout[-300:]} {done.stderr[-300:]}")
    return state["counted"], state["after"].count("err != nil")


version = subprocess.run([os.environ["CLAUDE"], "--version"], capture_output=True, text=True).stdout.strip()
shown = {}
for typed in (True, False):
    counted, shown[typed] = run(typed)
    print(f"{version}: count_tokens answered {counted} times {'with' if typed else 'without'} a content type; "
          f"{shown[typed]} of 330 lines of the file stand behind the compaction")
sys.exit(0 if shown[True] == 0 and shown[False] == 330 else 1)
PY
unshare -rn bash -c 'ip link set lo up && exec python3 "$DIR/try.py"'
