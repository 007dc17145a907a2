package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// What the simulation says of compactions is told as it says it: $0.24 given for a
// call of $1.00 and $0.13 of writing again. One behind which no call of the period
// comes is not told.
func TestCompaction(t *testing.T) {
	k := newScene("compaction")
	k.call(0, prompt.Usage{Write5m: 160_000})
	k.event(traces.Event{Kind: traces.EventCompact, PreTokens: 160_000, Line: 15})
	k.call(minute, prompt.Usage{Read: 17_000, Write5m: 23_000})
	one := studies.Compaction{Session: "compaction", Thread: "main", Round: 1, Trigger: "recorded", Before: 160_000, After: 40_000,
		Payback: studies.Payback{Saved: 120_000, Calls: 1, CallCost: results.Cost{measures.ClassRead: 1}, RewriteUSD: 0.13,
			GainUSD: 0.24, Later: 4, ReadPrice: 5e-7}}
	o := Options{Prices: auditPrices(t), Compactions: []studies.Compaction{one}}
	r := ran(t, []*traces.Session{k.s}, o)
	wantUSD(t, "lost", r.finding("compactions_lost").USD, 0.89)
	// 23,000 tokens are written at $6.25 a million instead of read at $0.50
	wantUSD(t, "written again", r.finding(string(calls.CauseCompaction)).USD, 0.13225)
	// The simulation wrote more again than the call paid for, $0.13225. No line shows the summary call, so the bill lacks what is lost on it.
	o.Compactions[0].RewriteUSD = 5
	f := ran(t, []*traces.Session{k.s}, o).finding("compactions_lost")
	wantUSD(t, "lost at most", f.USD, 0.89225)
	if want := "$0.89 pays for summary calls that no log shows, and is not in the bill"; !slices.Contains(f.Notes, want) {
		t.Errorf("notes %q lack %q", f.Notes, want)
	}
	o.In = func(at int64) bool { return at < k.s.Threads[0].Rounds[1].At }
	if r := ran(t, []*traces.Session{k.s}, o); r.finding("compactions_lost") != nil {
		t.Errorf("outside the period: %+v", r.Findings)
	}
}

// Of 100,000 tokens written 60,000 are read; the last call's 5,000 nobody can
// read. Beyond plain input they cost $1.25 a million.
func TestNeverRead(t *testing.T) {
	k := newScene("unread")
	k.call(0, prompt.Usage{Write5m: 100_000})
	k.call(minute, prompt.Usage{Read: 60_000, Write5m: 40_000})
	k.call(minute, prompt.Usage{Read: 100_000, Write5m: 5_000})
	r := k.audit(t)
	f := r.finding("never_read")
	if f == nil || f.Count != 2 || f.Tokens != 45_000 {
		t.Fatalf("%+v", f)
	}
	wantUSD(t, "never read", f.USD, 0.05625)
}

// What a branch reads of the round it leaves was not written for nothing.
func TestBranchReads(t *testing.T) {
	k := newScene("branch")
	k.call(0, prompt.Usage{Write5m: 100_000})
	k.s.Threads = append(k.s.Threads, traces.Thread{
		ID: "left", Kind: traces.ThreadBranch, Rounds: []traces.Round{{ID: "z", Usage: prompt.Usage{Read: 100_000}, At: k.now + minute}},
	})
	if r := k.audit(t); r.finding("never_read") != nil {
		t.Errorf("%+v", r.Findings)
	}
}

// The same file with the same length, not edited in between, is a duplicate; 2,000
// tokens sent as new at $6.25 a million and carried by one more call at $0.50.
func TestDuplicateReads(t *testing.T) {
	read := func(k *scene) { k.result(1, op.Read, 2000) }
	for _, test := range []struct {
		name    string
		between func(*scene)
		want    int
	}{
		{"again", func(*scene) {}, 1},
		{"edited", func(k *scene) { k.result(1, op.Edit, 50) }, 0},
		{"compacted", func(k *scene) { k.event(traces.Event{Kind: traces.EventCompact}) }, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newScene("twice")
			k.call(0, prompt.Usage{Write5m: 50_000})
			read(k)
			test.between(k)
			k.call(minute, prompt.Usage{Read: 50_000, Write5m: 2000})
			read(k)
			k.call(minute, prompt.Usage{Read: 52_000, Write5m: 10})
			r := k.audit(t)
			twice := r.finding("duplicate_reads")
			if (twice != nil) != (test.want > 0) {
				t.Fatalf("%+v, want %d", twice, test.want)
			}
			i := slices.IndexFunc(r.Content, func(c Content) bool { return c.Part == partNames[partDuplicates] })
			if (i >= 0) != (test.want > 0) || i >= 0 && r.Content[i].Final != 2000 {
				t.Errorf("contexts are made of %+v", r.Content)
			}
			if test.want == 1 {
				wantUSD(t, "duplicate", twice.USD, 0.002*(6.25+0.50))
				if p := twice.Places[0]; p.Line != 2 || p.Call != "twice:20" || !strings.HasSuffix(p.Text, "/src/api/main.go, already read at line 1") {
					t.Errorf("%+v", p)
				}
			}
		})
	}
}

// 12,000 tokens of a command's output are written at $6.25 a million.
func TestLargeOutput(t *testing.T) {
	k := newScene("large")
	k.call(0, prompt.Usage{Write5m: 100_000})
	k.result(2, op.Exec, 12_000)
	f := k.audit(t).finding("large_command_results")
	if f == nil {
		t.Fatal("no finding")
	}
	wantUSD(t, "output", f.USD, 0.012*6.25)
}

