package explain

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// shown returns a document as text, with single spaces.
func shown(t *testing.T, e *studies.Explanation, o Options) string {
	t.Helper()
	d, err := Document(e, o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := d.Write(&b, "table"); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Two calls of 100,000 tokens, of which the model has 50,000 read. The bill has 60,000 of one and
// 60,001 of the other: that is more than a tenth of the context apart. The third call no log has.
func threeCalls() *studies.Explanation {
	model := func(cause string) *studies.Split { return &studies.Split{Read: 50_000, CostUSD: 0.6, Cause: cause} }
	return &studies.Explanation{
		Session: "one", Strategy: "recorded", BilledUSD: 1, ModelUSD: 1.5, ModelHiddenUSD: 0.3,
		Calls: []studies.ExplainedCall{
			{Number: 1, Served: studies.Served{Context: 100_000, Read: 50_000}, CostUSD: 0.6, Miss: "none", Billed: &studies.Billed{
				Split: studies.Split{Read: 60_000, Uncached: 40_000, CostUSD: 0.5, Cause: "none"}, Model: model("none")}},
			{Number: 2, Served: studies.Served{Context: 100_000, Read: 50_000}, CostUSD: 0.6, Miss: "expiry", Billed: &studies.Billed{
				Split:   studies.Split{Read: 60_001, Uncached: 39_999, CostUSD: 0.5, Left: 99_000, Missed: 38_999, Cause: "eviction"},
				MissUSD: 0.2, Evidence: "inside the lifetime, no visible reason", Model: model("expiry")}},
			{Number: 3, Served: studies.Served{Context: 100_000}, CostUSD: 0.3, Miss: "none", Layer: "recorded"},
		},
	}
}

// The bill is told before the model: $1.50, of which $0.30 no log has, is 20 % more than $1.00.
func TestBillComesFirst(t *testing.T) {
	e := threeCalls()
	list := shown(t, e, Options{All: true})
	for _, want := range []string{
		"billed $1.00; the model computes $1.50, including $0.30 for calls that are in no log; model error +20.0 %",
		"60,001 38,999 0 39,999 0 $0.5000 50,000 $0.6000 miss: unexplained (inside the lifetime, no visible reason); the model expects expiry",
	} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in %s", want, list)
		}
	}
	if strings.Contains(list, "THEN") {
		t.Error("no strategy was asked for: ", list)
	}
	one := shown(t, e, Options{Call: 2})
	at := -1
	for _, want := range []string{
		"billed read 60,001 of 99,000 left in the cache: missed 38,999, unexplained", "$0.5000 the miss cost $0.2000: inside the lifetime",
		"expected by the model read 50,000", "$0.6000",
	} {
		i := strings.Index(one, want)
		if i <= at {
			t.Errorf("%q is at %d, behind %d, in %s", want, i, at, one)
		}
		at = i
	}
	if strings.Contains(one, "(simulated)") {
		t.Error("no strategy was asked for: ", one)
	}
}

// Calls beside the conversation are a part of the cost that stands before them: of the model's, or of the strategy's that was asked for.
func TestTurnEndsFollowTheirCost(t *testing.T) {
	e := threeCalls()
	e.TurnEnds = studies.TurnEnds{Calls: 2, CostUSD: 0.1}
	const ends = ", $0.10 of that for 2 calls beside the conversation, not listed here"
	if got := trust(e, false); !strings.Contains(got, "in no log"+ends+"; model error") {
		t.Error(got)
	}
	if got := trust(e, true); !strings.HasSuffix(got, "simulated"+ends) {
		t.Error(got)
	}
}

// A strategy that was asked for stands behind the bill and the model, with its own cost.
func TestAskedStrategyComesLast(t *testing.T) {
	e := threeCalls()
	e.Strategy, e.Calls[1].Read, e.Calls[1].CostUSD = "none", 70_000, 0.4
	if list := shown(t, e, Options{Asked: true, All: true}); !strings.Contains(list, "none would have cost $1.30, simulated") ||
		!strings.Contains(list, "60,001 38,999 $0.5000 $0.6000 100,000 70,000 $0.4000 miss: expiry") {
		t.Error(list)
	}
	one := shown(t, e, Options{Asked: true, Call: 2})
	if model, asked := strings.Index(one, "expected by the model"), strings.Index(one, "under none (simulated) read 70,000"); model < 0 || asked < model {
		t.Error(one)
	}
	if hidden := shown(t, e, Options{Call: 3}); !strings.Contains(hidden, "billed nothing: no log records this call") {
		t.Error(hidden)
	}
}

// CSV has one line for each call and empty cells where no log has one.
func TestDataOfCalls(t *testing.T) {
	table := data(threeCalls())
	column := func(name string) int {
		return slices.IndexFunc(table.Columns, func(c document.Column) bool { return c.Name == name })
	}
	for _, want := range []struct {
		name string
		rows [3]any
	}{
		{"billed_read_tokens", [3]any{int64(60_000), int64(60_001), nil}},
		{"billed_miss", [3]any{"none", "eviction", nil}},
		{"model_miss", [3]any{"none", "expiry", nil}},
		{"cost_usd", [3]any{0.6, 0.6, 0.3}},
		{"miss_usd", [3]any{0.0, 0.2, nil}},
	} {
		for i, row := range table.Rows {
			if at := column(want.name); at < 0 || len(row) != len(table.Columns) || row[at] != want.rows[i] {
				t.Errorf("call %d has %d cells of %d columns; %s (%d): want %v", i+1, len(row), len(table.Columns), want.name, at, want.rows[i])
			}
		}
	}
}
