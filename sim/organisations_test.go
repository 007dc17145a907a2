package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
)

// twoUsers are two sessions of other users, the second a minute after the first.
func twoUsers() []*traces.Session {
	a, b := newSession("a").turns(2, 0, 1000).session(), newSession("b").turns(2, 0, 1000).session()
	b.Start += minute
	return []*traces.Session{a, b}
}

// secondReads returns what the first call of the second of two sessions reads.
func secondReads(t *testing.T, c Config, sessions []*traces.Session) int64 {
	t.Helper()
	var o firstServed
	c.Observer = &o
	if _, err := NewLoop(c).RunCohort(sessions); err != nil {
		t.Fatal(err)
	}
	return o.read[sessions[1].ID]
}

// firstServed keeps what the first call of each session reads.
type firstServed struct {
	served
	read map[string]int64
}

func (s *firstServed) Served(p Point, _ string, _ *exchange.Request, out *exchange.Outcome) {
	if s.read == nil {
		s.read = map[string]int64{}
	}
	name := "a"
	if p.Session == 1 {
		name = "b"
	}
	if _, seen := s.read[name]; !seen {
		s.read[name] = out.Usage.Read
	}
}

// Users of other organisations share what is marked for everyone: tools 12,000,
// billing header 40, identity 15 and static 3,045 (000:80). They share nothing
// through a third party, nor with a custom prompt or another version; users of
// one organisation share the same prefix wherever it is marked.
func TestOrganisations(t *testing.T) {
	const static = 12_000 + 40 + 15 + 3_045
	apart := func(i int, _ *traces.Session) uint32 { return uint32(i) + 1 }
	for name, tc := range map[string]struct {
		change func(*client.Assembly)
		owner  func(int, *traces.Session) uint32
		other  string // version of the second session
		want   int64
	}{
		"sections":           {divided, apart, "", static},
		"sections, one":      {divided, nil, "", static},
		"one block":          {nil, apart, "", 0},
		"third party":        {func(a *client.Assembly) { divided(a); a.Provider = "third_party"; a.System.HeaderInKey = "false" }, apart, "", 0},
		"third party, one":   {func(a *client.Assembly) { divided(a); a.Provider = "third_party"; a.System.HeaderInKey = "false" }, nil, "", static},
		"custom prompt":      {func(a *client.Assembly) { divided(a); a.System.Custom = true }, nil, "", 0},
		"another version":    {divided, apart, "2.1.26", 0},
		"servers' tools":     {func(a *client.Assembly) { divided(a); a.System.MCP, a.System.MCPTools = "prefix", 3000 }, apart, "", 0},
		"servers' tools one": {func(a *client.Assembly) { divided(a); a.System.MCP, a.System.MCPTools = "prefix", 3000 }, nil, "", static},
	} {
		c := headConfig(t, "none", tc.change)
		c.Owner = tc.owner
		sessions := twoUsers()
		if tc.other != "" {
			sessions[1].Versions = []string{tc.other}
		}
		if got := secondReads(t, c, sessions); got != tc.want {
			t.Errorf("%s: the second user reads %d, want %d", name, got, tc.want)
		}
	}
}
