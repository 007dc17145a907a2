package bound

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/tools/tests/needstest"
)

// talk is a session of nine calls: what its second call shows is used by name in the fifth, and what the seventh
// shows in the ninth; large results lie between.
func talk() *needstest.Talk {
	large := func(n int) string { return strings.Repeat(fmt.Sprintf("words_of_%d and more of them\n", n), 3000) }
	var t needstest.Talk
	t.Person("go on")
	t.Call("Bash", `{"command":"step-1"}`, large(1))
	t.Call("Bash", `{"command":"make"}`, "undefined: frobnicateAll")
	t.Call("Bash", `{"command":"step-3"}`, large(3))
	t.Call("Bash", `{"command":"step-4"}`, large(4))
	t.Call("Bash", `{"command":"grep frobnicateAll"}`, "ok")
	t.Call("Bash", `{"command":"step-6"}`, large(6))
	t.Call("Bash", `{"command":"list"}`, "there is transmogrifyEach")
	t.Call("Bash", `{"command":"step-8"}`, large(8))
	t.Call("Bash", `{"command":"grep transmogrifyEach"}`, "ok")
	return &t
}

// Where what is lost has a price, the bound lies below all 2ⁿ schedules, and its own schedule is the best schedule.
// The dearer a loss, the more is kept and the more that costs.
func TestFrontIsTheLeastOfAllSchedules(t *testing.T) {
	corpus, s := talk().Read(t)
	index, err := needs.Build(context.Background(), corpus, s)
	if err != nil {
		t.Fatal(err)
	}
	c, p := surroundings(t), params(t)
	library := needs.NewLibrary(context.Background(), corpus)
	c.Needs = library.Of
	prices := []float64{0.005, 0.02, 0.1, 1, 10}
	b, err := Compact(c, p, s, prices...)
	if err != nil {
		t.Fatal(err)
	}
	act := func(f due) *strategies.Strategy { return strategies.Scheduled(p, f) }
	var rows []results.Row
	for set := range 1 << s.NumCalls() {
		c.Strategy = act(func(_, round int32) bool { return set>>round&1 != 0 })
		row, err := sim.NewLoop(c).Run(s)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	last := results.Row{}
	for i, price := range append([]float64{0}, prices...) {
		least := rows[0]
		for _, row := range rows {
			if charged(&row, price) < charged(&least, price) {
				least = row
			}
		}
		point := &b.Front[i]
		want := charged(&least, price)
		if point.Below > want+1e-9 || point.Below < 0.999*want || charged(&point.Row, price) > want+1e-9 {
			t.Errorf("a loss at $%v: bound $%.6f, schedule $%.6f; the best of all costs $%.6f",
				price, point.Below, charged(&point.Row, price), want)
		}
		if i > 0 && (lost(&point.Row) > lost(&last) || point.Row.CostUSD() < last.CostUSD()-1e-9) {
			t.Errorf("a loss at $%v: %.3f lost for $%.6f; cheaper ones lose %.3f for $%.6f",
				price, lost(&point.Row), point.Row.CostUSD(), lost(&last), last.CostUSD())
		}
		last = point.Row
	}
	if first := &b.Front[0].Row; lost(first) == 0 || lost(&last) != 0 || index.Len() == 0 {
		t.Errorf("%d needs: %.3f lost where it costs nothing and %.3f where it costs $10; want some and none",
			index.Len(), lost(first), lost(&last))
	}
}

// lost returns the weight of what nothing answers, 1 for a need of what stands in one block.
func lost(r *results.Row) float64 {
	n := (*recall.Needs)(r.Figures[measures.Needs:]).Total()
	return (n[recall.Weight] - n.Kept()) / 1000
}

func charged(r *results.Row, price float64) float64 { return r.CostUSD() + price*lost(r) }
