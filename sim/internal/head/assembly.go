// Package head keeps what stands ahead of a conversation's messages, tools and system prompt: how a client lays it out,
// where it marks it, and what the events of a scenario change in it.
package head

import (
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Assembly is how the client of a session assembles requests, and the events that happen
// to it. Use does not change it: sessions of several loops may share one.
type Assembly struct {
	client.Assembly
	Variables client.Variables
	changes   []changes.Change
	Header    bool // the billing header is in the cache key
	laid      bool // the head differs from the recording's
}

// Assemble returns an assembly with events, at most changes.Max, that happen to every
// session that has it. Neither may be one that its Validate refuses.
func Assemble(a client.Assembly, events []client.Event) *Assembly {
	return &Assembly{
		Assembly: a, Variables: a.Env.Variables(), changes: changes.Compile(events),
		Header: a.System.Divided() && a.HeaderInKey(),
		laid: a.System.Divided() || a.System.ToolMarker == client.ToolMarkerLast || a.System.MCPTools > 0 ||
			a.System.AgentMemory.Tokens > 0,
	}
}

// Host is the simulation of a session with heads.
type Host interface {
	Refuse(who, reason string) // counts a reason for which somebody did not act
	Model(name string) int32   // returns the index of a model in the session, which may be new to it
}

// Session is what the heads of a session share.
type Session struct {
	Assembly *Assembly
	Owner    uint32 // the organisation, from 1
	User     int32  // its index
	session  *traces.Session
	draws    draws.Source
	arena    *prompt.Arena
	host     Host
	row      *results.Row
	latch    client.Latch
	overage  bool // the user has passed the plan's quota
	effects  effects
	contents uint64 // contents that occur once in the session
}

// Begin makes s what the heads of a recorded session share when it begins.
func (s *Session) Begin(session *traces.Session, d draws.Source) {
	*s = Session{
		Assembly: s.Assembly, Owner: s.Owner, User: s.User, session: session, draws: d, arena: s.arena, host: s.host, row: s.row, overage: s.Assembly.TTL.Overage,
	}
}

// Bind says where the blocks of new contents go, whose row is filled, and who simulates the session.
func (s *Session) Bind(a *prompt.Arena, row *results.Row, h Host) { s.arena, s.row, s.host = a, row, h }

// Overage reports whether the user has passed the plan's quota.
func (s *Session) Overage() bool { return s.overage }
