package scenarios

import (
	"context"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// What no test changes is read once.
var (
	builtinOnce = sync.OnceValues(strategies.Builtin)
	pricesOnce  = sync.OnceValues(costmodel.Default)
)

func registry(t testing.TB) *strategies.Registry {
	t.Helper()
	r, err := builtinOnce()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// samples returns the sessions of the embedded folders with the given names,
// all without names.
func samples(t testing.TB, names ...string) *traces.Corpus {
	t.Helper()
	var from fs.FS = synthetic.Samples()
	if len(names) > 0 {
		sub, err := fs.Sub(from, names[0])
		if err != nil {
			t.Fatal(err)
		}
		from = sub
	}
	c, err := agents.ReadFS(context.Background(), traces.Options{}, from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func prices(t testing.TB) *costmodel.Table {
	t.Helper()
	table, err := pricesOnce()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func expand(t testing.TB, text string) *Design {
	t.Helper()
	f, err := Parse(registry(t), []byte(text), "t.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.Expand()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The manual has every key of the format, with the default a file has that does
// not say it, and runs.
func TestReferenceIsTheManual(t *testing.T) {
	tree, err := spec.Parse(Reference, "reference.yaml")
	if err != nil {
		t.Fatal(err)
	}
	written, err := spec.Encode(Default())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range spec.Paths(Scenario{}) {
		n := spec.Find(tree.Root, keys(path)...)
		if n == nil {
			t.Errorf("reference.yaml has no %s", path)
			continue
		}
		if want := spec.Find(written, keys(path)...); len(want.Content) == 0 && n.Value != want.Value {
			t.Errorf("%s: %s is not the default, %s", tree.At(n), n.Value, want.Value)
		}
	}
	d := expand(t, string(Reference))
	if diff := cmp.Diff(decodeOver(t, "schema: 1\n"), decodeOver(t, string(Reference)), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("reference.yaml is not the default (-default +reference):\n%s", diff)
	}
	run, err := (&Plan{Registry: registry(t), Prices: prices(t), Design: d}).Run(context.Background(), samples(t, "short-fix"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range run.Cells {
		names = append(names, c.Cell)
	}
	if want := append([]string{"billed"}, DefaultStrategies()...); !slices.Equal(names, want) {
		t.Errorf("cells %v, want %v", names, want)
	}
}

func keys(path string) []string { return strings.Split(path, ".") }

// decodeOver returns the first scenario of a file without its strategies, which
// are nodes with lines.
func decodeOver(t *testing.T, text string) Scenario {
	t.Helper()
	s := expand(t, text).Scenario
	s.Strategies = nil
	return s
}

// The zero settings of the cache model and the default summariser are what the
// defaults of a scenario say.
func TestDefaultsAreThoseOfTheModels(t *testing.T) {
	s := Default()
	zero := promptcache.Config{
		Lookback: promptcache.DefaultLookback, MaxMarkers: 4,
		Lifetime: [2]int64{promptcache.DefaultLifetime5m, promptcache.DefaultLifetime1h},
	}
	if diff := cmp.Diff(zero, s.Server.Config()); diff != "" {
		t.Errorf("server (-zero value +default):\n%s", diff)
	}
	s.Summarizer.Failures, s.Summarizer.Calls = nil, nil
	if diff := cmp.Diff(*summarizer.Default(), s.Summarizer); diff != "" {
		t.Errorf("summarizer (-default +scenario):\n%s", diff)
	}
}

// Every setting of the models can be said in a scenario: as many keys as fields,
// where one field may be several keys.
func TestEverySettingHasAKey(t *testing.T) {
	count := func(v any) int { return reflect.TypeOf(v).NumField() }
	// Lifetime is one field and two keys, Capacity one and three; hints are the
	// loop's, not the cache's.
	if got, want := len(spec.Keys(reflect.TypeFor[Server]())), count(promptcache.Config{})+4; got != want {
		t.Errorf("server has %d keys, promptcache.Config asks for %d", got, want)
	}
}

// Every setting reaches the model: a scenario that changes all of them makes a
// configuration in which no field is the default.
func TestEverySettingReachesTheModel(t *testing.T) {
	d := expand(t, `
server: {lookback: 7, every_block_counts: true, max_markers: 2, lifetime_5m: 1m, lifetime_1h: 2h, anchor: start,
  prefix_refresh: false, ttl_in_key: true, delete_uncached: true, evict_per_call: 0.5, capacity: 100000}
summarizer: {sizing: fraction, median: 1, sigma: 1, share: 0.5, stripped: 1, bytes_per_token: 1, first_token: 1s,
  output_rate: 1, failure_rate: 0.1, failures: {fork: {api: 1}}, fail_calls: [3], fail_as: ""}
`)
	zero := Default()
	differ(t, d.Scenario.Server.Config(), zero.Server.Config())
	differ(t, d.Scenario.Summarizer, zero.Summarizer)
}

func differ(t *testing.T, a, b any) {
	t.Helper()
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			t.Errorf("%s.%s keeps its default", x.Type(), x.Type().Field(i).Name)
		}
	}
}
