// Package advise finds the settings that make the sessions of each agent cheaper. It has no promise to importers.
package advise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// Advice says what to set in the clients that made recordings, and what that saves.
type Advice struct {
	PaidUSD float64 `json:"paid_usd"` // at the prices of the API
	// DerivedUSD is the part of PaidUSD estimated for outputs that the logs cut short.
	DerivedUSD float64       `json:"derived_usd"`
	Agents     []AgentAdvice `json:"agents"`
	// Again are the arguments with which another verb reads the sessions, whatever their agent; "" to print PATH.
	Again string `json:"-"`
}

// Gaps say what the recordings of an agent lack.
type Gaps struct {
	// Uncounted are further sessions, whose logs have no counts of input: they are not simulated, and all that is known
	// of their bill is what their outputs cost.
	Uncounted    int     `json:"sessions_without_usage,omitempty"`
	UncountedUSD float64 `json:"sessions_without_usage_usd,omitzero"`
	// Bare counts the calls of Sessions whose input is in no log, such as those after the last shutdown of the Copilot CLI.
	Bare int `json:"calls_without_input,omitempty"`
	// Single counts the sessions among Sessions with one call, Textless the sessions without texts, of
	// which it is not known what their agent would fetch again.
	Single   int `json:"sessions_with_one_call,omitempty"`
	Textless int `json:"sessions_without_texts,omitempty"`
	// Unseen counts the sessions among Sessions most of whose new tokens are in no line, and UnseenShare is the share of theirs that is:
	// what a compaction keeps is not known.
	Unseen      int     `json:"sessions_mostly_unseen,omitempty"`
	UnseenShare float64 `json:"unseen_share,omitzero"`
}

// AgentAdvice is the advice for the sessions of one agent. Its figures are of
// strategy own: the client without a change, simulated.
type AgentAdvice struct {
	Agent    string `json:"agent"` // as in Session.Agent
	Title    string `json:"title"`
	Version  string `json:"version"` // the newest among the sessions; "" for unknown
	Sessions int    `json:"sessions"`
	Gaps
	// Followed counts the sessions whose compactions show a setting of their client's own, and Follow is the setting of most
	// of them, such as CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=50, 90,000 tokens: the client without a change keeps it.
	Followed   int     `json:"sessions_under_a_setting,omitempty"`
	Follow     string  `json:"setting_followed,omitempty"`
	settings   int     // that differ among these sessions
	Calls      int     `json:"calls"`                    // that PaidUSD pays for
	Unpriced   int     `json:"unpriced_calls,omitempty"` // of these, of a model without a price, which cost nothing
	PaidUSD    float64 `json:"paid_usd"`
	DerivedUSD float64 `json:"derived_usd"` // the part of PaidUSD estimated for outputs that the logs cut short
	AsIsUSD    float64 `json:"as_is_usd"`   // simulated without a change
	// UnloggedUSD is the part of AsIsUSD for calls that no log shows: summaries, other calls beside
	// the conversation, and calls that fetch again what was forgotten.
	UnloggedUSD float64 `json:"unlogged_usd"`
	// Changes are ranked by what they save on sessions that were not used to choose
	// them. Open are those about which the sessions allow no decision.
	Changes  []Change  `json:"changes,omitempty"`
	Open     []Change  `json:"undecided,omitempty"`
	Together *Together `json:"together,omitempty"` // nil for fewer than two changes
	// Model is how far the model is from the bill, as run shows it.
	Model results.ModelError `json:"model_error,omitzero"`
	// Use is the same in tokens, for those who pay a subscription.
	Use   Use `json:"use"`
	was   results.Row
	hours float64 // of work, see worked
}

// Change is one setting at the value that was chosen.
type Change struct {
	Setting  string  `json:"setting"`
	Value    string  `json:"value"`
	Does     string  `json:"does"`
	Where    string  `json:"where"`
	Snippet  string  `json:"snippet"`
	From     string  `json:"from_version,omitempty"`
	Caveat   string  `json:"caveat,omitempty"`
	Assign   string  `json:"set"`       // the same as arguments of sim run --set, under strategy own, separated by spaces
	SavesUSD float64 `json:"saves_usd"` // on all sessions, as sim run shows it
	// Unseen is what it saves on sessions that were not used to choose it, as a
	// share of their cost, with its 95 % interval; Detectable is the smallest share that four of
	// five such sets of sessions show, 0 where too few sessions differ to say.
	Unseen     float64 `json:"unseen_share"`
	Low        float64 `json:"unseen_low"`
	High       float64 `json:"unseen_high"`
	Detectable float64 `json:"unseen_detectable"`
	// Agree is the share of draws of such sessions in which it saves, 0…1, as the interval has it.
	Agree float64 `json:"unseen_agree,omitzero"`
	// Drawn says what was drawn for the interval: session, block of time, project or person.
	Drawn string `json:"drawn_by"`
	bar
	verdict stats.Verdict
	at      candidate
	with    *results.Row // of all sessions
	taken   *tally
	Edge    string `json:"edge,omitempty"`          // "lowest" or "highest" of the values tried
	EdgeWhy string `json:"edge_why,omitempty"`      // why none beyond it is tried
	More    int    `json:"more_sessions,omitempty"` // about how many more sessions would decide
	Effect  Effect `json:"effect"`
	Tokens  Tokens `json:"tokens"` // what all sessions use with it
}

