package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// mixed is a pair of recordings of one format, by their records: lines, or the elements of the longest list of a document.
type mixed struct {
	all  [2][]any // values of the files
	list [2][]any // their records
	in   [2]bool  // records are elements of a list in a document
}

// mostMixed is how many bytes of records a file has, and leastMixed how many records it has at the least. All changes of a file read it
// anew, and what is wrong with records that stand in another place does not hang on how many follow them.
const (
	mostMixed  = 100_000
	leastMixed = 12
)

// mix returns a pair of recordings, as far as their files are mixed.
func mix(t *testing.T, texts [2]string) (m mixed) {
	for i, text := range texts {
		m.all[i] = values(t, []byte(text))
		if m.list[i] = m.all[i]; len(m.all[i]) == 1 {
			if list := longest(m.all[i][0]); list != nil {
				m.list[i], m.in[i] = list, true
			}
		}
		all, size := m.list[i], 0
		for j, r := range all { // once: changes move records about and leave them whole
			if j >= leastMixed && size > mostMixed && torture() == 0 {
				m.list[i] = all[:j]
				break
			}
			out := new(bytes.Buffer)
			encode(out, r)
			all[j], size = encoded(out.Bytes()), size+out.Len()
		}
	}
	return m
}

// longest returns the longest list in a value, not inside of another list, nor in the attributes of a span, which are what was said.
func longest(v any) (list []any) {
	switch v := v.(type) {
	case []any:
		return v
	case []member:
		for _, m := range v {
			if l := longest(m.v); len(l) > len(list) && m.name != "attributes" {
				list = l
			}
		}
	}
	return list
}

// replaced returns a value with another list in the place of the one that longest returns.
func replaced(v any, list, by []any) any {
	switch v := v.(type) {
	case []any:
		if len(v) > 0 && len(list) > 0 && &v[0] == &list[0] {
			return by
		}
	case []member:
		v = slices.Clone(v)
		for i := range v {
			v[i].v = replaced(v[i].v, list, by)
		}
		return v
	}
	return v
}

