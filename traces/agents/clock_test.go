package agents_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

var stamps = regexp.MustCompile(`"2026-[-0-9T:.]+Z"|\b17803\d{5}(\d{3}){0,3}\b`)

// back sets all times of a text back by a duration.
func back(text string, by time.Duration) string {
	return stamps.ReplaceAllStringFunc(text, func(m string) string {
		if m[0] == '"' {
			at, err := time.Parse(`"`+time.RFC3339Nano+`"`, m)
			if err != nil {
				panic(err)
			}
			return at.Add(-by).Format(`"2006-01-02T15:04:05.000Z"`)
		}
		n, _ := strconv.ParseInt(m, 10, 64)
		unit := time.Second // or thousandths of thousandths
		for range (len(m) - 10) / 3 {
			unit /= 1000
		}
		return strconv.FormatInt(n-int64(by/unit), 10)
	})
}

// paces describes the calls of all threads in their order, and how long each waited and streamed.
func paces(c *traces.Corpus) (list []string) {
	for _, s := range c.Sessions {
		for i := range s.Threads {
			for _, r := range s.Threads[i].Rounds {
				list = append(list, fmt.Sprint(i, r.Usage, " wait ", time.Duration(r.Wait), " first ", time.Duration(r.First), " stream ", time.Duration(r.Stream)))
			}
			for _, e := range s.Threads[i].Events {
				list = append(list, fmt.Sprint(i, e.Kind, e.Round))
			}
		}
	}
	return list
}

// Where a clock is set back while a session runs, calls keep the order of the file, each waits and streams as long as before, but for
// the call at that place, and the place is told.
func TestClockSetBack(t *testing.T) {
	for _, agent := range agenttest.Agents() {
		if agent == facts.Continue { // its messages have no times
			continue
		}
		text := strings.SplitAfter(agenttest.Sample(agent, "s", 1), "\n")
		read := func(text string) (*traces.Corpus, string) {
			c, err := agents.ReadFS(t.Context(), traces.Options{}, fstest.MapFS{"a.jsonl": {Data: []byte(text)}})
			if err != nil {
				t.Fatalf("%s: %v", agent, err)
			}
			said := ""
			for _, s := range c.Sessions {
				for _, p := range s.Problems {
					said += p.String() + "\n"
				}
			}
			return c, said
		}
		whole, said := read(strings.Join(text, ""))
		want := paces(whole)
		if strings.Contains(said, "time runs back") {
			t.Errorf("%s: the sample's clock is set back:\n%s", agent, said)
		}
		for at := 4; at < len(text)-2; at += 3 {
			switch {
			case agent == facts.OTel && at > 10 && at < 13, agent == facts.Requests && at == 6:
				continue // the calls behind a compaction go on from none before it: the order by time is as likely
			}
			c, said := read(strings.Join(text[:at], "") + back(strings.Join(text[at:], ""), time.Hour))
			got, others := paces(c), 0
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					others++
				}
			}
			if len(got) != len(want) || others > 2 || !strings.Contains(said, "time runs back") {
				t.Errorf("%s: set back at line %d: %d of %d calls and events are others:\n%s\nproblems\n%s",
					agent, at+1, others, len(want), strings.Join(got, "\n"), said)
			}
		}
	}
}
