package main

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// untold are changes that nothing in a log gives away, by format, since no other count holds what they replace. A field stands for those in it.
// docs/stability.md has them under their formats.
var untold = map[string]map[string][]string{
	facts.Codex:      {"tail moved into the other file": {string(lines)}, "one moved into the other file": {string(lines)}}, // an answer cut off ahead of its count, where nothing follows
	facts.ClaudeCode: {"constant": {".message.usage.input_tokens"}},                                                         // a handful of tokens behind the last marker of each call
	facts.Gemini:     {"constant": {".tokens.cached", ".messages.[].tokens.cached"}},                                        // they look like calls of a cache that served nothing
	facts.Cline: {"tail copied into the other file": {string(lines)}, "tail copied into a new file": {string(lines)}, "one copied into the other file": {string(lines)}, "constant": {
		".messages.[].metrics.cacheReadTokens", ".messages.[].metrics.cacheWriteTokens", // as above
		".messages.[].metrics.outputTokens", // in a short session, whose answers may be equally long
		".messages.[].modelInfo",            // another model with a price
	}},
	facts.DSH:  {"constant": {".data.chunk", ".data.usage"}}, // of a step that was cut off, of a summary, or of a log without chunks
	facts.Kimi: {"constant": {".usage"}},                     // of a compaction
	// Gateways never say what they do not count, and few calls of one script may have one count.
	facts.Requests: {
		"removed everywhere": unread, "renamed everywhere": unread, "null everywhere": unread,
		"constant everywhere": append([]string{".response.usage.completion_tokens"}, unread...),
	},
}

// unread is what OpenAI's interfaces say of what was read and written.
var unread = []string{".response.usage.prompt_tokens_details", ".response.body.usage.input_tokens_details"}

// untellable reports whether a change to a field of a format cannot be told.
func untellable(format string, f field, change string) bool {
	return slices.ContainsFunc(untold[format][change], func(of string) bool {
		return string(f) == of || strings.HasPrefix(string(f), of+".")
	})
}

// recorded are recordings of each format beside the repository.
var recorded = map[string][]string{
	facts.ClaudeCode: {"traces/claude-code/chiphuyen__sniffly/*fed8ce56*", "traces/claude-code/entireio__cli/28_*", "traces/claude-code/entireio__cli/48_b429*"},
	facts.Codex:      {"traces/codex/*/*"},
	facts.OpenCode:   {"traces/opencode/*/*"},
	facts.Pi:         {"traces/pi/*/*", "traces-3/oh-my-pi/*/*"},
	facts.Gemini:     {"traces-3/gemini-cli/*/*", "traces-4/gemini-cli/Mai*/*.jsonl"},
	facts.Copilot:    {"traces-4/copilot-cli/Mai*/copilot.jsonl"},
	facts.DSH: {
		"traces-4/deepseek-harness/Mai*/dsh/session.jsonl", "traces-4/deepseek-harness/deepseek-ai__*/examples/headless-agent/compaction-recovery/session.jsonl",
		"traces-4/deepseek-harness/deepseek-ai__*/examples/acp-agent/subagent-mixed/session.jsonl",
	},
	facts.Cline: {"traces-4/cline/cline__cline/session/session.messages.json", "traces-4/cline/cline__cline/messages/success.messages.json"},
	facts.Kimi:  {"traces-4/kimi-code/*/sample-main/agents/main/wire.jsonl", "lab/sessions/others/kimi-code/wire.jsonl"},
	facts.Qwen:  {"traces-4/qwen-code/*/019f0000-0000-7000-8000-000000000004.jsonl", "lab/sessions/others/qwen-code/*.jsonl"},
	facts.OTel: {
		"traces-4/otel/agentevals-dev__agentevals/helm_2.json", "traces-4/otel/agentevals-dev__agentevals/k8s.json", "traces-4/otel/agentevals-dev__agentevals/tempo*", "traces-4/otel/langwatch__langwatch/opencode*",
		"cases/spans/openinference-stream-twice.json", "traces-4/otel/strands*/openai_agents_genai_live*", "traces-4/otel/strands*/otel_genai*",
	},
	facts.Requests: {"traces-4/request-log/cline__cline/read-file.json", "traces-4/request-log/cline__cline/per-turn-metrics.json", "cases/request-logs/trim.jsonl"},
	facts.ATIF:     {"traces-4/atif/Arize-ai__phoenix/multi_tool*", "traces-4/atif/sachiny0106__Xelron/terminus_2/hello-world-context-summarization.trajectory.json"},
	// Of these agents no recording lies there.
	facts.Continue: {}, facts.MiniSWE: {}, facts.Goose: {},
}

