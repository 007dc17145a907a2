package results

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// Every object of a file of rows may gain a member. What is read is the same run but
// for what the sums have of a new part, and each member is counted once for each
// place where it stands.
func TestRowsOfLaterVersion(t *testing.T) {
	var b bytes.Buffer
	if err := WriteRows(&b, full()); err != nil {
		t.Fatal(err)
	}
	later := b.String()
	for _, change := range [][2]string{
		{`"workload":{`, `"workload":{"later":[{"a":1},"}"],`},
		{`"cells":[{`, `"retention":{"days":3},"cells":[{"owner":"x",`},
		{`,{"cell":"billed"`, `,{"owner":null,"cell":"billed"`},
		{`"unmeasured":["misses"]`, `"unmeasured":["misses","naps"]`},
		{`"counts":{`, `"retained":1,"counts":{"naps":7,`},
		{`"misses":55,"misses_by_class":{`, `"misses":56,"misses_by_class":{"mood":1,`},
		{`"seconds_at_level":{`, `"seconds_at_level":{"red":1,`},
		{`"added_latency_seconds":12.5,"added_latency_seconds_by_part":{`, `"added_latency_seconds":13.5,"added_latency_seconds_by_part":{"nap":1,`},
		{`"metrics":["cost_usd",`, `"metrics":["naps","cost_usd",`},
	} {
		if !strings.Contains(later, change[0]) {
			t.Fatalf("no %s", change[0])
		}
		later = strings.ReplaceAll(later, change[0], change[1])
	}
	got, err := ReadRows("later", strings.NewReader(later))
	if err != nil {
		t.Fatal(err)
	}
	want := PassedOver{"provenance.workload.later": 1, "retention": 1, "cells.owner": 2, "cells.unmeasured.naps": 1, "retained": 4,
		"counts.naps": 4, "misses_by_class.mood": 4, "seconds_at_level.red": 4, "added_latency_seconds_by_part.nap": 4, "metrics.naps": 1}
	if diff := cmp.Diff(want, got.PassedOver); diff != "" {
		t.Errorf("passed over (-want +got):\n%s", diff)
	}
	notes := got.Footnotes()
	if text := notes[len(notes)-len(got.Notes)-1].Text; !strings.HasPrefix(text, "of a later version") || !strings.Contains(text, "counts.naps (4 times)") {
		t.Errorf("the note is %q", text)
	}
	got.PassedOver = nil
	same := full()
	for i := range same.Cells {
		for j := range same.Cells[i].Rows {
			same.Cells[i].Rows[j].Figures[Misses], same.Cells[i].Rows[j].Figures[AddedLatency] = 56, 13.5
		}
	}
	same.Sum()
	if diff := cmp.Diff(same, got, cmpopts.EquateEmpty(), sameRows); diff != "" {
		t.Errorf("another run (-want +got):\n%s", diff)
	}
}

