package texts

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// A second program that writes the same log may leave two records on one line. In every format of lines both are read, as counts and
// texts show, which can all be read from the whole file, too, and the line is told. A record that another one cuts in two stays a bad line.
func TestJoinedLines(t *testing.T) {
	formats := 0
	texts := func(c *traces.Corpus) error {
		for _, s := range c.Sessions {
			r := open(t, c, s)
			for k := range s.Blocks {
				if _, err := r.Block(int32(k)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, agent := range agenttest.Agents() {
		text := agenttest.Sample(agent, "s", 1)
		list := strings.SplitAfter(strings.TrimSpace(text), "\n")
		if !json.Valid([]byte(list[0])) || len(list) < 3 {
			continue // one document
		}
		formats++
		read := func(text string) *traces.Corpus {
			c, err := agents.ReadFS(t.Context(), traces.Options{}, fstest.MapFS{"a.jsonl": {Data: []byte(text)}})
			if err != nil {
				t.Fatalf("%s: %v", agent, err)
			}
			return c
		}
		said := func(c *traces.Corpus) (problems string, bad int) {
			for _, s := range c.Sessions {
				bad += s.Quality.BadLines
				for _, p := range s.Problems {
					problems += p.String() + "\n"
				}
			}
			return problems, bad
		}
		whole := read(text)
		want := agenttest.Total(whole)
		if err := texts(whole); err != nil {
			t.Fatalf("%s: %v", agent, err)
		}
		for i := range len(list) - 1 {
			joined := append([]string(nil), list...)
			joined[i] = strings.TrimSpace(joined[i])
			c := read(strings.Join(joined, ""))
			problems, bad := said(c)
			if got := agenttest.Total(c); got != want || bad > 0 || strings.Count(problems, "2 objects are on one line") != 1 {
				t.Errorf("%s: lines %d and %d are one: %+v, want %+v; %d bad lines, problems\n%s", agent, i+1, i+2, got, want, bad, problems)
			}
			if err := texts(c); err != nil {
				t.Fatalf("%s: lines %d and %d are one: %v", agent, i+1, i+2, err)
			}
		}
		cut := append([]string(nil), list...) // the third line stands within the second one
		half := len(cut[1]) / 2
		cut[1], cut[2] = cut[1][:half]+strings.TrimSpace(cut[2])+cut[1][half:], ""
		if _, bad := said(read(strings.Join(cut, ""))); bad == 0 {
			t.Errorf("%s: a line in another one is no bad line", agent)
		}
	}
	if formats < 9 {
		t.Errorf("%d formats have lines", formats)
	}
}