// What a result costs is in the bill: where it was cleared, absorbed or lost it costs no more, and all results of a call cost no
// more than its input. Opus: $6.25 a million to write, $0.50 to read.
func TestResultsWithinBill(t *testing.T) {
	for _, test := range []struct {
		name  string
		event traces.Event
		next  prompt.Usage
		want  float64
	}{
		{"carried", traces.Event{Kind: traces.EventForget}, prompt.Usage{Read: 40_000}, 0.040*6.25 + 0.040*0.50},
		{"cleared", traces.Event{Kind: traces.EventMicrocompact, Cleared: []int32{0}, Saved: 30_000}, prompt.Usage{Read: 10_000}, 0.040 * 6.25},
		{"lost", traces.Event{Kind: traces.EventShrink, Saved: 30_000}, prompt.Usage{Read: 10_000}, 0.040*6.25 + 0.010*0.50},
		{"billed for less", traces.Event{Kind: traces.EventForget}, prompt.Usage{Read: 10_000}, 0.040*6.25 + 0.010*0.50},
	} {
		k := newScene("within")
		k.call(0, prompt.Usage{Write5m: 40_000})
		k.result(2, op.Exec, 40_000)
		k.event(test.event)
		k.call(minute, test.next)
		wantUSD(t, test.name, k.audit(t).finding("large_command_results").USD, test.want)
	}
	// The first call was billed for reading alone: what its text says is new was not.
	k := newScene("read")
	k.call(0, prompt.Usage{Read: 10_000})
	k.result(2, op.Exec, 12_000)
	wantUSD(t, "read alone", k.audit(t).finding("large_command_results").USD, 0.010*0.50)
	k = newScene("absorbed")
	k.call(0, prompt.Usage{Write5m: 40_000})
	k.event(traces.Event{Kind: traces.EventCompact, Absorbed: 1, Kept: 5000})
	k.call(minute, prompt.Usage{Write5m: 5000})
	k.result(2, op.Exec, 40_000)
	if f := k.audit(t).finding("large_command_results"); f != nil {
		t.Errorf("a result that no call sent: %+v", f)
	}
}

// Recordings that lack something are counted and named, nothing is divided by
// zero and nothing dropped.
func TestDefects(t *testing.T) {
	single := newScene("single")
	single.call(0, prompt.Usage{Write5m: 10})
	untimed := newScene("untimed")
	for range 2 {
		r := untimed.call(0, prompt.Usage{Write5m: 10})
		r.At, r.Flags = 0, signs.NoTime
	}
	untimed.s.Start, untimed.s.Project = 0, "/other/api"
	back := newScene("back")
	back.call(0, prompt.Usage{Write5m: 50_000})
	back.call(-10*minute, prompt.Usage{Write5m: 50_000}).Wait = 0
	unpriced := newScene("unpriced")
	unpriced.s.Models, unpriced.s.Project = []string{"nobody-knows-1"}, ""
	unpriced.call(0, prompt.Usage{Write5m: 10})
	unpriced.event(traces.Event{Kind: traces.EventCompact})
	unpriced.call(minute, prompt.Usage{Write5m: 10})
	unpriced.s.Advice = []traces.AdviceCall{{Model: "nobody-knows-1", Usage: prompt.Usage{Uncached: 10}}}
	empty := newScene("empty")
	nothing := newScene("nothing")
	nothing.call(0, prompt.Usage{})
	nothing.call(minute, prompt.Usage{})
	sessions := []*traces.Session{single.s, untimed.s, back.s, unpriced.s, empty.s, nothing.s}
	r := ran(t, sessions, Options{Prices: auditPrices(t)})
	want := map[string]Defect{
		"unpriced":   {Count: 3, Names: []string{"nobody-knows-1"}, Kinds: calls.Tally{Calls: 2, Advice: 1}},
		"untimed":    {Count: 2, Names: []string{"untimed"}},
		"clock_back": {Count: 1, Names: []string{"back"}},
		"single":     {Count: 1, Names: []string{"single"}},
		"empty":      {Count: 1, Names: []string{"empty"}},
	}
	for _, d := range r.Defects {
		w, ok := want[d.Kind]
		if !ok || d.Count != w.Count || d.Kinds != w.Kinds || !slices.Equal(d.Names, w.Names) {
			t.Errorf("%+v, want %+v", d, w)
		}
		delete(want, d.Kind)
	}
	if len(want) > 0 {
		t.Errorf("not told: %v", want)
	}
	if r.Total.Calls != 10 || r.Sessions != 6 {
		t.Errorf("%d calls of %d sessions", r.Total.Calls, r.Sessions)
	}
	for _, name := range []string{NoDay, NoProject} {
		if !slices.ContainsFunc(r.Splits, func(s Split) bool {
			return slices.ContainsFunc(s.Lines, func(l Line) bool { return l.Name == name })
		}) {
			t.Errorf("no line %s", name)
		}
	}
	for _, m := range r.Misses {
		if m.Cause != calls.CauseUnknown && m.Cause != calls.CauseCompaction {
			t.Errorf("a miss by %s, where no pause is known", m.Cause)
		}
	}
	if none := ran(t, nil, Options{Prices: auditPrices(t)}); none.Total != (Sum{}) || len(none.Findings) != 0 {
		t.Errorf("nothing gives %+v", none)
	}
}
