package validate

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/tools/tests/validatetest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// broken changes the usage of calls: what is read no more is written for as long as
// the call writes. keep returns what is still read of a thread's call.
func broken(t testing.TB, sessions []*traces.Session, keep func(call int, read int64) int64) []*traces.Session {
	t.Helper()
	var list []*traces.Session
	for _, s := range sessions {
		s, err := s.Load()
		if err != nil {
			t.Fatal(err)
		}
		own := *s
		own.Threads = slices.Clone(s.Threads)
		for i := range own.Threads {
			rounds := slices.Clone(own.Threads[i].Rounds)
			own.Threads[i].Rounds = rounds
			for r := range rounds {
				u := &rounds[r].Usage
				lost := u.Read - min(u.Read, keep(r, u.Read))
				u.Read -= lost
				switch {
				case u.Write1h > 0:
					u.Write1h += lost
				default:
					u.Write5m += lost
				}
			}
		}
		list = append(list, &own)
	}
	return list
}

// sums adds up sessions.
func sums(list []Expect) (billed, mean float64, causes [NumCauses]Excess) {
	for i := range list {
		billed, mean = billed+list[i].BilledUSD, mean+list[i].MeanUSD
		for k := range causes {
			causes[k].Add(&list[i].Excess[k])
		}
	}
	return billed, mean, causes
}

// generated returns sessions of a built-in workload.
func generated(t testing.TB, name string, n int) []*traces.Session {
	t.Helper()
	w, err := synthetic.LoadWorkload(name)
	if err != nil {
		t.Fatal(err)
	}
	g, err := synthetic.NewGenerator(w)
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.Corpus(context.Background(), n, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.Sessions
}

// held predicts sessions by the built-in profile.
func held(t testing.TB, sessions []*traces.Session) []Expect {
	t.Helper()
	config := validatetest.Unverified(t)
	config.Profile = fitted(t)
	list, err := Against(context.Background(), config, 0, sessions)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// ways are breaks of a cache, each with the cause that it is named by and the least share
// by which it raises the bill.
var ways = []struct {
	name  string
	keep  func(call int, read int64) int64
	cause Cause
	least float64
}{
	{"every call reads nothing", func(int, int64) int64 { return 0 }, CauseEvery, 0.5},
	{"the head changes with each call", func(int, int64) int64 { return 3000 }, CauseEvery, 0.5},
	{"half of the calls lose their reads", func(call int, read int64) int64 { return read * int64(1-call%2) }, CauseLost, 0.2},
	{"one call in fifty loses its reads", func(call int, read int64) int64 {
		if call%50 == 7 {
			return 0
		}
		return read
	}, CauseLost, 0.02},
}

// A cache that breaks in every session, from the first call on, leaves the prediction where it
// was (to 0.2 %), raises the bill over it, and is named.
func testBreaks(t *testing.T, sessions []*traces.Session) {
	billed, mean, _ := sums(held(t, sessions))
	for _, way := range ways {
		b, m, causes := sums(held(t, broken(t, sessions, way.keep)))
		if off := math.Abs(m/mean - 1); off > 0.002 {
			t.Errorf("%s: the prediction moves by %.2f %%", way.name, 100*off)
		}
		if rise := (b/m)/(billed/mean) - 1; rise < way.least {
			t.Errorf("%s: the bill rises by %.2f %% over the prediction, want at least %g %%", way.name, 100*rise, 100*way.least)
		}
		dearest := CauseNone
		for k := range causes {
			if causes[k].USD > causes[dearest].USD {
				dearest = Cause(k)
			}
		}
		if e := &causes[dearest]; dearest != way.cause || e.Dearest.Name == "" {
			t.Errorf("%s: blamed on %q, want %q", way.name, dearest, way.cause)
		}
	}
}

func TestBreaksOfGeneratedSessions(t *testing.T) {
	for _, name := range []string{"chat", "overnight", "long-refactor"} {
		t.Run(name, func(t *testing.T) { testBreaks(t, generated(t, name, 30)) })
	}
}

func TestBreaksOfRecordedSessions(t *testing.T) { testBreaks(t, validatetest.Recordings(t, "traces")) }

// Sessions of a client that no profile knows: a new version, which shares nothing with others.
func TestBreakOfUnknownVersion(t *testing.T) {
	sessions := generated(t, "chat", 5)
	for i, s := range sessions {
		own := *s
		own.Versions = []string{"99.1.2"}
		sessions[i] = &own
	}
	testBreaks(t, sessions)
}

// A client that asks for no cache neither reads nor writes: the prediction treats it as a client
// that asks, and the cause is named.
func TestClientThatDoesNotAsk(t *testing.T) {
	sessions := generated(t, "chat", 10)
	billed, mean, _ := sums(held(t, sessions))
	plain := broken(t, sessions, func(int, int64) int64 { return 0 })
	for _, s := range plain {
		for i := range s.Threads {
			for r := range s.Threads[i].Rounds {
				u := &s.Threads[i].Rounds[r].Usage
				u.Uncached, u.Write5m, u.Write1h = u.Input(), 0, 0
			}
		}
	}
	b, m, causes := sums(held(t, plain))
	if off := math.Abs(m/mean - 1); off > 0.002 {
		t.Errorf("the prediction moves by %.2f %%", 100*off)
	}
	if e := &causes[CauseUnasked]; b < 1.5*billed || e.USD < 0.9*(b-m) || e.Dearest.Name == "" {
		t.Errorf("billed $%.2f, predicted $%.2f, of it $%.2f for calls that do not ask", b, m, e.USD)
	}
}

// A client whose last messages are sent anew reads most of the rest.
func TestTailIsNamed(t *testing.T) {
	b, m, causes := sums(held(t, broken(t, generated(t, "long-refactor", 5), func(_ int, read int64) int64 {
		if read < 60_000 {
			return read
		}
		return read - 5000
	})))
	if e := &causes[CauseTail]; e.USD < 0.8*(b-m) || e.Dearest.Name == "" {
		t.Errorf("billed $%.2f, predicted $%.2f, of it $%.2f for tails", b, m, e.USD)
	}
}

// What most calls still read is found among others: three of five read 100 tokens within 1 %.
func TestCommonRead(t *testing.T) {
	for _, c := range []struct {
		reads  []int64
		tokens int64
		calls  int
	}{{[]int64{5000, 101, 100, 7, 100}, 100, 3}, {[]int64{0, 0, 9}, 0, 2}, {[]int64{1, 2, 3}, 0, 0}, {nil, 0, 0}} {
		e := Excess{reads: c.reads}
		if tokens, calls := e.Read(); tokens != c.tokens || calls != c.calls {
			t.Errorf("%v: %d tokens by %d calls, want %d by %d", c.reads, tokens, calls, c.tokens, c.calls)
		}
	}
}
