package agents

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// has is what the reader of an agent finds in a generated session.
type has struct {
	calls, counted, spread, read, written, assumed, timed, first int // calls
	kinds                                                        map[prompt.Kind]bool
	compactions, summaries, made                                 int // compactions, those with a summary, those with its call
	usd                                                          float64
}

func found(s *traces.Session) has {
	h := has{kinds: map[prompt.Kind]bool{}, made: len(s.Summaries), usd: s.LoggedUSD}
	for _, b := range s.Blocks {
		h.kinds[b.Kind] = h.kinds[b.Kind] || b.Bytes > 0
	}
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	for i := range s.Threads {
		for _, r := range s.Threads[i].Rounds {
			h.calls++
			count(&h.counted, r.Counted() && r.Logged > 0)
			count(&h.spread, r.Flags&signs.Spread != 0 && r.Logged > 0)
			count(&h.read, r.Usage.Read > 0)
			count(&h.written, r.Usage.Writes() > 0)
			count(&h.assumed, r.Flags&signs.TierAssumed != 0)
			count(&h.timed, r.At > 0 && r.Stream > 0)
			count(&h.first, r.First < r.Stream)
		}
		for _, e := range s.Threads[i].Events {
			count(&h.compactions, e.Kind == traces.EventCompact)
			count(&h.summaries, e.Kind == traces.EventCompact && e.Summary.Len() > 0)
		}
	}
	return h
}

// cells are what the table says of an agent, by what its reader finds.
func (h has) cells() []string {
	yes := func(is bool, yes string) string {
		if is {
			return yes
		}
		return "no"
	}
	counts := func(n int) string {
		switch {
		case n == 0:
			return "no"
		case h.spread == h.calls:
			return "in sums"
		}
		return "per call"
	}
	usage, writes := counts(h.counted), counts(h.written)
	switch {
	case h.spread == h.calls:
		usage = "output per call, input in sums"
	case h.counted < h.calls:
		usage = "of some calls"
	}
	if h.written > 0 {
		writes += map[bool]string{true: ", lifetime unknown", false: ", by lifetime"}[h.assumed == h.written]
	}
	times := yes(h.timed == h.calls, "request, end")
	if h.first > 0 && h.timed > 0 {
		times = map[bool]string{true: "request, first token, end", false: "of each line"}[h.first == h.calls]
	}
	compactions := yes(h.compactions+h.summaries > 0, "boundary")
	switch {
	case h.summaries == 0 && h.kinds[prompt.KindSummary]:
		compactions = "summary, not what it replaced"
	case h.summaries > 0:
		compactions = map[bool]string{true: "summary and the call that made it", false: "summary"}[h.made > 0]
	}
	return []string{
		yes(h.kinds[prompt.KindPrompt], "yes"), yes(h.kinds[prompt.KindToolResult], "yes"), yes(h.kinds[prompt.KindTools] || h.kinds[prompt.KindSystem], "yes"),
		usage, counts(h.read), writes, times, compactions, yes(h.usd > 0, "yes"),
	}
}

// The table of docs/agents.md says what the reader of each agent finds in a session of that agent's form. SIM_UPDATE_DOCS=1 writes it.
func TestAgentsPage(t *testing.T) {
	const file, begin, end = "../../docs/agents.md", "<!-- table -->\n", "<!-- end of table -->"
	columns := []string{"agent", "file", "prompts", "results", "tools, system", "usage", "reads", "writes", "times", "compactions", "costs"}
	table := "| " + strings.Join(columns, " | ") + " |\n" + strings.Repeat("|---", len(columns)) + "|\n"
	for _, a := range list {
		if !slices.Contains(agenttest.Agents(), a.Name) {
			t.Errorf("the tests of all formats do not know %s: add it to agenttest.Agents", a.Name)
		}
		text := agenttest.Sample(a.Name, "s", 1)
		c := agenttest.Read(t, a, map[string]string{"s.jsonl": text})
		if len(c.Sessions) != 1 {
			t.Fatalf("%s: %d sessions", a.Name, len(c.Sessions))
		}
		form := "JSON lines"
		if first, _, _ := strings.Cut(text, "\n"); !json.Valid([]byte(first)) {
			form = "JSON document"
		}
		cells := append([]string{cmp.Or(a.Title, a.Name), form}, found(c.Sessions[0]).cells()...)
		table += "| " + strings.Join(cells, " | ") + " |\n"
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), begin)
	had, tail, more := strings.Cut(rest, end)
	if !ok || !more {
		t.Fatal("docs/agents.md has no marks around its table")
	}
	if os.Getenv("SIM_UPDATE_DOCS") != "" {
		if err := os.WriteFile(file, []byte(head+begin+table+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if had != table {
		t.Errorf("the table of docs/agents.md is another than the readers make: SIM_UPDATE_DOCS=1 go test ./traces/agents -run TestAgentsPage writes it\n%s", table)
	}
	for _, d := range doubtfuls {
		if !strings.Contains(string(page), d.name) {
			t.Errorf("docs/agents.md does not say: %s", d.name)
		}
	}
}
