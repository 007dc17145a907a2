package profile

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
	"gonum.org/v1/gonum/stat/distuv"
)

// Losses are the shares of calls that lost what they would have read for no visible reason, and
// what sessions show of these losses. The shares come from Claude Code for caches that need markers and
// from Codex for all other caches; what a provider, an agent, a model or a series of clients loses
// in proportion to these shares is pooled over sessions.
type Losses struct {
	Marked    Places  `yaml:"marked_caches,omitempty"`
	Automatic Places  `yaml:"automatic_caches,omitempty"`
	Sessions  []Shown `yaml:"sessions,omitempty"`
	Persons   []Own   `yaml:"persons,omitempty"`
}

// Places are shares by what a call answers and by the time since the last response ended.
type Places struct {
	Prompt     []GapShare `yaml:"after_prompt,omitempty" min:"0" max:"1"`
	ToolResult []GapShare `yaml:"after_tool_result,omitempty" min:"0" max:"1"`
	Agent      []GapShare `yaml:"in_sub_agent,omitempty" min:"0" max:"1"` // without rows the rows of ToolResult
}

// GapShare is a share among calls with a gap of at most so many seconds, and
// more than the previous row's. The last row applies to all longer gaps. Rows for late calls of a
// thread come before all other rows.
type GapShare struct {
	After   int     `yaml:"after_calls,omitempty" min:"0"` // number of calls of the thread before the call, at least
	Seconds float64 `yaml:"to_seconds"`
	// Kept is the part of their prefix that such calls of an automatic cache still read, so that share and
	// size together give all that is lost. Where caches need markers the head is left.
	Kept     float64 `yaml:"kept,omitempty" min:"0" max:"1"`
	Estimate `yaml:",inline"`
}

// Case is a call that may lose its read.
type Case struct {
	// Automatic says that its cache needs no markers.
	Automatic bool
	// Prompt says that the call answers a person in a main conversation, not only
	// tool results.
	Prompt bool
	// Agent says that it is a call of a sub-agent.
	Agent bool
	// Gap is the time since the thread's last response ended, ns.
	Gap int64
	// Ordinal is the number of earlier calls of the thread.
	Ordinal int
}

// Rate returns the probability, 0…1, that a call loses what it would read for no reason that a
// recording shows, and the part of that which an automatic cache still has. Without shares
// nothing is lost.
func (l *Losses) Rate(c *Case) (share, kept float64) {
	rows := l.rows(c)
	seconds := float64(c.Gap) / 1e9
	for i := range rows {
		if c.Ordinal >= rows[i].After && seconds <= rows[i].Seconds || i == len(rows)-1 {
			return rows[i].Value, rows[i].Kept
		}
	}
	return 0, 1
}

// mean returns what calls lose on average over the gaps that the shares were fitted on: the share of calls that lose, and the
// share of their reads that they lose. The gap of c is ignored.
func (l *Losses) mean(c *Case) (share, lost float64) {
	var n float64
	late := 0 // what the rows begin at that hold for the call: those for late calls come first
	for _, r := range l.rows(c) {
		if r.After > c.Ordinal || r.After < late {
			continue
		}
		late = r.After
		calls := float64(max(r.N, 1))
		n, share, lost = n+calls, share+calls*r.Value, lost+calls*r.Value*(1-r.Kept)
	}
	return share / max(n, 1), lost / max(n, 1)
}

// rows returns the shares of the place of a call.
func (l *Losses) rows(c *Case) []GapShare {
	places := &l.Marked
	if c.Automatic {
		places = &l.Automatic
	}
	switch {
	case c.Prompt:
		return places.Prompt
	case c.Agent && len(places.Agent) > 0:
		return places.Agent
	}
	return places.ToolResult
}

// Rules returns an error for rows out of order.
func (p *Places) Rules() []error {
	var errs []error
	for _, list := range []struct {
		key  string
		rows []GapShare
	}{{"after_prompt", p.Prompt}, {"after_tool_result", p.ToolResult}, {"in_sub_agent", p.Agent}} {
		last := math.Inf(-1)
		for i, g := range list.rows {
			if i > 0 && list.rows[i-1].After > g.After {
				last = math.Inf(-1)
			}
			if !(g.Seconds > last) {
				errs = append(errs, spec.Wrong(fmt.Sprintf("%s[%d]", list.key, i), "ends at %g s: gaps must ascend", g.Seconds))
			}
			last = g.Seconds
		}
	}
	return errs
}