// bar is what a saving has to pass.
type bar struct {
	// Off is the share by which predictions under another setting were off on average: a saving within it is not advised. Outweighed is
	// nil unless the client without a change keeps more than lossy more of what the agent uses later and costs no more than Off more.
	Off        float64     `json:"prediction_error"`
	Outweighed *outweighed `json:"outweighed,omitempty"`
}

// outweighed is what a value saves, as a share of the cost without a change, and what is kept before it and with it of what the agent uses
// later, 0…1: both on all sessions that values are compared on.
type outweighed struct {
	Saves  float64    `json:"saves_share"`
	Recall [2]float64 `json:"needed_recall"`
}

// Together is what several changes save, advised and likely ones, simulated together.
type Together struct {
	Settings []string `json:"settings"`
	Likely   int      `json:"likely,omitzero"` // of the settings, those that are likely to save
	SavesUSD float64  `json:"saves_usd"`
	Effect   Effect   `json:"effect"`
	Tokens   Tokens   `json:"tokens"`
}

// maxChanges is how many changes are advised for an agent.
const maxChanges = 7

// Run finds the settings that make the sessions of each agent cheaper.
func Run(ctx context.Context, plan *scenarios.Plan, corpus *traces.Corpus) (*Advice, error) {
	return newAdviser(plan).run(ctx, corpus)
}

func (p *adviser) run(ctx context.Context, corpus *traces.Corpus) (*Advice, error) {
	sessions := corpus.WithCalls()
	if len(sessions) == 0 {
		return nil, traces.ErrNoCalls
	}
	if p.Strict {
		if errs := p.UnknownModels(sessions); len(errs) > 0 {
			return nil, errors.Join(errs...)
		}
	}
	keep, key := adviceKey(p.Plan, corpus)
	a := &Advice{}
	if key != "" && keep.Get(key, a) {
		return a, nil
	}
	if some := slices.DeleteFunc(slices.Clone(sessions), Uncounted); len(some) > 0 {
		counted := *corpus
		counted.Sessions = some
		if err := p.Prepare(ctx, &counted); err != nil {
			return nil, err
		}
	}
	made := byAgent(sessions)
	step := steps(p.Plan, made)
	for _, name := range slices.Sorted(maps.Keys(made)) {
		one, err := p.adviseAgent(ctx, agents.Of(name), made[name], step)
		if err != nil {
			return nil, fmt.Errorf("advice for %s: %w", name, err)
		}
		a.Agents = append(a.Agents, *one)
		a.PaidUSD += one.PaidUSD + one.UncountedUSD
		a.DerivedUSD += one.DerivedUSD
	}
	slices.SortStableFunc(a.Agents, func(x, y AgentAdvice) int { return cmp.Compare(y.PaidUSD, x.PaidUSD) })
	if key != "" {
		keep.Put(key, a)
	}
	return a, nil
}

// adviceKey returns a store that keeps advice about sessions whose recordings have not changed since, and the key of all that
// the advice depends on; "" where a session is in no store, or a profile is given.
func adviceKey(p *scenarios.Plan, corpus *traces.Corpus) (traces.Store, string) {
	keep, _ := corpus.Kept()
	sessions := corpus.Key()
	if sessions == "" || p.Profiles != nil || p.Summarize != nil {
		return nil, ""
	}
	return keep, fmt.Sprintf("advice %d %d %v %s %s", p.Seed, p.Window, p.Verify, p.Prices.Key(), sessions)
}

