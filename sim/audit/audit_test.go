package audit

import (
	"math"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/traces"
)

// The sums equal the billed rows, to the cent and to the token, and every split adds up to them.
func TestSumsAreTheBill(t *testing.T) {
	for name, sessions := range corpora(t) {
		prices := auditPrices(t)
		r := ran(t, sessions, Options{Prices: prices})
		var billed results.Row
		for _, s := range sessions {
			row := sim.Billed(s, prices, time.Time{})
			billed.Add(&row)
			for _, l := range r.split("session").Lines {
				if l.Name == s.ID && math.Abs(l.USD-row.CostUSD()) > 1e-6 {
					t.Errorf("%s: session %s: $%f, billed $%f", name, s.ID, l.USD, row.CostUSD())
				}
			}
		}
		if math.Abs(r.Total.USD-billed.CostUSD()) > 1e-6 || math.Abs(r.LoggedOutputUSD-billed.Figures[measures.LoggedOutputUSD]) > 1e-6 {
			t.Errorf("%s: $%f, outputs as logged $%f; billed $%f, $%f", name, r.Total.USD, r.LoggedOutputUSD,
				billed.CostUSD(), billed.Figures[measures.LoggedOutputUSD])
		}
		u := billed.Usage()
		if got := (prompt.Usage{Uncached: r.Total.Uncached, Read: r.Total.Read, Write5m: r.Total.Write5m, Write1h: r.Total.Write1h, WriteOther: r.Total.WriteOther, Output: r.Total.Output}); got != u {
			t.Errorf("%s: %+v, billed %+v", name, got, u)
		}
		if want := u.Uncached + u.Writes(); r.Total.Limited != want {
			t.Errorf("%s: %d tokens count against limits, want %d", name, r.Total.Limited, want)
		}
		for _, split := range r.Splits {
			var sum Sum
			for i := range split.Lines {
				sum.Plus(&split.Lines[i].Sum)
			}
			if split.By == "class" { // a call counts in each class it has tokens of
				sum.Calls = r.Total.Calls
			}
			if math.Abs(sum.USD-r.Total.USD) > 1e-6 {
				t.Errorf("%s: by %s $%f of $%f", name, split.By, sum.USD, r.Total.USD)
			}
			sum.USD = r.Total.USD
			if sum != r.Total {
				t.Errorf("%s: by %s %+v of %+v", name, split.By, sum, r.Total)
			}
		}
	}
}

func (r *Report) split(by string) *Split {
	for i := range r.Splits {
		if r.Splits[i].By == by {
			return &r.Splits[i]
		}
	}
	return &Split{}
}

// What contexts were made of adds up to what was sent, tails aside, and to what
// was billed for input.
func TestContentAddsUp(t *testing.T) {
	for name, sessions := range corpora(t) {
		r := ran(t, sessions, Options{Prices: auditPrices(t)})
		var want int64
		for _, s := range sessions {
			for i := range s.Threads {
				for j := range s.Threads[i].Rounds {
					rd := &s.Threads[i].Rounds[j]
					want += rd.Usage.Input() - int64(rd.Tail)
				}
			}
		}
		var got int64
		var cost float64
		for _, c := range r.Content {
			got += c.Tokens
			cost += c.USD
		}
		if got != want {
			t.Errorf("%s: parts of %d tokens, sent were %d", name, got, want)
		}
		input := r.Total.USD
		for _, l := range r.split("class").Lines {
			if l.Name == measures.ClassOutput.String() {
				input -= l.USD
			}
		}
		if math.Abs(cost-input) > 1e-6 {
			t.Errorf("%s: parts cost $%f, input $%f", name, cost, input)
		}
	}
}

// What the detector and the causes count is the same calls and the same money.
func TestMissesAddUp(t *testing.T) {
	for name, sessions := range corpora(t) {
		r := ran(t, sessions, Options{Prices: auditPrices(t)})
		judged := map[calls.Cause]int{}
		for _, s := range sessions {
			for _, calls := range calls.Of(s, auditPrices(t)).Threads {
				for i := range calls {
					if calls[i].Missed > 0 {
						judged[calls[i].Cause()]++
					}
				}
			}
		}
		for _, m := range r.Misses {
			if judged[m.Cause] != m.Calls {
				t.Errorf("%s: %d calls are judged %s, the report has %d", name, judged[m.Cause], m.Cause, m.Calls)
			}
		}
		var calls, said int
		var cost, saidCost float64
		for _, m := range r.Misses {
			calls += m.Calls
			cost += m.USD
			if f := r.finding(string(m.Cause)); f != nil && (f.Count != m.Calls || f.Tokens != m.Tokens) {
				t.Errorf("%s: the finding has %d calls and %d tokens missed by %s, the table %d and %d", name, f.Count, f.Tokens, m.Cause,
					m.Calls, m.Tokens)
			}
		}
		all := 0
		for _, d := range r.Detector {
			all += d.Calls
			said += d.Missed
			saidCost += d.USD
		}
		if calls != said || math.Abs(cost-saidCost) > 1e-6 || all != r.Total.Calls {
			t.Errorf("%s: %d misses of $%f by cause, %d of $%f by reason, over %d of %d calls", name, calls, cost, said, saidCost, all, r.Total.Calls)
		}
	}
}

