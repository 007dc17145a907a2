package assembly

import (
	"slices"
	"sync/atomic"
	"testing"
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

func TestParallel(t *testing.T) {
	for _, workers := range []int{-1, 1, 3, 100} {
		var sum atomic.Int64
		Parallel(workers, 10, func(i int) { sum.Add(int64(i)) })
		if sum.Load() != 45 {
			t.Errorf("%d workers: the calls add up to %d, want 45", workers, sum.Load())
		}
	}
	Parallel(2, 0, func(int) { t.Error("called for nothing") })
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
