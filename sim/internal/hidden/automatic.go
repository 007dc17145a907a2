package hidden

import (
	"slices"
	"time"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
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
func (t *Thread) Serving(index int32, model string) prompt.Serving {
	s := t.of
	p := s.Profile
	if s.Named != nil {
		return s.Named.ServingOf(servers.Caller{Agent: t.Session.Agent}, model)
	}
	switch {
	case p != nil && p.Codex.Switches.Served:
	case s.halfDay:
		return prompt.Serving{Retention: keptHalfDay}
	default:
		return prompt.Serving{}
	}
	best := servers.ServingOf(servers.CallerOf(t.Session, t.Recent()), model)
	if fitted, ok := p.Codex.ServingFor(t.Session.Agent, model, s.Version); ok {
		fitted.FromStart, fitted.Forgets = best.FromStart, best.Forgets
		best = fitted
	}
	if u := t.automatic.of(uint16(index)); u != nil {
		best = u.serving(best, model, p.Weight)
	}
	if s.halfDay {
		best.Retention = keptHalfDay
	}
	return best
}

// keptHalfDay is how long OpenAI keeps what a client asks it to keep for 12 hours, ns: that is the minimum (openai
// 3.57.0, prompt_cache_options.ttl).
const keptHalfDay = int64(12 * time.Hour)

// halfDay reports whether the calls of a session asked for that. As it is the client's setting, one call tells it of all.
func halfDay(s *traces.Session) bool {
	return slices.ContainsFunc(s.Threads, func(t traces.Thread) bool {
		return slices.ContainsFunc(t.Rounds, func(r traces.Round) bool { return r.Flags&traces.RoundHalfDay != 0 })
	})
}

// serving returns how the calls seen are served, which began as base with the weight of so many calls. Where most
// reads end at no step of a known grid the steps are estimated from them. It keeps the lifetime of base.
func (u *seen) serving(base prompt.Serving, model string, weight float64) prompt.Serving {
	best, most := grid(base), weight
	for i, way := range servers.Grids(model) {
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
func grid(s prompt.Serving) prompt.Serving {
	s.Retention, s.FromStart, s.Forgets = 0, false, false
	return s
}

// codex reports whether the thread is one of Codex.
func (t *Thread) codex() bool { return t.Session.Agent == traces.AgentCodex }

// describeServed adds to the request of a conversation the part that other sessions keep warm in
// an automatic cache.
func (t *Thread) describeServed(q *prompt.Request, model string, p *profile.Profile) {
	if p.Codex.Switches.Search && !q.Serving.Replies {
		q.Unheld = t.searched()
	}
	if p.Codex.Switches.Reasoning && q.Serving.Forgets && !t.codex() {
		q.Through = t.reasoned(q.Entries)
	}
	u := t.automatic.of(t.Current().Model)
	switch c := &p.Codex; {
	case u != nil && c.Switches.Warm:
		q.Shared = int32(min(u.first, t.Opening()))
	case u == nil && !t.Started && c.Switches.First && t.codex():
		q.Shared = int32(min(c.FirstRead(t.firstRead()), t.Opening()))
	}
	if kept := cutHead(q); kept > 0 && t.Current().Wait <= q.Serving.Retention {
		q.Shared = max(q.Shared, int32(q.Serving.Floor(kept, 0)))
	}
}

// cutHead returns the tokens up to where a request's head lost its end, 0 if it did not: the server reads them, though no
// earlier request ends there.
func cutHead(q *prompt.Request) int64 {
	at := int(q.Change.At)
	if at < 0 || at >= len(q.Entries) || q.Entries[at].Kind.Level() == prompt.LevelMessages || q.Entries[at].Form != prompt.FormCleared {
		return 0
	}
	return int64(q.Entries[at].Cum)
}

// reasoned returns the tokens ahead of the first reasoning of the turn that a person's prompt has finished, 0 amid a
// turn and for a turn without reasoning.
func (t *Thread) reasoned(entries []prompt.Entry) int32 {
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

// searched returns the tokens of the round under way that no line shows, if its
// response searched the web: what the provider's own passes found and said is
// counted as input of the call, but later calls find only what the request held.
func (t *Thread) searched() int32 {
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
	u, model := all.of(r.Model), t.Session.Models[r.Model]
	if u == nil {
		all.models = append(all.models, seen{model: r.Model, first: r.Usage.Read})
		u = &all.models[len(all.models)-1]
	} else if sent, reply := t.Trace.Stayed(t.Round); sent && r.Model == all.last && r.Usage.Read > u.first {
		u.see(r.Usage.Read, model, reply)
	}
	for _, way := range servers.Grids(model) {
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
func (u *seen) see(read int64, model string, reply bool) {
	for i, way := range servers.Grids(model) {
		end := u.input
		if way.Replies && reply {
			end += u.output
		}
		if way.Floor(end, 0) == read {
			u.fits[i]++
		}
	}
	if !servers.OnGrid(model, read) {
		u.off++
	}
	u.steps.see(read, u.input)
}
