package fleet

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/internal/study/studies"
)

// Sessions that cannot meet have clocks of their own, with the figures of one clock
// for all of a provider.
func TestClocksOfTheirOwn(t *testing.T) {
	const head = "schema: 1\nstrategies: [auto-compact/167k]\n"
	const orgs = `
orgs:
  - {name: acme, users: 6, resume: 0.2, mcp: 0.3, kinds: {api: 0.5, third_party: 0.5}}
  - {name: birch, users: 5}
  - {name: cedar, users: 4, mcp: 1}
  - {name: delta, users: 5, kinds: {bedrock: 0.5, subscriber: 0.5}}
`
	for keys, want := range map[string]int{"": 4, "client: {global_scope: false}": 6} {
		p := generate(t, parse(t, head+keys+orgs))
		if n := len(p.jobs([]cell{{}})); n != want {
			t.Errorf("%q: %d clocks, want %d", keys, n, want)
		}
		r := runner(t)
		own, err := r.Simulate(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if one := byProvider(t, r, p); !reflect.DeepEqual(own.Cells, one.Cells) {
			t.Errorf("%q: clocks of their own make %+v, one makes %+v", keys, own.Cells[0].Total.Row.Usage(), one.Cells[0].Total.Row.Usage())
		}
	}
}

// byProvider simulates a population with one clock for all sessions of a provider.
func byProvider(t *testing.T, r *Runner, p *Population) *studies.Fleet {
	t.Helper()
	cells, err := r.cells(p)
	if err != nil {
		t.Fatal(err)
	}
	at, err := p.file.pricesAt()
	if err != nil {
		t.Fatal(err)
	}
	var jobs []job
	for i := range cells {
		of := map[string][]int{}
		for k := range p.Sessions {
			provider := p.people[p.of[k].user].provider()
			of[provider] = append(of[provider], k)
		}
		for _, sessions := range of {
			jobs = append(jobs, job{cell: &cells[i], sessions: sessions})
		}
	}
	for i := range jobs {
		if err := r.run(t.Context(), p, &jobs[i], at); err != nil {
			t.Fatal(err)
		}
	}
	sum(jobs)
	return p.report(cells)
}

// The same holds for fleets of any shape, to the last figure of every row, hour, scope
// and peak.
func TestDrawnClocksOfTheirOwn(t *testing.T) {
	r := runner(t)
	rapid.Check(t, func(rt *rapid.T) {
		text := drawFleet(rt)
		f, err := readText([]byte(text), "test.yaml", Inputs{})
		if err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		p, err := f.Generate(context.Background(), 1)
		if err != nil {
			rt.Skip(err) // no session
		}
		got, err := r.Simulate(context.Background(), p)
		if err != nil && strings.Contains(err.Error(), "(window ") {
			rt.Skip(err) // the strategy contradicts it
		}
		if err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		if want := byProvider(t, r, p); !reflect.DeepEqual(got.Cells, want.Cells) {
			rt.Fatalf("%s\n%s", unlike(got, want), text)
		}
	})
}

// drawnStrategies are those whose layers call at other times than the conversation,
// share memory files, fork, delete and compact.
var drawnStrategies = []string{
	"none", "auto-compact/167k", "auto-compact/small-model", "claude-code/2026-03", "claude-code/2026-10", "keepalive", "dream",
	"memory-extraction", "session-memory", "fork-agents", "coordinator", "cached-microcompact", "end-of-turn", "api-context",
}

// drawFleet draws a small fleet.
func drawFleet(t *rapid.T) string {
	pick := func(name string, from ...string) string { return rapid.SampledFrom(from).Draw(t, name) }
	var b strings.Builder
	fmt.Fprintf(&b, "schema: 1\nseed: %d\ndays: %s\n", rapid.Uint32().Draw(t, "seed"), pick("days", "1", "1", "2"))
	fmt.Fprintf(&b, "strategies: [%s]\n", pick("strategy", drawnStrategies...))
	fmt.Fprintf(&b, "server: {ttl_in_key: %s, lifetime_5m: %s}\n", pick("in key", "true", "false"), pick("lifetime", "5m", "1m", "20m"))
	fmt.Fprintf(&b, "client: {global_scope: %s, latch: %s, static: %s}\n", pick("global", "true", "true", "false"), pick("latch", "true", "false"), pick("static", "20000", "5000"))
	fmt.Fprintf(&b, "window: %s\n", pick("window", "0", "60000"))
	if pick("upgrade", "no", "yes") == "yes" {
		fmt.Fprintf(&b, "upgrades: [{at: %s, over: %s, static: 200}]\n", pick("at", "8h", "14h"), pick("over", "0s", "3h"))
	}
	b.WriteString("orgs:\n")
	for i := range rapid.IntRange(1, 3).Draw(t, "orgs") {
		fmt.Fprintf(&b, "  - name: org%d\n    users: %d\n", i, rapid.IntRange(1, 5).Draw(t, "users"))
		fmt.Fprintf(&b, "    kinds: %s\n", pick("kinds", "{api: 1}", "{subscriber: 1}", "{api: 0.5, subscriber: 0.5}", "{employee: 0.2, subscriber: 0.3, api: 0.2, bedrock: 0.2, third_party: 0.1}"))
		fmt.Fprintf(&b, "    mcp: %s\n    resume: %s\n", pick("mcp", "0", "0.4"), pick("resume", "0", "0.5"))
		fmt.Fprintf(&b, "    overage: {share: %s, after: 10m, lasts: 1h}\n", pick("overage", "0", "0.6"))
		fmt.Fprintf(&b, "    sessions: {profiles: {%s: 1}, per_user_day: %s, turns: {min: %s}, rounds: {min: %s}}\n", pick("profile", "short-fix", "fan-out", "exploration"), pick("per day", "1", "4", "8"), pick("turns", "1", "3", "12"), pick("rounds", "1", "4"))
		fmt.Fprintf(&b, "    arrivals: {%s}\n", pick("arrivals", "focus: 0", "focus: 8", "focus: 50", "process: trace, times: [0s, 0s, 0s, 4m, 4m, 30m, 2h, 2h]"))
	}
	return b.String()
}

// unlike says where two results differ first.
func unlike(got, want *studies.Fleet) string {
	for i := range want.Cells {
		g, w := &got.Cells[i], &want.Cells[i]
		for k := range w.Hours {
			if k >= len(g.Hours) || g.Hours[k] != w.Hours[k] {
				return fmt.Sprintf("%s, hour %d: %+v, want %+v", w.Strategy, k, g.Hours[k], w.Hours[k])
			}
		}
		if !reflect.DeepEqual(g, w) {
			return fmt.Sprintf("%s: %+v, want %+v", w.Strategy, g, w)
		}
	}
	return "not the cells"
}

// stopping are prices that cancel a run when they have been asked so often.
type stopping struct {
	loop.Prices
	left int
	stop func()
}

func (p *stopping) Lookup(model string, at time.Time) (costmodel.Price, error) {
	if p.left--; p.left == 0 {
		p.stop()
	}
	return p.Prices.Lookup(model, at)
}

// A run that is cancelled while its clocks run ends with the reason.
func TestCancelledClock(t *testing.T) {
	f, err := Load("office", Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	p := generate(t, f)
	ctx, stop := context.WithCancel(t.Context())
	r := runner(t)
	r.Workers, r.Prices = 1, &stopping{r.Prices, 10, stop}
	if _, err := r.Simulate(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want a cancelled run", err)
	}
}

// What is finished when a run is cancelled comes with the error, as it would have come
// without.
func TestCancelledRunKeepsFinishedStrategies(t *testing.T) {
	f, err := Load("office", Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	f.Strategies, f.Compare = []string{"none", "auto-compact/167k"}, nil
	p := generate(t, f)
	r := runner(t)
	r.Workers = 1
	whole, err := r.Simulate(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r.Done = func(finished, _ int) {
		if finished == len(p.Sessions) {
			stop()
		}
	}
	got, err := r.Simulate(ctx, p)
	if !errors.Is(err, context.Canceled) || got == nil {
		t.Fatalf("%v, error %v: want what is finished, and why no more", got, err)
	}
	if len(got.Cells) != 1 || !reflect.DeepEqual(got.Cells[0], whole.Cells[0]) {
		t.Errorf("%d strategies are kept, want the first as it is in a whole run", len(got.Cells))
	}
	if note := got.Notes[len(got.Notes)-1]; !strings.HasPrefix(note, "stopped early: 1 of 2 strategies are finished") {
		t.Errorf("the last note is %q", note)
	}
}