func (p *adviser) adviseAgent(ctx context.Context, agent *facts.Agent, sessions []*traces.Session, step func()) (*AgentAdvice, error) {
	one := &AgentAdvice{Agent: agent.Name, Title: agent.Title}
	for _, s := range sessions {
		if !Uncounted(s) {
			continue
		}
		whole, err := s.Load()
		if err != nil {
			return nil, err
		}
		bill := sim.Billed(whole, p.Prices, time.Time{})
		one.Uncounted, one.UncountedUSD = one.Uncounted+1, one.UncountedUSD+bill.CostUSD()
	}
	sessions = slices.DeleteFunc(sessions, Uncounted)
	slices.SortStableFunc(sessions, func(a, b *traces.Session) int { return cmp.Compare(a.Start, b.Start) })
	if one.Sessions = len(sessions); len(sessions) == 0 {
		return one, nil
	}
	one.count(sessions)
	if err := p.trust(ctx, one, sessions); err != nil {
		return nil, err
	}
	groups, err := p.offers(agent, one, sessions)
	if err != nil {
		return nil, err
	}
	if len(groups) > 0 && len(sessions) <= endsKept && !prunes(sessions, groups[0]) { // they share much with the client without a change
		if _, err := p.costs(ctx, sessions, groups[0]); err != nil {
			return nil, err
		}
	}
	rows, taken, err := p.measure(ctx, sessions, nil)
	if err != nil {
		return nil, err
	}
	one.Use.AsIs = one.Use.tokens(taken)
	follow := map[string]int{}
	for i := range rows {
		whole, err := sessions[i].Load()
		if err != nil {
			return nil, err
		}
		one.Bare += bare(whole)
		if set := scenarios.Followed(p.Registry, whole, p.Prices); set != "" {
			one.Followed++
			if follow[set]++; follow[set] > follow[one.Follow] || follow[set] == follow[one.Follow] && set < one.Follow {
				one.Follow = set
			}
		}
		one.settings = len(follow)
		if rows[i].Loop == measures.LoopOpen && sessions[i].NumCalls() > 1 { // one call needs nothing again
			one.Textless++
		}
		row, billed := &rows[i], sim.Billed(whole, p.Prices, time.Time{})
		one.was.Add(row)
		one.hours += worked(whole)
		one.UnloggedUSD += row.CostUSD() - row.LoggedUSD(&billed)
	}
	one.AsIsUSD = one.was.CostUSD()
	for _, group := range groups {
		if err := p.try(ctx, sessions, one, group); err != nil {
			return nil, err
		}
		step()
		p.forget()
	}
	slices.SortStableFunc(one.Changes, func(a, b Change) int { return cmp.Compare(b.Unseen, a.Unseen) })
	slices.SortStableFunc(one.Open, func(a, b Change) int { return cmp.Compare(b.rank(), a.rank()) })
	one.Changes = one.Changes[:min(len(one.Changes), maxChanges)]
	err = p.together(ctx, sessions, one)
	for _, list := range [][]Change{one.Changes, one.Open} {
		for i := range list {
			list[i].taken = nil // all calls, which a store would keep
		}
	}
	return one, err
}

// try adds the best value of a group of settings to the changes of an agent, or to those about which nothing is decided.
func (p *adviser) try(ctx context.Context, sessions []*traces.Session, one *AgentAdvice, group []candidate) error {
	found, err := p.search(ctx, sessions, group, offBy(one.Agent))
	if err != nil || found == nil {
		return err
	}
	if found.with, found.taken, err = p.total(ctx, sessions, []candidate{found.at}); err != nil {
		return err
	}
	found.SavesUSD, found.Effect, found.Tokens = one.AsIsUSD-found.with.CostUSD(), one.effect(found.with), one.Use.tokens(found.taken)
	if found.wins() {
		one.Changes = append(one.Changes, *found)
	} else {
		one.Open = append(one.Open, *found)
	}
	return nil
}

// count sets what is known of sessions before they are simulated.
func (x *AgentAdvice) count(sessions []*traces.Session) {
	var unseen, all int64
	for _, s := range sessions {
		if q := &s.Quality; 2*q.UnseenTokens > q.InputTokens {
			x.Unseen, unseen, all = x.Unseen+1, unseen+q.UnseenTokens, all+q.InputTokens
			x.UnseenShare = float64(unseen) / float64(all)
		}
		if s.NumCalls() == 1 {
			x.Single++
		}
		if profile.Compare(s.Version(), x.Version) > 0 {
			x.Version = s.Version()
		}
	}
}

// bare returns the calls of a session whose input no log has.
func bare(s *traces.Session) (n int) {
	for i := range s.Threads {
		for r := range s.Threads[i].Rounds {
			if s.Threads[i].Rounds[r].Usage.Input() == 0 {
				n++
			}
		}
	}
	return n
}

