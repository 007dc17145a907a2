package assembly

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Unix times by date -u +%s; a stamp that no recording can have is none.
func TestTime(t *testing.T) {
	for text, want := range map[string]int64{
		"2026-03-25T02:17:20.880Z":      1774405040_880_000_000,
		"2026-03-25T03:17:20.88+01:00":  1774405040_880_000_000,
		"1999-12-31T23:59:59.000Z":      0,
		"2026-13-25T02:17:20.880Z":      0,
		"2026-03-25T02:17:20.8x0Z":      0,
		"":                              0,
		"9999-99-99T99:99:99.999Z":      0,
		"2026-03-25 02:17:20.880 +0000": 0,
	} {
		if got := Time([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// Shares by largest remainder: 10 over 1:1:1 is 4, 3, 3; over nothing at all
// everyone gets the same.
func TestShare(t *testing.T) {
	for _, tt := range []struct {
		total   int64
		weights []int32
		want    []int32
	}{
		{10, []int32{1, 1, 1}, []int32{4, 3, 3}},
		{7, []int32{0, 0}, []int32{4, 3}},
		{100, []int32{1, 2, 7}, []int32{10, 20, 70}},
		{1, []int32{3, 7}, []int32{0, 1}},
		{0, []int32{3, 7}, []int32{0, 0}},
		{5, nil, nil},
		{100_000_000, []int32{100_000_000, 0}, []int32{100_000_000, 0}},
	} {
		got := slices.Clone(tt.weights)
		var list []*int32
		for i := range got {
			list = append(list, &got[i])
		}
		Share(tt.total, list)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%d over %v: %v, want %v", tt.total, tt.weights, got, tt.want)
		}
	}
}

// The first problems are kept, all are counted.
func TestProblems(t *testing.T) {
	p, q := Problems{Limit: 2}, Problems{Limit: 2}
	p.Add("a", 1, "x")
	q.Add("b", 2, "y %d", 7)
	q.Add("b", 0, "z")
	p.Join(q)
	if p.Total != 3 || len(p.List) != 2 || p.List[1].String() != "b:2: y 7" {
		t.Errorf("%d problems, kept %v", p.Total, p.List)
	}
}

func TestScaleIsExact(t *testing.T) {
	list := make([]Block, 3)
	for i, n := range []int32{1, 1, 1} {
		list[i].Tokens = n
	}
	// Largest remainder: 100 = 34 + 33 + 33, ties in order.
	scale(100, list)
	if list[0].Tokens != 34 || list[1].Tokens != 33 || list[2].Tokens != 33 {
		t.Errorf("got %d %d %d", list[0].Tokens, list[1].Tokens, list[2].Tokens)
	}
	scale(0, list)
	scale(7, list[:2], list[2:])
	if got := Tokens(list); got != 7 {
		t.Errorf("blocks without tokens share 7 as %d", got)
	}
}

// Millis takes the years that Time takes, whatever the number.
func TestMillis(t *testing.T) {
	for ms, want := range map[int64]int64{
		0: 0, 1774405040_880: 1774405040_880_000_000, 9223372036854775: 0, -5: 0, math.MaxInt64: 0, math.MinInt64: 0,
	} {
		if got := Millis(ms); got != want {
			t.Errorf("%d: %d, want %d", ms, got, want)
		}
	}
}

// No two sessions get one id, whatever ids the recordings have.
func TestUniqueID(t *testing.T) {
	taken := map[string]int{}
	for _, tt := range [][2]string{
		{"s", "s"}, {"s", "s-2"}, {"s-2", "s-2-2"}, {"t-2", "t-2"}, {"t", "t"}, {"t", "t-3"}, {"t", "t-4"}, {"s", "s-3"},
	} {
		if got := UniqueID(taken, tt[0]); got != tt[1] {
			t.Errorf("%s: %s, want %s", tt[0], got, tt[1])
		}
	}
}

// A cost that is no number, negative or absurd is a problem and not added.
func TestCost(t *testing.T) {
	f := NewFile("a", traces.Options{MaxProblems: 9})
	sum := 0.0
	for i, usd := range []float64{0.5, 1e308, 1e308, -1, math.NaN(), math.Inf(1), 0} {
		sum += f.Cost(i, usd)
	}
	if sum != 0.5 || f.Problems.Total != 5 {
		t.Errorf("sum %v, problems %v", sum, f.Problems.List)
	}
}

// Files, tools and models beyond what a session's lists hold point to an entry
// of their own, not to another's.
func TestFullLists(t *testing.T) {
	const calls = 66_000
	th := Main()
	s := &Session{
		Format: &Format{Agent: "x", Rates: traces.DefaultRates()}, ID: "s", Threads: []*Thread{th}, Problems: Problems{Limit: 9},
	}
	for i := range calls {
		name := strconv.Itoa(i)
		f := NewFile("f"+name, traces.Options{})
		s.Files = append(s.Files, f)
		b := Block{Block: prompt.Block{Kind: prompt.KindToolUse}, Tool: "t" + name, Source: f}
		c := &Call{ID: name, Model: "m" + name, Place: Place{f, 1}, Usage: Usage{Usage: prompt.Usage{Read: int64(5000 + i)}, OK: true}}
		th.Calls = append(th.Calls, Round{Call: c, Reply: []Block{b}})
	}
	out := s.assemble(false)
	for r, rd := range out.Threads[0].Rounds {
		b, name, tool := out.Blocks[rd.Reply.From], strconv.Itoa(r), strconv.Itoa(r)
		if r >= unlisted {
			name = "unknown"
		}
		if r >= unlisted-1 { // the first tool is none
			tool = "unknown"
		}
		got := [...]string{out.Files[rd.File], out.Files[b.File], out.Models[rd.Model], out.Tools[b.Tool]}
		want := [...]string{"f" + name, "f" + name, "m" + name, "t" + tool}
		for i := range want {
			if strings.HasSuffix(want[i], "unknown") {
				want[i] = "unknown"
			}
		}
		if got != want {
			t.Fatalf("call %d: %v, want %v", r, got, want)
		}
	}
	// That nothing is said ahead of the first call, and that no call has a time, are
	// problems too.
	if len(out.Problems) != 5 {
		t.Errorf("problems %v", out.Problems)
	}
}
