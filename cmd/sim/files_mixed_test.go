package main

import (
	"bytes"
	"context"
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
}

// mix returns a pair of recordings.
func mix(t *testing.T, texts [2]string) (m mixed) {
	for i, text := range texts {
		m.all[i] = values(t, []byte(text))
		if m.list[i] = m.all[i]; len(m.list[i]) == 1 {
			m.list[i] = longest(m.all[i][0])
		}
	}
	return m
}

// longest returns the longest list in a value, not inside of another list.
func longest(v any) (list []any) {
	switch v := v.(type) {
	case []any:
		return v
	case []member:
		for _, m := range v {
			if l := longest(m.v); len(l) > len(list) {
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
		if len(v) == len(list) && len(v) > 0 && &v[0] == &list[0] {
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
	if len(m.all[i]) == 1 {
		encode(out, replaced(m.all[i][0], m.list[i], records))
		return out.Bytes()
	}
	for _, r := range records {
		encode(out, r)
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// mixes are what happens to records of two files, a and b: i is a place in both.
var mixes = []struct {
	name string
	do   func(a, b []any, i int) ([]any, []any)
}{
	{"swapped", func(a, b []any, i int) ([]any, []any) { a[i], b[i] = b[i], a[i]; return a, b }},
	{"tail copied into its own file", func(a, b []any, i int) ([]any, []any) { return append(a, a[i:]...), b }},
	{"tail copied into the other file", func(a, b []any, i int) ([]any, []any) { return a, append(b, a[i:]...) }},
	{"tail moved into the other file", func(a, b []any, i int) ([]any, []any) { return a[:i], append(b, a[i:]...) }},
	{"head copied into the other file", func(a, b []any, i int) ([]any, []any) { return a, append(slices.Clone(a[:i]), b...) }},
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

// Records of one file that stand in another one, or a second time: the bill stays as it is, or the change is told.
func TestMixedFiles(t *testing.T) {
	t.Parallel()
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range agenttest.Agents() {
		t.Run(agent, func(t *testing.T) {
			later := strings.NewReplacer("2026-06-01", "2026-06-03", "17803", "17805") // two days, in every unit
			m := mix(t, [2]string{agenttest.Sample(agent, "one", 1), later.Replace(agenttest.Sample(agent, "two", 2))})
			m.try(t, prices, agent, 1)
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

// try makes all changes at each step-th place.
func (m *mixed) try(t *testing.T, prices *costmodel.Table, agent string, step int) {
	names := namesOf(agent)
	sum := func(texts ...[]byte) *bill {
		files := fstest.MapFS{}
		for i, text := range texts {
			files[names[i]] = &fstest.MapFile{Data: text}
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
		if got.silent(want) {
			t.Errorf("%s at %d of %d and %d: $%.4f for $%.4f (%+.1f %%), and nothing says so", name, i, len(m.list[0]), len(m.list[1]), got.usd, want.usd, 100*(got.usd/want.usd-1))
		}
	}
	tell("copy", 0, sum(a, b, a))
	for _, f := range forms {
		tell(f.name, 0, sum(f.of(a), b))
	}
	for _, x := range mixes {
		end := min(len(m.list[0]), len(m.list[1]))
		if untellable(agent, lines, x.name) {
			end -= 3 // the end of an answer
		}
		for i := 1; i < end; i += step {
			one, two := x.do(slices.Clone(m.list[0]), slices.Clone(m.list[1]), i)
			tell(x.name, i, sum(m.text(0, one), m.text(1, two)))
		}
	}
}
