package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// serverReads replays a session under a server and returns the usage of a call.
func serverReads(t *testing.T, strategy Config, server promptcache.Config, s *traces.Session, call int) prompt.Usage {
	t.Helper()
	strategy.Server = func(facts.Cache) Server { return promptcache.New(server) }
	_, calls := run(t, strategy, s)
	return calls[call].Usage
}

// parallelSession is a prompt and a response with so many parallel calls, whose
// results of 100 tokens the second request sends.
func parallelSession(n int) *traces.Session {
	b := newSession("parallel").turns(1, 0, 0)
	t := &b.s.Threads[0]
	for range n - 1 {
		use := b.block(prompt.KindToolUse, 10)
		b.s.Blocks[use].Call = use + 1
	}
	reply := &t.Rounds[0].Reply
	reply.To = int32(len(b.s.Blocks))
	r := traces.Round{ID: "results", Trigger: traces.TriggerToolResult, Wait: second, First: second, Stream: 2 * second, At: b.s.Start}
	r.Input.From = int32(len(b.s.Blocks))
	for use := reply.To - int32(n); use < reply.To; use++ {
		b.s.Blocks[b.block(prompt.KindToolResult, 100)].Call = b.s.Blocks[use].Call
	}
	r.Input.To = int32(len(b.s.Blocks))
	r.Reply = traces.Span{From: b.block(prompt.KindText, 50), To: r.Input.To + 1}
	r.Usage.Output = 50
	t.Rounds = append(t.Rounds, r)
	return b.session()
}

// Behind a turn of 21 parallel calls the entry of 18,300 tokens lies four
// positions back where a run of calls, and one of results, is a position; counted
// block by block it lies 45 back, and the 16,000 of the system prompt are read.
func TestEveryBlockCounts(t *testing.T) {
	for every, want := range map[bool]int64{false: 18_300, true: 16_000} {
		u := serverReads(t, testConfig(t, "none"), promptcache.Config{EveryBlockCounts: every}, parallelSession(21), 1)
		if u.Read != want {
			t.Errorf("every block counts %v: %d read, want %d", every, u.Read, want)
		}
	}
}

// A branch leaves behind the first response and speaks twelve minutes later. Each
// of the main conversation's calls, three minutes apart, has kept the entry of
// 18,300 tokens warm; where a call refreshes only what it reads itself, that and
// the system prompt have expired.
func TestPrefixRefresh(t *testing.T) {
	b := newSession("s").turns(1, 0, 0)
	for range 4 {
		b.turns(1, 3*minute, 0)
	}
	b.thread(traces.Thread{ID: "branch", Kind: traces.ThreadBranch, Parent: 0, ParentRound: 0, Delay: 12 * minute})
	b.turns(1, 0, 0)
	for refresh, want := range map[bool]int64{true: 18_300, false: 0} {
		c := testConfig(t, "none")
		c.Verify = false // the calls of the first prompts were interrupted
		var config promptcache.Config
		if !refresh {
			config.NoPrefixRefresh = true
		}
		u := serverReads(t, c, config, b.session(), 4)
		if u.Read != want {
			t.Errorf("prefix refresh %v: the branch reads %d, want %d", refresh, u.Read, want)
		}
	}
}

// Ten minutes later the cache is cold, and seven results of 1,000 tokens are still
// declared deleted. They act on what is read, so that all is written again; where
// they act on the rest too, 7,000 tokens less are.
func TestDeleteUncached(t *testing.T) {
	s := reading(newSession("s").turns(14, 0, 1000).turns(1, 10*minute, 1000).session())
	const all = 34_400 + 175
	for deletes, want := range map[bool]int64{false: all, true: all - 7000} {
		c := written(t, "  - cached-microcompact: {forget_deleted_on_expiry: false}\n")
		u := serverReads(t, c, promptcache.Config{DeleteUncached: deletes}, s, 14)
		if u.Write5m != want || u.Read != 0 {
			t.Errorf("delete uncached %v: %+v, want %d written", deletes, u, want)
		}
	}
}

// What a request of five minutes finds of the 18,300 tokens that one of an hour
// has written.
func TestTTLInKey(t *testing.T) {
	for inKey, want := range map[bool]int64{true: 0, false: 18_300} {
		s := newSession("s").turns(1, 0, 0).turns(1, second, 0).session()
		first := &s.Threads[0].Rounds[0].Usage
		first.Write1h, first.Write5m = first.Write5m, 0
		c := testConfig(t, "none")
		c.Verify = false // the call of the first prompt was interrupted
		u := serverReads(t, c, promptcache.Config{TTLInKey: inKey}, s, 1)
		if u.Read != want {
			t.Errorf("lifetime in the key %v: %d read, want %d", inKey, u.Read, want)
		}
	}
}
