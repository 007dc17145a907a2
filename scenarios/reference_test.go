package scenarios

import (
	"context"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/breaks"
	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// asCodex returns sessions as if Codex had recorded them.
func asCodex(c *traces.Corpus) *traces.Corpus {
	out := &traces.Corpus{}
	for _, s := range c.Sessions {
		v := *s
		v.Agent = facts.Codex
		out.Sessions = append(out.Sessions, &v)
	}
	return out
}

func expand(t testing.TB, text string) *Design {
	t.Helper()
	f, err := Parse(scenariostest.Registry(t), []byte(text), "t.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.Expand()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The manual says of every key what it is, and is the default: it runs.
func TestReferenceIsTheManual(t *testing.T) {
	text, err := Reference()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := spec.Parse(text, "reference.yaml")
	if err != nil {
		t.Fatal(err)
	}
	comments := 0
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].HeadComment != "" {
				comments++
			}
			walk(n.Content[i+1], path+"."+n.Content[i].Value)
		}
	}
	walk(tree.Root, "")
	if all := len(spec.Paths(Scenario{})); comments < all-10 {
		t.Errorf("%d of %d keys are explained", comments, all)
	}
	d := expand(t, string(text))
	if diff := cmp.Diff(decodeOver(t, "schema: 1\n"), decodeOver(t, string(text)), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("the manual is not the default (-default +manual):\n%s", diff)
	}
	run, err := (&Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}).Run(context.Background(), scenariostest.Samples(t, "short-fix"))
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
	if diff := cmp.Diff(promptcache.Config{}.Filled(), s.Server.Config); diff != "" {
		t.Errorf("server (-zero value +default):\n%s", diff)
	}
	s.Summarizer.Failures, s.Summarizer.Calls = nil, nil
	if diff := cmp.Diff(*summarizer.Default(), s.Summarizer); diff != "" {
		t.Errorf("summarizer (-default +scenario):\n%s", diff)
	}
}

// Every setting reaches the model: a scenario that changes every setting makes a
// configuration in which no field is the default.
func TestEverySettingReachesTheModel(t *testing.T) {
	d := expand(t, `
server: {lookback: 7, every_block_counts: true, max_markers: 2, lifetime_5m: 1m, lifetime_1h: 2h, anchor: start,
  prefix_refresh: false, ttl_in_key: true, delete_uncached: true, evict_per_call: 0.5}
summarizer: {sizing: fraction, median: 1, sigma: 1, recorded: false, share: 0.5, stripped: 1, bytes_per_token: 1, first_token: 1s,
  output_rate: 1, failure_rate: 0.1, failures: {fork: {api: 1}}, fail_calls: [3], fail_as: ""}
`)
	zero := Default()
	differ(t, d.Scenario.Server.Config, zero.Server.Config)
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

// What a scenario says by default is what the models say, every setting has a
// key, and every key reaches the loop.
func TestLatencyAndLevelsReachTheLoop(t *testing.T) {
	s := Default()
	if s.Latency != costmodel.DefaultLatency() || s.Levels != sim.DefaultLevels() {
		t.Errorf("defaults %+v and %+v are not those of the models", s.Latency, s.Levels)
	}
	d := expand(t, `
latency: {base: 1s, per_fresh_token: 98us, per_cached_token: 7us, output_rate: 50}
levels: {warning: 30000, error: 10000, blocking: 5000, output_reserve: 8000, block: end}
strategies: [none]
`)
	c, err := (&Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}).config(&d.Cells[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := (costmodel.Latency{Base: 1e9, PerFresh: 98e3, PerCached: 7e3, OutputRate: 50}); c.Latency != want {
		t.Errorf("latency %+v, want %+v", c.Latency, want)
	}
	if want := (sim.Levels{Warning: 30000, Error: 10000, Blocking: 5000, Output: 8000, Block: sim.BlockEnd}); c.Levels != want {
		t.Errorf("levels %+v, want %+v", c.Levels, want)
	}
}

// All problems at once, with the line and the nearest name.
func TestLatencyAndLevelsAreChecked(t *testing.T) {
	f, err := Parse(scenariostest.Registry(t), []byte(`latency:
  base: -1s
  per_fresh_token: 2s
levels:
  warning: -5
  blok: end
  block: compat
`), "t.yaml")
	if err == nil {
		_, err = f.Expand()
	}
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"latency.base -1s must lie in 0s…1h", "latency.per_fresh_token 2s must lie in 0s…1s",
		`t.yaml:6: unknown key "blok"`, `did you mean "block"?`, `unknown value "compat"`, `did you mean "compact"?`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nsays nothing of %s", err, want)
		}
	}
	_, err = Parse(scenariostest.Registry(t), []byte("levels: {warning: 10000, error: 20000}\n"), "t.yaml")
	if f, e := Parse(scenariostest.Registry(t), []byte("levels: {warning: 10000, error: 20000}\n"), "t.yaml"); e == nil {
		_, err = f.Expand()
	}
	if err == nil || !strings.Contains(err.Error(), "error 20000 lies further below the limit than warning 10000") {
		t.Errorf("error %v", err)
	}
}

