package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/agents/agenttest"
)

// untold are changes that nothing in a log gives away: no other count holds these, so that they look like calls of a
// cache that served nothing.
var untold = map[string]bool{
	".tokens.cached constant": true, ".messages.[].tokens.cached constant": true, // Gemini CLI
	".messages.[].metrics.cacheReadTokens constant": true, ".messages.[].metrics.cacheWriteTokens constant": true, // Cline
}

// A change is made to one field of every line of a recording. It returns the new
// key and value of the field, and false where it leaves the field out. first is the
// value that the field has where it is first met.
type change struct {
	name string
	do   func(key string, v, first any) (string, any, bool)
}

var changes = []change{
	{"removed", func(string, any, any) (string, any, bool) { return "", nil, false }},
	{"renamed", func(key string, v, _ any) (string, any, bool) { return key + "_", v, true }},
	{"retyped", func(key string, v, _ any) (string, any, bool) {
		switch v := v.(type) {
		case string:
			return key, 7, true
		case json.Number:
			return key, v.String(), true
		case bool:
			return key, "yes", true
		case []any:
			return key, []member{}, true
		}
		return key, []any{}, true
	}},
	{"constant", func(key string, v, first any) (string, any, bool) {
		if _, text := v.(string); text {
			return key, "REDACTED", true
		}
		return key, first, true
	}},
}

// A field is the place of a member in the lines of a recording: keys from the outside, "[]" for the elements of a list.
type field string

// A member is a name in an object with its value. Objects are lists of members, since the order of names
// tells formats apart.
type member struct {
	name string
	v    any
}

// fields lists the members of a value, with the values they first have.
func fields(v any, at field, found map[field]any) {
	switch v := v.(type) {
	case []member:
		for _, m := range v {
			f := at + "." + field(m.name)
			if _, known := found[f]; !known {
				found[f] = m.v
			}
			fields(m.v, f, found)
		}
	case []any:
		for _, of := range v {
			fields(of, at+".[]", found)
		}
	}
}

// where lists in which of the places of a field a change is made, counted from 0 of n: a client that
// loses a field loses it everywhere, in some calls, or once.
var where = []struct {
	name string
	in   func(i, n int) bool
}{
	{"everywhere", func(int, int) bool { return true }},
	{"in every third place", func(i, _ int) bool { return i%3 == 1 }},
	{"once", func(i, n int) bool { return i == n/2 }},
	{"at the end", func(i, n int) bool { return i == n-1 }},
}

// only makes a change in some places of the n that a field has.
func (c change) only(n int, in func(i, n int) bool) change {
	i, do := -1, c.do
	return change{c.name, func(key string, v, first any) (string, any, bool) {
		if i++; !in(i, n) {
			return key, v, true
		}
		return do(key, v, first)
	}}
}

// places counts in how many places a field stands.
func places(lines []any, f field) (n int) {
	damaged(lines, f, change{"", func(key string, v, _ any) (string, any, bool) { n++; return key, v, true }}, nil)
	return n
}

// changed makes a change to the members of v at a field.
func changed(v any, at []string, c change, first any) any {
	switch v := v.(type) {
	case []member:
		out := make([]member, 0, len(v))
		for _, m := range v {
			kept := true
			if m.name == at[0] && len(at) > 1 {
				m.v = changed(m.v, at[1:], c, first)
			} else if m.name == at[0] {
				m.name, m.v, kept = c.do(m.name, m.v, first)
			}
			if kept {
				out = append(out, m)
			}
		}
		return out
	case []any:
		if at[0] == "[]" && len(at) > 1 {
			out := slices.Clone(v)
			for i := range out {
				out[i] = changed(out[i], at[1:], c, first)
			}
			return out
		}
	}
	return v
}

// damaged makes a change to a field in every line.
func damaged(lines []any, f field, c change, first any) []byte {
	var out bytes.Buffer
	for _, l := range lines {
		encode(&out, changed(l, strings.Split(string(f)[1:], "."), c, first))
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// encode writes a value as JSON.
func encode(out *bytes.Buffer, v any) {
	switch v := v.(type) {
	case []member:
		for i, m := range v {
			out.WriteByte("{,"[min(i, 1)])
			encode(out, m.name)
			out.WriteByte(':')
			encode(out, m.v)
		}
		out.WriteString("{}"[min(len(v), 1):])
	case []any:
		for i, of := range v {
			out.WriteByte("[,"[min(i, 1)])
			encode(out, of)
		}
		out.WriteString("[]"[min(len(v), 1):])
	default:
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		out.Write(text)
	}
}

// values parses the lines of a recording, or the document that it is.
func values(t *testing.T, text []byte) (list []any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for d.More() {
		list = append(list, value(t, d))
	}
	return list
}

func value(t *testing.T, d *json.Decoder) any {
	t.Helper()
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	switch token {
	case json.Delim('{'):
		list := []member{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, member{name.(string), value(t, d)})
		}
		_, _ = d.Token() // the brace that More saw
		return list
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, value(t, d))
		}
		_, _ = d.Token()
		return list
	}
	return token
}