// Ten minutes of pause under a 5-minute lifetime: 100,000 tokens are written at
// $6.25 a million that could have been read at $0.50.
func TestPause(t *testing.T) {
	k := newScene("pause")
	k.call(0, prompt.Usage{Write5m: 100_000})
	k.call(10*minute, prompt.Usage{Write5m: 101_000})
	r := k.audit(t)
	f := r.finding("pause_over_5m_main")
	if f == nil {
		t.Fatalf("no finding in %+v", r.Findings)
	}
	wantUSD(t, "what the pause cost", f.USD, 0.575)
	if p := f.Places[0]; p.File != "logs/pause.jsonl" || p.Line != 20 || p.Session != "pause" {
		t.Errorf("look at %+v", p)
	}
}

// Each cause, by what the recording tells.
func TestCauses(t *testing.T) {
	all := func(k *scene) prompt.Usage { return prompt.Usage{Write5m: 101_000} }
	for _, test := range []struct {
		name string
		tier exchange.TTL
		next func(*scene) prompt.Usage
		gap  int64
		want calls.Cause
	}{
		{"a minute", exchange.TTL5m, all, minute, calls.CauseInside},
		{"ten minutes of five", exchange.TTL5m, all, 10 * minute, calls.CauseShortPause},
		{"ten minutes of an hour", exchange.TTL1h, all, 10 * minute, calls.CauseInside},
		{"two hours of five minutes", exchange.TTL5m, all, 120 * minute, calls.CauseLongPause},
		{"two hours of an hour", exchange.TTL1h, all, 120 * minute, calls.CauseLongPause},
		{"a little", exchange.TTL5m, func(*scene) prompt.Usage { return prompt.Usage{Read: 98_000, Write5m: 3000} }, minute, calls.CauseTail},
		{"compaction", exchange.TTL5m, func(k *scene) prompt.Usage {
			k.event(traces.Event{Kind: traces.EventCompact})
			return prompt.Usage{Write5m: 40_000}
		}, 10 * minute, calls.CauseCompaction},
		{"microcompact", exchange.TTL5m, func(k *scene) prompt.Usage {
			k.event(traces.Event{Kind: traces.EventMicrocompact, Saved: 20_000})
			return prompt.Usage{Read: 20_000, Write5m: 60_000}
		}, minute, calls.CauseEdit},
		{"microcompact after ten minutes of five", exchange.TTL5m, func(k *scene) prompt.Usage {
			k.event(traces.Event{Kind: traces.EventMicrocompact, Saved: 20_000})
			return prompt.Usage{Read: 20_000, Write5m: 60_000}
		}, 10 * minute, calls.CauseShortPause},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newScene("cause")
			first := prompt.Usage{Write5m: 100_000}
			if test.tier == exchange.TTL1h {
				first = prompt.Usage{Write1h: 100_000}
			}
			k.call(0, first)
			k.call(test.gap, test.next(k)).Trigger = traces.TriggerToolResult
			r := k.audit(t)
			if len(r.Misses) != 1 || r.Misses[0].Cause != test.want || r.Misses[0].Calls != 1 {
				t.Errorf("%+v, want one miss by %s", r.Misses, test.want)
			}
		})
	}
}