// A sweep over the latency changes the waiting and not the cost of a strategy
// that makes no calls of its own.
func TestLatencySweep(t *testing.T) {
	d := expand(t, "strategies: [truncate-oldest]\nlatency: {per_fresh_token: [0s, 98us]}\n")
	run, err := (&Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}).Run(context.Background(), scenariostest.Samples(t))
	if err != nil {
		t.Fatal(err)
	}
	var waits []float64
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Strategy == "truncate-oldest" {
			waits = append(waits, c.Total.WaitFor(measures.WaitFirstToken))
		}
	}
	if len(waits) != 2 || waits[0] == waits[1] {
		t.Errorf("waits %v under two latencies", waits)
	}
}

// A run whose sessions end at the blocking level says what it left out and is
// not compared with the recording.
func TestEndedSessionsAreSaid(t *testing.T) {
	d := expand(t, "strategies: [none]\nverify: true\nlevels: {blocking: 80000, block: end}\n")
	run, err := (&Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}).Run(context.Background(), scenariostest.Samples(t))
	if err != nil {
		t.Fatal(err)
	}
	c := &run.Cells[len(run.Cells)-1]
	left := int64(c.Total.N(measures.UnsimulatedCalls))
	if left == 0 || c.Total.N(measures.Calls)+int(left) < run.Workload.Calls {
		t.Fatalf("%d calls, %d left out of %d", c.Total.N(measures.Calls), left, run.Workload.Calls)
	}
	if _, ok := run.VsRecorded(c); ok {
		t.Error("compared with the recording")
	}
	said := false
	for _, n := range run.Footnotes() {
		said = said || n.Cell == c.Cell && strings.Contains(n.Text, "recorded calls not simulated")
	}
	if !said {
		t.Errorf("no footnote among %v", run.Footnotes())
	}
}

// Every key of the detector reaches the loop; by default it runs, under the
// client's rules: 2,000 tokens and 5 % (000:613).
func TestDetectorReachesTheLoop(t *testing.T) {
	for text, want := range map[string]struct {
		on    bool
		rules breaks.Rules
	}{
		"": {true, breaks.Rules{MinDrop: 2000, MinShare: 0.05, DeletedBaseline: true}},
		"breaks: false\ndetector: {min_drop: 1, min_share: 0.5, deleted_baseline: false}\n": {false, breaks.Rules{MinDrop: 1, MinShare: 0.5}},
	} {
		d := expand(t, "strategies: [none]\n"+text)
		c, err := (&Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}).config(&d.Cells[0])
		if err != nil {
			t.Fatal(err)
		}
		if c.Breaks != want.on || *c.Rules != want.rules {
			t.Errorf("%q: %v under %+v, want %+v", text, c.Breaks, *c.Rules, want)
		}
	}
}

