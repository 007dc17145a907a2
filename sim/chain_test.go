package sim

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
)

// Every compaction behind the first is one of a context that holds a summary, and all of a
// thread form a chain (002: isRecompactionInChain).
func TestRecompactionsFormAChain(t *testing.T) {
	row, _ := run(t, testConfig(t, "auto-compact/167k"), newSession("s").turns(120, 0, 4000).session())
	if n := row.N(measures.Compactions); n < 3 || row.N(measures.Recompactions) != n-1 || row.N(measures.ChainMax) != n {
		t.Errorf("%d compactions, %d recompactions in a chain of %d", n, row.N(measures.Recompactions), row.N(measures.ChainMax))
	}
}

// forgetful asks the server to leave out the newest result, once.
type forgetful struct{ at int32 }

func (forgetful) Name() string              { return "forgetful" }
func (l forgetful) Clone() strategies.Layer { return l }
func (forgetful) Reset()                    {}
func (l forgetful) BeforeRequest(t *strategies.Turn) strategies.Outcome {
	if t.Round != l.at {
		return strategies.Outcome{}
	}
	c := t.Context
	for i := c.Len() - 1; i >= 0; i-- {
		if c.At(i).Kind == prompt.KindToolResult {
			t.Delete(c.At(i).ID)
			break
		}
	}
	return strategies.Outcome{Verdict: strategies.Done}
}

// declared is an observer that counts the deletions of each of the conversation's requests.
type declared struct {
	checks
	deletions []int
}

func (d *declared) Served(_ Point, layer string, r *exchange.Request, _ *exchange.Outcome) {
	if layer == "" {
		d.deletions = append(d.deletions, len(r.Deletions))
	}
}

// A compaction ends the deletions in force, deletions in messages it keeps too (002: clean-up):
// the result that is deleted ahead of round 13 stands in one of the five last rounds that the
// compaction ahead of round 16 keeps.
func TestCompactionEndsDeletions(t *testing.T) {
	c := written(t, "  - full-compact: {trigger: {fixed: 80000}, keep: {rounds: 5}}\n")
	c.Strategy = strategies.NewStrategy("own", "", append(c.Strategy.Layers(), forgetful{at: 13})...)
	var o declared
	c.Observer = &o
	row, err := NewLoop(c).Run(newSession("s").turns(18, 0, 4000).session())
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{13: 1, 14: 1, 15: 1, 16: 0, 17: 0}; row.N(measures.Compactions) != 1 || !slices.Equal(o.deletions, want) {
		t.Errorf("%d compactions, deletions by request %v, want %v", row.N(measures.Compactions), o.deletions, want)
	}
}

// orders is an observer that keeps the layers asked ahead of each request.
type orders struct {
	checks
	asked [][]string
}

func (o *orders) Answered(p Point, layer, hook string, _ strategies.Outcome) {
	if hook != "before_request" {
		return
	}
	for len(o.asked) <= int(p.Round) {
		o.asked = append(o.asked, nil)
	}
	o.asked[p.Round] = append(o.asked[p.Round], layer)
}

// Ahead of every request the layers are asked in the preset's order, and what one does the
// next one sees: storage, clearing, session memory, full compaction (000: one turn).
func TestLayersAreAskedInOrder(t *testing.T) {
	s := using(newSession("s").turns(4, 0, 20000).session(), "Bash")
	c := testConfig(t, "claude-code/2026-03")
	var o orders
	c.Observer = &o
	if _, err := NewLoop(c).Run(s); err != nil {
		t.Fatal(err)
	}
	want := []string{"tool-storage", "cached-microcompact", "session-memory", "full-compact"}
	for round, asked := range o.asked {
		if !slices.Equal(asked, want) {
			t.Errorf("round %d: %v, want %v", round, asked, want)
		}
	}
	if len(o.asked) != 4 {
		t.Errorf("asked ahead of %d of four requests", len(o.asked))
	}
}
