package account

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

const minute = int64(60e9)

// pricesOf are the prices of a function.
type pricesOf func(model string, at time.Time) (costmodel.Price, error)

func (f pricesOf) Lookup(model string, at time.Time) (costmodel.Price, error) { return f(model, at) }

// A prefix of 1,024 tokens can be cached unless the table states another minimum.
func TestLeastPrefix(t *testing.T) {
	for stated, want := range map[int]int32{0: 1024, 512: 512, 4096: 4096} {
		m := Models{Numbers: Numbers{}, Prices: pricesOf(func(string, time.Time) (costmodel.Price, error) {
			return costmodel.Price{Model: costmodel.Model{MinCache: stated}}, nil
		})}
		m.add("m", time.Time{})
		if got := m.Of(0).MinCache; got != want {
			t.Errorf("the table states %d: %d tokens, want %d", stated, got, want)
		}
	}
}

// A client without a limit of its own names all the output of a model of Anthropic, 64,000 for Claude Sonnet 4.5, and none for OpenAI's.
func TestNamedOutput(t *testing.T) {
	table, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	m := Models{Numbers: Numbers{}, Prices: table}
	for i, want := range []int64{64_000, 0} {
		m.add([]string{"claude-sonnet-4-5", "gpt-5.4"}[i], time.Time{})
		if got := m.Of(int32(i)).NamedOutput; got != want {
			t.Errorf("%s: %d, want %d", m.List[i].Name, got, want)
		}
	}
}

// A call is priced at its own date: Opus ends at noon, and what holds then are the prices of
// Sonnet. Where the table has none for the later date the old ones stay.
func TestPricesOfEachDate(t *testing.T) {
	table, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	u := prompt.Usage{Uncached: 100_000}
	for name, later := range map[string]string{"listed": "claude-sonnet-4-5", "unlisted": ""} {
		m := Models{Numbers: Numbers{}, Prices: pricesOf(func(model string, at time.Time) (costmodel.Price, error) {
			if !at.Before(noon) && later == "" {
				return costmodel.Price{}, errors.New("not listed")
			}
			if !at.Before(noon) {
				model = later
			}
			p, err := table.Lookup(model, at)
			if at.Before(noon) {
				p.Until = noon
			}
			return p, err
		})}
		m.Reset(&traces.Session{Models: []string{"claude-opus-4-5"}, Start: noon.Add(-time.Hour).UnixNano()})
		want := []float64{0.5, 0.3}
		if later == "" {
			want[1] = 0.5
		}
		for i, at := range []time.Time{noon.Add(-1), noon} {
			cost := m.cost(0, at.UnixNano(), &u)
			if got := cost.Total(); math.Abs(got-want[i]) > 1e-9 {
				t.Errorf("%s, %v: $%g, want $%g", name, at, got, want[i])
			}
		}
	}
}

// Of an output whose last line was not logged, the share that was costs its share.
func TestLoggedShareOfAnOutput(t *testing.T) {
	for _, tc := range []struct {
		logged, output int64
		want           float64
	}{{50, 200, 1}, {200, 200, 4}, {0, 200, 0}, {0, 0, 0}} {
		r := traces.Round{Usage: prompt.Usage{Output: tc.output}}
		r.Logged = tc.logged
		if got := loggedOutput(&r, 4); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%d of %d tokens logged: $%g of $4, want $%g", tc.logged, tc.output, got, tc.want)
		}
	}
}

// A recording with three compactions on one thread and one on another compacted four times,
// twice what was compacted already. One that no call follows does not count.
func TestRecordedEventsAreCounted(t *testing.T) {
	var row results.Row
	compact, micro := traces.Event{Kind: traces.EventCompact}, traces.Event{Kind: traces.EventMicrocompact}
	calls, last := make([]traces.Round, 1), compact
	last.Round = 1
	countEvents(&row, &traces.Thread{Rounds: calls, Events: []traces.Event{compact, micro, compact, compact, last}})
	countEvents(&row, &traces.Thread{Rounds: calls, Events: []traces.Event{micro, compact}})
	countEvents(&row, &traces.Thread{Rounds: calls, Events: []traces.Event{{Kind: traces.EventShrink}}})
	if row.N(measures.Compactions) != 4 || row.N(measures.Recompactions) != 2 || row.N(measures.Microcompactions) != 2 {
		t.Errorf("%d compactions, %d of them again, %d microcompactions", row.N(measures.Compactions),
			row.N(measures.Recompactions), row.N(measures.Microcompactions))
	}
}

// The calls of one compaction add up; it began with the first, and the first on the
// conversation's prefix tells what that would have read.
func TestCallsOfACompactionAddUp(t *testing.T) {
	var s summaries
	for _, f := range []Call{{Start: 5}, {Start: 9, Own: true}, {Start: 12, Own: true}} {
		f.Outcome.Usage.Read = 100 * f.Start
		s.add(&f, &results.Cost{measures.ClassRead: 0.5})
	}
	if s.calls != 3 || s.start != 5 || s.would != 1+900 || s.usage.Read != 2600 || s.cost.Total() != 1.5 {
		t.Errorf("%+v", s)
	}
}

