package validate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// Score says how well predictions match the recording over a set of calls.
// Shares and errors are nil for an empty set.
type Score struct {
	Calls     int      `json:"calls"`
	Exact     *float64 `json:"exact"`                // share of calls whose read was predicted to the token
	Within1   *float64 `json:"within_1pct"`          // share whose read was predicted within 1 % of the context
	TokenErr  *float64 `json:"token_weighted_error"` // Σ|predicted − recorded read| / Σ context
	Sessions  int      `json:"sessions"`             // with at least one such call, priced
	Median    *float64 `json:"session_cost_error_median"`
	P90       *float64 `json:"session_cost_error_p90"`
	Corpus    *float64 `json:"corpus_cost_error"` // Σ predicted / Σ recorded input cost − 1, with sign
	CorpusUSD *float64 `json:"recorded_input_usd"`
}

// within is the tolerance of Within1, as a share of the context.
const within = 0.01

// scoring sums up calls for a score. Of calls whose input is recorded for several together only the cost counts.
type scoring struct {
	calls, exact, close int
	off, context        int64
	cost                map[string]*[2]float64 // by session: predicted, recorded, USD
}

// add adds a call whose read and cost, USD, are predicted by some rule.
func (s *scoring) add(c *Call, read int64, usd float64) {
	if !c.Spread {
		d := max(read-c.Actual.Read, c.Actual.Read-read)
		s.calls++
		if d == 0 {
			s.exact++
		}
		if c.close(read) {
			s.close++
		}
		s.off += d
		s.context += c.Context
	}
	if c.Priced {
		sum := s.cost[c.Session]
		if sum == nil {
			if s.cost == nil {
				s.cost = map[string]*[2]float64{}
			}
			sum = new([2]float64)
			s.cost[c.Session] = sum
		}
		sum[0] += usd
		sum[1] += c.ActualUSD
	}
}

func (s *scoring) score() Score {
	x := Score{Calls: s.calls, Exact: share(float64(s.exact), s.calls), Within1: share(float64(s.close), s.calls)}
	if s.context > 0 {
		x.TokenErr = ratio(float64(s.off), float64(s.context))
	}
	// Set the errors of input cost by session and over all.
	var predicted, recorded float64
	var errs []float64
	for _, id := range sortedKeys(s.cost) {
		c := s.cost[id]
		predicted, recorded = predicted+c[0], recorded+c[1]
		if c[1] > 0 {
			errs = append(errs, math.Abs(c[0]/c[1]-1))
		}
	}
	x.Sessions = len(errs)
	if recorded > 0 {
		x.CorpusUSD, x.Corpus = &recorded, ratio(predicted-recorded, recorded)
	}
	if len(errs) > 0 {
		slices.Sort(errs)
		median, p90 := stats.Quantile(errs, 0.5), stats.Quantile(errs, 0.9)
		x.Median, x.P90 = &median, &p90
	}
	return x
}

// versus sums up calls as the model predicts them and as the naive rule does.
type versus struct{ model, naive scoring }

func (v *versus) add(c *Call) {
	v.model.add(c, c.Predicted.Read, c.PredictedUSD)
	v.naive.add(c, c.Naive.Read, c.NaiveUSD)
}

// group appends the score of the calls, unless there are none.
func (v *versus) group(list []Group, name string) []Group {
	if v.model.calls == 0 {
		return list
	}
	return append(list, Group{name, v.model.score(), v.naive.score()})
}

// epochOf names the epoch of a client version, by the profile, and the family
// of models; within both the cache behaves alike, as far as recordings show.
// For other agents it is their name and the model.
func epochOf(p *profile.Profile, agent, version, model string) string {
	if !agents.Of(agent).ClaudeCode {
		return agent + ", " + model
	}
	name := p.Epoch(version) + " on"
	if oldModel(model) {
		return name + ", opus-4-5 and older"
	}
	return name + ", newer models"
}

