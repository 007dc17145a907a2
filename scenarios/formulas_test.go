package scenarios

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/needs/needstest"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// At r 0.5, w 6.25 USD a million, a clearing that takes C = 20,000 out ahead of S = 8,000 costs (w−r)·S = $0.046 and
// saves r·C = $0.01 with this call and each later one: it has paid after 4.6, whatever else both runs cost.
func TestPaidIsTheClosedForm(t *testing.T) {
	whole, cleared := map[at]results.CallRecord{}, map[at]results.CallRecord{}
	for round := range int32(12) {
		var a, b results.CallRecord
		a.Cost[results.ClassOutput] = 0.3
		a.Cost[results.ClassRead] = 0.02 + 0.01
		b.Cost[results.ClassOutput], b.Cost[results.ClassRead] = 0.3, 0.02
		if round == 3 {
			b.Cost[results.ClassWrite5m] = 0.046
		}
		whole[at{0, round}], cleared[at{0, round}] = a, b
	}
	for end, want := range map[int32]float64{12: 4.6, 8: 4.6, 6: 3} {
		if got := paid(whole, cleared, at{0, 3}, end, 0.01); math.Abs(got-want) > 1e-9 {
			t.Errorf("paid after %g calls of %d, want %g", got, end-3, want)
		}
	}
}

// A conversation that grows by the same results, without a pause: what the first clearing costs is paid after as many
// calls as the closed form says; the cheapest batch is the one it says; an hour costs what is written of more. The
// cheapest of the thresholds, which are 10,000 apart, is the one next above the closed form.
func TestFormulasOfASteadyConversation(t *testing.T) {
	var talk needstest.Talk
	talk.Person("go on")
	for i := range 160 {
		talk.Call("Bash", `{"command":"step-`+strconv.Itoa(i)+`"}`, strings.Repeat("word ", 1000))
	}
	_, s := talk.Read(t)
	p := Plan{Registry: registry(t), Prices: prices(t), Seed: 1}
	f := figuresOf([]*traces.Session{s})
	list, err := p.formulas(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	// Of 160 calls that grow by 1,347 tokens each, by the transcript, P = 40,000 and no pause: √(2·11.5·40,000·1,347).
	// An hour costs $3.75 a million more for what is written behind a head of 20,000.
	written := float64(s.Threads[0].Rounds[159].Usage.Input()) - 20_000
	want := []float64{0, math.Sqrt(2 * 11.5 * 40_000 * f.growth), 3.75e-6 * written}
	if len(list) != len(formulas) {
		t.Fatalf("%d closed forms, want %d: %+v", len(list), len(formulas), list)
	}
	if x := list[3]; x.Simulated != math.Ceil(x.Value/10_000)*10_000 {
		t.Errorf("%s: %g, simulated %g", x.Name, x.Value, x.Simulated)
	}
	for i, x := range list[:3] {
		if i > 0 && math.Abs(x.Value-want[i]) > 1e-6*want[i] {
			t.Errorf("%s: %g, want %g", x.Name, x.Value, want[i])
		}
		if math.Abs(x.Simulated-x.Value) > 0.002*x.Value || x.Why != "" {
			t.Errorf("%s: %g, simulated %g: %s", x.Name, x.Value, x.Simulated, x.Why)
		}
	}
}
