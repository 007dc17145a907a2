package results

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/compactsim/compactsim/sim/prompt"
)

// sampleCall is a call in which every field is another number.
func sampleCall() CallRecord {
	return CallRecord{
		Session: "s|<&>\u2028", Thread: 1, Round: 2, Source: SourceAgent, Model: "m", Start: 3e9, End: 1 << 60,
		Usage:    prompt.Usage{Uncached: 4, Read: 5, Write5m: 6, Write1h: 7, WriteOther: 8, Output: 9},
		Expected: 10, Miss: prompt.MissLookback, First: true, Context: 30,
		Cost: Cost{0.1, 0.2, 0.3, 0.4, 0.5, 0.6},
	}
}

// TestSampleCallIsFull keeps the round trip honest.
func TestSampleCallIsFull(t *testing.T) {
	c := reflect.ValueOf(sampleCall())
	for i := range c.NumField() {
		if c.Field(i).IsZero() {
			t.Errorf("sampleCall does not set %s", c.Type().Field(i).Name)
		}
	}
}

// TestCallsForm pins the form that scripts read: what is zero for most calls is
// left out, miss "none" too.
func TestCallsForm(t *testing.T) {
	run := &Run{Provenance: Provenance{Version: "v1"}, Cells: []Cell{{Cell: "c", Strategy: "s", Params: map[string]string{"k": "v"}}}}
	plain := CallRecord{Session: "a", Model: "m", End: 5, Context: 70, Usage: prompt.Usage{Read: 70}, Cost: Cost{ClassRead: 0.5}}
	summary := CallRecord{Session: "a", Round: -1, Source: SourceCompact, Model: "m", Start: 6, End: 7,
		Expected: 4, Miss: prompt.MissExpiry, Usage: prompt.Usage{Write1h: 9}, Cost: Cost{ClassWrite1h: 2}}
	var b bytes.Buffer
	if err := WriteCalls(&b, run, []CellCalls{{"c", []CallRecord{plain, summary}}}); err != nil {
		t.Fatal(err)
	}
	want := `{"schema":1,"content":"calls","provenance":{"version":"v1","seed":0,"sessions_digest":"","prices":"","workload":{"sessions":0,"calls":0}},"cells":[{"cell":"c","strategy":"s","params":{"k":"v"}}]}
{"cell":"c","session":"a","thread":0,"round":0,"source":"main","model":"m","start_ns":0,"end_ns":5,"context_tokens":70,"tokens":{"read":70},"cost_usd":{"read":0.5}}
{"cell":"c","session":"a","thread":0,"round":-1,"source":"compact","model":"m","start_ns":6,"end_ns":7,"context_tokens":0,"tokens":{"write_1h":9},"expected_tokens":4,"miss":"expiry","cost_usd":{"write_1h":2}}
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("form (-want +got):\n%s", diff)
	}
}

func TestCallsRoundTrip(t *testing.T) {
	run := full()
	want := []CellCalls{{"recorded", []CallRecord{sampleCall(), {Session: "s", Round: -1}}}, {"billed", []CallRecord{{Session: "s"}}}}
	var b bytes.Buffer
	if err := WriteCalls(&b, run, want); err != nil {
		t.Fatal(err)
	}
	head, got, err := ReadCalls("calls.jsonl", &b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	for i := range run.Cells {
		run.Cells[i].Rows, run.Cells[i].Total, run.Cells[i].Sessions = nil, Row{}, 0
	}
	if diff := cmp.Diff(run, head, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("head (-want +got):\n%s", diff)
	}
}

func TestCallsRefuses(t *testing.T) {
	run := &Run{Cells: []Cell{{Cell: "c", Strategy: "s"}}}
	for _, test := range []struct {
		name, want string
		change     func(*CallRecord)
	}{
		{"no session", "without a session", func(c *CallRecord) { c.Session = "" }},
		{"backwards", "before its start", func(c *CallRecord) { c.End = 0 }},
		{"thread", "thread is -1", func(c *CallRecord) { c.Thread = -1 }},
		{"round", "round is -2", func(c *CallRecord) { c.Round = -2 }},
		{"source", "source is 99", func(c *CallRecord) { c.Source = 99 }},
		{"miss", "miss is 99", func(c *CallRecord) { c.Miss = 99 }},
		{"negative", "expected_tokens is -1", func(c *CallRecord) { c.Expected = -1 }},
		{"absurd", "context_tokens is 1152921504606846976", func(c *CallRecord) { c.Context = 1 << 60 }},
		{"NaN", "cost_usd.output is NaN", func(c *CallRecord) { c.Cost[ClassOutput] = math.NaN() }},
	} {
		c := sampleCall()
		test.change(&c)
		err := WriteCalls(&bytes.Buffer{}, run, []CellCalls{{"c", []CallRecord{c}}})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one about %q", test.name, err, test.want)
		}
	}
	err := WriteCalls(&bytes.Buffer{}, run, []CellCalls{{"d", []CallRecord{sampleCall()}}})
	if err == nil || !strings.Contains(err.Error(), `cell "d" is not in the head`) {
		t.Errorf("unknown cell: error %v", err)
	}
}

// TestReadCallsErrors: each error begins with file and line, and the calls
// before it are kept.
func TestReadCallsErrors(t *testing.T) {
	const (
		head = `{"schema":1,"content":"calls","provenance":{"version":"","seed":0,"sessions_digest":"","prices":"","workload":{"sessions":0,"calls":0}},"cells":[{"cell":"c","strategy":"s","params":{}}]}` + "\n"
		call = `{"cell":"c","session":"a","thread":0,"round":0,"source":"main","model":"m","start_ns":0,"end_ns":1,"context_tokens":0,"tokens":{},"cost_usd":{}}` + "\n"
	)
	for _, test := range []struct{ name, data, want string }{
		{"empty", "", "f:1: empty file"},
		{"not JSON", "# calls\n", "f:1: "},
		{"no schema", `{"content":"calls"}`, "f:1: no schema"},
		{"later schema", strings.Replace(head, `:1,"content":"calls"`, `:2,"content":"x"`, 1), "f:1: schema 2"},
		{"rows", strings.Replace(head, `"content":"calls",`, "", 1), `f:1: content "": not a file of calls`},
		{"repeated cell", strings.Replace(head, `}]}`, `},{"cell":"c","strategy":"s","params":{}}]}`, 1), `f:1: cell "c" occurs twice`},
		{"empty line", head + call + "\n", "f:3: empty line"},
		{"unknown cell", head + strings.Replace(call, `"c"`, `"d"`, 1), `f:2: cell "d" is not in the head`},
		{"unknown kind of token", head + strings.Replace(call, `"tokens":{}`, `"tokens":{"write_24h":1}`, 1), "f:2: tokens.write_24h is not known"},
		{"unknown source", head + strings.Replace(call, "main", "mian", 1), `f:2: source is "mian", none of main, agent,`},
		{"no source", head + strings.Replace(call, `"source":"main",`, "", 1), `f:2: call without source`},
		{"unknown miss", head + strings.Replace(call, `"end_ns"`, `"miss":"exipry","end_ns"`, 1), `f:2: miss is "exipry", none of none, expiry,`},
		{"backwards", head + strings.Replace(call, `"end_ns":1`, `"end_ns":-1`, 1), "f:2: call ends at -1 ns"},
		{"out of range", head + strings.Replace(call, `"cost_usd":{}`, `"cost_usd":{"read":1e999}`, 1), "f:2: "},
		{"torn", head + call + call[:20], "f:3: "},
	} {
		_, _, err := ReadCalls("f", strings.NewReader(test.data))
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: error %v, want it to begin %q", test.name, err, test.want)
		}
	}
	_, got, _ := ReadCalls("f", strings.NewReader(head+call+call[:20]))
	if diff := cmp.Diff([]CellCalls{{"c", []CallRecord{{Session: "a", Model: "m", End: 1}}}}, got); diff != "" {
		t.Errorf("before a torn line (-want +got):\n%s", diff)
	}
}

// FuzzReadCalls: what is read without an error is written and read back as the
// same calls.
func FuzzReadCalls(f *testing.F) {
	var b bytes.Buffer
	if err := WriteCalls(&b, full(), []CellCalls{{"recorded", []CallRecord{sampleCall(), {Session: "s", Round: -1}}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		run, calls, err := ReadCalls("fuzz", bytes.NewReader(data))
		if err != nil {
			return
		}
		var once bytes.Buffer
		if err := WriteCalls(&once, run, calls); err != nil {
			t.Fatalf("calls that were read cannot be written: %v", err)
		}
		again, twice, err := ReadCalls("once", &once)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		run.PassedOver = nil // is not written
		if diff := cmp.Diff(run, again, cmpopts.EquateEmpty()) + cmp.Diff(calls, twice); diff != "" {
			t.Fatalf("after a round trip:\n%s", diff)
		}
	})
}

func BenchmarkCalls(b *testing.B) {
	run := &Run{Cells: []Cell{{Cell: "c", Strategy: "s"}}}
	calls := []CellCalls{{"c", make([]CallRecord, 1000)}}
	for i := range calls[0].Calls {
		calls[0].Calls[i] = sampleCall()
	}
	var file bytes.Buffer
	if err := WriteCalls(&file, run, calls); err != nil {
		b.Fatal(err)
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			if err := WriteCalls(&bytes.Buffer{}, run, calls); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := ReadCalls("c", bytes.NewReader(file.Bytes())); err != nil {
				b.Fatal(err)
			}
		}
	})
}
