package profile

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// Openings are the reads of the first calls of sessions that begin with their
// own conversation, of Claude Code and of Codex, and what sessions of all but Claude Code show of losses.
type Openings struct {
	Claude, Codex []FirstRead
	Shown         []Shown
	Own           []Own // of Claude Code's sessions
}

// OpeningsOf returns the openings of sessions; bodies that are not in memory are loaded one by one.
func OpeningsOf(sessions []*traces.Session) (*Openings, error) {
	o := &Openings{}
	for _, s := range sessions {
		whole, err := s.Load()
		if err != nil {
			return nil, err
		}
		o.Add(whole)
	}
	return o, nil
}

// Join adds the openings of other sessions.
func (o *Openings) Join(p *Openings) {
	o.Claude, o.Codex = append(o.Claude, p.Claude...), append(o.Codex, p.Codex...)
	o.Shown, o.Own = append(o.Shown, p.Shown...), append(o.Own, p.Own...)
}

// Add adds the opening of a session whose body is in memory.
func (o *Openings) Add(s *traces.Session) {
	if len(s.Threads) == 0 || len(s.Threads[0].Rounds) == 0 {
		return
	}
	if !agents.ClaudeCode(s) && Invented(s) == "" {
		for _, x := range ShownBy(s) {
			if x.Early+x.Later+x.Opened > 0 {
				o.Shown = append(o.Shown, x)
			}
		}
	}
	if agents.ClaudeCode(s) {
		if own, ok := OwnBy(s); ok {
			o.Own = append(o.Own, own)
		}
	}
	if s.Threads[0].Kind != traces.ThreadMain {
		return
	}
	t := &s.Threads[0]
	r := &t.Rounds[0]
	if t.MidContext || t.Since > 0 || !r.Counted() || r.Signs.Has(signs.TurnEnd) {
		return
	}
	f := FirstRead{
		User: Key(s.User()), Version: Name(s.Version()), Model: Name(s.Models[r.Model]), Entry: Name(s.Entry),
		Session: Key(prompt.DigestString(s.ID)), At: r.At / 1e9, Read: r.Usage.Read,
	}
	switch {
	case agents.ClaudeCode(s):
		o.Claude = append(o.Claude, f)
	case s.Agent == facts.Codex:
		o.Codex = append(o.Codex, f)
	}
}

// ShownBy returns what a session shows of losses: its calls soon after the
// last one, with nothing between, that answer tools or, where caches need markers, a person
// too. What one gateway passed on to one provider is a part of its own, under the first model there; parts are in the order of
// their first calls, and have no calls where there are none that say anything. The first one has what the session's first call found.
func ShownBy(s *traces.Session) []Shown {
	var parts []Shown
	at := map[served]int{}
	partOf := func(rd *traces.Round) int {
		model, gateway := s.Models[rd.Model], Name(servers.CallerOf(s, rd).Gateway)
		by := served{promptcache.ProviderOf(model), gateway}
		if _, ok := at[by]; !ok {
			at[by] = len(parts)
			parts = append(parts, Shown{
				Agent: s.Agent, Provider: by.provider, Gateway: gateway, Model: Name(model), Series: Series(s.Version()),
				Session: Key(prompt.DigestString(s.ID)), Marked: agents.Of(s.Agent).Cache(model) != facts.CacheAutomatic,
			})
		}
		return at[by]
	}
	partOf(&s.Threads[0].Rounds[0])
	if t := &s.Threads[0]; s.Agent != facts.Codex && t.Kind == traces.ThreadMain && !t.MidContext && t.Rounds[0].Counted() {
		parts[0].Opened, parts[0].Found = t.Rounds[0].Usage.Input(), t.Rounds[0].Usage.Read
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		var way exchange.Serving
		part := 0
		for r := 1; r < len(t.Rounds); r++ {
			if rd := &t.Rounds[r]; r == 1 || rd.Model != t.Rounds[r-1].Model || rd.Gateway != t.Rounds[r-1].Gateway {
				way = servers.ServingOf(servers.CallerOf(s, rd), s.Models[rd.Model])
				part = partOf(rd)
			}
			parts[part].SeeCall(t, r, way)
			if ratio, ok := way.RatioOf(t.Rounds[r].Usage.Read); ok {
				way.Ratio = ratio
			}
		}
	}
	return parts
}

// served is a provider, and who passes calls on to it.
type served struct{ provider, gateway string }

// SeeCall counts a round of a thread; way is how an automatic cache serves it.
func (s *Shown) SeeCall(t *traces.Thread, round int, way exchange.Serving) {
	s.See(seenOf(t, round, s.Marked, way))
}

// seenOf returns what a call was due to read and did not, tokens, and whether it is one of
// those that lose more often; due is 0 for a call that says nothing about losses. way is how an automatic cache serves it.
func seenOf(t *traces.Thread, r int, marked bool, way exchange.Serving) (due, short int64, early bool) {
	before, rd := &t.Rounds[r-1], &t.Rounds[r]
	asked := marked && rd.Trigger == traces.TriggerPrompt
	if _, untouched := t.Stayed(int32(r)); before.Model != rd.Model || before.Gateway != rd.Gateway || !untouched || !rd.Counted() || !asked && rd.Trigger != traces.TriggerToolResult {
		return 0, 0, false
	}
	due, early = before.Usage.Input(), r <= EarlyCalls
	if way.Step > LossTokens {
		due = way.Floor(due, 0)
	}
	life := int64(IdleSeconds * 1e9)
	if marked {
		if due = before.Usage.Read + before.Usage.Writes(); before.Usage.Writes() == 0 {
			due = before.Usage.Input() // written and billed as plain input
		}
		early, life = asked, Life(exchange.TTL5m)
	}
	if rd.Wait > life || due < LeastPrefix {
		return 0, 0, false
	}
	if short = due - rd.Usage.Read; short <= max(2*LossTokens, int64(way.Step)/2) {
		short = 0
	}
	return due, short, early
}