// billOf reads a recording and returns its bill without derived outputs, which
// follow the texts at hand and are told with every bill, and why sim check would refuse it, "" if it would not.
func billOf(t *testing.T, prices *costmodel.Table, name string, text []byte) (usd float64, told string) {
	t.Helper()
	c, err := agents.ReadFS(context.Background(), traces.Options{}, fstest.MapFS{name: {Data: text}})
	if errors.Is(err, traces.ErrNoSessions) {
		return 0, "no sessions"
	}
	if err != nil {
		return 0, err.Error()
	}
	defer c.Close()
	for _, s := range c.Sessions {
		bill := func(model string, at int64, usage prompt.Usage) {
			price, err := prices.Lookup(model, time.Unix(0, at))
			if err != nil {
				told = err.Error()
				return
			}
			for _, v := range price.Cost(usage) {
				usd += v
			}
		}
		for i := range s.Threads {
			for _, r := range s.Threads[i].Rounds {
				if r.Flags&(traces.RoundOutputDerived|traces.RoundOutputUnknown) != 0 {
					r.Usage.Output = 0
				}
				bill(s.Models[r.Model], r.At, r.Usage)
			}
		}
		for i := range s.Summaries {
			bill(s.Summaries[i].Model, s.Start, s.Summaries[i].Usage)
		}
	}
	if n, _, _ := charts.Uncounted(c); n > 0 {
		told = "uncounted calls"
	}
	if _, n := lost(c, hiding{}); n > 0 {
		told = "lost lines"
	}
	return usd, told
}

// systematic lists recordings of every format: generated ones, and recorded ones where they lie beside the repository.
func systematic(t *testing.T) (list []recording) {
	t.Helper()
	for _, agent := range agenttest.Agents() {
		name := agent + ".jsonl"
		if agent == traces.AgentKimi { // whose sessions are named by their folders
			name = "sessions/repo/kimi-code/agents/main/wire.jsonl"
		}
		list = append(list, recording{name, []byte(agenttest.Sample(agent, "whole", 1))})
	}
	for _, name := range []string{
		"traces/claude-code/chiphuyen__sniffly/*fed8ce56*", "traces/claude-code/entireio__cli/28_*", "traces/claude-code/entireio__cli/48_b429*",
		"traces/codex/*/*", "traces/opencode/*/*", "traces/pi/*/*", "traces-3/oh-my-pi/*/*",
		"traces-3/gemini-cli/*/*", "traces-4/gemini-cli/Mai*/*.jsonl", "traces-4/copilot-cli/Mai*/copilot.jsonl",
	} {
		files, _ := filepath.Glob("../../../shared/" + name)
		slices.SortFunc(files, func(a, b string) int { return int(size(a) - size(b)) })
		for _, file := range files[:min(1, len(files))] {
			list = append(list, recording{filepath.Base(strings.TrimSuffix(strings.TrimSuffix(file, ".gz"), ".zst")), unpack(t, file)})
		}
	}
	return list
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return math.MaxInt64
	}
	return info.Size()
}

// A field that is missing, renamed, of another type or the same in every line leaves
// the bill as it is, to a thousandth or a tenth of a cent, or the loss is told and sim check fails.
func TestSystematicMutants(t *testing.T) {
	t.Parallel()
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	part := uint32(30)
	if torture() > 0 {
		part = 1
	}
	for _, r := range systematic(t) {
		t.Run(r.name, func(t *testing.T) {
			lines, found := values(t, r.text), map[field]any{}
			want, told := billOf(t, prices, r.name, damaged(lines, ".no such field", change{}, nil))
			if told != "" {
				t.Fatalf("the whole recording is refused: %s", told)
			}
			for _, l := range lines {
				fields(l, "", found)
			}
			tried := 0
			for _, f := range slices.Sorted(maps.Keys(found)) {
				n := places(lines, f)
				for k, c := range changes {
					for i, w := range where[:min(n, len(where))] {
						if _, text := found[f].(string); !text && i > 0 && c.name == "constant" {
							continue // one number among others: wrong, and not lost
						}
						h := fnv.New32()
						fmt.Fprint(h, f, c.name)
						if (h.Sum32()+uint32(i))%part != 0 || untold[fmt.Sprint(f, " ", changes[k].name)] {
							continue
						}
						tried++
						usd, told := billOf(t, prices, r.name, damaged(lines, f, c.only(n, w.in), found[f]))
						if told == "" && math.Abs(usd-want) > max(0.001*want, 0.001) {
							t.Errorf("%s %s %s: $%.4f for $%.4f (%+.1f %%), and nothing says so", f, c.name, w.name, usd, want, 100*(usd/want-1))
						}
					}
				}
			}
			t.Logf("$%.4f, %d fields, %d changes", want, len(found), tried)
		})
	}
}
