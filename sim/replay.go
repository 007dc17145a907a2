package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/internal/gauge"
	"github.com/compactsim/compactsim/sim/internal/head"
	"github.com/compactsim/compactsim/sim/internal/hidden"
	"github.com/compactsim/compactsim/sim/internal/verify"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// replay is a session of the cohort while it is simulated. It keeps its storage
// between sessions, so that a steady run allocates nothing.
type replay struct {
	place
	shows
	person   Person // who has it
	session  *traces.Session
	version  string // of its client
	strategy *strategies.Strategy
	ends     bool // a request refused for good ends the session
	gauge    gauge.Session
	heads    head.Session // what the heads of its threads share
	loop     *Loop
	service
	client       Client
	counter      client.Counter // the client's
	draws        draws.Source
	hidden       hidden.Session // what no line shows
	billsWritten bool           // what is not read is billed as written, by a cache that works by itself
	arena        prompt.Arena
	book         account.Book
	asked        int32 // calls the summariser was asked about
	open         int32 // threads that have begun and not ended
	cut          bool  // a conversation of the session ended early
	detector     watch
	fetch        fetch.Session
	verify       verify.Session
}

// service is where a session's calls go by now.
type service struct {
	server Server
	cache  facts.Cache
	model  int32     // the model of the last call, -1 for none
	own    [2]Client // the session's own client by kind of cache, nil until one is asked for
}

// serve points s at the server of a model: an agent that goes from one provider's model to another's goes to another kind of
// cache, which it marks otherwise.
func (s *replay) serve(model int32) {
	if model == s.model {
		return
	}
	s.model = model
	c := &s.loop.config
	if c.Named != nil {
		return
	}
	cache := agents.CacheOf(s.session, s.book.Models.Of(model).Name)
	if cache == s.cache {
		return
	}
	s.cache, s.server = cache, s.loop.caches.Of(s.session.Agent, s.heads.Assembly.Provider, cache)
	s.nameModels()
	s.hidden.Serve(cache == facts.CacheAutomatic)
	s.client = s.clientFor(cache)
}

// place is where a session stands in its cohort.
type place struct {
	index      int32
	base       int32 // index of its first thread among the loop's threads
	threads    []thread
	children   []int32 // threads by parent and parent round
	origin     int64   // when it begins, ns on the cohort's clock
	user       *user
	ordinal    int32 // among the sessions of the user
	due        int32 // threads that are about to begin (admit, spawn) or have not ended (end), and calls under way (depart, land)
	loadedLate bool  // it was loaded when it began: happen lets it go when nothing is due
}

// shows is what a recording shows of its client.
type shows struct {
	recorded *recorded
	said     recorded        // what recorded is where no batch has one
	named    bool            // it is Claude Code, of which is known that names of tools count
	found    ownThreshold    // at which it compacts main conversations
	told     signs.Announced // what it announces
	listing  int32           // the listing of all skills when the conversation opens, tokens
	dense    float64         // how many times as many tokens a byte of its texts has as the rates say; 0 for unknown
	wrote    ownSummary      // what it was given
}

