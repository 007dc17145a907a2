package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// even is a profile whose sizes and times leave nothing to chance: calls of all
// sessions are of the same length, at the same distances. Some start sub-agents.
const even = `
version: 2.1.62
start: 2026-03-02T00:00:00Z
read_limit: 6000
project: /home/dev/parcel
models: [{name: claude-opus-4-6, weight: 1}]
turns: {min: 3}
rounds: {min: 3}
prompt: {min: 60}
text: {min: 40}
answer: {min: 150}
thinking: {min: 70}
text_share: 1
thinking_share: 1
tools:
  - {name: Bash, weight: 1, input: {min: 40}, result: {min: 180}, time: {min: 3}}
  - {name: Task, weight: 0.2, input: {min: 40}}
parallel: 0.2
agents:
  type: Explore
  model: claude-opus-4-6
  static: 20000
  reminders: {min: 9000}
  rounds: {min: 2}
  report: {min: 100}
  tools:
    - {name: Bash, weight: 1, input: {min: 40}, result: {min: 180}, time: {min: 3}}
think: {min: 50}
first_token: {min: 2}
speed: {min: 100}
lifetime: 5m
static: 20000
reminders: {min: 9000}
warm_start: 1
summary: {min: 3000}
compact_time: {min: 60}
`

// Requests, first tokens and ends of different users that fall on the very
// same nanosecond come in the order of the one clock: rows and report are the same user
// by user and event by event.
func TestTiesAreOneClock(t *testing.T) {
	profile := filepath.Join(t.TempDir(), "even.yaml")
	if err := os.WriteFile(profile, []byte(even), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runner(t)
	rapid.Check(t, func(t *rapid.T) {
		text := drawTies(t, profile)
		f, err := readText([]byte(text), "test.yaml", Inputs{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		p, err := f.Generate(t.Context(), 1)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		tie(t, p)
		want, wantRows := simulated(t, r, p, false)
		got, gotRows := simulated(t, r, p, true)
		for i := range wantRows {
			if !reflect.DeepEqual(gotRows[i], wantRows[i]) {
				t.Fatalf("session %d: %+v, want %+v\n%s", i, gotRows[i], wantRows[i], text)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\n%s", unlike(got, want), text)
		}
	})
}

// drawTies draws a small fleet whose sessions all begin at once.
func drawTies(t *rapid.T, profile string) string {
	pick := func(name string, from ...string) string { return rapid.SampledFrom(from).Draw(t, name) }
	var b strings.Builder
	fmt.Fprintf(&b, "schema: 1\nseed: %d\nstrategies: [%s]\n", rapid.Uint32().Draw(t, "seed"), pick("strategy", "none", "none", "keepalive", "claude-code/2026-03", "end-of-turn", "memory-extraction"))
	fmt.Fprintf(&b, "compare: [%s]\n", pick("compare", "", "global_scope"))
	fmt.Fprintf(&b, "server: {ttl_in_key: %s, lifetime_5m: %s}\n", pick("in key", "true", "false"), pick("lifetime", "5m", "50s", "3s"))
	b.WriteString("orgs:\n")
	for i := range rapid.IntRange(1, 3).Draw(t, "orgs") {
		users := rapid.IntRange(1, 4).Draw(t, "users")
		fmt.Fprintf(&b, "  - name: org%d\n    users: %d\n", i, users)
		fmt.Fprintf(&b, "    kinds: %s\n", pick("kinds", "{api: 1}", "{subscriber: 1}", "{api: 0.5, subscriber: 0.5}"))
		fmt.Fprintf(&b, "    mcp: %s\n", pick("mcp", "0", "0", "0.4"))
		fmt.Fprintf(&b, "    sessions: {profiles: {%s: 1}}\n", profile)
		fmt.Fprintf(&b, "    arrivals: {process: trace, times: [0s%s]}\n", strings.Repeat(", 0s", users*rapid.IntRange(1, 2).Draw(t, "each")-1))
	}
	return b.String()
}

// tie lets each session begin at the very time of something that happens in an
// earlier one: a request, its first token or its end. In some fleets first tokens come
// at once: then a request finds what another of the same time has written, if that
// comes first.
func tie(t *rapid.T, p *Population) {
	if rapid.Bool().Draw(t, "at once") {
		for _, s := range p.Sessions {
			for i := range s.Threads {
				for k := range s.Threads[i].Rounds {
					s.Threads[i].Rounds[k].First = 0
				}
			}
		}
	}
	for i := 1; i < len(p.Sessions); i++ {
		other := p.Sessions[rapid.SampledFrom([]int{0, 0, i / 2, i - 1}).Draw(t, "with")]
		rounds := other.Threads[rapid.IntRange(0, len(other.Threads)-1).Draw(t, "thread")].Rounds
		round := &rounds[rapid.IntRange(0, len(rounds)-1).Draw(t, "round")]
		at := round.At + rapid.SampledFrom([]int64{0, round.First, round.Stream}).Draw(t, "what")
		move(p.Sessions[i], at)
		p.of[i].runs = []int64{at - p.file.Start.UnixNano()}
	}
}

// simulated returns the report and the rows of a population: user by user, or
// event by event.
func simulated(t *rapid.T, r *Runner, p *Population, ahead bool) (*studies.Fleet, []results.Row) {
	cells, err := r.cells(p)
	if err != nil {
		t.Fatal(err)
	}
	at, err := p.file.pricesAt()
	if err != nil {
		t.Fatal(err)
	}
	jobs := p.jobs(cells)
	for i := range jobs {
		ok := true
		if ahead {
			ok, err = r.runAhead(t.Context(), p, &jobs[i], at, nil)
		} else {
			err = r.runTogether(t.Context(), p, &jobs[i], at)
		}
		if !ok || err != nil {
			t.Fatalf("%s: met, or %v", jobs[i].cell.strategy.Name, err)
		}
	}
	sum(jobs)
	var rows []results.Row
	for i := range cells {
		rows = append(rows, cells[i].rows...)
	}
	return p.report(cells), rows
}