// lost returns how many calls lost something, of those that the shares were fitted on.
func (p *Places) lost() (n float64) {
	for _, rows := range [][]GapShare{p.Prompt, p.ToolResult, p.Agent} {
		for i := range rows {
			n += rows[i].Value * float64(rows[i].N)
		}
	}
	return n
}

// Shown is what a session shows, at one provider through one gateway, of losses and of what others keep warm, of agents other than Claude Code, whose calls the shares of
// caches with markers are.
type Shown struct {
	Agent    string `yaml:"agent"`
	Provider string `yaml:"provider,omitempty"` // of the model, "" for one that is not known
	Gateway  string `yaml:"gateway,omitempty"`  // who passes the calls on to the provider, "" for nobody
	Model    string `yaml:"model,omitempty"`
	Series   string `yaml:"series,omitempty"` // of the client's versions
	Session  string `yaml:"session"`          // Key of its id: a session tells nothing about itself
	Marked   bool   `yaml:"marked,omitempty"` // its cache needs markers
	// Early counts the calls that lose more often: the first EarlyCalls of a thread or, where caches
	// need markers, calls that answer a person. Later counts all other calls.
	Early       int64 `yaml:"early_calls,omitempty" min:"0"`
	EarlyTokens int64 `yaml:"early_tokens,omitempty" min:"0"` // they were due to read
	Later       int64 `yaml:"later_calls,omitempty" min:"0"`
	LaterTokens int64 `yaml:"later_tokens,omitempty" min:"0"`
	Missing     int64 `yaml:"missing_tokens,omitempty" min:"0"` // of both
	// Opened are the tokens of its first call, none for Codex, whose first calls are in a list of their own, and Found those that this read: other sessions had left them.
	Opened int64 `yaml:"first_tokens,omitempty" min:"0"`
	Found  int64 `yaml:"first_read_tokens,omitempty" min:"0"`
}

// See counts a call that was due to read some tokens and read short tokens less.
func (s *Shown) See(due, short int64, early bool) {
	switch {
	case due <= 0:
		return
	case early:
		s.Early, s.EarlyTokens = s.Early+1, s.EarlyTokens+due
	default:
		s.Later, s.LaterTokens = s.Later+1, s.LaterTokens+due
	}
	s.Missing += short
}

const (
	// EarlyCalls is the number of first calls of a thread that lose more often than the rest.
	EarlyCalls = 10
	// IdleSeconds is the gap above which an automatic cache has less than it promises.
	IdleSeconds = 600
	// LossTokens is how much less than predicted a call of an automatic cache reads when it counts as a loss.
	LossTokens = 1024
	// LeastPrefix is the least read that counts as a prefix, tokens: the smallest minimum of a
	// model (platform.claude.com, prompt caching).
	LeastPrefix = 1024
	// leaning is how many losses a level counts for in the one below it. Recorded sessions, each
	// predicted from the rest, are as close with any value from 0.25 to 1.
	leaning = 0.5
	// sessionLosses is the number of due losses for which the longest session counts: sessions
	// differ by more than chance. Of 1, 3, 8 and 30 it is the one with which the costs of
	// OpenCode's recorded sessions are closest; the costs of Codex's hardly differ.
	sessionLosses = 3
)

// Pooled is what calls lose in proportion to the shares of a profile, and the number of sessions
// that it rests on: the sessions through the same gateway to the provider, and one for all other sessions.
type Pooled struct {
	Times    float64
	Sessions int
}

// level is what a session is pooled with.
type level struct {
	marked                                  bool
	depth                                   int
	provider, gateway, model, agent, series string
}

// gatewayLevel is the index of what one gateway passes on to a provider among the levels of a session.
const gatewayLevel = 2

// levels returns the levels of a session, from its kind of cache to its own series of clients. What is lost is the server's doing,
// whoever calls: with each person left out, recorded sessions are closer than by levels of agents.
func (s *Shown) levels() (list [5]level) {
	at := level{marked: s.Marked}
	for i, set := range [...]func(){
		func() {}, func() { at.provider = s.Provider }, func() { at.gateway = s.Gateway },
		func() { at.model = s.Model }, func() { at.agent, at.series = s.Agent, s.Series },
	} {
		set()
		at.depth, list[i] = i, at
	}
	return list
}

// due is a number of losses that the shares predict, times is how many times as much was lost, by losses.
type due struct {
	losses, times float64
	sessions      int
}

// pool has what sessions show at every level, and what each shows.
type pool struct {
	all map[level]due
	own map[string][]shownAt
	// opened adds up the shares of first calls that were read, by agent and model, and found has them by session.
	opened map[[2]string]tally
	found  map[string]foundAt
}

// foundAt is the share of a session's first call that was read.
type foundAt struct {
	agent, model string
	share        float64
}

