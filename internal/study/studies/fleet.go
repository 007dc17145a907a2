package studies

import (
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// Fleet is what the users of several organisations did on one clock with one
// cache, under one or more strategies.
type Fleet struct {
	// Provenance says what the figures depend on; zero if the caller of the
	// simulation does not set it.
	Provenance results.Provenance `json:"provenance,omitzero"`

	Name  string    `json:"name"`
	Doc   string    `json:"doc,omitzero"`
	Start time.Time `json:"start"` // zero of all times below
	Days  int       `json:"days"`  // over which sessions begin
	Seed  uint64    `json:"seed"`
	// PricesAt is how prices were dated: "call date", or a date, ISO 8601.
	PricesAt string `json:"prices_at,omitzero"`
	// GlobalScope says that clients request a scope that every organisation shares,
	// where they can.
	GlobalScope bool           `json:"global_scope"`
	Orgs        []FleetOrg     `json:"orgs"`
	Upgrades    []FleetUpgrade `json:"upgrades,omitzero"`
	Cells       []FleetCell    `json:"cells"` // in the order of the strategies asked for
	// Unpriced are the models of the sessions that have no price, sorted.
	Unpriced []string `json:"unpriced_models,omitzero"`
	// Notes are what a reader of the figures must know, as sentences.
	Notes []string `json:"notes,omitzero"`
}

// FleetOrg is the plan of an organisation: its people and the sessions they
// begin.
type FleetOrg struct {
	Name     string         `json:"name"`
	Users    int            `json:"users"`
	Kinds    map[string]int `json:"kinds"`     // users by how they are entitled
	MCP      int            `json:"mcp_users"` // users who load tools of MCP servers
	Sessions int            `json:"sessions"`
	Resumed  int            `json:"resumed"` // times that a session was closed and resumed
	Calls    int            `json:"calls"`   // of the conversations, before any strategy
	Flips    int            `json:"overage_flips"`
}

// FleetUpgrade is an upgrade of the client that changes the static prompt.
type FleetUpgrade struct {
	At     float64 `json:"at_seconds"`    // when the first users have it, from the start
	Over   float64 `json:"over_seconds"`  // until the last ones have it
	Static int     `json:"static_tokens"` // by which the prompt grows, may be negative
	// Users are those who began or resumed a session with it.
	Users int `json:"users"`
}

// FleetCell is the fleet under one strategy.
type FleetCell struct {
	Strategy string       `json:"strategy"`
	Total    FleetGroup   `json:"total"`
	Orgs     []FleetGroup `json:"orgs"`  // in the order of Fleet.Orgs
	Kinds    []FleetGroup `json:"kinds"` // by how users are entitled; without scopes
	Hours    []FleetHour  `json:"hours"` // from the start, without gaps
	// PeakSessions and PeakCalls are the largest numbers at one time: of open
	// sessions, from the first request to the last response each time they are
	// open, and of calls in flight.
	PeakSessions FleetPeak   `json:"peak_sessions"`
	PeakCalls    FleetPeak   `json:"peak_calls"`
	Pairs        []FleetPair `json:"pairs,omitzero"`
	Waves        []FleetWave `json:"waves,omitzero"` // one for each upgrade
}

// Pair returns the comparison with the fleet without something, nil if it was
// not made.
func (c *FleetCell) Pair(without string) *FleetPair {
	for i := range c.Pairs {
		if c.Pairs[i].Without == without {
			return &c.Pairs[i]
		}
	}
	return nil
}

// FleetGroup are the figures of some of a fleet's sessions.
type FleetGroup struct {
	Name  string `json:"name"`
	Users int    `json:"users"` // with a session
	// Row is the sum over the sessions: all published metrics.
	Row results.Row `json:"-"`
	// Metrics are those of Row by name, in the unit of the metric.
	Metrics map[string]float64 `json:"metrics"`
	// Scopes are the input tokens by who shares them; none for groups without these
	// counts.
	Scopes []FleetTokens `json:"scopes,omitzero"`
}

// Scope returns the input tokens of a scope; zero when they were not counted.
func (g *FleetGroup) Scope(s FleetScope) FleetTokens {
	if int(s) < len(g.Scopes) {
		return g.Scopes[s]
	}
	return FleetTokens{Scope: s}
}

// Describe fills Metrics from Row.
func (g *FleetGroup) Describe() {
	g.Metrics = map[string]float64{}
	for _, m := range results.Metrics() {
		if v, ok := m.Value(&g.Row); ok {
			g.Metrics[m.Name] = v
		}
	}
}

// FleetScope says who shares a part of a request.
type FleetScope uint8

// The parts of a request, in order: through the last marker for everyone,
// through the last marker before the messages, and the rest.
const (
	FleetGlobal FleetScope = iota // every organisation
	FleetOrgs                     // the users of an organisation
	FleetOwn                      // the session alone
)

// NumFleetScopes is the number of scopes, for tables indexed by FleetScope.
const NumFleetScopes = 3

var fleetScopes = [NumFleetScopes]string{"global", "org", "own"}

// String returns the lower-case name used in reports.
func (s FleetScope) String() string { return fleetScopes[min(int(s), NumFleetScopes-1)] }

// MarshalText returns the name.
func (s FleetScope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// FleetTokens are the input tokens of calls in a scope.
type FleetTokens struct {
	Scope    FleetScope `json:"scope"`
	Read     int64      `json:"read_tokens"`
	Written  int64      `json:"written_tokens"` // creation, of any lifetime
	Uncached int64      `json:"uncached_tokens"`
}

// Input returns all tokens of the scope.
func (t FleetTokens) Input() int64 { return t.Read + t.Written + t.Uncached }

// HitRatio returns the share of the tokens read from the cache; false without
// any.
func (t FleetTokens) HitRatio() (float64, bool) {
	if t.Input() == 0 {
		return 0, false
	}
	return float64(t.Read) / float64(t.Input()), true
}

// Add adds u to t.
func (t *FleetTokens) Add(u FleetTokens) {
	t.Read += u.Read
	t.Written += u.Written
	t.Uncached += u.Uncached
}

// FleetHour are the calls of one hour of the simulated clock, by the time of the
// request. Tokens are those of their input.
type FleetHour struct {
	Hour     int   `json:"hour"`     // from the start, 0 for the first
	Sessions int   `json:"sessions"` // that began or were resumed
	Calls    int   `json:"calls"`
	Read     int64 `json:"read_tokens"`
	Uncached int64 `json:"uncached_tokens"`
	// Created are the tokens written by FleetScope.
	Created [NumFleetScopes]int64 `json:"created_tokens"`
}

// Writes returns the tokens written in all scopes.
func (h *FleetHour) Writes() int64 {
	var n int64
	for _, v := range h.Created {
		n += v
	}
	return n
}

// FleetPeak is the largest number of something at a time.
type FleetPeak struct {
	Count int     `json:"count"`
	At    float64 `json:"at_seconds"` // first time it was reached, from the start
}

// What a fleet can be compared without.
const (
	WithoutGlobalScope = "global_scope" // what was for everyone is for the organisation
	WithoutOverage     = "overage"      // nobody passes the plan's quota
	WithoutUpgrades    = "upgrades"     // the client stays as it is
)

// FleetPair compares the fleet with itself without something: the same sessions
// and draws, and everything else unchanged.
type FleetPair struct {
	Without string        `json:"without"` // one of the Without… constants
	Total   FleetEffect   `json:"total"`
	Orgs    []FleetEffect `json:"orgs"`  // in the order of Fleet.Orgs
	Hours   []FleetHour   `json:"hours"` // of the fleet without it
	// Events is how often it happened: flips into or out of overage, users who
	// upgraded; 0 if it cannot be counted.
	Events int `json:"events,omitzero"`
}

// FleetEffect are the figures of a group with something and without it.
type FleetEffect struct {
	Name           string       `json:"name"`
	With           prompt.Usage `json:"-"`
	Off            prompt.Usage `json:"-"` // without it
	Created        int64        `json:"created_tokens"`
	CreatedWithout int64        `json:"created_tokens_without"`
	Read           int64        `json:"read_tokens"`
	ReadWithout    int64        `json:"read_tokens_without"`
	USD            float64      `json:"cost_usd"`
	USDWithout     float64      `json:"cost_usd_without"`
	// Events are those with a known effect; EventTokens and EventUSD are the tokens
	// created and the cost that they cause. Users who upgraded cause the whole
	// effect, and count only for the fleet; flips cause that on sessions that began
	// within the quota, and none where clients keep their first answer.
	Events      int     `json:"events,omitzero"`
	EventTokens int64   `json:"events_created_tokens,omitzero"`
	EventUSD    float64 `json:"events_cost_usd,omitzero"`
}

// PerEvent returns the effect of each event: tokens created and USD; false if
// no event has a known effect.
func (e *FleetEffect) PerEvent() (tokens, usd float64, ok bool) {
	if e.Events == 0 {
		return 0, 0, false
	}
	n := float64(e.Events)
	return float64(e.EventTokens) / n, e.EventUSD / n, true
}

// NewFleetEffect returns the figures of two rows of the same sessions.
func NewFleetEffect(name string, with, without *results.Row) FleetEffect {
	is, off := with.Usage(), without.Usage()
	return FleetEffect{
		Name: name, With: is, Off: off,
		Created: is.Writes(), CreatedWithout: off.Writes(), Read: is.Read, ReadWithout: off.Read,
		USD: with.CostUSD(), USDWithout: without.CostUSD(),
	}
}

// SavedTokens returns the tokens of creation that it saves; negative if it
// causes more.
func (e *FleetEffect) SavedTokens() int64 { return e.CreatedWithout - e.Created }

// SavedUSD returns the cost that it saves; negative if it causes more.
func (e *FleetEffect) SavedUSD() float64 { return e.USDWithout - e.USD }

// FleetWave is the effect of an upgrade on the tokens created before messages,
// in the global and the organisations' scope, by hour: means over the hours
// that begin within the length of the upgrade, at least one hour, before it,
// during it and after it. Upgrades and hours may overlap.
type FleetWave struct {
	Upgrade int     `json:"upgrade"` // index into Fleet.Upgrades
	Before  float64 `json:"before_tokens_per_hour"`
	During  float64 `json:"during_tokens_per_hour"`
	After   float64 `json:"after_tokens_per_hour"`
	// Peak is the hour during or after it with the most.
	PeakHour   int   `json:"peak_hour"`
	PeakTokens int64 `json:"peak_tokens"`
}