// A bill is what reading a recording gives.
type bill struct {
	usd      float64         // without derived outputs, which follow the texts at hand and are told with every bill
	said     map[string]int  // the problems that sim check refuses, without their numbers
	told     [4]int64        // what sim check refuses: calls without counts, tokens that sums have and calls lack, bad lines and problems; what every bill says: derived outputs
	unpriced map[string]bool // models
	why      string          // there is no bill; "" else
}

// reader reads a form of a recording.
type reader func(t *testing.T, text []byte) (*traces.Corpus, error)

// reads returns how a file with a name is read.
func reads(name string) reader {
	return func(_ *testing.T, text []byte) (*traces.Corpus, error) {
		return agents.ReadFS(context.Background(), traces.Options{}, fstest.MapFS{name: {Data: text}})
	}
}

// billOf reads a recording and returns its bill. Models without a price are billed as another model.
func billOf(t *testing.T, prices *costmodel.Table, read reader, text []byte) (b bill) {
	t.Helper()
	b.unpriced = map[string]bool{}
	derived := 0
	c, err := read(t, text)
	if err != nil {
		if b.why = err.Error(); c != nil {
			c.Close()
		}
		return b
	}
	defer c.Close()
	for _, s := range c.Sessions {
		cost := func(model string, at int64, usage prompt.Usage) {
			price, err := prices.Lookup(model, time.Unix(0, at))
			if err != nil {
				b.unpriced[model] = true
				price, _ = prices.Lookup("claude-sonnet-4-5", time.Unix(0, at))
			}
			for _, v := range price.Cost(usage) {
				b.usd += v
			}
		}
		for i := range s.Threads {
			for _, r := range s.Threads[i].Rounds {
				if r.Flags&(signs.OutputDerived|signs.OutputUnknown) != 0 {
					r.Usage.Output = 0
					derived++
				}
				cost(s.Models[r.Model], r.At, r.Usage)
			}
		}
		for i := range s.Summaries {
			cost(s.Summaries[i].Model, s.Start, s.Summaries[i].Usage)
		}
	}
	uncounted, _, _ := charts.Uncounted(c)
	said, doubted, problems := listLost(c, hiding{})
	said = append(said, doubted...)
	for _, s := range c.Sessions {
		for _, p := range s.Problems {
			if s.Quality.Uncounted > 0 && p.Line > 0 { // sim check refuses the session already: a further line tells
				said = append(said, p.Text)
			}
		}
	}
	b.said = map[string]int{}
	for _, text := range said {
		b.said[strings.Map(func(r rune) rune { return cmp.Or(map[bool]rune{true: -1}[unicode.IsDigit(r)], r) }, text)]++
	}
	b.told = [4]int64{int64(uncounted), 0, int64(problems), int64(derived)}
	for _, s := range c.Sessions {
		b.told[1] += s.Quality.LostTokens
	}
	return b
}

// silent reports whether a bill differs from another one by more than a thousandth, and nothing tells so.
func (b *bill) silent(want *bill) bool {
	for i := range b.told {
		if b.why != "" || b.told[i] > want.told[i] {
			return false
		}
	}
	for text, n := range b.said {
		if n > want.said[text] {
			return false
		}
	}
	for model := range b.unpriced {
		if !want.unpriced[model] {
			return false
		}
	}
	return math.Abs(b.usd-want.usd) > 0.001*want.usd
}

// A sample is a recording of a format in one of its forms.
type sample struct {
	format, name string
	text         []byte
	read         reader
}

// systematic lists recordings of every format: generated ones, and recorded ones where they lie beside the repository, by their patterns.
func systematic(t *testing.T, patterns func(agent string) []string) (list []sample) {
	t.Helper()
	shared, _ := filepath.Glob("../../../shared/traces-4")
	for _, agent := range agenttest.Agents() {
		name := agent + ".jsonl"
		if agent == facts.Kimi { // whose sessions are named by their folders
			name = "sessions/repo/kimi-code/agents/main/wire.jsonl"
		}
		list = append(list, sample{agent, "sample", []byte(agenttest.Sample(agent, "whole", 1)), reads(name)})
		for _, pattern := range patterns(agent) {
			files, _ := filepath.Glob("../../../shared/" + pattern)
			if len(files) == 0 && shared != nil {
				t.Errorf("%s: there is no recording %s", agent, pattern)
			}
			slices.SortFunc(files, func(a, b string) int { return int(size(a) - size(b)) })
			for _, file := range files[:min(1, len(files))] {
				name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "../../../shared/"), ".gz"), ".zst")
				list = append(list, sample{agent, filepath.Base(filepath.Dir(name)) + "/" + filepath.Base(name), unpack(t, file), reads(name)})
			}
		}
		if recorded[agent] == nil {
			t.Errorf("%s: no recording of this format is named here", agent)
		}
	}
	return append(list, sample{facts.OpenCode, "store", []byte(agenttest.Sample(facts.OpenCode, "whole", 1)), readStore})
}