// oldModel reports whether a model of Anthropic's has version 4.5 or older: the first
// numbers of its name that are not a date, as in claude-opus-4-5-20251101.
func oldModel(model string) bool {
	var numbers []int
	for _, part := range strings.FieldsFunc(model, func(r rune) bool { return r == '-' || r == '.' || r == '@' }) {
		if n, err := strconv.Atoi(part); err == nil && n < 100 {
			numbers = append(numbers, n)
		}
	}
	return len(numbers) > 0 && slices.Compare(numbers, []int{4, 6}) < 0
}

// EpochOf returns the epoch of a session's first call.
func EpochOf(p *profile.Profile, s *traces.Session) string {
	model := ""
	if len(s.Threads) > 0 && len(s.Threads[0].Rounds) > 0 {
		model = s.Models[s.Threads[0].Rounds[0].Model]
	}
	return epochOf(p, s.Agent, s.Version(), model)
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func share(k float64, n int) *float64 {
	if n == 0 {
		return nil
	}
	return ratio(k, float64(n))
}

func ratio(a, b float64) *float64 { r := a / b; return &r }

// AgentScore is the score of the sessions of one agent at one provider, over calls that are not
// first ones.
type AgentScore struct {
	Agent    string `json:"agent"`
	Provider string `json:"provider"` // of the session's first such call, "" for one that is not known
	Score    Score  `json:"score"`
	Naive    Score  `json:"naive"`
	// Expected is the error of the corpus with the average cost of losses; Low and High hold
	// the middle 90 % over replications, nil without any.
	Expected *float64 `json:"expected_corpus_cost_error"`
	Low      *float64 `json:"expected_low"`
	High     *float64 `json:"expected_high"`
	// OffGrid counts the sessions most of whose reads end at no step that a server's file has. Their steps are estimated from
	// their own reads.
	OffGrid int `json:"sessions_off_grid,omitempty"`
	// Inside counts the sessions whose recorded cost lies in their 90 % band, out of Banded.
	Inside int `json:"band_inside"`
	Banded int `json:"band_sessions"`

	calls    versus
	mean     scoring   // with the average cost of losses
	samples  []float64 // costs of all banded sessions by replication, USD
	actual   float64   // their recorded cost, USD
	expected float64   // and the predicted one, losses included, USD
}

// agent adds the calls of a session to its agent's at its provider.
func (r *Report) agent(own []Call) {
	first := slices.IndexFunc(own, func(c Call) bool { return later(&c) })
	if first < 0 {
		return
	}
	a := AgentScore{Agent: own[first].Agent, Provider: promptcache.ProviderOf(own[first].Model)}
	k, again := r.agentOf[own[first].Session]
	if !again {
		k = slices.IndexFunc(r.Agents, func(b AgentScore) bool { return b.Agent == a.Agent && b.Provider == a.Provider })
	}
	if k < 0 {
		k, r.Agents = len(r.Agents), append(r.Agents, a)
	}
	if r.agentOf == nil {
		r.agentOf = map[string]int{}
	}
	r.agentOf[own[first].Session] = k
	of := &r.Agents[k]
	of.OffGrid += index(offGrid(own))
	for i := range own {
		if c := &own[i]; later(c) {
			of.calls.add(c)
			of.mean.add(c, c.Predicted.Read, c.PredictedUSD+c.LossUSD)
		}
	}
}

// addReplications adds the replications of a session with the recorded and the expected cost, USD, to
// its agent's.
func (r *Report) addReplications(session string, samples []float64, actual, expected float64, inside bool) {
	k, ok := r.agentOf[session]
	if !ok {
		return
	}
	a := &r.Agents[k]
	a.Banded++
	if inside {
		a.Inside++
	}
	a.actual, a.expected = a.actual+actual, a.expected+expected
	if a.samples == nil {
		a.samples = make([]float64, len(samples))
	}
	for i, usd := range samples {
		a.samples[i] += usd
	}
	sorted := slices.Sorted(slices.Values(centre(a.samples, a.expected)))
	a.Low = ratio(stats.Quantile(sorted, bandLevel/2)-a.actual, a.actual)
	a.High = ratio(stats.Quantile(sorted, 1-bandLevel/2)-a.actual, a.actual)
}

// leastOff is the least number of reads that show an unknown grid.
const leastOff = 3

// offGrid reports whether most reads of a session's calls end at no step that is known of their automatic caches.
func offGrid(calls []Call) bool {
	off, n := 0, 0
	for i := range calls {
		if c := &calls[i]; later(c) && !c.Spread && c.Actual.Read > 0 && agents.Of(c.Agent).Cache(c.Model) == facts.CacheAutomatic {
			n++
			off += index(!servers.OnGrid(servers.Grids(c.Model), c.Actual.Read))
		}
	}
	return off >= leastOff && 2*off > n
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
		if a.OffGrid > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: the reads of %s end at no step that is known; the steps are estimated from these reads, and the bands are as wide as for an unknown cache.",
				a.Agent, document.Count(a.OffGrid, "session")))
		}
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
const plainCache = "an automatic cache in steps of 128 tokens, kept for five minutes, whose losses are as in all other caches"

