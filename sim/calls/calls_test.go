package calls

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

const minute = int64(time.Minute)

var start = time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC).UnixNano()

func prices(t *testing.T) *costmodel.Table {
	t.Helper()
	table, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// session makes one of a thread whose calls follow each other by a minute.
func session(agent, model string, usage ...prompt.Usage) *traces.Session {
	s := &traces.Session{
		ID: "s", Agent: agent, Versions: []string{"2.1.30"}, Files: []string{"s.jsonl"}, Start: start, Models: []string{model},
		Threads: []traces.Thread{{ID: "main", Parent: -1, ParentRound: -1}},
	}
	for i, u := range usage {
		s.Threads[0].Rounds = append(s.Threads[0].Rounds, traces.Round{
			Usage: u, At: start + int64(i)*minute, Wait: minute, Line: int32(i + 1),
		})
	}
	return s
}

// A context that shrank has less to read: of 100,000 tokens that were left, a call of 30,000
// behind a compaction that read 10,000 has missed 20,000.
func TestShrunkContext(t *testing.T) {
	s := session(facts.ClaudeCode, "claude-opus-4-5-20251101", prompt.Usage{Write5m: 100_000}, prompt.Usage{Read: 10_000, Write5m: 20_000})
	s.Threads[0].Events = []traces.Event{{Kind: traces.EventCompact, Round: 1}}
	c := &Of(s, prices(t)).Threads[0][1]
	if c.Left != 100_000 || c.Missed != 20_000 || c.Cause() != CauseCompaction || c.Class() != exchange.MissCompaction {
		t.Errorf("left %d, missed %d by %s, class %s", c.Left, c.Missed, c.Cause(), c.Class())
	}
	if want := 20_000 * (6.25 - 0.5) / 1e6; math.Abs(c.MissUSD-want) > 1e-12 { // written at $6.25, not read at $0.50
		t.Errorf("it cost $%f, want $%f", c.MissUSD, want)
	}
}

// The first call of a session that was forked from another has what that left, and misses it as any other call: of 227,000
// tokens that were left for an hour, a call that sends 228,000 and reads 25,000 has missed 202,000. A compaction in
// between is the cause, and so are another model and a long pause.
func TestFirstCallOfAFork(t *testing.T) {
	left := traces.LeftBehind{Usage: prompt.Usage{Read: 225_000, Write1h: 2000}, TTL: exchange.TTL1h, Gap: 10 * minute, Model: true}
	for want, change := range map[Cause]func(s *traces.Session){
		CauseSystem:     func(s *traces.Session) { s.Threads[0].Rounds[0].Verdict = signs.VerdictSystem },
		"fork":          func(*traces.Session) {},
		CauseModel:      func(s *traces.Session) { s.Threads[0].Left.Model = false },
		CauseLongPause:  func(s *traces.Session) { s.Threads[0].Left.Gap = 61 * minute },
		CauseShortPause: func(s *traces.Session) { s.Threads[0].Left.TTL = exchange.TTL5m },
		CauseUnknown:    func(s *traces.Session) { s.Threads[0].Left.Gap = -1 },
		CauseCompaction: func(s *traces.Session) { s.Threads[0].Events = []traces.Event{{Kind: traces.EventCompact}} },
	} {
		s := session(facts.ClaudeCode, "claude-opus-4-8", prompt.Usage{Read: 25_000, Write1h: 203_000}, prompt.Usage{Read: 228_000, Write1h: 1000})
		s.Threads[0].Left = left
		change(s)
		table := Of(s, prices(t))
		c := &table.Threads[0][0]
		if !c.Resumed || c.Left != 227_000 || c.Missed != 202_000 || c.Cause() != want {
			t.Errorf("left %d, missed %d by %s, want 227,000, 202,000 and %s", c.Left, c.Missed, c.Cause(), want)
		}
		if usd := 202_000 * (10 - 0.5) / 1e6; math.Abs(c.MissUSD-usd) > 1e-9 { // written for an hour at $10, not read at $0.50
			t.Errorf("it cost $%f, want $%f", c.MissUSD, usd)
		}
		var row results.Row
		if table.CountMisses(&row); row.N(measures.Misses) != 1 || row.N(measures.HitCalls) != 1 {
			t.Errorf("%d misses and %d hits, want one each", row.N(measures.Misses), row.N(measures.HitCalls))
		}
	}
}

// Evidence is the server's word only where the server said it, else what the bodies show, with the place where they part.
func TestEvidenceSaysWhoSaysIt(t *testing.T) {
	for want, r := range map[string]traces.Round{
		"the server says that the system prompt changed":                     {Verdict: signs.VerdictSystem},
		"the bodies show that the system prompt changed, from byte 7,228 on": {Verdict: signs.VerdictSystem, Parted: 7228},
		"the bodies show that the messages changed, from message 3 on":       {Verdict: signs.VerdictMessages, Parted: 3},
		"the bodies show that the tools changed":                             {Verdict: signs.VerdictTools, Parted: 1},
		"inside the lifetime, no visible reason":                             {Verdict: signs.VerdictSame, Parted: 9},
	} {
		s := session(facts.ClaudeCode, "claude-opus-4-5-20251101", prompt.Usage{Write5m: 100_000}, prompt.Usage{Write5m: 110_000})
		s.Threads[0].Rounds[1].Verdict, s.Threads[0].Rounds[1].Parted = r.Verdict, r.Parted
		if got := Of(s, prices(t)).Threads[0][1].Evidence(); !strings.HasPrefix(got, want+", 1 m") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An automatic cache reads in steps: 1,024 tokens short are no miss, and one more is.
func TestSteps(t *testing.T) {
	for _, test := range []struct{ read, missed int64 }{{8976, 0}, {8975, 1025}} {
		s := session(facts.Codex, "gpt-5.5", prompt.Usage{Uncached: 10_000}, prompt.Usage{Read: test.read, Uncached: 11_000 - test.read})
		c := &Of(s, prices(t)).Threads[0][1]
		if c.Left != 10_000 || c.Missed != test.missed {
			t.Errorf("read %d: left %d, missed %d, want %d", test.read, c.Left, c.Missed, test.missed)
		}
	}
}

// A branch goes on from the call it leaves: what that left is there to be read, and its
// entries live as long as it paid for. Its first call is compared with nothing of its thread.
func TestBranch(t *testing.T) {
	s := session(facts.ClaudeCode, "claude-opus-4-5-20251101", prompt.Usage{Write1h: 50_000}, prompt.Usage{Read: 50_000, Write5m: 9000})
	s.Threads = append(s.Threads, traces.Thread{ID: "b", Kind: traces.ThreadBranch, Parent: 0, ParentRound: 0, Rounds: []traces.Round{
		{Usage: prompt.Usage{Read: 50_000}, At: start + 10*minute, Line: 9},
	}})
	table := Of(s, prices(t))
	c := &table.Threads[1][0]
	if c.Before != &table.Threads[0][0] || c.Before.Leaves() != 50_000 || c.Tier != exchange.TTL1h || c.Billed() != exchange.TTL1h {
		t.Errorf("it goes on from %p, which left %d for %s; billed for %s", c.Before, c.Before.Leaves(), c.Tier, c.Billed())
	}
	if c.Left != 0 || c.Missed != 0 || c.Gap != -1 || c.Source != measures.SourceBranch {
		t.Errorf("%+v", c)
	}
}

// Each call has the price of its date, whatever the session's later calls cost: a million
// tokens at $1 in January and at $3 in February.
func TestPriceOfTheDate(t *testing.T) {
	table, err := costmodel.Load(strings.NewReader(`schema: 1
as_of: 2026-03-01
models:
  m:
    provider: openai
    prices:
      - {input: 1, read: 1, output: 1}
      - {from: 2026-02-01, input: 3, read: 3, output: 3}
`), "prices.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := session(facts.Codex, "m", prompt.Usage{Uncached: 1e6}, prompt.Usage{Uncached: 1e6})
	s.Threads[0].Rounds[0].At -= 24 * 60 * minute
	s.Start = s.Threads[0].Rounds[0].At
	calls := Of(s, table).Threads[0]
	for i, want := range []float64{1, 3} {
		c := &calls[i]
		if paid := c.Model.Of(c.Recorded.Usage); c.Cost.Total() != want || paid.Total() != want {
			t.Errorf("call %d: $%g, at its model's price $%g, want $%g", i+1, c.Cost.Total(), paid.Total(), want)
		}
	}
}

// A record has what was billed where a simulated one has what was expected: of 100,000 tokens
// that were left 10,000 were read, two minutes after the session began.
func TestRecords(t *testing.T) {
	s := session(facts.ClaudeCode, "claude-opus-4-5-20251101", prompt.Usage{Write5m: 100_000}, prompt.Usage{Read: 10_000, Write5m: 91_000})
	s.Threads[0].Rounds[1].At = start + 2*minute
	list := Of(s, prices(t)).Records()
	if len(list) != 2 {
		t.Fatalf("%d records", len(list))
	}
	r := &list[1]
	if r.Start != 2*minute || r.Usage.Read != 10_000 || r.Expected != 100_000 || r.Miss != exchange.MissEviction || r.First || !list[0].First ||
		r.Context != 101_000 {
		t.Errorf("%+v", r)
	}
	if want := (10_000*0.5 + 91_000*6.25) / 1e6; math.Abs(r.Cost.Total()-want) > 1e-12 {
		t.Errorf("$%f, want $%f", r.Cost.Total(), want)
	}
}

// Summary calls have a noun of their own wherever calls are counted, so that the calls of conversations are as many in every verb: two, beside three
// summaries, one of an advisor and one that no line shows.
func TestUnpricedCallsBySource(t *testing.T) {
	var n Tally
	for _, s := range []measures.Source{measures.SourceMain, measures.SourceCompact, measures.SourceBranch, measures.SourceCompact, measures.SourceAdvisor,
		measures.SourceCompact, measures.SourceOther} {
		n.Add(&Call{Source: s})
	}
	const want = "not in the bill: 2 calls, 1 call that no line shows, 1 advisor call and 3 summary calls of models without a price (m); --price-as bills them as another model"
	if got := UnpricedCalls(n, []string{"m"}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := (Tally{Calls: 3, Advice: 1}).String(), "3 calls and 1 advisor call"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := UnpricedCalls(Tally{}, nil); got != "" {
		t.Errorf("%q of none", got)
	}
}
