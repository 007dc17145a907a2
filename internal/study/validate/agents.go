package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/internal/serving/promptcache"
)

// AgentScore is the score of the sessions of one agent at one provider, over calls that are not
// first ones.
type AgentScore struct {
	Agent    string `json:"agent"`
	Provider string `json:"provider"` // of the session's first such call, "" for one that is not known
	Score    Score  `json:"score"`
	Naive    Score  `json:"naive"`
	// Expected is the error of the corpus with the average cost of losses; Low and High hold
	// the middle 90 % of it over replications, nil without any.
	Expected *float64 `json:"expected_corpus_cost_error"`
	Low      *float64 `json:"expected_low"`
	High     *float64 `json:"expected_high"`
	// Inside counts the sessions whose recorded cost lies in their 90 % band, out of Banded.
	Inside int `json:"band_inside"`
	Banded int `json:"band_sessions"`

	samples []float64 // costs of all banded sessions by replication, USD
	actual  float64   // their recorded cost, USD
}

// agents scores the sessions by agent and provider.
func (r *Report) agents() {
	r.agentOf = map[string]int{}
	var of [][]Call
	for i := range r.calls {
		c := &r.calls[i]
		if !later(c) {
			continue
		}
		k, ok := r.agentOf[c.Session]
		if !ok {
			a := AgentScore{Agent: c.Agent, Provider: promptcache.ProviderOf(c.Model)}
			k = slices.IndexFunc(r.Agents, func(b AgentScore) bool { return b.Agent == a.Agent && b.Provider == a.Provider })
			if k < 0 {
				k, r.Agents, of = len(r.Agents), append(r.Agents, a), append(of, nil)
			}
			r.agentOf[c.Session] = k
		}
		of[k] = append(of[k], *c)
	}
	for k := range r.Agents {
		a := &r.Agents[k]
		a.Score, a.Naive = score(of[k], byModel, later), score(of[k], byNaive, later)
		mean := score(of[k], byMean, later)
		a.Expected = mean.Corpus
	}
}

// replicated adds the replications of a session with the recorded cost actual, USD, to those of
// its agent.
func (r *Report) replicated(session string, samples []float64, actual float64, inside bool) {
	k, ok := r.agentOf[session]
	if !ok {
		return
	}
	a := &r.Agents[k]
	a.Banded++
	if inside {
		a.Inside++
	}
	a.actual += actual
	if a.samples == nil {
		a.samples = make([]float64, len(samples))
	}
	for i, usd := range samples {
		a.samples[i] += usd
	}
	sorted := slices.Sorted(slices.Values(a.samples))
	a.Low = ratio(stats.Quantile(sorted, bandLevel/2)-a.actual, a.actual)
	a.High = ratio(stats.Quantile(sorted, 1-bandLevel/2)-a.actual, a.actual)
}

// byAgent has one line for each agent at each provider.
func (r *Report) byAgent() *document.Table {
	t := &document.Table{Columns: document.Left("BY AGENT", "AND PROVIDER")}
	t.Columns = append(t.Columns, document.Right("", "N", "WITHIN 1 %", "NAIVE", "SESSIONS", "EXPECTED COST", "FROM", "TO", "IN BAND", "NAIVE COST")...)
	list := slices.Clone(r.Agents)
	slices.SortStableFunc(list, func(a, b AgentScore) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Provider, b.Provider))
	})
	for i := range list {
		a := &list[i]
		band := document.Dash
		if a.Banded > 0 {
			band = fmt.Sprintf("%d of %d", a.Inside, a.Banded)
		}
		t.Rows = append(t.Rows, []any{a.Agent, cmp.Or(a.Provider, "unknown"), a.Score.Calls, Percent(a.Score.Within1, false), Percent(a.Naive.Within1, false),
			a.Score.Sessions, Percent(a.Expected, true), Percent(a.Low, true), Percent(a.High, true), band, Percent(a.Naive.Corpus, true)})
		if a.Provider == "" {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: %s of models whose provider is not known, taken to go to %s.",
				a.Agent, document.Count(a.Score.Calls, "call"), plainCache))
		}
	}
	t.Notes = append([]string{"EXPECTED COST: error of the input cost of all sessions, with losses by their rates; FROM, TO: " +
		strconv.Itoa(int(100*(1-bandLevel))) + " % of replications."}, t.Notes...)
	return t
}

// plainCache says what stands for the cache of a provider that is not known.
const plainCache = "an automatic cache in steps of 128 tokens, whose losses are those of all others"