// An automatic cache reads up to the first change. 50,000 tokens stand ahead of what
// the provider leaves out here: where they were read the rest is missed for the change,
// where most of what is missed stands among them it is not.
func TestEditAheadOfWhatIsMissed(t *testing.T) {
	for _, test := range []struct {
		read int64
		want calls.Cause
	}{{49_920, calls.CauseEdit}, {30_080, calls.CauseEdit}, {4_480, calls.CauseNoLifetime}} {
		k := newScene("forget")
		k.s.Agent, k.s.Models = facts.Codex, []string{"gpt-5.5"}
		k.call(0, prompt.Usage{Uncached: 50_000})
		k.s.Threads[0].Rounds[0].Reply = traces.Span{From: 0, To: 1}
		k.s.Blocks = append(k.s.Blocks, prompt.Block{Kind: prompt.KindThinking, Tokens: 1000})
		k.call(minute, prompt.Usage{Read: 49_920, Uncached: 40_080})
		k.event(traces.Event{Kind: traces.EventForget, Cleared: []int32{0}, Saved: 1000})
		k.call(minute, prompt.Usage{Read: test.read, Uncached: 91_000 - test.read}).Trigger = traces.TriggerToolResult
		if r := k.audit(t); len(r.Misses) != 1 || r.Misses[0].Cause != test.want {
			t.Errorf("%d tokens read: %+v, want one miss by %s", test.read, r.Misses, test.want)
		}
	}
}

// Where bodies show that the system prompt changed, an automatic cache misses for that, not because it promises no lifetime.
func TestAutomaticCacheMissesByAChangedHead(t *testing.T) {
	for verdict, want := range map[signs.Verdict]calls.Cause{signs.VerdictSystem: calls.CauseSystem, signs.VerdictTools: calls.CauseTools, 0: calls.CauseNoLifetime} {
		k := newScene("head")
		k.s.Agent, k.s.Models = facts.Codex, []string{"gpt-5.5"}
		k.call(0, prompt.Usage{Uncached: 50_000})
		last := k.call(minute, prompt.Usage{Read: 1024, Uncached: 50_000})
		last.Verdict, last.Trigger = verdict, traces.TriggerToolResult
		if r := k.audit(t); len(r.Misses) != 1 || r.Misses[0].Cause != want {
			t.Errorf("verdict %d: %+v, want one miss by %s", verdict, r.Misses, want)
		}
	}
}

// The server compares two requests and says what the client changed; it knows
// nothing of lifetimes, so that what has expired is the pause's doing whatever it
// names. A client of 2.1.30 that a line tells to go without thinking switches it; one
// of 2.1.39 does not (docs/validation.md, rule thinking).
func TestCausesOfTheClient(t *testing.T) {
	for _, test := range []struct {
		name, version string
		gap           int64
		verdict       signs.Verdict
		signs         signs.Set
		want          calls.Cause
	}{
		{"messages", "2.1.217", minute, signs.VerdictMessages, 0, calls.CauseMessages},
		{"system", "2.1.217", minute, signs.VerdictSystem, 0, calls.CauseSystem},
		{"tools", "2.1.217", minute, signs.VerdictTools, 0, calls.CauseTools},
		{"tools behind a pause", "2.1.217", 10 * minute, signs.VerdictTools, 0, calls.CauseShortPause},
		{"nothing changed", "2.1.217", minute, signs.VerdictSame, 0, calls.CauseInside},
		{"it cannot tell", "2.1.217", minute, signs.VerdictUnknown, 0, calls.CauseInside},
		{"thinking off", "2.1.30", minute, 0, signs.ThinkingOff | signs.ThinkingTold, calls.CauseThinking},
		{"thinking off behind a pause", "2.1.30", 10 * minute, 0, signs.ThinkingOff | signs.ThinkingTold, calls.CauseShortPause},
		{"thinking off, later client", "2.1.39", minute, 0, signs.ThinkingOff | signs.ThinkingTold, calls.CauseInside},
		{"thinking stays on", "2.1.30", minute, 0, signs.ThinkingTold, calls.CauseInside},
	} {
		k := newScene("cause")
		k.s.Versions = []string{test.version}
		k.call(0, prompt.Usage{Write5m: 100_000})
		last := k.call(test.gap, prompt.Usage{Write5m: 101_000})
		last.Verdict, last.Signs, last.Trigger = test.verdict, test.signs, traces.TriggerToolResult
		r := k.audit(t)
		if len(r.Misses) != 1 || r.Misses[0].Cause != test.want || r.finding(string(test.want)) == nil && test.want != calls.CauseShortPause {
			t.Errorf("%s: %+v, want one miss by %s and its finding", test.name, r.Misses, test.want)
		}
	}
}

// Another model shares nothing (facts A1).
func TestModelSwitch(t *testing.T) {
	k := newScene("switch")
	k.s.Models = append(k.s.Models, "claude-sonnet-4-5-20250929")
	k.call(0, prompt.Usage{Write5m: 100_000})
	k.call(minute, prompt.Usage{Write5m: 101_000}).Model = 1
	r := k.audit(t)
	f := r.finding(string(calls.CauseModel))
	if f == nil {
		t.Fatalf("no finding in %+v", r.Findings)
	}
	wantUSD(t, "written at $3.75, not read at $0.30", f.USD, 0.1*(3.75-0.30))
}