// Codex is what recordings show of automatic caches, such as the cache behind Codex. The zero value is the plain cache.
type Codex struct {
	Switches CodexSwitches `yaml:"switches"`
	// Served is how requests are served, by agent, model and client version; for each
	// model in ascending order of versions.
	Served []Served `yaml:"served,omitempty"`
	// First is what the first calls of sessions read, by user and model.
	First []FirstRead `yaml:"first_reads,omitempty"`
	// Residual is as Profile.Residual, of Codex's sessions.
	Residual []float64 `yaml:"session_residual,flow,omitempty" min:"-20" max:"20"`
}

// CodexSwitches turn on the parts of the model that go beyond the plain cache.
type CodexSwitches struct {
	// Served takes the steps of reads, cached responses and the retention from
	// the table, and from what the thread's earlier calls have shown.
	Served bool `yaml:"served"`
	// Warm lets a call whose prefix is gone read what the first call of its thread
	// read, because others keep that in the cache.
	Warm bool `yaml:"warm_head"`
	// Search leaves uncached what the provider's web search adds to a call.
	Search bool `yaml:"web_search"`
	// Reasoning ends reads at a person's prompt before the reasoning of the turn that it finishes, for models
	// whose provider leaves it out.
	Reasoning bool `yaml:"reasoning"`
	// First lets the first call of a thread read what others have cached.
	First bool `yaml:"first_calls"`
}

// Names returns the names of the switches that are on, in order.
func (s CodexSwitches) Names() []string { return switchedOn(s) }

// Served is how the requests of a client are served.
type Served struct {
	Agent   string `yaml:"agent"`
	Model   string `yaml:"model"`
	Version string `yaml:"version"` // of the client; the first version that is served so
	// Step, Offset, Lag and Replies are as in exchange.Serving.
	Step    int32 `yaml:"step" min:"1"`
	Offset  int32 `yaml:"offset" min:"0"`
	Lag     int32 `yaml:"lag" min:"0"`
	Replies bool  `yaml:"replies"`
	// Exact is the share of calls after a tool call that read exactly that.
	Exact Estimate `yaml:"exact"`
	// Retention is how long an idle prefix is read, seconds: at most ten years.
	Retention Estimate `yaml:"retention_seconds" min:"0" max:"315360000"`
}

// ServingFor returns how an agent's requests for a model are served at a client version: as at the newest recorded
// version not after it, else as at the oldest. It reports whether the model has been recorded.
func (c *Codex) ServingFor(agent, model, version string) (exchange.Serving, bool) {
	var at *Served
	for i := range c.Served {
		if s := &c.Served[i]; s.Agent == agent && s.Model == model && (at == nil || Compare(s.Version, version) <= 0) {
			at = s
		}
	}
	if at == nil {
		return exchange.Serving{}, false
	}
	return exchange.Serving{
		Step: at.Step, Offset: at.Offset, Lag: at.Lag, Replies: at.Replies, Retention: int64(at.Retention.Value * 1e9),
	}, true
}

// Rules returns the errors that no tag expresses.
func (c *Codex) Rules() []error {
	var errs []error
	for i, s := range c.Served {
		at := fmt.Sprintf("served[%d]", i)
		if s.Offset >= s.Step {
			errs = append(errs, spec.Wrong(at, "begins at %d in steps of %d: the offset must be smaller", s.Offset, s.Step))
		}
		if i > 0 && c.Served[i-1].Agent == s.Agent && c.Served[i-1].Model == s.Model && Compare(c.Served[i-1].Version, s.Version) >= 0 {
			errs = append(errs, spec.Wrong(at, "lists versions out of order: versions must ascend"))
		}
	}
	return errs
}

// FirstRead returns the expected read of a session's first call, tokens: the most frequent read of the user's other
// sessions, with the same model if there are any; for an unknown user the median over users with that model, or over
// all models if it was not recorded. The field Read of f is ignored.
func (c *Codex) FirstRead(f *FirstRead) int64 {
	for _, model := range []string{f.Model, ""} {
		by := c.readsByUser(f.Session, model)
		if own := by[f.User]; f.User != "" && len(own) > 0 {
			return mostOften(own)
		}
	}
	for _, model := range []string{f.Model, ""} {
		var reads []int64
		for _, own := range c.readsByUser(f.Session, model) {
			reads = append(reads, mostOften(own))
		}
		if n := len(reads); n > 0 {
			slices.Sort(reads)
			return (reads[(n-1)/2] + reads[n/2]) / 2
		}
	}
	return 0
}

// readsByUser returns the reads of the first calls of all sessions but one by user, for one model or all.
func (c *Codex) readsByUser(session, model string) map[string][]int64 {
	by := map[string][]int64{}
	for i := range c.First {
		if f := &c.First[i]; f.Session != session && (model == "" || f.Model == model) {
			by[f.User] = append(by[f.User], f.Read)
		}
	}
	return by
}

// mostOften returns the most frequent number, the smallest if there are several.
func mostOften(list []int64) int64 {
	best, most := int64(0), 0
	counts := map[int64]int{}
	for _, x := range list {
		counts[x]++
		if n := counts[x]; n > most || n == most && x < best {
			best, most = x, n
		}
	}
	return best
}
