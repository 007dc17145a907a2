package scenarios

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// What was set from outside a scenario stands in the provenance of its run, so that
// a comparison can name it: settings around the strategies by path, parameters of
// layers too, under the strategy's name where another strategy has another value.
func TestSwitchesNameWhatWasSet(t *testing.T) {
	f, err := Parse(scenariostest.Registry(t), []byte("strategies: [auto-compact/167k, auto-compact/155k]"), "t.yaml")
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
		{"full-compact.trigger.fixed=100000", []results.Note{{Cell: "auto-compact/167k", Text: "changed to full-compact.trigger.fixed=100000"}}},
		{"full-compact.trigger.fixed=[100000, 120000]", nil},
		{"server.lookback=30", nil},
	} {
		f, err := newFile(scenariostest.Registry(t), Default())
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
		run, err := (&Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}).Run(t.Context(), scenariostest.Samples(t, "short-fix"))
		if err != nil {
			t.Fatal(err)
		}
		var got []results.Note
		for _, n := range run.Notes {
			if strings.HasPrefix(n.Text, measures.ChangedTo) {
				got = append(got, n)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s:\n%s", tc.set, diff)
		}
	}
}

// An event that changes no request says so once for a run, whatever the number of strategies, with its sessions.
func TestEventWithoutEffectIsNoted(t *testing.T) {
	d := expand(t, "strategies: [recorded, none, own]\nevents: [{at: {round: 100000}, do: effort, value: high}]\n")
	run, err := (&Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}).Run(t.Context(), scenariostest.Samples(t, "short-fix"))
	if err != nil {
		t.Fatal(err)
	}
	var got []results.Note
	for _, n := range run.Notes {
		if strings.HasPrefix(n.Text, "event ") {
			got = append(got, n)
		}
	}
	want := []results.Note{{Text: "event 1 (effort) does not happen in 1 of 1 session: the moment does not come"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// notesOf returns the notes of a run that speak of prices.
func notesOf(t *testing.T, text, file string, c *traces.Corpus) []string {
	t.Helper()
	over, err := costmodel.Load(strings.NewReader(file), "mine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t).Merge(over), Design: expand(t, text)}
	run, err := p.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, n := range run.Notes {
		if strings.Contains(n.Text, "prices") {
			list = append(list, n.Text)
		}
	}
	return list
}

// Sessions from before the first prices of their model are billed at these, and
// the run says so. The samples with claude-opus-4-6 are of January to March 2026.
func TestEarlyPricesAreNoted(t *testing.T) {
	c := scenariostest.Samples(t, "short-fix")
	model, day := c.Sessions[0].Models[0], c.Sessions[0].StartTime().UTC()
	of := func(date string) string {
		return "schema: 1\nas_of: 2026-12-24\nmodels:\n  " + model + ":\n    prices: [{from: " + date + ", input: 5, output: 25}]\n"
	}
	next, same := day.AddDate(0, 0, 1).Format(time.DateOnly), day.Format(time.DateOnly)
	undated := *c.Sessions[0]
	undated.Start, undated.End = 0, 0
	for _, tc := range []struct {
		name, text, file string
		corpus           *traces.Corpus
		want             string
	}{
		{"before", "strategies: [none]", of(next), c, "1 session from before the first prices of " + model + ", billed at these"},
		{"that day", "strategies: [none]", of(same), c, ""},
		{"asked for", "strategies: [none]\nprices: {at: 2020-01-01}", of(same), c, "no prices of " + model + " are known for 2020-01-01: its first are taken"},
		{"asked for, later", "strategies: [none]\nprices: {at: 2026-10-01}", of(same), c, ""},
		{"asked for, prices without a date", "strategies: [none]\nprices: {at: 2020-01-01}", strings.Replace(of(same), "from: "+same+", ", "", 1), c,
			"the price table does not say since when the earliest prices of " + model + " hold: they are taken for 2020-01-01"},
		{"asked for, later, prices without a date", "strategies: [none]\nprices: {at: 2026-10-01}", strings.Replace(of(same), "from: "+same+", ", "", 1), c, ""},
		{"no date", "strategies: [none]", of(same), &traces.Corpus{Sessions: []*traces.Session{&undated}}, "1 session without a date billed at the prices of 2026-12-24"},
	} {
		list := notesOf(t, tc.text, tc.file, tc.corpus)
		var want []string
		if tc.want != "" {
			want = []string{tc.want}
		}
		if !slices.Equal(list, want) {
			t.Errorf("%s: %q, want %q", tc.name, list, want)
		}
	}
}

// sampleCorpus is the five sessions that come with the program.
func sampleCorpus(t *testing.T) *traces.Corpus {
	t.Helper()
	corpus, err := agents.ReadFS(t.Context(), traces.Options{}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { corpus.Close() })
	return corpus
}

// threeCells runs recorded, none and truncate-oldest, one session at a time.
func threeCells(t *testing.T) *Plan {
	t.Helper()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	return &Plan{
		Registry: registry, Prices: prices, Workers: 1, Seed: 1,
		Strategies: []string{measures.StrategyRecorded, "none", "truncate-oldest"},
	}
}

// A run that is stopped gives what is complete and says how much that is. Five
// sessions in three cells are 15; cells come one after the other, so that after
// 7 the recorded cell is whole and the second has two sessions.
func TestInterruptedRun(t *testing.T) {
	for _, tc := range []struct {
		after    int // sessions finished when the run is stopped
		sessions map[string]int
		says     string // part of the footnotes
	}{
		{2, map[string]int{"billed": 2, "recorded": 2}, "covers 2 of 5 sessions, and so does what was billed"},
		{7, map[string]int{"billed": 5, "recorded": 5, "none": 2}, "covers 2 sessions, recorded covers 5: compared over these"},
	} {
		corpus := sampleCorpus(t)
		whole, err := threeCells(t).Run(t.Context(), corpus)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		p := threeCells(t)
		p.Done = func(finished, total int) {
			if total != 15 {
				t.Errorf("%d sessions to simulate, want 15", total)
			}
			if finished == tc.after {
				stop()
			}
		}
		run, err := p.Run(ctx, corpus)
		stop()
		if !errors.Is(err, context.Canceled) || run == nil {
			t.Fatalf("after %d: %v, %v", tc.after, run, err)
		}
		got := map[string]int{}
		for i := range run.Cells {
			c := &run.Cells[i]
			got[c.Cell] = c.Sessions
			checkRows(t, c, whole)
		}
		if fmt.Sprint(got) != fmt.Sprint(tc.sessions) {
			t.Errorf("after %d: sessions %v, want %v", tc.after, got, tc.sessions)
		}
		want := fmt.Sprintf("interrupted: %d of 15 simulations done (5 sessions × 3 cells), so rows may cover different sessions", tc.after)
		if !slices.Contains(run.Workload.Remarks, want) {
			t.Errorf("remarks %q lack %q", run.Workload.Remarks, want)
		}
		if got := run.Workload.Unfinished; got != 15-tc.after {
			t.Errorf("after %d: %d unfinished", tc.after, got)
		}
		if notes := fmt.Sprint(run.Footnotes()); !strings.Contains(notes, tc.says) {
			t.Errorf("after %d: notes %s lack %q", tc.after, notes, tc.says)
		}
		if e, c := run.ModelError, run.Reference(measures.StrategyBilled); e.BilledUSD != c.Total.CostUSD() || e.BilledUSD == 0 {
			t.Errorf("after %d: model error %+v, billed %v", tc.after, e, c.Total.CostUSD())
		}
	}
}

// checkRows compares the rows of a cell with the rows of a run that was not stopped: what is there
// is final.
func checkRows(t *testing.T, c *results.Cell, whole *results.Run) {
	t.Helper()
	for i := range whole.Cells {
		if whole.Cells[i].Cell != c.Cell {
			continue
		}
		for _, row := range c.Rows.All() {
			if !slices.ContainsFunc(whole.Cells[i].Rows.List(), func(r *results.Row) bool { return reflect.DeepEqual(r, row) }) {
				t.Errorf("%s, session %s: not the row of the whole run", c.Cell, row.Session)
			}
		}
		return
	}
	t.Errorf("no cell %s in the whole run", c.Cell)
}

// A run stopped before anything was simulated has no report.
func TestInterruptedAtOnce(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	run, err := threeCells(t).Run(ctx, sampleCorpus(t))
	if run != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v; want no run and context.Canceled", run, err)
	}
}

// With several workers the number of complete sessions is not known before, and messages tell the
// number that there is.
func TestInterruptedWorkers(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	p := threeCells(t)
	p.Workers = 4
	var once sync.Once
	p.Done = func(finished, _ int) {
		if finished >= 3 {
			once.Do(stop)
		}
	}
	run, err := p.Run(ctx, sampleCorpus(t))
	if err == nil {
		t.Skip("all was done before the workers saw the end")
	}
	rows := 0
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Strategy != measures.StrategyBilled {
			rows += c.Rows.Len()
		}
	}
	if want := fmt.Sprintf("interrupted: %d of 15 simulations", rows); !strings.Contains(fmt.Sprint(run.Workload.Remarks), want) {
		t.Errorf("remarks %q lack %q", run.Workload.Remarks, want)
	}
}

// The model error compares the sessions as they were: a setting that asks what would have been
// does not change it, nor does the order of a sweep.
func TestModelErrorIsOfTheSessionsAsTheyWere(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	corpus, err := agents.ReadFS(context.Background(), traces.Options{}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	errorOf := func(assignment string) results.ModelError {
		f, err := newFile(registry, Default())
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Choose("test", []string{measures.StrategyRecorded}); err != nil {
			t.Fatal(err)
		}
		if assignment != "" {
			if err := f.Assign(assignment); err != nil {
				t.Fatal(err)
			}
		}
		d, err := f.Expand()
		if err != nil {
			t.Fatal(err)
		}
		plan := Plan{Registry: registry, Prices: prices, Design: d}
		run, err := plan.Run(context.Background(), corpus)
		if err != nil {
			t.Fatal(err)
		}
		return run.ModelError
	}
	want := errorOf("")
	for _, assignment := range []string{"client.env.DISABLE_PROMPT_CACHING=1", "server.max_markers=[1,4]", "server.max_markers=[4,1]"} {
		if got := errorOf(assignment); got != want {
			t.Errorf("%s: %+v, want %+v", assignment, got, want)
		}
	}
	if none := errorOf("profile=none"); none == want {
		t.Error("the plain cache model has the error of the profile")
	}
}
