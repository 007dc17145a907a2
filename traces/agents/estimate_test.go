package agents

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/reading/agenttest"
	"github.com/compactsim/compactsim/traces"
)

// A document of calls without any counts is named and left out. Where asked for, each reply is a call whose
// size is what was said, and nothing is in the bill.
func TestEstimateDocuments(t *testing.T) {
	counts := regexp.MustCompile(`,?"(metrics|tokens)":\{[^{}]*\}`)
	for _, name := range []string{traces.AgentATIF, traces.AgentGemini, traces.AgentCline} {
		dir := folder(t, map[string][]string{"a.json": {counts.ReplaceAllString(agenttest.Sample(name, "s", 1), "")}})
		c, err := Read(t.Context(), traces.Options{}, dir+"/a.json")
		if !errors.Is(err, traces.ErrNoSessions) || !strings.Contains(err.Error()+problems(c), "--estimate") {
			t.Errorf("%s: %v, problems %s", name, err, problems(c))
		}
		c, err = Read(t.Context(), traces.Options{Estimate: true}, dir+"/a.json")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		least, rounds := 12, 0
		if name == traces.AgentCline { // a compaction took half of them out
			least = 6
		}
		for i := range c.Sessions[0].Threads {
			for _, r := range c.Sessions[0].Threads[i].Rounds {
				if rounds++; r.Usage.Input() > 0 {
					t.Errorf("%s: a bill of %+v", name, r.Usage)
				}
			}
		}
		if rounds < least {
			t.Errorf("%s: %d calls, want %d", name, rounds, least)
		}
		c.Close()
	}
}

// problems returns the problems of a corpus as lines.
func problems(c *traces.Corpus) string {
	var b strings.Builder
	for _, p := range c.Problems {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}