// The calls, tokens and costs of a source that is not known are those of the
// others: 1 + 2 calls, 3 + 4 tokens, 5 + 6 and 7 USD, in every row.
func TestSourceOfLaterVersion(t *testing.T) {
	row := with(t, `"calls":0,"calls_by_source":{},"tokens":{},"tokens_by_source":{}`,
		`"calls":3,"calls_by_source":{"nap":1,"other":2},"tokens":{"read":7},"tokens_by_source":{"nap":{"read":3},"other":{"read":4}}`,
		`"cost_usd_by_class":{},"cost_usd_by_source":{}`,
		`"cost_usd_by_class":{"read":11,"output":7},"cost_usd_by_source":{"nap":{"read":5,"output":7},"other":{"read":6}}`)
	rows := bareHead + row + strings.Replace(row, `"session":"a"`, `"session":"b"`, 1)
	run, err := ReadRows("later", strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	for i := range run.Cells[0].Rows {
		r := run.Cells[0].Rows[i]
		if r.CallsBy(SourceOther) != 3 || r.UsageBy(SourceOther).Read != 7 || r.CostBy(SourceOther)[ClassRead] != 11 ||
			r.CostBy(SourceOther)[ClassOutput] != 7 {
			t.Errorf("%+v", r)
		}
	}
	if want := "calls_by_source.nap (2 times), cost_usd_by_source.nap (2 times), tokens_by_source.nap (2 times)"; run.PassedOver.String() != want {
		t.Errorf("passed over %s, want %s", run.PassedOver, want)
	}
}

// A member that only the head has more of is no member of rows.
func TestMemberOfTheHeadAlone(t *testing.T) {
	head := strings.TrimSuffix(bareHead, "}\n")
	row := with(t, `"calls":0,"calls_by_source":{}`, `"calls":3,"calls_by_source":{"main":3}`, `"misses":0,"misses_by_class":{}`, `"misses":2,"misses_by_class":{"edit":2}`)
	run, err := ReadRows("later", strings.NewReader(head+`,"misses":9,"calls":9}`+"\n"+row))
	if err != nil || run.Cells[0].Rows[0].N(Calls) != 3 || run.Cells[0].Rows[0].N(Misses) != 2 {
		t.Errorf("%v, %+v", err, run)
	}
}

// Members are passed over in documents as in rows.
func TestDocumentOfLaterVersion(t *testing.T) {
	const head = `{"schema":2,"provenance":{"version":"","seed":0,"sessions_digest":"","prices":"","workload":{"sessions":0,"calls":0}}`
	d, err := ReadDocument("later", strings.NewReader(head+`,"cells":[{"cell":"c","strategy":"s","params":{},"sessions":1,"metrics":{"naps":1},"intervals":{},"later":1}]}`))
	if err != nil || d.PassedOver["cells.later"] != 1 || d.Cells[0].Metrics["naps"] != 1 {
		t.Errorf("%v, %v", err, d)
	}
}

// Whatever members are added wherever, Decode gives what a decoder that knows
// them makes of the text without them, and counts each.
func TestDecodePassesOver(t *testing.T) {
	type leaf struct {
		A int            `json:"a"`
		B []int          `json:"b"`
		M map[string]int `json:"m"`
	}
	type tree struct {
		X leaf   `json:"x"`
		L []leaf `json:"l"`
	}
	rapid.Check(t, func(t *rapid.T) {
		want := PassedOver{}
		added := func(at string) string {
			name := rapid.SampledFrom([]string{"p", "q", `r \" é`, "s.t"}).Draw(t, "name")
			want[at+strings.ReplaceAll(name, `\`, "")]++
			value := rapid.SampledFrom([]string{"1", `{"a":[{}]}`, `"},\""`, "[ ]", "null"}).Draw(t, "value")
			return fmt.Sprintf("\"%s\" : %s", name, value)
		}
		object := func(at string, members ...string) string {
			if rapid.Bool().Draw(t, "one") {
				members = slices.Insert(members, rapid.IntRange(0, len(members)).Draw(t, "place"), added(at))
			}
			return "{" + strings.Join(members, rapid.SampledFrom([]string{",", " , ", ",\n"}).Draw(t, "comma")) + " }"
		}
		leafText := func(at string) string { return object(at, `"a":3`, `"b":[1,2]`, `"m":{"p":1}`) }
		text := object("", `"x":`+leafText("x."), `"l":[`+leafText("l.")+","+leafText("l.")+`]`)
		got, passed := tree{}, PassedOver{}
		if err := passed.Decode([]byte(text), &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		one := leaf{3, []int{1, 2}, map[string]int{"p": 1}}
		if diff := cmp.Diff(tree{one, []leaf{one, one}}, got); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
		if !maps.Equal(passed, want) {
			t.Errorf("%s: passed over %v, want %v", text, passed, want)
		}
		// What is known by now takes no second try, and is counted again.
		if err := passed.Decode([]byte(text), new(tree)); err != nil {
			t.Fatal(err)
		}
		for name, n := range want {
			if passed[name] != 2*n {
				t.Errorf("%s: %s counted %d times, want %d", text, name, passed[name], 2*n)
			}
		}
	})
}

// What is no JSON is refused; the error keeps its place.
func TestDecodeRefuses(t *testing.T) {
	type form struct {
		Tokens map[string]struct {
			Read int `json:"read"`
		} `json:"tokens"`
	}
	for _, text := range []string{`{"z":1,"tokens":{"a":{"read":"1"}}}`, `{"z":1,"z":2}`, `{"z":1,"tokens":{}} {}`, `{"z":`, ``} {
		passed := PassedOver{}
		if err := passed.Decode([]byte(text), new(form)); err == nil || len(passed.String()) > 0 {
			t.Errorf("%s: %v, passed over %v", text, err, passed)
		}
	}
	text := "{\"z\":[\n1],\n\"tokens\":\n3}"
	err := PassedOver{}.Decode([]byte(text), new(form))
	var direct form
	want := json.Unmarshal([]byte(text), &direct)
	if err == nil || want == nil || err.Error() != want.Error() {
		t.Errorf("%v, want %v", err, want)
	}
}

// PassedEmbedded is embedded by pointer.
type PassedEmbedded struct{ Plain int }

// Members of embedded pointers and of fields without a tag are known.
func TestDecodeKnowsEmbedded(t *testing.T) {
	var v struct {
		*PassedEmbedded
		Other int
	}
	passed := PassedOver{}
	if err := passed.Decode([]byte(`{"Plain":1,"Other":2,"new":3}`), &v); err != nil || passed.String() != "new" || v.Plain+v.Other != 3 {
		t.Errorf("%v, passed over %v", err, passed)
	}
}
