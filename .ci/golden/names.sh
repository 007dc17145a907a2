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

# A ranking of four strategies on ten sessions.
ranked() {
  sim traces gen --profile long-refactor --sessions 10 --seed 7 -o "$T/sessions" >/dev/null &&
    sim rank "$T/sessions" --strategy own,codex/2026-08,llama-index,none "$@" && rm -r "$T/sessions"
}

# Takes the program's version out of a run, for files that cannot be normalised later.
devel() { sed -i -E 's/"version":"v?[^"]*"/"version":"(devel)"/' "$T/$1/rows.jsonl" "$T/$1/run.json"; }

# Sums of what is too long to keep: sessions and such.
same() { cmp "$1" "$2" && echo same; }

# Runs scripts/NAME.txtar, commands in front of the files that they work on, in $T. Given files that did not change go
# at the end.
script() {
  local file=$PWD/.ci/golden/scripts/$1.txtar given
  export WORK=$PWD/$T SAMPLES=$PWD/samples
  given=$(mktemp -d) OUT=$(mktemp -d)
  (
    cd "$given" && awk '
      /^-- .+ --$/ { name = substr($0, 4, length($0) - 6); dir = name; if (sub("/[^/]*$", "", dir)) system("mkdir -p " dir)
        printf "" > name; next }
      name != "" { print > name }' "$file" && cp -R . "$WORK"
  )
  cd "$WORK" && . <(sed '/^-- /,$d' "$file")
  cd "$WORK"
  (cd "$given" && find . -type f) | while read -r name; do
    cmp -s "$given/$name" "$name" && rm "$name"
  done
  rm -r "$given" "$OUT"
}

# Runs a command of a script, with $STDIN as its input, and prints how it ended and what it printed: data on standard
# output, text on standard error. Its outputs are in $OUT for the next command.
step() {
  "$@" <"${STDIN:-/dev/null}" >"$OUT/stdout" 2>"$OUT/stderr"
  printf '$ %s\n[exit %d]\n' "$*" $?
  STDIN=
  printf '$ %s\n' "$*" >&2
  case " $* " in
  *[\ =]json\ * | *[\ =]csv\ *) cat "$OUT/stdout" ;;
  *) cat "$OUT/stdout" >&2 ;;
  esac
  [ ! -s "$OUT/stderr" ] || sed '1i [stderr]' "$OUT/stderr" >&2
}