// Uncounted reports whether the log of a session has no token counts: every call has input.
func Uncounted(s *traces.Session) bool {
	u := s.Usage()
	return u.Input() == 0
}

// trust sets what sessions were billed, and how far the model is from that.
func (p *adviser) trust(ctx context.Context, one *AgentAdvice, sessions []*traces.Session) error {
	config, err := p.Config(measures.StrategyRecorded, nil)
	if err != nil {
		return err
	}
	config.Needs, config.Breaks = nil, false
	rows, err := sim.Runner{Workers: p.Workers}.Run(ctx, sessions, []sim.Config{config})
	if err != nil {
		return err
	}
	billed := results.Cell{Cell: measures.StrategyBilled, Strategy: measures.StrategyBilled}
	recorded := results.Cell{Cell: measures.StrategyRecorded, Strategy: measures.StrategyRecorded}
	logged := newTally(sessions)
	for i, s := range sessions {
		whole, err := s.Load()
		if err != nil {
			return err
		}
		bill := sim.Billed(whole, p.Prices, time.Time{})
		billed.Rows.Keep(&bill)
		recorded.Rows.Keep(&rows[0][i])
		logged.bill(whole, p.Prices)
	}
	one.Use = newUse(logged, p.Prices)
	run := results.Run{Cells: []results.Cell{billed, recorded}}
	run.Sum()
	paid := &run.Cells[0].Total
	one.PaidUSD, one.DerivedUSD, one.Calls, one.Unpriced = paid.CostUSD(), paid.DerivedUSD(), paid.N(measures.Calls), paid.N(measures.UnpricedCalls)
	one.Model = results.ErrorOf(&run.Cells[0], &run.Cells[1], config.Profile.Spread())
	return nil
}

// rank orders changes that are not advised: the likely ones first, and of these the largest saving.
func (c *Change) rank() float64 {
	if c.likely() {
		return c.Unseen
	}
	return 0
}

// minAdvised is the least saving worth reporting, USD: half a cent.
const minAdvised = 0.005

// What a change must save on unseen sessions, as a share, and in how many of 100 draws of sessions, to be told as likely
// where chance is not ruled out.
const (
	likelyShare = 0.05
	likelyAgree = 0.8
)

// some reports whether the change is for some sessions of the client alone.
func (c *Change) some() bool { return c.at.setting != nil && c.at.setting.Entries != nil }

// likely reports whether the change probably saves, although chance may explain it.
func (c *Change) likely() bool {
	return !c.wins() && c.Outweighed == nil && c.SavesUSD >= minAdvised && c.Unseen >= max(likelyShare, c.Off) && c.Agree >= likelyAgree
}

// wins reports whether the change is advised: chance does not explain what it saves on unseen
// sessions, nor an error of the prediction, no loss outweighs it, and it is at least minAdvised.
func (c *Change) wins() bool { return c.saves() && c.Unseen > c.Off && c.Outweighed == nil }

// saves reports whether chance does not explain what the change saves.
func (c *Change) saves() bool { return c.verdict == stats.Lower && c.SavesUSD >= minAdvised }

// together simulates all changes at once, without changes that other changes make worthless.
func (p *adviser) together(ctx context.Context, sessions []*traces.Session, one *AgentAdvice) error {
	changes := slices.Clone(one.Changes)
	for i := range one.Open {
		if one.Open[i].likely() {
			changes = append(changes, one.Open[i])
		}
	}
	if len(changes) < 2 {
		return nil
	}
	likely := 0
	var set []candidate
	var names []string
	best := one.AsIsUSD
	var row *results.Row
	var used *tally
	for i := range changes {
		tried, taken := changes[i].with, changes[i].taken
		if len(set) > 0 {
			var err error
			if tried, taken, err = p.total(ctx, sessions, append(slices.Clone(set), changes[i].at)); err != nil {
				return err
			}
		}
		if usd := tried.RankUSD(); usd < best {
			best, row, used = usd, tried, taken
			set, names = append(set, changes[i].at), append(names, changes[i].Setting)
			if i >= len(one.Changes) {
				likely++
			}
		}
	}
	if len(names) > 1 {
		one.Together = &Together{Settings: names, Likely: likely, SavesUSD: one.AsIsUSD - best, Effect: one.effect(row),
			Tokens: one.Use.tokens(used)}
	}
	return nil
}

// byAgent returns sessions by the agent that made them.
func byAgent(sessions []*traces.Session) map[string][]*traces.Session {
	list := map[string][]*traces.Session{}
	for _, s := range sessions {
		list[s.Agent] = append(list[s.Agent], s)
	}
	return list
}