// shownAt is what a session shows of one provider and gateway, and its levels.
type shownAt struct {
	levels [5]level
	due
}

func (l *Losses) pool() *pool {
	x := &pool{map[level]due{}, map[string][]shownAt{}, map[[2]string]tally{}, map[string]foundAt{}}
	add := func(levels []level, d due) {
		for _, at := range levels {
			sum := x.all[at]
			x.all[at] = due{sum.losses + d.losses, sum.times + d.times, sum.sessions + d.sessions}
		}
	}
	fitted := Shown{Provider: "anthropic", Agent: "claude-code", Marked: true}
	levels, n := fitted.levels(), l.Marked.lost()
	add(levels[:gatewayLevel+1], due{n, n, 0})
	whole := map[string]float64{} // losses due in a session, at all providers
	for i := range l.Sessions {
		losses, _ := l.expect(&l.Sessions[i])
		whole[l.Sessions[i].Session] += losses
	}
	for i := range l.Sessions {
		s := &l.Sessions[i]
		if s.Opened > 0 {
			at, of := foundAt{s.Agent, s.Model, float64(min(s.Found, s.Opened)) / float64(s.Opened)}, [2]string{s.Agent, s.Model}
			sum := x.opened[of]
			x.opened[of], x.found[s.Session] = tally{sum.yes + at.share, sum.n + 1}, at
		}
		if d := l.dueOf(s, whole[s.Session]); d.losses > 0 {
			at := shownAt{s.levels(), d}
			x.own[s.Session] = append(x.own[s.Session], at)
			add(at.levels[:], d)
		}
	}
	return x
}

// dueOf returns what a session would lose by the shares at a provider, and what it lost in proportion; whole are the losses due in all of
// the session, which counts for a limited number however many providers it has.
func (l *Losses) dueOf(s *Shown, whole float64) due {
	losses, tokens := l.expect(s)
	if tokens <= 0 {
		return due{}
	}
	losses /= 1 + whole/sessionLosses
	return due{losses, losses * float64(s.Missing) / tokens, 1}
}

// expect returns how many calls of a session would lose something by the shares, and how many tokens.
func (l *Losses) expect(s *Shown) (losses, tokens float64) {
	for i, n := range [...][2]int64{{s.Early, s.EarlyTokens}, {s.Later, s.LaterTokens}} {
		share, lost := l.mean(&Case{Automatic: !s.Marked, Prompt: s.Marked && i == 0, Ordinal: EarlyCalls + i})
		losses, tokens = losses+share*float64(n[0]), tokens+lost*float64(n[1])
	}
	return losses, tokens
}

// TimesLost returns what a session loses in proportion to the shares, as other sessions show it: the sessions of its agent and
// series of clients lean on the model's, whoever calls, these on all that the gateway passes on to the provider, these on the
// provider's, and these on all of the kind of cache. The counts of s are ignored.
func (p *Profile) TimesLost(s *Shown) Pooled {
	pooled := Pooled{1, 1}
	if p.pooled == nil {
		return pooled
	}
	own := p.pooled.own[s.Session]
	for i, at := range s.levels() {
		d := p.pooled.all[at]
		for j := range own {
			if o := &own[j]; o.levels[i] == at {
				d = due{d.losses - o.losses, d.times - o.times, d.sessions - 1}
			}
		}
		pooled.Times = (leaning*pooled.Times + d.times) / (leaning + d.losses)
		if i == gatewayLevel {
			pooled.Sessions += d.sessions
		}
	}
	return pooled
}

// SessionShape is the shape of the gamma distribution of what a session loses in proportion to others of its agent: of 0.25, 0.35 and
// 0.5 the largest whose bands hold OpenCode's recorded sessions, 8 of 8; with 0.5 they hold 6.
const SessionShape = 0.35

// Since returns what a session loses in proportion to the shares when its own calls so far count beside times, what other sessions
// show: the mean of the gamma distribution of its proportion, given its losses.
func (l *Losses) Since(times float64, own *Shown) float64 {
	losses, tokens := l.expect(own)
	if tokens <= 0 || times <= 0 {
		return times
	}
	return (SessionShape + losses*float64(own.Missing)/tokens) / (SessionShape/times + losses)
}

// FirstShare returns the share of a session's first call that it reads, as the other sessions of the agent with the model read
// of theirs; one that reads nothing counts beside them. The counts of s are ignored.
func (p *Profile) FirstShare(s *Shown) float64 {
	if p.pooled == nil {
		return 0
	}
	all := p.pooled.opened[[2]string{s.Agent, s.Model}]
	if own := p.pooled.found[s.Session]; own.agent == s.Agent && own.model == s.Model {
		all = tally{all.yes - own.share, all.n - 1}
	}
	return all.yes / (all.n + 1)
}