// The client's break detector is asked about recorded calls too: of 100,000 tokens
// that were left nothing is read after a minute, and the prompt is the same.
func TestDetectorOnRecordedCalls(t *testing.T) {
	k := newScene("break")
	k.call(0, prompt.Usage{Write5m: 100_000})
	k.call(minute, prompt.Usage{Read: 100_000, Write5m: 1000})
	k.call(minute, prompt.Usage{Write5m: 102_000})
	said := map[string]int{}
	for _, d := range k.audit(t).Detector {
		said[d.Reason] += d.Calls
	}
	if said[confusion.First.String()] != 1 || said[confusion.Server.String()] != 1 || said[confusion.None.String()] != 1 {
		t.Errorf("%v", said)
	}
}

// Days are days of the zone, in order, and so are weeks and months: a scene begins on
// 1 January 2026 or later; 40 days are 41 days of calls, seven weeks or six, two months.
func TestDaysAreInOrder(t *testing.T) {
	k := newScene("days")
	for i := range 41 {
		gap := 24 * 60 * minute
		if i == 0 {
			gap = 0
		}
		k.call(gap, prompt.Usage{Write5m: int64(100_000 - 1000*i)})
	}
	zone := time.FixedZone("far", 14*3600)
	r := ran(t, []*traces.Session{k.s}, Options{Prices: auditPrices(t), Zone: zone})
	day := r.split("day").Lines
	at := time.Unix(0, k.s.Threads[0].Rounds[0].At).In(zone)
	for i := range day {
		if want := at.AddDate(0, 0, i).Format(time.DateOnly); day[i].Name != want {
			t.Errorf("day %d is %s, want %s", i, day[i].Name, want)
		}
	}
	if w := len(r.split("week").Lines); len(day) != 41 || w < 6 || w > 7 || len(r.Days) != 41 {
		t.Errorf("%d days, %d weeks, %d by project and model", len(day), w, len(r.Days))
	}
}

// A period cuts by call: two parts of a session add up to the whole, and what a call
// missed is told against the call before, which may lie outside.
func TestPeriodsAddUp(t *testing.T) {
	for name, sessions := range corpora(t) {
		o := Options{Prices: auditPrices(t)}
		whole := ran(t, sessions, o)
		edge := sessions[0].Start + (sessions[0].End-sessions[0].Start)/2
		o.In = func(at int64) bool { return at < edge }
		early := ran(t, sessions, o)
		o.In = func(at int64) bool { return at >= edge }
		late := ran(t, sessions, o)
		sum := early.Total
		sum.Plus(&late.Total)
		if sum.Calls != whole.Total.Calls || math.Abs(sum.USD-whole.Total.USD) > 1e-6 {
			t.Errorf("%s: %d calls of $%f and %d of $%f, all %d of $%f", name, early.Total.Calls, early.Total.USD,
				late.Total.Calls, late.Total.USD, whole.Total.Calls, whole.Total.USD)
		}
		missed := func(r *Report) (usd float64) {
			for _, m := range r.Misses {
				usd += m.USD
			}
			return usd
		}
		if got, want := missed(early)+missed(late), missed(whole); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: misses of $%f, in all $%f", name, got, want)
		}
	}
}

// What a client logs as the cost of a session stands beside its bill if it is another sum, and not for a part of a session.
func TestStatedCosts(t *testing.T) {
	k := newScene("stated")
	k.call(0, prompt.Usage{Uncached: 1000, Output: 100})
	o := Options{Prices: auditPrices(t)}
	bill := ran(t, []*traces.Session{k.s}, o).Total.USD
	for _, tt := range []struct {
		logged float64
		want   bool
	}{{0, false}, {bill, false}, {bill + 1, true}} {
		k.s.LoggedUSD = tt.logged
		r := ran(t, []*traces.Session{k.s}, o)
		if r.Stated.LoggedUSD != tt.logged || tt.logged > 0 && r.Stated.USD != bill {
			t.Errorf("stated %+v, want $%g beside $%g", r.Stated, tt.logged, bill)
		}
		if said := (&page{Report: r}).headStated(); (said != "") != tt.want {
			t.Errorf("$%g beside $%g: %q", tt.logged, bill, said)
		}
	}
}