// reset makes s the state of a session at its beginning, under the person and the strategy that assign has given it.
func (s *replay) reset(l *Loop, session *traces.Session, origin int64) {
	s.loop = l
	s.session, s.version, s.origin = session, session.Version(), origin
	s.gauge.Kin, s.gauge.Row = l.turn.Kin, &s.book.Row
	s.gauge.Begin(len(session.Threads))
	s.cache, s.model, s.own = l.config.cache(session), -1, [2]Client{}
	s.client = s.clientFor(s.cache)
	s.counter = client.Counter{Counting: s.heads.Assembly.Count.Over(s.client.Counting())}
	if s.named = agents.ClaudeCode(session); s.named {
		s.counter.Tools = session.Tools
	}
	s.learn(l.recordings, away(l.cohort[s.index])) // of a session that is loaded late the cohort has the head, without its body
	s.server = l.caches.Of(session.Agent, s.heads.Assembly.Provider, s.cache)
	s.hidden.Begin(l.config.hidden(session), session, s.cache == facts.CacheAutomatic)
	s.hidden.Unwritten, s.hidden.Header = l.config.unwritten(session), s.heads.Assembly.Header
	s.billsWritten = l.config.Named == nil && s.recorded.written // what a named server does it knows itself
	s.found.fires = s.recorded.fires                             // Model.Waits needs it; findSettings sets the rest at the end
	s.arena.Reset()
	s.asked, s.open, s.due, s.loadedLate, s.cut = 0, 0, 0, false, false
	s.detector.Rules = l.config.Rules
	_, s.detector.OldAndNew = l.config.Observer.(breakObserver)
	s.detector.Reset()
	s.detector.said = confusion.Matrix{}
	s.wrote = s.recorded.wrote
	s.draws = draws.Source{Seed: l.config.Seed, Session: prompt.DigestString(session.ID).Lo}
	s.hidden.Draws = s.draws
	s.heads.Bind(&s.arena, &s.book.Row, s)
	repeats := repeatsRecording(s.strategy)
	s.heads.Begin(session, s.draws, repeats)
	s.told, s.listing = s.announces(), s.recorded.listing
	s.fetch = fetch.Session{
		Agent: l.config.Agent, Profile: l.config.Profile, Row: &s.book.Row, Repeats: repeats, Density: s.recorded.density, Draws: s.draws,
	}
	if w, ok := l.config.Summarizer.(worded); ok {
		s.fetch.Words = w.Words
	}
	var index *needs.Index
	if l.config.Needs != nil {
		index = l.config.Needs(session)
	}
	s.fetch.Begin(session, index, &s.arena)
	s.dense = 0 // unknown: announcements, listing and summaries have the size of their text (denser)
	if all := s.fetch.Density.Of(-1); s.named && all > 0 && profile.Compare(s.version, hidden.OpensInLines) >= 0 {
		s.denser(cmp.Or(s.recorded.behind, all/resultsPerByte)) // measured behind compactions (behind.go), else by the session's results
	}
	s.book.Record, s.book.Spends = l.config.Record, l.config.Ended != nil
	s.book.Begin(session, origin, results.Row{Strategy: l.config.Strategy.Name, Session: session.ID, Organisation: s.person.Organisation,
		Figures: results.Figures{measures.Sessions: 1}})
	s.book.Row.Loop = s.fetch.Loop()
	s.book.Models.Numbers, s.book.Models.Prices, s.book.Models.At = l.models, l.config.Prices, l.config.PricesAt
	if l.config.Named != nil {
		s.book.Models.Minimum = l.config.Named.Minimum
	}
	s.book.Models.Reset(session)
	s.nameModels()
	for i := range s.book.Models.List {
		m := &s.book.Models.List[i]
		m.Window, m.MaxOutput = s.window(m.Name), s.heads.Assembly.Variables.Output(m.MaxOutput)
		if l.config.Window == 0 {
			m.Answered = answered(session, i)
		}
		m.Waits = s.named && !s.found.fires && !s.heads.Assembly.Variables.SetsAutoWindow() && client.WaitsForRefusal(cmp.Or(s.person.Version, s.version), m.Name)
	}
	s.findSettings(l)
}

// repeatsRecording reports whether a strategy repeats what the recording did, in which the agent fetched what it lacked.
func repeatsRecording(s *strategies.Strategy) bool {
	return slices.ContainsFunc(s.LayerNames(), func(layer string) bool { return s.Traits(layer).Replays })
}

// worded is a Summarizer whose summaries have words: what they keep of what is needed is looked up, not modelled.
type worded interface {
	// Words returns what a summary says that it gave, "" where that is not known.
	Words(summary *prompt.Block) string
}

// clientFor returns the client that makes the calls to a kind of cache: the one that a person or the run has, else the session's own.
func (s *replay) clientFor(cache facts.Cache) Client {
	if given := cmp.Or(s.person.Client, s.loop.config.Client); given != nil {
		return given
	}
	if s.own[cache] == nil {
		s.own[cache] = clientOf(s.session, cache)
	}
	return s.own[cache]
}

// announces returns what the client announces, tokens: what the recording shows or, if it
// shows nothing, a draw by version. A client of which no recording shows any announces nothing.
func (s *replay) announces() signs.Announced {
	if s.hidden.Profile == nil || !s.named {
		return s.session.Announced
	}
	by := s.hidden.Profile.AnnouncedBy(cmp.Or(s.person.Version, s.version))
	switch {
	case by == nil:
		return signs.Announced{}
	case s.session.Announced != signs.Announced{}:
		return s.session.Announced
	}
	var drawn signs.Announced
	for what, sizes := range [...][]float64{
		signs.AnnouncedTools: by.Tools, signs.AnnouncedAgents: by.Agents, signs.AnnouncedServers: by.Servers, signs.AnnouncedHooks: by.Hooks,
	} {
		drawn[what] = int32(profile.At(sizes, draws.Unit(s.draws.Uint64(draws.Announcement, uint64(what)))))
	}
	return drawn
}