// LearnLosses adds what more sessions show, in place of what is known of the same.
func (p *Profile) LearnLosses(more []Shown) {
	news := map[string]bool{}
	for i := range more {
		news[more[i].Session] = true
	}
	list := slices.DeleteFunc(slices.Clone(p.Losses.Sessions), func(s Shown) bool { return news[s.Session] })
	p.Losses.Sessions = append(list, more...)
	slices.SortStableFunc(p.Losses.Sessions, func(a, b Shown) int { return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Session, b.Session)) })
	p.index()
}

// Own is what a session of Claude Code shows of the losses of its person: calls of conversations that answer tools, with nothing
// between them and the call before.
type Own struct {
	User    string `yaml:"user"`    // Key of traces.Session.User
	Session string `yaml:"session"` // Key of its id: a session tells nothing about itself
	Calls   int64  `yaml:"calls" min:"0"`
	Due     int64  `yaml:"due_tokens" min:"0"`               // they were due to read
	Missing int64  `yaml:"missing_tokens,omitempty" min:"0"` // of these they did not
	Lost    int64  `yaml:"short_calls,omitempty" min:"0"`    // calls that these are missing in
}

const (
	// shortShare is the share of such calls that read clearly less than was left: 23 of 10,128 in 164 recorded sessions.
	shortShare = 0.0023
	// unlikely is the probability below which a person's losses are no chance. Without it sessions of nine persons, of which none
	// differs, are less likely by their persons' own rates than by everybody's: by 4 nats in all where everybody's counts for
	// one loss, by 1 where for 30. With it they are as likely.
	unlikely = 0.01
	// ownLosses is how many losses the share of everybody counts for beside a person's own.
	ownLosses = 5
)

// OwnBy returns what a session shows of its person; ok is false for a session without a known one or without such calls.
func OwnBy(s *traces.Session) (o Own, ok bool) {
	o = Own{User: Key(s.User()), Session: Key(prompt.DigestString(s.ID))}
	for i := range s.Threads {
		t := &s.Threads[i]
		if t.Kind != traces.ThreadMain {
			continue
		}
		for r := 1; r < len(t.Rounds); r++ {
			if due, short, asked := seenOf(t, r, true, exchange.Serving{}); due > 0 && !asked {
				if o.Calls, o.Due = o.Calls+1, o.Due+due; short > 0 {
					o.Missing, o.Lost = o.Missing+short, o.Lost+1
				}
			}
		}
	}
	return o, o.User != "" && o.Calls > 0
}

// OwnTimes returns what conversations of a person of Claude Code lose after tool results in proportion to the share of everybody,
// by the person's other sessions: 1 unless they lose more often than chance explains. Of what they lose tokens count, so that a loss
// of the last messages is less than one of all; no session counts for more than all others and one loss.
func (p *Profile) OwnTimes(user, session string) float64 {
	var sum, most Own
	for i := range p.Losses.Persons {
		if o := &p.Losses.Persons[i]; user != "" && o.User == user && o.Session != session {
			sum.Calls, sum.Due, sum.Missing, sum.Lost = sum.Calls+o.Calls, sum.Due+o.Due, sum.Missing+o.Missing, sum.Lost+o.Lost
			most.Missing, most.Lost = max(most.Missing, o.Missing), max(most.Lost, o.Lost)
		}
	}
	lost := min(sum.Lost, 2*(sum.Lost-most.Lost)+1)
	if chance := (distuv.Poisson{Lambda: shortShare * float64(sum.Calls)}); sum.Calls == 0 || 1-chance.CDF(float64(lost-1)) >= unlikely {
		return 1
	}
	whole := float64(sum.Due) / float64(sum.Calls) // tokens of a call
	tokens := min(float64(sum.Missing), 2*float64(sum.Missing-most.Missing)+whole)
	share, _ := p.Losses.mean(&Case{})
	return (ownLosses + tokens/whole) / (ownLosses + share*float64(sum.Calls))
}

// LearnOwn adds what more sessions show of their persons, in place of what is known of the same.
func (p *Profile) LearnOwn(more []Own) {
	list := slices.DeleteFunc(slices.Clone(p.Losses.Persons), func(o Own) bool {
		return slices.ContainsFunc(more, func(m Own) bool { return m.Session == o.Session })
	})
	p.Losses.Persons = append(list, more...)
	slices.SortFunc(p.Losses.Persons, func(a, b Own) int { return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Session, b.Session)) })
}