// A compaction begins warm through the last moment of the lifetime, five minutes behind the
// last response, and its first call says when it began. What requests had left out is not saved.
func TestBalanceBegins(t *testing.T) {
	for name, tc := range map[string]struct {
		now     int64
		made    summaries
		deleted int64
		warm    bool
		saved   int64
	}{
		"at the end of its life": {5 * minute, summaries{}, 0, true, 9000},
		"later":                  {5*minute + 1, summaries{}, 0, false, 9000},
		"a call under way since": {6 * minute, summaries{calls: 1, start: 5 * minute}, 0, true, 9000},
		"with deletions":         {minute, summaries{}, 700, true, 8300},
		"with deletions, cold":   {6 * minute, summaries{}, 700, false, 9000},
	} {
		of := &course.Course{Started: true, TTL: exchange.TTL5m}
		var b Book
		b.Compacted(&Thread{calls: tc.made}, of, &strategies.Boundary{Before: 10_000, After: 1000}, tc.now, tc.deleted)
		if p := b.paybacks[0]; p.warm != tc.warm || p.Saved != tc.saved || p.Calls != tc.made.calls {
			t.Errorf("%s: warm %v, %d saved, %d calls; want %v, %d, %d", name, p.warm, p.Saved, p.Calls, tc.warm, tc.saved, tc.made.calls)
		}
	}
}

// What stayed before the change is the prefix of the conversation's first request behind it. A
// balance of nothing is not a loss.
func TestWhatABalanceNotes(t *testing.T) {
	for name, tc := range map[string]struct {
		kind  Kind
		at    int32
		later int
		front int64
	}{
		"the next request":  {Recorded, 1, 0, 50},
		"a layer's call":    {Awaited, 1, 0, 0},
		"a later request":   {Recorded, 1, 1, 0},
		"from the first on": {Recorded, 0, 0, 0},
		"behind the end":    {Recorded, 9, 0, 80},
	} {
		b := Book{paybacks: make([]payback, 1)}
		b.paybacks[0].Later = tc.later
		q := &exchange.Request{Entries: []prompt.Entry{{Cum: 50}, {Cum: 80}}, Change: prompt.Change{At: tc.at}}
		b.Sent(&Thread{last: 1}, q, &Call{Kind: tc.kind})
		if got := b.paybacks[0].Front; got != tc.front {
			t.Errorf("%s: %d tokens ahead of the change, want %d", name, got, tc.front)
		}
	}
	b := Book{paybacks: make([]payback, 1)}
	if b.Close(nil, nil); b.Row.N(measures.NetNegativeCompactions) != 0 {
		t.Error("a balance of nothing counts as negative")
	}
}

// What is not read is billed by the lifetime of the last marker, and without one by what the
// provider calls a write, if it does.
func TestUnreadClass(t *testing.T) {
	short, long := exchange.Marker{TTL: exchange.TTL5m}, exchange.Marker{TTL: exchange.TTL1h}
	for _, tc := range []struct {
		markers []exchange.Marker
		other   int64
		want    measures.Class
	}{
		{[]exchange.Marker{long, short}, 9, measures.ClassWrite5m}, {[]exchange.Marker{short, long}, 9, measures.ClassWrite1h},
		{nil, 1, measures.ClassWriteOther}, {nil, 0, measures.ClassUncached},
	} {
		out := exchange.Outcome{Usage: prompt.Usage{WriteOther: tc.other}}
		if got := unreadClass(&exchange.Request{Markers: tc.markers}, &out); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// What happens on a clock that others share is dated by the session's own beginning; one without
// a beginning has no dates.
func TestDates(t *testing.T) {
	b := Book{session: &traces.Session{Start: 1000}, origin: 50}
	if date := b.date(70); date != 1020 {
		t.Errorf("at 70 it is %d, want 1,020", date)
	}
	b.session.Start = 0
	if date := b.date(70); date != 0 {
		t.Errorf("a session without a beginning has the date %d", date)
	}
}

// A price holds from its first moment to the one ahead of the next price; a call without a
// time has the one at hand.
func TestWhenAPriceHolds(t *testing.T) {
	from, until := time.Unix(1000, 0), time.Unix(2000, 0)
	var both, open Model
	both.take(&costmodel.Price{From: from, Until: until})
	for at, want := range map[int64]bool{0: true, 1: false, 1000e9 - 1: false, 1000e9: true, 2000e9 - 1: true, 2000e9: false} {
		if got := both.holds(at); got != want {
			t.Errorf("at %d: %v", at, got)
		}
	}
	if open.take(&costmodel.Price{}); !open.holds(1) {
		t.Error("a price without dates does not hold")
	}
}
