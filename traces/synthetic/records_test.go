package synthetic

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// shape is what does not depend on the form in which a session is written.
func shape(s *traces.Session) string {
	u := s.Usage()
	text := fmt.Sprintf("%s: %d calls, %d uncached, %d read, %d written, %d of output;", s.ID, s.NumCalls(), u.Uncached, u.Read, u.Writes(), u.Output)
	kinds := map[string]int{}
	for i := range s.Threads {
		t := &s.Threads[i]
		kinds[fmt.Sprintf("%s of %d calls", t.Kind, len(t.Rounds))]++
		for _, e := range t.Events {
			if e.Kind == traces.EventCompact {
				kinds["compaction"]++
			}
		}
		for r := range t.Rounds {
			if rd := &t.Rounds[r]; rd.Trigger == traces.TriggerPrompt && t.Kind == traces.ThreadMain {
				kinds["prompt"]++
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		text += fmt.Sprintf(" %d × %s", kinds[k], k)
	}
	return text
}

// A session is the same whatever form it is written in.
func TestRecordings(t *testing.T) {
	for _, profile := range []string{"fan-out", "long-refactor"} {
		w, err := LoadWorkload(profile)
		if err != nil {
			t.Fatal(err)
		}
		if profile == "long-refactor" { // short, with compactions all the same
			w.Threshold, w.Turns.Max = 70_000, 8
		}
		g, err := NewGenerator(w)
		if err != nil {
			t.Fatal(err)
		}
		s := g.Session(3, 1)
		want := ""
		for _, form := range []string{facts.ClaudeCode, formOTel, formRequests} {
			c, err := agents.ReadFS(context.Background(), traces.Options{}, w.files(t, s, form))
			if err != nil {
				t.Fatalf("%s, %s: %v", profile, form, err)
			}
			if len(c.Sessions) != 1 || c.Sessions[0].Agent != form || c.NumProblems > 0 {
				t.Errorf("%s, %s: %d sessions of %s, problems %v %v", profile, form, len(c.Sessions), c.Sessions[0].Agent, c.Problems, c.Sessions[0].Problems)
			}
			if got := shape(c.Sessions[0]); want == "" {
				want = got
				t.Log(want)
			} else if got != want {
				t.Errorf("%s, %s: %s, want\n%s", profile, form, got, want)
			}
			c.Close()
		}
	}
}
