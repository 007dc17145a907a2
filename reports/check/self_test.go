package check

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// No run is worse or better than itself, whatever its figures, its draws and the
// way its baseline was stored; and its figures lie within their own intervals.
func TestNoRunBreachesItsOwnBaseline(t *testing.T) {
	f := parsed(t, "  - {metric: cost_usd, max_increase: 0}\n  - {metric: cost_usd, max_decrease: 0}\n"+
		"  - {metric: cost_usd, group: project, max_increase: 0%}\n  - {metric: cache_read_tokens, max_increase: 0}\n")
	rapid.Check(t, func(t *rapid.T) {
		usd := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 8).Draw(t, "usd")
		in := input(drawnUSD("s", usd...))
		b, err := f.NewBaseline(in)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := b.Write(&text); err != nil {
			t.Fatal(err)
		}
		read, err := ReadBaseline("base.json", strings.NewReader(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range f.Judge(in, Loaded{Baseline: read}).Results {
			if r.Status != OK {
				t.Errorf("%s %s: %s", r.Metric, r.Rule, r.Message)
			}
			if r.Low != nil && (*r.Low > *r.Observed || *r.High < *r.Observed) {
				t.Errorf("%s %v is not in %v…%v", r.Metric, *r.Observed, *r.Low, *r.High)
			}
		}
	})
}
