package scenarios

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// A version is one of Claude Code: sessions of Codex keep their own client beside
// them. 1.0.62 counts the last usage alone, and its requests carry two markers on
// messages: the client's count of how full the window is, at least, is another.
func TestVersionIsOfClaudeCode(t *testing.T) {
	for _, organisations := range []string{"one", "session"} {
		c := samples(t, "short-fix")
		c.Sessions = append(c.Sessions, renamed(asCodex(c)).Sessions...)
		run := func(version string) [2]results.Row {
			d := expand(t, "strategies: [none]\nsessions: {cohort: all, organisations: "+organisations+"}\nclient: {version: \""+version+"\"}")
			run, err := (&Plan{Registry: registry(t), Prices: prices(t), Design: d}).Run(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			none := run.Cells[len(run.Cells)-1]
			return [2]results.Row{none.Rows[0], none.Rows[1]}
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
