package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// printedCommand is a command within the text of a check, before the words that follow it.
var printedCommand = regexp.MustCompile(`\bsim (?:check|explain|audit|run|traces) .*?(?: shows | lists | writes | adds | begins | with --accept|; |\. The prompt|$)`)

// commandsOf returns the arguments of the commands that a check prints, each once.
func commandsOf(t *testing.T, out string) (list [][]string) {
	t.Helper()
	var report struct {
		Results  []struct{ Status, Message, Look string }
		Problems []struct{ Text string }
		Notes    []string
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	texts := map[string]bool{}
	for _, s := range report.Results {
		texts[s.Message], texts[s.Look] = true, true
	}
	for _, p := range report.Problems {
		texts[p.Text] = true
	}
	for _, n := range report.Notes {
		texts[n] = true
	}
	word := regexp.MustCompile(`(?:'[^']*'|\\'|[^\s'])+`)
	ends := regexp.MustCompile(`(?: shows | lists | writes | adds | begins | with --accept|; |\. The prompt).*`)
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		for _, command := range printedCommand.FindAllString(text, -1) {
			var args []string
			for _, w := range word.FindAllString(ends.ReplaceAllString(command, ""), -1)[1:] {
				args = append(args, strings.NewReplacer(`'\''`, "'", "'", "").Replace(w))
			}
			list = append(list, args)
		}
	}
	return list
}

// Every command that a check prints, whatever is wrong, has its paths and runs.
func TestPrintedCommandsRun(t *testing.T) {
	t.Chdir(t.TempDir())
	folder := "a week's"
	if code, _, errs := exec(t, "traces", "gen", "--profile", "long-refactor", "--sessions", "1", "-o", folder); code != exitOK {
		t.Fatal(errs)
	}
	names, err := filepath.Glob(folder + "/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range gateBreaks() {
		if strings.Contains(b.name, "half the calls") || strings.Contains(b.name, "twice as dear") || strings.Contains(b.name, "70k") {
			broken(t, names, strings.Fields(b.name)[0], b.edit)
		}
	}
	gate := func(strategies, rules string) string {
		return "scenario: {strategies: [" + strategies + "]}\nbaseline: base.json\nfacts: {max: 1%, lifetime: keep}\npaired: {max: 1%}\nprices: {max: 1%}\nseeds: 5\nrules:\n" + rules
	}
	const relative = "  - {metric: billed_to_predicted, strategy: billed, max_increase: 1%}\n" +
		"  - {metric: cost_usd, max_increase: 1%}\n" +
		"  - {metric: cache_hit_ratio, strategy: billed, max_decrease: 1%}\n" +
		"  - {metric: compactions, strategy: 'auto*', max_increase: 1%}\n" +
		"  - {metric: misses_compaction, strategy: 'auto*', max: 0.1}\n" +
		"  - {metric: misses, strategy: billed, max: 0.1}\n" +
		"  - {metric: misses_eviction, strategy: billed, max: 0.1}\n" +
		"  - {metric: output_tokens, strategy: billed, max: 1}\n" +
		"  - {metric: chain_max, strategy: 'auto*', max: 0.1}\n" +
		"  - {metric: blocking_seconds, strategy: 'auto*', max: 0.1}\n"
	writeCheck(t, "the gate.yaml", gate("recorded, auto-compact/167k", relative))
	writeCheck(t, "other.yaml", gate("recorded, auto-compact/155k", relative))
	writeCheck(t, "fewer.yaml", gate("recorded", strings.SplitAfterN(relative, "\n", 2)[0]))
	if code, out, errs := exec(t, "check", "--update", "--file", "the gate.yaml", folder); code == exitUsage {
		t.Fatal(out, errs)
	}
	base, err := os.ReadFile("base.json")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, c := range []struct{ base, file, path string }{
		{"", "the gate.yaml", folder}, {"", "the gate.yaml", "reads"}, {"", "the gate.yaml", "conversations"}, {"", "the gate.yaml", "compaction"},
		{"", "other.yaml", folder}, {"", "fewer.yaml", folder}, {"none", "the gate.yaml", folder}, {`{"schema":3,"tool":"sim check"}`, "the gate.yaml", folder},
		{strings.ReplaceAll(string(base), `"claude-code"`, `"codex"`), "the gate.yaml", folder},
		{strings.ReplaceAll(strings.ReplaceAll(string(base), `"output tokens per response"`, `"x"`), `"facts"`, `"excess_usd"`), "the gate.yaml", folder},
	} {
		again := func() {
			switch c.base {
			case "":
				writeCheck(t, "base.json", string(base))
			case "none":
				os.Remove("base.json")
			default:
				writeCheck(t, "base.json", c.base)
			}
		}
		again()
		code, out, errs := exec(t, "check", "--format", "json", "--file", c.file, c.path)
		if code != exitCheck {
			t.Errorf("%+v: exit %d %s", c, code, errs)
			continue
		}
		for _, args := range commandsOf(t, out) {
			told := strings.Join(args, " ")
			shape := strings.NewReplacer(c.path, "", "155k", "", "167k", "").Replace(told)
			if args[0] == "explain" {
				shape = args[0]
			}
			if tried[shape] {
				continue
			}
			tried[shape] = true
			again()
			if !slices.Contains(args, c.path) {
				t.Errorf("sim %s: without its path %s", told, c.path)
			}
			if code, _, errs := exec(t, args...); code != exitOK && code != exitCheck {
				t.Errorf("sim %s: exit %d %s", told, code, errs)
			}
		}
	}
	for _, want := range []string{"audit --compactions --strategy", "run --strategy", "explain", "audit --by", "--accept baseline", "--accept agent", "--accept prices", "--update"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(tried)), func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("nothing printed sim %s", want)
		}
	}
}
