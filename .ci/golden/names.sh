# Names that the cases of commands.txt share. The lists are written out, so that
# a preset that comes new changes no digest of the others.
PRESETS=recorded,auto-compact/167k,auto-compact/155k,auto-compact/small-model,session-memory,partial/up-to,partial/from,truncate-oldest,tool-storage,microcompact/v1,microcompact/2.1,time-microcompact,api-context,cached-microcompact,keepalive,memory-extraction,dream,end-of-turn,fork-agents,coordinator,claude-code/1,claude-code/2.1,claude-code/2026-03,claude-code/2026-10,none
CC=../shared/traces/claude-code
CODEX=../shared/traces/codex
IN=.ci/golden/in

# Rows of PATH under every preset, checked call by call.
presets() { sim run --strategy "$PRESETS" --verify --out "$T/o" "$@" >"$T/table.txt"; }

# Sessions of the profile PROFILE, and then as presets.
generated() {
  sim traces gen --profile "$1" --sessions "${2:-6}" --seed 7 -o "$T/sessions" >"$T/gen.txt" && presets "$T/sessions"
}

# Takes the program's version out of a run, for files that cannot be normalised later.
devel() { sed -i -E 's/"version":"v?[^"]*"/"version":"(devel)"/' "$T/$1/rows.jsonl" "$T/$1/run.json"; }

# Sums of what is too long to keep: sessions and such.
same() { cmp "$1" "$2" && echo same; }

# A server of the program's own, whose address is then in $URL.
serve() {
  sim devserver "$@" >"$T/../server-$$.log" 2>&1 &
  SERVER=$!
  trap 'kill $SERVER; wait $SERVER 2>/dev/null; rm -f "$T/../server-$$.log"' EXIT
  for _ in $(seq 200); do
    URL=$(sed -n 's/^listening at \(http[^ ]*\).*/\1/p' "$T/../server-$$.log")
    [ -n "$URL" ] && break
    sleep 0.02
  done
  export ANTHROPIC_API_KEY=dev OPENAI_API_KEY=dev
}