// All problems of the thresholds at once.
func TestDetectorIsChecked(t *testing.T) {
	f, err := Parse(scenariostest.Registry(t), []byte("detector: {min_drop: -1, min_share: 2}\n"), "t.yaml")
	if err == nil {
		_, err = f.Expand()
	}
	for _, want := range []string{"t.yaml:1: detector.min_drop -1 must not be negative", "min_share 2 must lie in 0…1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nsays nothing of %s", err, want)
		}
	}
}

// The switch is an axis: without the count of deleted tokens the deletions of
// cached-microcompact are breaks that missed nothing (002:56).
func TestDeletedBaselineIsAnAxis(t *testing.T) {
	d := expand(t, "strategies: [cached-microcompact]\nprofile: none\ndetector: {deleted_baseline: [true, false]}\n")
	run, err := (&Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}).Run(context.Background(), scenariostest.Samples(t))
	if err != nil {
		t.Fatal(err)
	}
	var with, without *confusion.Matrix
	for i := range run.Cells {
		switch run.Cells[i].Params["detector.deleted_baseline"] {
		case "true":
			with = run.Cells[i].Total.Breaks.Matrix()
		case "false":
			without = run.Cells[i].Total.Breaks.Matrix()
		}
	}
	if with == nil || without == nil {
		t.Fatalf("no two cells: %+v", run.Cells)
	}
	expected := with.Said(confusion.Deleted)
	if expected == 0 || without.Said(confusion.Deleted) != 0 || without.Broke() != with.Broke()+expected {
		t.Errorf("with the baseline %d breaks and %d expected, without %d and %d", with.Broke(), expected,
			without.Broke(), without.Said(confusion.Deleted))
	}
}

// A version is one of Claude Code: sessions of Codex keep their own client beside
// them. 1.0.62 counts the last usage alone, and its requests carry two markers on
// messages: the client's count of how full the window is, at least, is another.
func TestVersionIsOfClaudeCode(t *testing.T) {
	for _, organisations := range []string{"one", "session"} {
		c := scenariostest.Samples(t, "short-fix")
		c.Sessions = append(c.Sessions, renamed(asCodex(c)).Sessions...)
		run := func(version string) [2]results.Row {
			d := expand(t, "strategies: [none]\nsessions: {cohort: all, organisations: "+organisations+"}\nclient: {version: \""+version+"\"}")
			run, err := (&Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}).Run(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			none := run.Cells[len(run.Cells)-1]
			return [2]results.Row{*none.Rows.At(0), *none.Rows.At(1)}
		}
		own, as := run(""), run("1.0.62")
		if cmp.Equal(own[0], as[0]) {
			t.Errorf("organisations %s: the session of Claude Code is what it is without the version", organisations)
		}
		if diff := cmp.Diff(own[1], as[1]); diff != "" {
			t.Errorf("organisations %s: the session of Codex is another with a version of Claude Code:\n%s", organisations, diff)
		}
	}
}

// renamed gives sessions names of their own.
func renamed(c *traces.Corpus) *traces.Corpus {
	for _, s := range c.Sessions {
		s.ID += "-again"
	}
	return c
}

// What cannot be generated is named at once, with its line.
func TestGenerateProblems(t *testing.T) {
	const text = `schema: 1
sessions:
  paths: [recordings]
  generate:
    profile: chaat
    sessions: 0
`
	f, err := Parse(scenariostest.Registry(t), []byte(text), "s.yaml")
	if err == nil {
		_, err = f.Expand()
	}
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"s.yaml:5: sessions.generate.profile makes sessions, sessions.paths reads them",
		"s.yaml:6: sessions.generate.sessions 0 must lie in 1…",
		`s.yaml:5: sessions.generate.profile cannot be read: no profile "chaat" (did you mean "chat"?)`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
}

// The manual describes every event.
func TestManualNamesEveryEvent(t *testing.T) {
	manual, err := Reference()
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(manual), "do is one of:")
	text, _, _ = strings.Cut(text, "Tokens are at most")
	for _, name := range changes.Names() {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(text) {
			t.Errorf("the manual lacks the event %s", name)
		}
	}
}
