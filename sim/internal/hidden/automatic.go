package hidden

import (
	"slices"
	"time"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// automatic is what a thread's earlier calls show of the automatic caches they go to. A
// call counts only once its response has ended.
type automatic struct {
	models []seen // in the order of their first calls
	last   uint16 // the model of the last call
	kept   float64
}

// seen is what the calls of a thread to one model show of its cache.
type seen struct {
	model         uint16
	first         int64                     // what the first one read, tokens
	input, output int64                     // of the last one, tokens
	fits          [servers.MaxGrids]float64 // calls that each known grid explains exactly
	ratio         float64                   // of the last read, where the grid has one; 0 before
	off           int                       // reads at no step of a known grid
	nothing       bool                      // the last one read nothing
	steps         steps
}

// of returns what is known of a model, nil before its first call has ended.
func (u *automatic) of(model uint16) *seen {
	for i := range u.models {
		if u.models[i].model == model {
			return &u.models[i]
		}
	}
	return nil
}

// Serving returns how the requests of a thread for a model, given by index and name, are served by an automatic
// cache, and the zero value when that is left to the server. The grid comes from the profile or
// from the provider's file for agent and model, unless the thread's own calls show another: the
// profile counts for as many calls as its
// prior has. How long a prefix lives depends on the model alone.
func (t *Thread) Serving(index int32, model string) exchange.Serving {
	s := t.of
	p := s.Profile
	if s.Named != nil {
		return s.Named.ServingOf(servers.Caller{Agent: t.Session.Agent}, model)
	}
	switch {
	case p != nil && p.Codex.Switches.Served:
	case s.halfDay:
		return exchange.Serving{Retention: keptHalfDay}
	default:
		return exchange.Serving{}
	}
	to := s.routeOf(t.Recent(), model)
	best := to.fitted
	if u := t.automatic.of(uint16(index)); u != nil {
		best = u.serving(best, to.grids, p.Weight)
	}
	if s.halfDay {
		best.Retention = keptHalfDay
	}
	return best
}

// route is where a call goes, with what is known of how a cache there serves it.
type route struct {
	model    string
	logged   uint16 // the model of the recording, by index: a strategy's may be another
	gateway  uint16
	provider string             // "" for one that is not known
	caller   servers.Caller     // who asks
	serving  exchange.Serving   // by the files of servers
	fitted   exchange.Serving   // by the profile, where it has the client's
	grids    []exchange.Serving // that may serve it
	losses   *servers.Losses
}

// routeOf returns where a call of a round goes, for a model. It is valid until the next call of routeOf.
func (s *Session) routeOf(r *traces.Round, model string) *route {
	for i := range s.routes {
		if to := &s.routes[i]; to.logged == r.Model && to.gateway == r.Gateway && to.model == model {
			return to
		}
	}
	to := route{
		model: model, logged: r.Model, gateway: r.Gateway, provider: promptcache.ProviderOf(model), caller: servers.CallerOf(s.session, r),
		grids: servers.Grids(model), losses: servers.LossesOf(model),
	}
	to.serving = servers.ServingOf(to.caller, model)
	if to.fitted = to.serving; s.Fitted != nil {
		if fitted, ok := s.Fitted.Codex.ServingFor(s.session.Agent, model, s.Version); ok {
			fitted.FromStart, fitted.Forgets = to.serving.FromStart, to.serving.Forgets
			to.fitted = fitted
		}
	}
	s.routes = append(s.routes, to)
	return &s.routes[len(s.routes)-1]
}

// keptHalfDay is how long OpenAI keeps what a client asks it to keep for 12 hours, ns: that is the minimum (openai
// 3.57.0, prompt_cache_options.ttl).
const keptHalfDay = int64(12 * time.Hour)

// halfDay reports whether the calls of a session asked for that. As it is the client's setting, one call tells it of all.
func halfDay(s *traces.Session) bool {
	for i := range s.Threads {
		for r := range s.Threads[i].Rounds {
			if s.Threads[i].Rounds[r].Flags&signs.HalfDay != 0 {
				return true
			}
		}
	}
	return false
}

// serving returns how the calls seen are served, which began as base with the weight of so many calls. Where most
// reads end at no step of a known grid the steps are estimated from them. It keeps the lifetime of base.
func (u *seen) serving(base exchange.Serving, grids []exchange.Serving, weight float64) exchange.Serving {
	best, most := grid(base), weight
	for i, way := range grids {
		fits := u.fits[i]
		if way == grid(base) {
			fits += weight
		}
		if fits > most {
			best, most = way, fits
		}
	}
	if own, ok := u.steps.grid(); ok && 2*u.off > u.steps.n && best.Ratio == 0 {
		best = own
	}
	if best.Ratio > 0 && u.ratio > 0 {
		best.Ratio = u.ratio
	}
	best.Retention, best.FromStart, best.Forgets = base.Retention, base.FromStart, base.Forgets
	return best
}

// grid returns where the reads of a way of serving end, without how long prefixes live.
func grid(s exchange.Serving) exchange.Serving {
	s.Retention, s.FromStart, s.Forgets = 0, false, false
	return s
}

func (t *Thread) codex() bool { return t.Session.Agent == facts.Codex }

// describeServed adds to the request of a conversation the part that other sessions keep warm in
// an automatic cache.
func (t *Thread) describeServed(q *exchange.Request, model string, p *profile.Profile) {
	if p.Codex.Switches.Search && !q.Serving.Replies {
		q.Unheld = t.unseenOfSearch()
	}
	if p.Codex.Switches.Reasoning && q.Serving.Forgets && !t.codex() {
		q.Through = t.aheadOfReasoning(q.Entries)
	}
	u := t.automatic.of(t.Current().Model)
	switch c := &p.Codex; {
	case u != nil && c.Switches.Warm:
		q.Shared = int32(min(u.first, t.Opening()))
	case u == nil && !t.Started && c.Switches.First && t.codex():
		if n, ok := t.of.recordedFirst(t.Course, q.Entries); ok {
			q.Shared = n
			break
		}
		q.Shared = int32(min(c.FirstRead(t.firstRead()), t.Opening()))
	}
	if kept := cutHead(q); kept > 0 && t.Current().Wait <= q.Serving.Retention {
		q.Shared = max(q.Shared, int32(q.Serving.Floor(kept, 0)))
	}
}

// cutHead returns the tokens up to where a request's head lost its end, 0 if it did not: the server reads them, though no
// earlier request ends there.
func cutHead(q *exchange.Request) int64 {
	at := int(q.Change.At)
	if at < 0 || at >= len(q.Entries) || q.Entries[at].Kind.Level() == prompt.LevelMessages || q.Entries[at].Form != prompt.FormCleared {
		return 0
	}
	return int64(q.Entries[at].Cum)
}

// aheadOfReasoning returns the tokens ahead of the first reasoning of the turn that a person's prompt has finished, 0 amid a
// turn and for a turn without reasoning.
func (t *Thread) aheadOfReasoning(entries []prompt.Entry) int32 {
	at := t.Round - 1
	if at < 0 || !t.AnswersPerson() {
		return 0
	}
	rounds := t.Trace.Rounds
	for at > 0 && rounds[at].Trigger == traces.TriggerToolResult {
		at--
	}
	from, to := prompt.Ref(rounds[at].Reply.From), prompt.Ref(rounds[t.Round-1].Reply.To)
	for i := range entries {
		if e := &entries[i]; e.Kind == prompt.KindThinking && e.Form == prompt.FormVerbatim && e.Block >= from && e.Block < to {
			return e.Cum - e.Tokens
		}
	}
	return 0
}

// webSearch is the tool that the provider runs inside a call.
const webSearch = "web_search"

// searches reports whether the response of a round searched the web.
func (t *Thread) searches(r *traces.Round) bool {
	s := t.Session
	return slices.ContainsFunc(s.Blocks[r.Reply.From:r.Reply.To], func(b prompt.Block) bool {
		return b.Kind == prompt.KindToolUse && s.Tools[b.Tool] == webSearch
	})
}

// unseenOfSearch returns the tokens of the round under way that no line shows, if its
// response searched the web: what the provider's own passes found and said is
// counted as input of the call, but later calls find only what the request held.
func (t *Thread) unseenOfSearch() int32 {
	s, r := t.Session, t.Current()
	if !t.searches(r) {
		return 0
	}
	n := int32(0)
	for _, b := range s.Blocks[r.Input.From:r.Input.To] {
		if b.Kind == prompt.KindUnseen {
			n += b.Tokens
		}
	}
	return n
}

// MoveFound moves what the provider found when the reasoning of the call that searched is
// left out: it came after that reasoning, though it counts as input.
func (t *Thread) MoveFound(ev *traces.Event) {
	if p := t.of.Profile; p == nil || !p.Codex.Switches.Search || !t.codex() || len(ev.Cleared) == 0 {
		return
	}
	for i := range t.Trace.Rounds[:t.Round] {
		r := &t.Trace.Rounds[i]
		if first := ev.Cleared[0]; first < r.Reply.From || first >= r.Reply.To || !t.searches(r) {
			continue
		}
		for at := range t.Context.Len() {
			if e := t.Context.At(at); e.Kind == prompt.KindUnseen && int32(e.Block) >= r.Input.From && int32(e.Block) < r.Input.To {
				t.Context.SetForm(at, prompt.FormCleared, e.Tokens, prompt.CauseEdit)
			}
		}
	}
}

// learnServed takes from a call that has ended what it shows of the cache.
func (t *Thread) learnServed(r *traces.Round) {
	all := &t.automatic
	u, grids := all.of(r.Model), t.of.routeOf(r, t.Session.Models[r.Model]).grids
	if u == nil {
		all.models = append(all.models, seen{model: r.Model, first: r.Usage.Read})
		u = &all.models[len(all.models)-1]
	} else if sent, reply := t.Trace.Stayed(t.Round); sent && r.Model == all.last && r.Usage.Read > u.first {
		u.see(r.Usage.Read, grids, reply)
	}
	for _, way := range grids {
		if u.ratio > 0 {
			way.Ratio = u.ratio
		}
		if ratio, ok := way.RatioOf(r.Usage.Read); ok {
			u.ratio = ratio
		}
	}
	all.last, u.input, u.output, u.nothing = r.Model, r.Usage.Input(), r.Usage.Output, r.Usage.Read == 0
}

// see counts the grids that explain a read behind the last call, tokens. reply says that the last reply is sent as it came.
func (u *seen) see(read int64, grids []exchange.Serving, reply bool) {
	for i, way := range grids {
		end := u.input
		if way.Replies && reply {
			end += u.output
		}
		if way.Floor(end, 0) == read {
			u.fits[i]++
		}
	}
	if !servers.OnGrid(grids, read) {
		u.off++
	}
	u.steps.see(read, u.input)
}

// Now and then a call inside the lifetime loses its messages though nothing
// visible explains it. A prediction takes the likelier case, that it does not,
// and what the loss would have cost is added up beside it, times its rate. With
// draws the same rate decides whether the call loses them.

// LossRate returns the probability that the conversation's call under way loses
// what it would read of its messages. The first call of a thread has none to lose.
func (t *Thread) LossRate(model string, now int64) float64 {
	p, s := t.of.Fitted, t.of
	if p == nil || !t.Started {
		return 0
	}
	// At prompts Codex drops reasoning, of which no line says how much; prompts of others lose no more than tool results.
	asked := t.AnswersPerson() && (!s.Automatic || t.codex())
	c := profile.Case{Automatic: s.Automatic, Prompt: asked, Agent: t.Agent(), Gap: now - t.LastEnd, Ordinal: int(t.Round)}
	share, kept := p.Losses.Rate(&c)
	t.automatic.kept = kept
	if u := t.automatic.of(t.Current().Model); u != nil {
		share *= s.routeOf(t.Current(), model).losses.Behind(u.nothing)
	}
	if asked || t.Agent() || !agents.ClaudeCode(s.session) {
		times := s.lossTimes(p, t.Current(), model)
		if c.Gap <= profile.IdleSeconds*1e9 { // what a long pause loses the session's calls do not show
			times = p.Losses.Since(times, s.ownShown(t.Current(), model))
		}
		return min(1, share*times)
	}
	return min(1, share*s.ownTimes(p))
}

// ownTimes returns what conversations of the session's person lose after tool results in proportion to the share of everybody.
func (s *Session) ownTimes(p *profile.Profile) float64 {
	if s.own == 0 {
		s.own = p.OwnTimes(profile.Key(s.session.User()), profile.Key(prompt.DigestString(s.session.ID)))
	}
	return s.own
}

// lossTimes returns what calls of the session lose in proportion to the shares of the profile, which are Claude Code's own.
func (s *Session) lossTimes(p *profile.Profile, r *traces.Round, model string) float64 {
	if agents.ClaudeCode(s.session) {
		return 1
	}
	if of := (scaled{model, r.Gateway}); s.scaled != of {
		at := s.gatherShown(r, model)
		s.scaled, s.scale = of, p.TimesLost(&at).Times
	}
	return s.scale
}

// learnLost counts a call that has ended among those that show what the session loses.
func (s *Session) learnLost(t *Thread, r *traces.Round) {
	if t.Round == 0 || s.Fitted == nil || s.Blind || s.Named != nil || s.Abroad || agents.ClaudeCode(s.session) {
		return
	}
	way := exchange.Serving{}
	if s.Automatic {
		way = s.routeOf(r, s.session.Models[r.Model]).serving
		if u := t.automatic.of(r.Model); u != nil && u.ratio > 0 && way.Ratio > 0 {
			way.Ratio = u.ratio
		}
	}
	s.ownShown(r, s.session.Models[r.Model]).SeeCall(t.Trace, int(t.Round), way)
}

// ownLosses is what calls to a provider, through one gateway, show of a session's losses.
type ownLosses struct {
	provider string
	gateway  uint16
	profile.Shown
}

// ownShown returns what the session's own calls so far show where a round of a model goes: what one provider loses says nothing of the next.
func (s *Session) ownShown(r *traces.Round, model string) *profile.Shown {
	provider := s.routeOf(r, model).provider
	for i := range s.shown {
		if o := &s.shown[i]; o.provider == provider && o.gateway == r.Gateway {
			return &o.Shown
		}
	}
	s.shown = append(s.shown, ownLosses{provider, r.Gateway, profile.Shown{Marked: !s.Automatic}})
	return &s.shown[len(s.shown)-1].Shown
}

// scaled is what the losses of a session's calls depend on.
type scaled struct {
	model   string
	gateway uint16
}

// gatherShown says what of other sessions tells about one of this session's calls, of a model.
func (s *Session) gatherShown(r *traces.Round, model string) profile.Shown {
	to := s.routeOf(r, model)
	return profile.Shown{
		Agent: s.session.Agent, Provider: to.provider, Gateway: profile.Name(to.caller.Gateway), Model: profile.Name(model), Series: profile.Series(s.Version),
		Session: profile.Key(prompt.DigestString(s.session.ID)), Marked: !s.Automatic,
	}
}

// Lost returns what a loss would take, tokens, of what a request reads.
func (t *Thread) Lost(q *exchange.Request, read int64) int64 {
	if t.of.Automatic {
		return int64((1 - t.automatic.kept) * float64(read))
	}
	return read - t.headTokens(q)
}

// headTokens returns the tokens before the messages of a request, up to its breakpoint.
func (t *Thread) headTokens(q *exchange.Request) int64 {
	at := t.Context.Messages() - 1
	if at < 0 {
		return 0
	}
	head := int64(q.Entries[at].Cum)
	for i := range q.Markers {
		if m := &q.Markers[i]; int(m.Position) == at {
			head += int64(m.Shift)
		}
	}
	return head
}
