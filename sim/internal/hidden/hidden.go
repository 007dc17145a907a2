// Package hidden says of a conversation's requests what no line of a recording shows: what others keep warm in the cache, what
// the client changes unseen, how an automatic cache serves, which calls the client hides, and how likely a loss is.
package hidden

import (
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Model says what is known beside a recording. The zero value knows nothing.
type Model struct {
	Fitted *profile.Profile // nil for none
	Named  *servers.Server  // the server that was named, nil for the recording's: how its requests are served is not learned
	Abroad bool             // the profile describes other servers than the session's
	Draw   bool             // things with a probability are drawn; else the likelier happens
	Blind  bool             // the bill tells nothing but for how long the client asked
}

// Session is what the conversations of a session share.
type Session struct {
	Model
	Profile   *profile.Profile // nil for agents and servers that it does not describe
	Version   string           // of the client
	Draws     draws.Source
	Automatic bool // the calls go to a cache that needs no markers
	Unwritten bool // what is written to the cache is billed as plain input, as gateways do
	Header    bool // a billing header is part of the cache's key
	Hides     bool // the session may have calls at the end of turns that no line shows

	session *traces.Session
	rules   profile.Set   // of the profile, those that hold for the client
	static  int64         // tokens of the head of main threads, by the profile; 0 for unknown
	hidden  [2]float64    // by the profile, share of turns with a hidden call, by kind of round
	halfDay bool          // the client asks an automatic cache to keep prefixes for 12 hours
	scaled  scaled        // what scale is of
	scale   float64       // of the losses
	shown   profile.Shown // what its calls show of its losses
	own     float64       // of the losses of the session's person; 0 before it is asked for
}

// OpensInLines is the version of Claude Code from which on lines show all that the client sends ahead of the first
// prompt (runs of 2.1.277 to 2.1.332), so that what they do not show is tools and system prompt.
const OpensInLines = "2.1.277"

// Begin makes s a session at its beginning, by what a model says. Fields that are exported besides are the caller's to set.
func (s *Session) Begin(m Model, session *traces.Session, automatic bool) {
	*s = Session{
		Model: m, session: session, Version: session.Version(), Automatic: automatic, Profile: m.Fitted,
		Hides: session.MayHide(), halfDay: halfDay(session), scale: 1, shown: profile.Shown{Marked: !automatic},
	}
	if !agents.ClaudeCode(session) && !automatic || m.Abroad {
		s.Profile = nil // it describes clients of other agents, and other servers
	}
	if s.Profile == nil {
		return
	}
	s.rules, s.static = s.Profile.RulesFor(s.Version), s.Profile.StaticFor(s.Version)
	if profile.Compare(s.Version, OpensInLines) >= 0 {
		s.static = 0 // the session's own
	}
	for kind := range s.hidden {
		s.hidden[kind] = s.Profile.HiddenFor(s.Version, session.Entry, kind > 0)
	}
}

// Thread is what the calls of a conversation have shown so far. Bind must have been called before any method.
type Thread struct {
	*course.Course
	of        *Session
	unlogged  unlogged
	automatic automatic
}

// Bind says which conversation t is about, of which session.
func (t *Thread) Bind(of *Session, c *course.Course) { t.of, t.Course = of, c }

// Reset forgets what calls have shown, keeping storage.
func (t *Thread) Reset() {
	t.unlogged, t.automatic = unlogged{}, automatic{models: t.automatic.models[:0]}
}

// Inherit makes t know what o knows, whose conversation t's goes on from. Automatic caches have to show themselves again.
func (t *Thread) Inherit(o *Thread) { t.unlogged = o.unlogged }

// Applied returns the rules of the profile that had something to say about the request under way.
func (t *Thread) Applied() profile.Set { return t.unlogged.applied }

// CopyFrom makes t know what o knows, keeping t's storage. Both go on apart.
func (t *Thread) CopyFrom(o *Thread) {
	models := append(t.automatic.models[:0], o.automatic.models...)
	*t = *o
	t.automatic.models = models
}