// text returns a file with other records.
func (m *mixed) text(i int, records []any) []byte {
	out := new(bytes.Buffer)
	if m.in[i] {
		encode(out, replaced(m.all[i][0], m.list[i], records))
		return out.Bytes()
	}
	for _, r := range records {
		encode(out, r)
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// mixes are what happens to records of two files, a and b, and of a new one: i is a place in a, and where at is set in b.
var mixes = []struct {
	name string
	at   bool
	do   func(a, b []any, i int) (one, two, three []any)
}{
	{"swapped", true, func(a, b []any, i int) (_, _, _ []any) { a[i], b[i] = b[i], a[i]; return a, b, nil }},
	{"tail copied into its own file", false, func(a, b []any, i int) (_, _, _ []any) { return append(a, a[i:]...), b, nil }},
	{"tail copied into the other file", false, func(a, b []any, i int) (_, _, _ []any) { return a, append(b, a[i:]...), nil }},
	{"tail moved into the other file", false, func(a, b []any, i int) (_, _, _ []any) { return a[:i], append(b, a[i:]...), nil }},
	{"tail copied into a new file", false, func(a, b []any, i int) (_, _, _ []any) { return a, b, a[i:] }},
	{"tail moved into a new file", false, func(a, b []any, i int) (_, _, _ []any) { return a[:i], b, a[i:] }},
	{"head copied into the other file", false, func(a, b []any, i int) (_, _, _ []any) { return a, append(slices.Clone(a[:i]), b...), nil }},
	{"head copied into a new file", false, func(a, b []any, i int) (_, _, _ []any) { return a, b, a[:i] }},
	{"middle copied into a new file", false, func(a, b []any, i int) (_, _, _ []any) { return a, b, a[i/2 : i] }},
	{"one doubled", false, func(a, b []any, i int) (_, _, _ []any) { return slices.Insert(a, i, a[i]), b, nil }},
	{"one doubled behind three", false, func(a, b []any, i int) (_, _, _ []any) { return slices.Insert(a, min(i+3, len(a)), a[i]), b, nil }},
	{"one moved to the end", false, func(a, b []any, i int) (_, _, _ []any) {
		return append(slices.Delete(slices.Clone(a), i, i+1), a[i]), b, nil
	}},
	{"one moved to the head", false, func(a, b []any, i int) (_, _, _ []any) {
		return slices.Insert(slices.Delete(slices.Clone(a), i, i+1), 1, a[i]), b, nil
	}},
	{"one moved into the other file", false, func(a, b []any, i int) (_, _, _ []any) {
		return slices.Delete(slices.Clone(a), i, i+1), slices.Insert(b, min(i, len(b)), a[i]), nil
	}},
	{"one copied into the other file", false, func(a, b []any, i int) (_, _, _ []any) { return a, slices.Insert(b, min(i, len(b)), a[i]), nil }},
}

// forms are other forms of one file: each gives the same bill.
var forms = []struct {
	name string
	of   func(text []byte) []byte
}{
	{"carriage returns", func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")) }},
	{"byte order mark", func(text []byte) []byte { return append([]byte("\xef\xbb\xbf"), text...) }},
	{"two records on a line", func(text []byte) []byte {
		if i := bytes.IndexByte(text[:len(text)/2], '\n'); i > 0 {
			i = len(text)/2 + bytes.IndexByte(text[len(text)/2:], '\n')
			return slices.Concat(text[:i], text[i+1:])
		}
		return text
	}},
	{"cut in a record", func(text []byte) []byte { return text[:len(text)*9/10] }},
}

// damages are what happens to the text of a line i.
var damages = []struct {
	name string
	do   func(lines [][]byte, i int) [][]byte
}{
	{"line cut", func(lines [][]byte, i int) [][]byte {
		lines[i] = append(bytes.Clone(lines[i][:len(lines[i])/2]), '\n')
		return lines
	}},
	{"line joined with the next", func(lines [][]byte, i int) [][]byte {
		lines[i] = bytes.TrimSuffix(lines[i], []byte("\n"))
		return lines
	}},
	{"lines written into each other", func(lines [][]byte, i int) [][]byte {
		if half := len(lines[i]) / 2; i+1 < len(lines) {
			lines[i], lines[i+1] = slices.Concat(lines[i][:half], lines[i+1]), lines[i][half:]
		}
		return lines
	}},
	{"torn", func(lines [][]byte, i int) [][]byte { lines[i] = lines[i][:len(lines[i])/2]; return lines[:i+1] }},
}

// recordedMixes are recordings of our own clients; the test of fields has further ones.
var recordedMixes = map[string][]string{
	facts.Codex:    {"lab/sessions/others/codex-remote/*.jsonl"},
	facts.OpenCode: {"lab/sessions/others/opencode-anthropic/ses*", "lab/sessions/others/opencode-responses/ses*", "lab/sessions/others/kilo/ses*"},
	facts.Pi:       {"lab/sessions/others/pi/*.jsonl", "lab/sessions/others/oh-my-pi/*.jsonl"},
	facts.Gemini:   {"lab/sessions/others/gemini-cli-resume/*.jsonl"},
	facts.Copilot:  {"lab/sessions/others/copilot-cli/events.jsonl"},
	facts.DSH: {
		"traces-4/deepseek-harness/deepseek-ai__*/apps/web/approval-composer/session.jsonl", "traces-4/deepseek-harness/deepseek-ai__*/apps/web/goal-multi-turn-actions/session.jsonl",
	},
	facts.Cline:    {"lab/sessions/others/cline/*.messages.json"},
	facts.Requests: {"cases/spans/openai-writes-recorded.jsonl", "cases/request-logs/trunc.jsonl", "traces-4/request-log/cline__cline/subagents.json"},
	facts.ATIF:     {"traces-4/atif/sachiny0106__Xelron/openhands/hello-world.trajectory.json"},
}

// Records of one file that stand in another one, or a second time, or in another place, and lines that are damaged: the bill stays as
// it is, or the change is told. Generated and recorded sessions of each format are mixed with each other.
func TestMixedFiles(t *testing.T) {
	t.Parallel()
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	later := strings.NewReplacer("2026-06-01", "2026-06-03", "17803", "17805") // two days, in every unit
	samples := systematic(t, func(agent string) []string { return append(slices.Clone(recorded[agent]), recordedMixes[agent]...) })
	places := 2
	if torture() > 0 {
		places = 1000
	}
	for _, agent := range agenttest.Agents() {
		one, two := agenttest.Sample(agent, "one", 1), later.Replace(agenttest.Sample(agent, "two", 2))
		t.Run(agent, func(t *testing.T) {
			m := mix(t, [2]string{one, two})
			n := m.try(t, prices, agent, 1000)
			last := ""
			for _, s := range samples {
				if s.format != agent || s.name == "sample" || s.name == "store" {
					continue
				}
				text := string(s.text)
				for k, texts := range [][2]string{{text, two}, {two, text}, {text, last}, {last, text}} {
					if last != "" || k < 2 {
						m := mix(t, texts)
						t.Run(fmt.Sprint(s.name, " ", k), func(t *testing.T) { n += m.try(t, prices, agent, places) })
					}
				}
				last = text
			}
			t.Logf("%d changes", n)
		})
	}
}

// names are the names of the files of a pair, and of a copy.
func namesOf(agent string) (names [3]string) {
	for i, id := range []string{"one", "two", "three"} {
		if names[i] = id + ".jsonl"; agent == facts.Kimi {
			names[i] = "sessions/repo/" + id + "/agents/main/wire.jsonl"
		}
	}
	return names
}

// try makes all changes at so many places of a file, and returns their number.
func (m *mixed) try(t *testing.T, prices *costmodel.Table, agent string, places int) (n int) {
	names := namesOf(agent)
	sum := func(texts ...[]byte) *bill {
		files := fstest.MapFS{}
		for i, text := range texts {
			if text != nil {
				files[names[i]] = &fstest.MapFile{Data: text}
			}
		}
		b := billOf(t, prices, func(*testing.T, []byte) (*traces.Corpus, error) {
			return agents.ReadFS(context.Background(), traces.Options{}, files)
		}, nil)
		return &b
	}
	a, b := m.text(0, m.list[0]), m.text(1, m.list[1])
	want := sum(a, b)
	if want.why != "" || want.usd == 0 {
		t.Fatalf("both files give $%.4f: %s", want.usd, want.why)
	}
	tell := func(name string, i int, got *bill) {
		if n++; got.silent(want) {
			t.Errorf("%s at %d of %d and %d: $%.4f for $%.4f (%+.1f %%), and nothing says so", name, i, len(m.list[0]), len(m.list[1]), got.usd, want.usd, 100*(got.usd/want.usd-1))
		}
	}
	tell("copy", 0, sum(a, b, a))
	for _, f := range forms {
		tell(f.name, 0, sum(f.of(a), b))
	}
	for _, x := range mixes {
		end := len(m.list[0])
		if x.at {
			end = min(end, len(m.list[1]))
		}
		if untellable(agent, lines, x.name) {
			if agent == facts.Goose {
				continue // wherever they stood
			}
			end -= 3 // the end of an answer
		}
		for i := 1; i < end; i += max(1, end/places) {
			one, two, three := x.do(slices.Clone(m.list[0]), slices.Clone(m.list[1]), i)
			texts := [3][]byte{m.text(0, one), m.text(1, two)}
			if len(three) > 0 {
				texts[2] = m.text(0, three)
			}
			tell(x.name, i, sum(texts[:]...))
		}
	}
	for _, x := range damages {
		end := len(m.list[0])
		if m.in[0] {
			end = 1
		}
		for i := 1; i < end; i += max(1, end/places) {
			tell(x.name, i, sum(bytes.Join(x.do(bytes.SplitAfter(a, []byte("\n")), i), nil), b))
		}
	}
	return n
}
