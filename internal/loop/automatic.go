package loop

import (
	"slices"

	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/internal/serving/promptcache"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// automatic is what a thread's earlier calls show of the automatic cache they go to. A
// call counts only once its response has ended.
type automatic struct {
	known         bool  // a call has been recorded
	first         int64 // what the first one read, tokens
	input, output int64 // of the last one, tokens
	model         uint16
	fits          [promptcache.NumServings]float64 // calls that each known way explains exactly
	kept          float64                          // share that a loss leaves of what the call under way reads
}

// serving returns how the requests of a thread are served by an automatic cache: as the profile says for the
// model and the client's version, unless the thread's own calls show otherwise, and the
// zero value when the profile leaves it to the server. The profile counts for as many
// calls as its prior has.
func (t *thread) serving(model string) prompt.Serving {
	p := t.replay.profile
	if p == nil || !p.Codex.Switches.Served || t.replay.served {
		return prompt.Serving{}
	}
	base, ok := p.Codex.ServingFor(t.replay.session.Agent, model, t.replay.version)
	if !ok {
		base = promptcache.ServingOf(model)
	}
	best, most := base, p.Weight
	for i, way := range promptcache.Servings() {
		fits := t.automatic.fits[i]
		if sameSteps(way, base) {
			fits += p.Weight
			way = base
		}
		if fits > most {
			best, most = way, fits
		}
	}
	return best
}

// codex reports whether the thread is one of Codex.
func (t *thread) codex() bool { return t.replay.session.Agent == traces.AgentCodex }

// sameSteps reports whether two ways of serving read the same.
func sameSteps(a, b prompt.Serving) bool {
	a.Retention, b.Retention = 0, 0
	return a == b
}

// describeServed adds to the request of a conversation what others keep warm of
// it in an automatic cache.
func (l *Loop) describeServed(t *thread, model string, p *profile.Profile) {
	if p.Codex.Switches.Search && !l.request.Serving.Replies {
		l.request.Unheld = t.searched()
	}
	u := &t.automatic
	switch c := &p.Codex; {
	case u.known && c.Switches.Warm:
		l.request.Shared = int32(min(u.first, t.opening()))
	case !u.known && !t.started && c.Switches.First && t.codex():
		l.request.Shared = int32(min(c.FirstRead(t.firstRead()), t.opening()))
	}
}

// webSearch is the tool that the provider runs inside a call.
const webSearch = "web_search"

// searches reports whether the response of a round searched the web.
func (t *thread) searches(r *traces.Round) bool {
	s := t.replay.session
	return slices.ContainsFunc(s.Blocks[r.Reply.From:r.Reply.To], func(b prompt.Block) bool {
		return b.Kind == prompt.KindToolUse && s.Tools[b.Tool] == webSearch
	})
}

// searched returns the tokens of the round under way that no line shows, if its
// response searched the web: what the provider's own passes found and said is
// counted as input of the call, but later calls find only what the request held.
func (t *thread) searched() int32 {
	s, r := t.replay.session, t.current()
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

// moveFound moves what the provider found when the reasoning of the call that searched is
// left out: it came after that reasoning, though it counts as input.
func (t *thread) moveFound(ev *traces.Event) {
	if p := t.replay.profile; p == nil || !p.Codex.Switches.Search || !t.codex() || len(ev.Cleared) == 0 {
		return
	}
	for i := range t.trace.Rounds[:t.round] {
		r := &t.trace.Rounds[i]
		if first := ev.Cleared[0]; first < r.Reply.From || first >= r.Reply.To || !t.searches(r) {
			continue
		}
		for at := range t.context.Len() {
			if e := t.context.At(at); e.Kind == prompt.KindUnseen && int32(e.Block) >= r.Input.From && int32(e.Block) < r.Input.To {
				t.context.SetForm(at, prompt.FormCleared, e.Tokens, prompt.CauseEdit)
			}
		}
	}
}

// learnServed takes from a call that has ended what it shows of the cache.
func (t *thread) learnServed(r *traces.Round) {
	u := &t.automatic
	read := r.Usage.Read
	acted := t.event > 0 && t.trace.Events[t.event-1].Round == t.round
	switch {
	case !u.known:
		u.known, u.first = true, read
	case r.Model == u.model && !acted && read > u.first:
		for i, way := range promptcache.Servings() {
			end := u.input
			if way.Replies {
				end += u.output
			}
			if way.Floor(end, 0) == read {
				u.fits[i]++
			}
		}
	}
	u.model, u.input, u.output = r.Model, r.Usage.Input(), r.Usage.Output
}