// ages are the upper edges of the ages that survival is counted by, seconds.
var ages = [...]float64{10, 60, 120, 240, 300, 360, 600, 1800, 3500, 3700, 14_400, math.Inf(1)}

// Survival is how often the calls of a provider still read what was left in its cache, by its age.
type Survival struct {
	Provider string
	TTL      exchange.TTL // what the client asked for; an automatic cache has none
	// Model has a cache that counts ages from the start of the request before, whoever calls; "" for all models whose ages count
	// from the end of the last response.
	Model  string
	Points []SurvivalPoint
	Calls  int
}

// SurvivalPoint is the share of calls, of those after a pause, that read nine tenths or more of what the call before had left.
type SurvivalPoint struct {
	Seconds          float64 // mean age, logarithmic
	profile.Estimate         // of the share, with its 95 % interval
}

// leastSurvival is the smallest number of calls that a curve, or a point on a curve, is drawn for.
const leastSurvival = 5

// survivalKey is what the calls of a curve have in common.
type survivalKey struct {
	provider string
	ttl      exchange.TTL
	model    string
}

// ageBin counts the calls of an age.
type ageBin struct {
	read, n int
	logs    float64 // sum of the logarithms of their ages, s
}

// aged reports whether a call tells how long the cache keeps what the call before had left.
func (c *Call) aged() bool {
	switch c.Class {
	case ClassToolResult, ClassPrompt, ClassSubAgent, ClassOther, ClassExpiry:
		return !c.Spread && !c.Changed() && c.Left > 0 && c.Gap > 0
	}
	return false
}

// age counts a call by the age of what it is due to read.
func (r *Report) age(c *Call) {
	if !c.aged() {
		return
	}
	k, age := survivalKey{provider: cmp.Or(promptcache.ProviderOf(c.Model), "another provider")}, float64(c.Gap)/1e9
	if c.TierKnown {
		k.ttl = c.TTL
	}
	if servers.Recorded(c.Model).FromStart {
		k.model, age = c.Model, float64(c.Since)/1e9
	}
	if r.ages == nil {
		r.ages = map[survivalKey]*[len(ages)]ageBin{}
	}
	if r.ages[k] == nil {
		r.ages[k] = &[len(ages)]ageBin{}
	}
	at, _ := slices.BinarySearch(ages[:], age)
	b := &r.ages[k][at]
	if b.n++; c.Kept() {
		b.read++
	}
	b.logs += math.Log(age)
}

// Survival returns the curves of all providers with calls whose age is known and whose request continues the last one of
// its thread: no compaction, clearing, rewind or change of the model or the head lies between.
func (r *Report) Survival() []Survival {
	var list []Survival
	for k, of := range r.ages {
		s := Survival{Provider: k.provider, TTL: k.ttl, Model: k.model}
		for _, b := range of {
			if b.n >= leastSurvival {
				s.Points = append(s.Points, SurvivalPoint{Seconds: math.Exp(b.logs / float64(b.n)), Estimate: profile.Share(b.read, b.n)})
				s.Calls += b.n
			}
		}
		if len(s.Points) > 1 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Survival) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.TTL, b.TTL), cmp.Compare(a.Model, b.Model))
	})
	return list
}