// A field that is missing, renamed, null, of another type or the same, and an element of a list that is there twice, null, empty or in
// another place: the bill stays as it is, to a thousandth, or the loss is told and sim check fails.
func TestSystematicMutants(t *testing.T) {
	t.Parallel()
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	part := uint32(60)
	if torture() > 0 {
		part = 1
	}
	tried := map[[2]string]int{}
	for _, s := range systematic(t, func(agent string) []string { return append(slices.Clone(recorded[agent]), recordedMixes[agent]...) }) {
		t.Run(s.format+"/"+s.name, func(t *testing.T) { s.mutate(t, prices, part, tried) })
	}
	var kinds []string
	for _, c := range fieldChanges {
		kinds = append(kinds, c.name)
	}
	for _, e := range elementChanges {
		kinds = append(kinds, "element "+e.name)
	}
	for _, agent := range agenttest.Agents() {
		row := ""
		for _, kind := range kinds {
			n := tried[[2]string{agent, kind}]
			if row += fmt.Sprintf("  %s %d", kind, n); n == 0 {
				t.Errorf("%s: no change of kind %q was tried", agent, kind)
			}
		}
		t.Logf("%-17s%s", agent, row)
	}
}

// mutate makes one in so many of all changes to a recording.
func (s *sample) mutate(t *testing.T, prices *costmodel.Table, part uint32, tried map[[2]string]int) {
	all, found := values(t, s.text), map[field]any{}
	want := billOf(t, prices, s.read, damaged(all, ".no such field", change{}, nil))
	if want.why != "" || want.usd == 0 {
		t.Fatalf("the whole recording gives $%.4f: %s", want.usd, want.why)
	}
	found[lines] = all
	for _, l := range all {
		fields(l, "", found)
	}
	n := 0
	for _, f := range slices.Sorted(maps.Keys(found)) {
		n += s.change(t, prices, f, all, found[f], &want, part, tried)
	}
	t.Logf("$%.4f, %d fields, %d changes", want.usd, len(found), n)
}

// change makes changes to a field.
func (s *sample) change(t *testing.T, prices *costmodel.Table, f field, all []any, first any, want *bill, part uint32, tried map[[2]string]int) (made int) {
	n := 1
	if f != lines {
		n = places(all, f)
	}
	_, isList := first.([]any)
	_, isText := first.(string)
	_, isNumber := first.(json.Number)
	for _, c := range changes() {
		ofNumbers := slices.Contains([]string{"fraction", "negative", "huge"}, c.name)
		if c.list && !isList || !c.list && f == lines || ofNumbers && !isNumber || untellable(s.format, f, c.name) {
			continue
		}
		kind := c.name
		if c.list {
			kind, _, _ = strings.Cut("element "+c.name, ":")
		}
		for i, w := range where[:min(n, len(where))] {
			if untellable(s.format, f, c.name+" "+w.name) || !isText && i > 0 && c.name == "constant" {
				continue // one number among others: wrong, and not lost
			}
			h := fnv.New32()
			fmt.Fprint(h, f, c.name)
			if (h.Sum32()+uint32(i))%part != 0 && tried[[2]string{s.format, kind}] > 0 {
				continue
			}
			tried[[2]string{s.format, kind}]++
			made++
			if got := billOf(t, prices, s.read, damaged(all, f, c.only(n, w.in), first)); got.silent(want) {
				t.Errorf("%s %s %s: $%.4f for $%.4f (%+.1f %%), and nothing says so", f, c.name, w.name, got.usd, want.usd, 100*(got.usd/want.usd-1))
			}
		}
	}
	return made
}

// size returns the size of a file, as large as can be if there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return math.MaxInt64
	}
	return info.Size()
}

