package scenarios

import "testing"

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