// resultsPerByte are the tokens of a byte of results by which what lines show is sized.
var resultsPerByte = traces.DefaultRates().PerByte[prompt.KindToolResult]

// denser scales what the client tells, which is sized by its text, to a session whose texts have more or fewer tokens.
func (s *replay) denser(by float64) {
	for i := range s.told {
		s.told[i] = int32(float64(s.told[i]) * by)
	}
	s.listing = int32(float64(s.listing) * by)
	s.wrote.text = int32(float64(s.wrote.text) * by)
	s.dense = by
}

// answered returns the largest request of main conversations to a model that the recording's server answered, tokens.
func answered(s *traces.Session, model int) (most int64) {
	for i := range s.Threads {
		for r := range s.Threads[i].Rounds {
			if rd := &s.Threads[i].Rounds[r]; int(rd.Model) == model && rd.Counted() && s.Threads[i].Kind == traces.ThreadMain {
				most = max(most, rd.Usage.Input())
			}
		}
	}
	return most
}

// now returns a time of the cohort's clock on the session's, ns.
func (s *replay) now(cohort int64) int64 { return cohort - s.origin }

// nameModels tells the server the names behind the models of requests.
func (s *replay) nameModels() {
	n, ok := s.server.(namer)
	if !ok {
		return
	}
	for i := range s.book.Models.List {
		n.NameModel(s.book.Models.List[i].ID, s.book.Models.List[i].Name)
	}
}

// window returns the context window of one of the session's models, tokens.
func (s *replay) window(model string) int64 {
	w := s.loop.config.window(s.client, s.session, model)
	if s.loop.config.Window > 0 {
		return w
	}
	return s.heads.Assembly.Window(&s.heads.Assembly.Variables, model, w)
}

// paid returns how an observer is told what became of a compaction, nil if it does not want to know.
func (s *replay) paid(o Observer) func(compaction int, p *studies.Payback) {
	if o, ok := o.(PaybackObserver); ok {
		return func(i int, p *studies.Payback) { o.Paid(int(s.index), i, p) }
	}
	return nil
}

// Refuse counts a reason for which somebody did not act.
func (s *replay) Refuse(layer, reason string) { s.book.Refuse(layer, reason) }

// Model returns the index of a model, which may be new to the session, and tells the server its name.
func (s *replay) Model(name string) int32 {
	i := s.book.Models.Named(name, s.window(name), s.session.StartTime())
	s.nameModels()
	return i
}

// orderChildren links every thread to its children in the order of the rounds
// they start from. Readers put parents before children.
func (s *replay) orderChildren() {
	s.children = s.children[:0]
	for range s.threads {
		s.children = append(s.children, -1)
	}
	for i := len(s.threads) - 1; i >= 0; i-- {
		p := s.session.Threads[i].Parent
		if p < 0 {
			continue
		}
		at := &s.threads[p].child
		for *at >= 0 && s.session.Threads[*at].ParentRound < s.session.Threads[i].ParentRound {
			at = &s.children[*at]
		}
		s.children[i] = *at
		*at = int32(i)
	}
}

// finish completes the row. Every recorded call has been simulated: Verify
// checks it.
func (s *replay) finish(l *Loop) {
	for i := range s.threads {
		if s.threads[i].overflow {
			s.book.Row.Figures[measures.OverWindow] = 1
		}
	}
	if p := s.hidden.Profile; !s.cut {
		s.book.Carry(p != nil && p.Switches.Hidden)
	}
	s.book.Row.Breaks = s.detector.said.Counts()
	s.heads.Tell()
	s.countUnsimulated()
	var layers []strategies.Layer
	if len(s.threads) > 0 {
		layers = s.threads[0].layers
	}
	s.book.Close(layers, s.paid(l.config.Observer))
	if l.config.Verify {
		verify.Row(s.session, &s.book.Row, s.fetch.LeftOut(), func(format string, args ...any) {
			l.stop(s.session, fmt.Errorf("%w: %s", ErrInvariant, fmt.Sprintf(format, args...)))
		})
	}
}