// readStore reads an export as the database in which OpenCode would keep it: a row for each message and each part. A
// table keeps no row twice, and no two rows under one id: the second gets an id of its own.
func readStore(t *testing.T, text []byte) (*traces.Corpus, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "opencode.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(off)&_pragma=journal_mode(off)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(text string, args ...any) {
		if _, err := db.Exec(text, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`create table session (id text primary key, parent_id text, directory text, version text, time_created integer);
		create table message (id text primary key, session_id text, time_created integer, data text);
		create table part (id text primary key, message_id text, session_id text, data text)`)
	data := func(v any) []byte {
		var out bytes.Buffer
		encode(&out, v)
		return out.Bytes()
	}
	rows := map[string]string{} // messages by id
	for _, doc := range values(t, text) {
		info, _ := of(doc, "info").([]member)
		exec(`insert or ignore into session values(?, null, '/src', ?, 0)`, fmt.Sprint(of(info, "id")), fmt.Sprint(of(info, "version")))
		messages, _ := of(doc, "messages").([]any)
		for i, m := range messages {
			own, isObject := of(m, "info").([]member)
			id := fmt.Sprint(of(own, "id"))
			if own = slices.DeleteFunc(slices.Clone(own), func(m member) bool { return m.name == "id" }); id == "<nil>" {
				id = fmt.Sprint("msg_", i)
			}
			row := data(own)
			if !isObject {
				row = data(of(m, "info"))
			}
			if other, taken := rows[id]; taken && other != string(row) {
				id = fmt.Sprint(id, "_", i)
			}
			rows[id] = string(row)
			exec(`insert or ignore into message values(?, ?, ?, ?)`, id, fmt.Sprint(of(info, "id")), i, row)
			parts, _ := of(m, "parts").([]any)
			for k, p := range parts {
				exec(`insert or ignore into part values(?, ?, ?, ?)`, fmt.Sprintf("prt_%s_%03d", id, k), id, fmt.Sprint(of(info, "id")), data(p))
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return agents.Read(context.Background(), traces.Options{}, path)
}

// of returns a member of an object, nil for none.
func of(v any, name string) any {
	object, _ := v.([]member)
	if i := slices.IndexFunc(object, func(m member) bool { return m.name == name }); i >= 0 {
		return object[i].v
	}
	return nil
}

// Losses that were silent once, or counted twice: the test above makes them all, of each format here some are made in every run.
func TestKnownLosses(t *testing.T) {
	t.Parallel()
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		format  string
		field   field
		changes string // names, by commas
	}{
		{facts.Codex, ".payload.info", "null"},
		{facts.OpenCode, ".messages", "doubled: one in the middle,doubled behind all: one in the middle,null: one in the middle"},
		{facts.Copilot, lines, "doubled: one in the middle,doubled behind all: one in the middle"},
		{facts.DSH, ".data.step", "removed,null"},
		{facts.DSH, ".data.turn", "removed,null"},
		{facts.DSH, ".data.usage.cacheReadTokens", "removed"},
		{facts.DSH, ".surfaceOp", "removed,retyped"},
		{facts.Cline, ".messages", "doubled: the last,doubled behind all: one in the middle,null: the last,empty: one in the middle"},
		{facts.Kimi, lines, "doubled: the last,doubled behind all: the last"},
		{facts.Kimi, ".usage", "removed,null"},
		{facts.Qwen, lines, "doubled: all,reordered: all,reordered: one in the middle"},
		{facts.Qwen, ".usageMetadata", "removed"},
		{facts.Qwen, ".usageMetadata.cachedContentTokenCount", "removed"},
		{facts.Qwen, ".systemPayload.uiEvent", "removed"},
		{facts.OTel, ".resourceSpans", "emptied: all"},
		{facts.OTel, ".resourceSpans.[].scopeSpans.[].spans", "null: the last,empty: the last,doubled: all"},
		{facts.OTel, ".resourceSpans.[].scopeSpans.[].spans.[].attributes", "removed,null: one in the middle,empty: one in the middle"},
		{facts.Requests, ".response", "removed,null,constant,retyped"},
		{facts.ATIF, ".steps", "null: the last,doubled: all"},
	} {
		name := tt.format + ".jsonl"
		if tt.format == facts.Kimi {
			name = "sessions/repo/kimi-code/agents/main/wire.jsonl"
		}
		s := sample{tt.format, "sample", []byte(agenttest.Sample(tt.format, "whole", 1)), reads(name)}
		all, found := values(t, s.text), map[field]any{}
		want := billOf(t, prices, s.read, damaged(all, ".no such field", change{}, nil))
		for _, l := range all {
			fields(l, "", found)
		}
		n := 1
		if found[lines] = all; tt.field != lines {
			n = places(all, tt.field)
		}
		for _, c := range changes() {
			if !slices.Contains(strings.Split(tt.changes, ","), c.name) {
				continue
			}
			for _, w := range where[:min(n, len(where))] {
				if got := billOf(t, prices, s.read, damaged(all, tt.field, c.only(n, w.in), found[tt.field])); got.silent(&want) {
					t.Errorf("%s: %s %s %s: $%.4f for $%.4f, and nothing says so", tt.format, tt.field, c.name, w.name, got.usd, want.usd)
				}
			}
		}
	}
}
