package scenarios

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/results"
)

// What was set from outside a scenario stands in the provenance of its run, so that
// a comparison can name it: settings around the strategies by path, parameters of
// layers too, under the strategy's name where another strategy has another value.
func TestSwitchesNameWhatWasSet(t *testing.T) {
	f, err := Parse(registry(t), []byte("strategies: [auto-compact/167k, auto-compact/155k]"), "t.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{
		"full-compact.trigger.fixed=120000", "server.lifetime_5m=6m",
		"strategies.auto-compact/155k.full-compact.breaker=2", "strategies.auto-compact/167k.full-compact.breaker=1",
	} {
		if err := f.Assign(a); err != nil {
			t.Fatal(err)
		}
	}
	d, err := f.Expand()
	if err != nil {
		t.Fatal(err)
	}
	got := d.switches()
	for path, want := range map[string]string{
		"full-compact.trigger.fixed": "120000", "server.lifetime_5m": "6m",
		"full-compact.breaker": "1", "auto-compact/155k.full-compact.breaker": "2",
	} {
		if got[path] != want {
			t.Errorf("%s is %q, want %q; all: %v", path, got[path], want, got)
		}
	}
}

// A strategy goes by the name of its preset when a flag has changed its layers:
// the run says so for each that has the layer, but not of what cells tell apart.
func TestWhatIsSetInLayersIsNoted(t *testing.T) {
	for _, tc := range []struct {
		set  string
		want []results.Note
	}{
		{"full-compact.trigger.fixed=100000", []results.Note{{Cell: "auto-compact/167k", Text: "with full-compact.trigger.fixed=100000"}}},
		{"full-compact.trigger.fixed=[100000, 120000]", nil},
		{"server.lookback=30", nil},
	} {
		f, err := NewFile(registry(t), Default())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Choose("test", []string{"auto-compact/167k", "none"}), f.Assign(tc.set)); err != nil {
			t.Fatal(err)
		}
		d, err := f.Expand()
		if err != nil {
			t.Fatal(err)
		}
		run, err := (&Plan{Registry: registry(t), Prices: prices(t), Design: d}).Run(t.Context(), samples(t, "short-fix"))
		if err != nil {
			t.Fatal(err)
		}
		var got []results.Note
		for _, n := range run.Notes {
			if strings.HasPrefix(n.Text, "with ") {
				got = append(got, n)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s:\n%s", tc.set, diff)
		}
	}
}
